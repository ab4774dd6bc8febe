"""Models on disk, in skops' format: loading one runs no code of the file's choice.

A file may name classes and functions. Those that a model of this library consists of
are listed here, besides the ones of scikit-learn, numpy and scipy that skops trusts
itself; a file that names any other is refused before anything is built.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import skops.io

from ._columns import ColumnTypes

FORMAT = 1

# functools.partial holds a function and its arguments; the function has to be listed, too.
TRUSTED = (
    "functools.partial",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "shortlist.certificate.Certificate",
    "shortlist.certificate.Check",
    "shortlist.certificate.Trace",
    "shortlist.rows.kernels.minmax_kernel",
    "shortlist.rows.kernels.rbf_kernel",
    "shortlist.rows.kernels.tanimoto_kernel",
    "shortlist.stacking.estimator.TopStack",
    "shortlist.top.estimators.PatMat",
    "shortlist.top.estimators.TopPush",
    "shortlist.transductive.estimator.TransductiveTopK",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._string_encoder.StringEncoder",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
)


class ModelFileError(ValueError):
    """A file that is no model, or none that may be loaded."""


@dataclass(frozen=True)
class SavedModel:
    """All that is needed to score other rows.

    Attributes
    ----------
    pipeline : Pipeline
        From typed rows to scores.
    types : ColumnTypes
        From rows of a file to typed rows.
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
    types: ColumnTypes
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
        "types": {name: getattr(model.types, name) for name in ColumnTypes.__dataclass_fields__},
    }
    skops.io.dump(content, path, compression=zipfile.ZIP_DEFLATED)
    unknown = _unknown(path)
    if unknown:
        raise ModelFileError(
            f"the model {model.winner} cannot be saved: it consists of {', '.join(unknown)}, "
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
        unknown = _unknown(path)
        if unknown:
            raise ModelFileError(
                f"{name} names types that no model of shortlist holds: {', '.join(unknown)}. "
                "It was refused and nothing in it was run. Use a file that "
                "shortlist pick --save has written."
            )
        content = skops.io.load(path, trusted=list(TRUSTED))
        if content["format"] != FORMAT:
            raise ModelFileError(
                f"{name} has format {content['format']!r} and this version of shortlist reads "
                f"{FORMAT}; make it again with shortlist pick --save."
            )
        content = {key: content[key] for key in SavedModel.__dataclass_fields__}
        content["types"] = ColumnTypes(**content["types"])
    except (ModelFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:
        # Whatever a damaged file does to the reader, to the user it is no model.
        raise ModelFileError(
            f"{name} is not a model file of shortlist ({type(error).__name__}); "
            "shortlist pick --save writes one."
        ) from error
    return SavedModel(**content)


def _unknown(path: Path) -> list[str]:
    return sorted(set(skops.io.get_untrusted_types(file=path)) - set(TRUSTED))
