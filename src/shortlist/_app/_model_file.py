"""Models on disk, in skops' format: loading one runs no code of the file's choice.

A file may name classes and functions. Those that a model of this library consists of
are listed here, besides the ones of scikit-learn, numpy and scipy that skops trusts
itself; a file that names any other is refused before anything is built.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import skops.io

from ._cells import printable
from ._columns import Columns
from ._features import Features

FORMAT = 2
# Bytes that a file may unpack to; a model of many support vectors has tens of millions.
_MOST_BYTES = 256 << 20

# functools.partial holds a function and its arguments; the function has to be listed, too.
TRUSTED = (
    "collections.OrderedDict",
    "functools.partial",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
    "numpy.dtype",
    "shortlist.certificate.Certificate",
    "shortlist.certificate.Check",
    "shortlist.certificate.Trace",
    "shortlist.pairs.estimator.RankSVM",
    "shortlist.rows.formulas.NamedKernel",
    "shortlist.rows.formulas.minmax_kernel",
    "shortlist.rows.formulas.tanimoto_kernel",
    "shortlist.rows.kernels.minmax_kernel",
    "shortlist.rows.kernels.rbf_kernel",
    "shortlist.rows.kernels.tanimoto_kernel",
    "shortlist.stacking.estimator.TopStack",
    "shortlist.stacking.sums.SumStack",
    "shortlist.top.estimators.PatMat",
    "shortlist.top.estimators.TopPush",
    "shortlist.transductive.estimator.TransductiveTopK",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


class ModelFileError(ValueError):
    """A file that is no model, or none that may be loaded."""


@dataclass(frozen=True)
class SavedModel:
    """All that is needed to score other rows.

    Attributes
    ----------
    pipeline : Pipeline
        From features to scores.
    columns : Columns
        From rows of a file to typed rows.
    features : Features
        From typed rows to features.
    label, positive : str
        Name of the label column and the label that was looked for.
    ids : list of str
        Columns that are carried to the output.
    winner : str
        Name of the model.
    versions : dict
        Versions of the packages it was made with.
    """

    pipeline: Any
    columns: Columns
    features: Features
    label: str
    positive: str
    ids: list[str]
    winner: str
    versions: dict[str, str]


def save_model(model: SavedModel, path: Path) -> None:
    """Write a model, and make sure that :func:`load_model` will take it."""
    content = {
        "format": FORMAT,
        **{name: getattr(model, name) for name in SavedModel.__dataclass_fields__},
        "columns": model.columns.to_plain(),
        "features": model.features.to_plain(),
    }
    skops.io.dump(content, path, compression=zipfile.ZIP_DEFLATED)
    unknown = _unknown(path)
    if unknown:
        raise ModelFileError(
            f"the model {model.winner} cannot be saved: it consists of {_told(unknown)}, "
            "which a model file may not hold."
        )


def load_model(path: Path, name: str | None = None) -> SavedModel:
    """Read a model; refuse a file that names a type outside the list.

    Parameters
    ----------
    path : Path
        The file.
    name : str, default=None
        What messages call it.
    """
    name = str(path) if name is None else name
    try:
        _check_size(path, name)
        unknown = _unknown(path)
        if unknown:
            raise ModelFileError(
                f"{name} names types that no model of shortlist holds: {_told(unknown)}. "
                "It was refused and nothing in it was run. Use a file that "
                "shortlist pick --save has written."
            )
        _check_texts(path)
        content = skops.io.load(path, trusted=list(TRUSTED))
        if content["format"] != FORMAT:
            raise ModelFileError(
                f"{name} has format {content['format']!r} and this version of shortlist reads "
                f"{FORMAT}; make it again with shortlist pick --save."
            )
        content = {key: content[key] for key in SavedModel.__dataclass_fields__}
        content["columns"] = Columns.from_plain(content["columns"])
        content["features"] = Features.from_plain(content["features"])
        _check_trees(content["pipeline"])
    except (ModelFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:
        # Whatever a damaged file does to the reader, to the user it is no model.
        raise ModelFileError(
            f"{name} is not a model file of shortlist ({type(error).__name__}); "
            "shortlist pick --save writes one."
        ) from error
    return SavedModel(**content)


def _told(names: list[str]) -> str:
    """Names from a file, not trusted to be names."""
    shown = ", ".join(printable(name, 80) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _check_size(path: Path, name: str) -> None:
    """Refuse a small file that would fill the memory."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(item.file_size for item in archive.infolist())
    if unpacked > _MOST_BYTES:
        raise ModelFileError(
            f"{name} unpacks to {unpacked / 2**20:,.0f} MB, and a model has at most "
            f"{_MOST_BYTES >> 20} MB; nothing of it was read."
        )


def _check_trees(part: Any, seen: set[int] | None = None) -> None:
    """Raise where a tree points outside itself: compiled code would follow."""
    seen = set() if seen is None else seen
    if id(part) in seen or isinstance(part, str | bytes | int | float | np.ndarray | None):
        return
    seen.add(id(part))
    nodes = getattr(part, "nodes", None)
    if isinstance(nodes, np.ndarray) and nodes.dtype.names:
        _check_nodes(part, nodes)
    if type(part).__module__ == "sklearn.tree._tree" and hasattr(part, "children_left"):
        _check_children(part.children_left, part.children_right, part.feature, part.n_features)
        return
    inside = (
        part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ()
    )
    for item in (*inside, *vars(part).values()) if hasattr(part, "__dict__") else inside:
        _check_trees(item, seen)


def _check_texts(path: Path) -> None:
    """Look at the trees that LightGBM keeps as text, before it reads them itself."""
    with zipfile.ZipFile(path) as archive:
        waiting: list[Any] = [json.loads(archive.read("schema.json"))]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
        elif isinstance(part, str) and "Tree=" in part:
            # Text is in the schema as JSON in JSON.
            _check_boosted(json.loads(part) if part.startswith('"') else part)


def _check_boosted(text: str) -> None:
    """Raise where a tree of LightGBM points outside itself; leaves are negative numbers."""
    head, *trees = text.split("\nTree=")
    features = int(_entries(head)["max_feature_idx"]) + 1
    for tree in trees:
        lines = _entries(tree)
        leaves = int(lines["num_leaves"])
        for side in ("left_child", "right_child"):
            children = [int(child) for child in lines.get(side, "").split()]
            if len(children) != max(leaves - 1, 0) and leaves > 1:
                raise ValueError("a tree is not complete")
            for place, child in enumerate(children):
                if not (-leaves <= child < 0 or place < child < leaves - 1):
                    raise ValueError("a tree points outside itself")
        if not all(0 <= int(place) < features for place in lines.get("split_feature", "").split()):
            raise ValueError("a tree asks for a feature that is not there")


def _entries(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _check_nodes(tree: Any, nodes: np.ndarray) -> None:
    """Check a tree of scikit-learn's histogram boosting."""
    inner = ~nodes["is_leaf"].astype(bool)
    left, right = (np.where(inner, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    _check_children(left, right, nodes["feature_idx"], None)
    categorical = inner & nodes["is_categorical"].astype(bool)
    if categorical.any():
        bitsets = getattr(tree, "raw_left_cat_bitsets", np.empty(0))
        if (nodes["bitset_idx"][categorical] >= len(bitsets)).any():
            raise ValueError("a tree points outside itself")


def _check_children(
    left: np.ndarray, right: np.ndarray, feature: np.ndarray, n_features: int | None
) -> None:
    """Raise unless children follow their parents, so that no walk leaves or goes in circles."""
    places = np.arange(len(left))
    inner = left != -1
    for child in (left, right):
        if ((child[inner] <= places[inner]) | (child[inner] >= len(left))).any():
            raise ValueError("a tree points outside itself")
    asked = feature[inner]
    if (asked < 0).any() or (n_features is not None and (asked >= n_features).any()):
        raise ValueError("a tree asks for a feature that is not there")


def _unknown(path: Path) -> list[str]:
    return sorted(set(skops.io.get_untrusted_types(file=path)) - set(TRUSTED))
