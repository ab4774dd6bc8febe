"""The parts of a model file that compiled code will follow, looked at first.

Scikit-learn, libsvm and LightGBM trust their own state: an index that points outside an array
is followed there, and ends the process.
"""

from __future__ import annotations

import json
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer

# Objects, lists and their members; a model of two thousand trees has half a million.
_MOST_PARTS = 3_000_000


def read_schema(path: Path) -> Any:
    """Return the description in a model file, unless reading it would fill the memory."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read("schema.json")
    if sum(text.count(mark) for mark in (b"{", b"[", b",")) > _MOST_PARTS:
        raise ValueError("the description has more parts than any model")
    return json.loads(text)


def walk(schema: Any) -> Iterator[Any]:
    """Yield every object, list and value of a description."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
        yield part


def mend_names(path: Path) -> None:
    """Write types by the names that all versions of scikit-learn know them by."""
    schema = read_schema(path)
    # Losses of boosting call their module by its last name in early versions.
    short = [part for part in walk(schema) if isinstance(part, dict)]
    short = [part for part in short if part.get("__module__") == "_loss"]
    if not short:
        return
    for part in short:
        part["__module__"] = "sklearn._loss._loss"
    with zipfile.ZipFile(path) as archive:
        parts = {item: archive.read(item) for item in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for item, content in parts.items():
            new = json.dumps(schema) if item.filename == "schema.json" else content
            archive.writestr(item, new, compress_type=item.compress_type)


def mend_parts(part: Any) -> None:
    """Add what later versions of scikit-learn keep and earlier ones did not."""
    seen: set[int] = set()
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, SimpleImputer) and hasattr(part, "statistics_"):
            vars(part).setdefault("_fill_dtype", part.statistics_.dtype)  # from 1.7 on
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, BaseEstimator):
            waiting += vars(part).values()


def check_parts(
    part: Any, width: int | None = None, seen: set[tuple[int, int | None]] | None = None
) -> None:
    """Raise where a tree or a support vector machine points outside itself or its rows.

    Parameters
    ----------
    part : object
        A model, or a part of one.
    width : int, default=None
        Features of the rows that it gets, which scikit-learn checks when it gets them.
    seen : set, default=None
        Parts that were looked at, with the width.
    """
    seen = set() if seen is None else seen
    if isinstance(part, str | bytes | int | float | np.ndarray | None):
        return
    home = type(part).__module__
    own: Any = getattr(part, "n_features_in_", width)
    # A forest hands its rows to its trees as they are.
    width = min(own, width) if home.startswith("sklearn.tree") and width is not None else own
    if (id(part), width) in seen:
        return
    seen.add((id(part), width))
    nodes = getattr(part, "nodes", None)
    if isinstance(nodes, np.ndarray) and nodes.dtype.names:
        _check_nodes(part, nodes, width)
    if home == "sklearn.tree._tree" and hasattr(part, "children_left"):
        _check_children(part.children_left, part.children_right, part.feature, width)
        return
    if home.startswith("sklearn.svm") and hasattr(part, "support_vectors_"):
        _check_vectors(part, width)
    inside = (
        part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ()
    )
    for item in (*inside, *vars(part).values()) if hasattr(part, "__dict__") else inside:
        check_parts(item, width, seen)


def check_texts(path: Path) -> None:
    """Look at the trees that LightGBM keeps as text, before it reads them itself."""
    for part in walk(read_schema(path)):
        if isinstance(part, str) and "Tree=" in part:
            # Text is in the schema as JSON in JSON.
            _check_boosted(json.loads(part) if part.startswith('"') else part)


def check_trees(path: Path) -> None:
    """Look at what trees are made of, which scikit-learn follows while it makes them.

    Every tree of shortlist has one output; so its list of classes has one number.
    """
    parts = [part for part in walk(read_schema(path)) if isinstance(part, dict)]
    named = defaultdict(list)
    for part in parts:
        named[part.get("__id__")].append(part)
    with zipfile.ZipFile(path) as archive:
        for tree in (part for part in parts if part.get("__class__") == "Tree"):
            given, state = tree["__reduce__"]["args"], tree["content"]
            features, classes, outputs = given["content"]
            made = {name: state["content"][name] for name in ("node_count", "nodes", "values")}
            for part in (given, state, features, classes, outputs, *made.values()):
                # Of parts under one number the reader takes the first.
                if any(other != part for other in named[part.get("__id__")]):
                    raise ValueError("two parts have one number")
            numbers, nodes, values = (
                _array(archive, part) for part in (classes, made["nodes"], made["values"])
            )
            count = int(made["node_count"]["content"])
            if outputs["content"] != "1" or numbers.shape != (1,) or not 1 <= numbers[0] <= 2:
                raise ValueError("a tree has other outputs than one")
            if not 0 <= int(features["content"]) < 2**31:
                raise ValueError("a tree has an impossible number of features")
            if nodes.shape != (count,) or values.shape != (count, 1, int(numbers[0])):
                raise ValueError("a tree is not complete")


def _array(archive: zipfile.ZipFile, part: dict[str, Any]) -> np.ndarray:
    with archive.open(part["file"]) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _check_boosted(text: str) -> None:
    """Raise where a tree of LightGBM points outside itself; leaves are negative numbers."""
    head, *trees = text.split("\nTree=")
    features = int(_entries(head)["max_feature_idx"]) + 1
    for tree in trees:
        lines = _entries(tree)
        leaves = int(lines["num_leaves"])
        kinds = [int(kind) for kind in lines.get("decision_type", "").split()]
        if any(kind & 1 for kind in kinds) or {lines.get("num_cat"), lines.get("is_linear")} - {
            "0",
            None,
        }:
            raise ValueError("a tree has splits that no model of shortlist has")
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


def _check_vectors(machine: Any, width: int | None) -> None:
    """Check a machine of two classes or of numbers: libsvm takes all lengths on trust."""
    vectors = machine.support_vectors_
    numbers = type(machine).__name__ == "SVR"
    count = len(vectors)
    shapes = {
        "support_vectors_": (count, width),
        "support_": (count,),
        "_n_support": (2,),
        "_dual_coef_": (1, count),
        "dual_coef_": (1, count),
        "_intercept_": (1,),
        "intercept_": (1,),
    }
    if not numbers:
        shapes["classes_"] = (2,)
    wrong = [name for name, shape in shapes.items() if np.shape(getattr(machine, name)) != shape]
    kept = np.asarray(machine._n_support)
    platt = {np.shape(machine._probA), np.shape(machine._probB)}
    total = kept[0] if numbers else kept.sum()
    if wrong or kept.min() < 0 or total != count or platt - {(0,), (1,)} or machine._sparse:
        raise ValueError("a support vector machine points outside itself")


def _check_nodes(tree: Any, nodes: np.ndarray, width: int | None) -> None:
    """Check a tree of scikit-learn's histogram boosting."""
    inner = ~nodes["is_leaf"].astype(bool)
    left, right = (np.where(inner, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    _check_children(left, right, nodes["feature_idx"], width)
    categorical = inner & nodes["is_categorical"].astype(bool)
    if categorical.any():
        bitsets = getattr(tree, "raw_left_cat_bitsets", np.empty(0))
        if (nodes["bitset_idx"][categorical] >= len(bitsets)).any():
            raise ValueError("a tree points outside itself")


def _check_children(
    left: np.ndarray, right: np.ndarray, feature: np.ndarray, width: int | None
) -> None:
    """Raise unless children follow their parents, so that no walk leaves or goes in circles."""
    places = np.arange(len(left))
    inner = left != -1
    for child in (left, right):
        if ((child[inner] <= places[inner]) | (child[inner] >= len(left))).any():
            raise ValueError("a tree points outside itself")
    asked = feature[inner]
    if len(asked) and (width is None or asked.min() < 0 or asked.max() >= width):
        raise ValueError("a tree asks for a feature that is not there")
