"""Models on disk, in skops' format: loading one runs no code of the file's choice.

A file may name classes and functions. Those that a model of this library consists of
are listed here, besides the ones of numpy and scipy that skops trusts itself; a file that
names any other, of scikit-learn among them, is refused before anything is built. What is
built is looked at (:mod:`shortlist._app._model_parts`) before compiled code gets it.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sklearn
import skops.io
from sklearn.exceptions import InconsistentVersionWarning

from .. import __version__
from ..picking.forecast.promise import Promises
from ._cells import printable
from ._columns import Columns
from ._features import Features
from ._model_parts import (
    check_parts,
    check_texts,
    check_trees,
    mend_names,
    mend_parts,
    read_schema,
    walk,
)

# The schema of the content. A change that files of the version before would not survive gets
# the next number; tests/app/stored holds files of every number that is read.
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
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._forest.ExtraTreesRegressor",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.RandomForestRegressor",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_extraction.text.TfidfTransformer",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.kernel_approximation.Nystroem",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._ridge.Ridge",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.QuantileTransformer",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._label.LabelEncoder",
    "sklearn.svm._classes.SVC",
    "sklearn.svm._classes.SVR",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.tree._classes.ExtraTreeRegressor",
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
    promises : Promises or None
        What its lists were promised to bring; None in files of earlier versions.
    """

    pipeline: Any
    columns: Columns
    features: Features
    label: str
    positive: str
    ids: list[str]
    winner: str
    versions: dict[str, str]
    promises: Promises | None = None


def save_model(model: SavedModel, path: Path) -> None:
    """Write a model, and make sure that :func:`load_model` will take it."""
    content = {
        "format": FORMAT,
        **{name: getattr(model, name) for name in SavedModel.__dataclass_fields__},
        "columns": model.columns.to_plain(),
        "features": model.features.to_plain(),
        "promises": None if model.promises is None else model.promises.to_plain(),
    }
    skops.io.dump(content, path, compression=zipfile.ZIP_DEFLATED)
    mend_names(path)
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
        _check_format(path, name)
        unknown = _unknown(path)
        if unknown:
            raise ModelFileError(
                f"{name} names types that no model of shortlist holds: {_told(unknown)}. "
                "It was refused and nothing in it was run. Use a file that "
                "shortlist pick --save has written."
            )
        check_texts(path)
        check_trees(path)
        with warnings.catch_warnings():
            # Files of other versions are read on purpose: tests/app/stored.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            content = skops.io.load(path, trusted=list(TRUSTED))
        promises = content.get("promises")
        content = {
            key: content[key] for key in SavedModel.__dataclass_fields__ if key != "promises"
        }
        content["promises"] = None if promises is None else Promises.from_plain(promises)
        content["columns"] = Columns.from_plain(content["columns"])
        content["features"] = Features.from_plain(content["features"])
        check_parts(content["pipeline"])
        mend_parts(content["pipeline"])
    except (ModelFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:
        # Whatever a damaged file does to the reader, to the user it is no model.
        written = _written_with(path)
        here = f"and here is {sklearn.__version__}: try it there."
        reason = f" It was written with scikit-learn {written}, {here}" if written else ""
        raise ModelFileError(
            f"{name} is not a model file of shortlist ({type(error).__name__}); "
            f"shortlist pick --save writes one.{reason}"
        ) from error
    return SavedModel(**content)


def _told(names: list[str]) -> str:
    """Names from a file, not trusted to be names."""
    shown = ", ".join(printable(name, 80) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _check_format(path: Path, name: str) -> None:
    """Refuse another format by its number: types of the next one may have other names."""
    found = json.loads(read_schema(path)["content"]["format"]["content"])
    if found == FORMAT:
        return
    told = (
        f"{name} has format {printable(repr(found), 20)} and shortlist {__version__} reads {FORMAT}"
    )
    if isinstance(found, int) and found > FORMAT:
        raise ModelFileError(
            f"{told}: a later version has written it. Install that: pip install -U shortlist."
        )
    raise ModelFileError(f"{told}; make it again with shortlist pick --save.")


def _written_with(path: Path) -> str | None:
    """Version of scikit-learn that wrote a file, where it is another one."""
    try:
        versions = read_schema(path)["content"]["versions"]["content"]
        written = json.loads(versions["sklearn"]["content"])
    except Exception:
        return None
    return None if written == sklearn.__version__ else printable(str(written), 20)


def _check_size(path: Path, name: str) -> None:
    """Refuse a small file that would fill the memory."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(item.file_size for item in archive.infolist())
    if unpacked > _MOST_BYTES:
        raise ModelFileError(
            f"{name} unpacks to {unpacked / 2**20:,.0f} MB, and a model has at most "
            f"{_MOST_BYTES >> 20} MB; nothing of it was read."
        )


def _unknown(path: Path) -> list[str]:
    """Names in a file that are not on the list.

    skops trusts all of scikit-learn; here each part has to be one that is looked at.
    """
    named = {
        f"{part['__module__']}.{part.get('__class__')}"
        for part in walk(read_schema(path))
        if isinstance(part, dict) and str(part.get("__module__")).startswith("sklearn")
    }
    return sorted((named | set(skops.io.get_untrusted_types(file=path))) - set(TRUSTED))
