"""From what the user passed to one checked record: labels, scores, weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import column_or_1d

from .._checks import ROUNDING, check_weight

FloatArray = NDArray[np.float64]

TIES = ("expected", "optimistic", "pessimistic")


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows with a positive weight, ready to be ranked.

    Attributes
    ----------
    positive : ndarray of bool
        True where the row is a positive.
    score : ndarray
        Finite scores, higher is better.
    weight : ndarray of float64 or None
        Multiplicity of each row; None when every row counts once.
    whole : bool
        True when every weight is a whole number, so that counts can be rounded.
    """

    positive: NDArray[np.bool_]
    score: NDArray[Any]
    weight: FloatArray | None
    whole: bool

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.score)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.size if self.weight is None else self.weight.sum())

    def replace_score(self, score: NDArray[Any]) -> Sample:
        """Return the same rows under another scoring."""
        return Sample(self.positive, score, self.weight, self.whole)


def check_sample(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Sample:
    """Validate a binary problem and drop the rows that weigh nothing."""
    positive = check_positive(y_true, pos_label)
    score = check_score(y_score)
    _same_length(y_true=positive, y_score=score)
    if sample_weight is None:
        return Sample(positive, score, None, True)
    weight = check_weight(sample_weight, len(score), some=True)
    kept = weight > 0
    if not kept.all():
        positive, score, weight = positive[kept], score[kept], weight[kept]
    return Sample(positive, score, weight, bool(np.all(weight == np.floor(weight))))


def check_score(y_score: ArrayLike, name: str = "y_score") -> NDArray[Any]:
    """Return finite one-dimensional scores; order and ties are kept exactly."""
    score = np.asarray(y_score)
    if score.ndim != 1:
        raise ValueError(
            f"{name} has shape {score.shape}; one score per row is needed. "
            "From predict_proba pass the column of the positive class."
        )
    if score.size == 0:
        raise ValueError(f"{name} is empty; at least one row is needed.")
    if score.dtype.kind not in "iuf":
        try:
            score = score.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} has dtype {score.dtype}; pass numbers, higher for better rows."
            ) from error
    if score.dtype.kind == "f":
        finite = np.isfinite(score)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(
                f"{name} holds {score[row]} at row {row}; every score must be finite. "
                "Drop such rows or give them a finite score."
            )
    return score


def check_positive(y_true: ArrayLike, pos_label: Any = None) -> NDArray[np.bool_]:
    """Return which rows are positive, by scikit-learn's rules for ``pos_label``."""
    y = column_or_1d(y_true)
    if y.size == 0:
        raise ValueError("y_true is empty; at least one row is needed.")
    labels = distinct_labels(y)
    if pos_label is None:
        numeric = all(isinstance(label, Real | np.bool_) for label in labels)
        if not numeric or not (set(labels) <= {0, 1} or set(labels) <= {-1, 1}):
            raise ValueError(
                f"y_true holds the labels {_listed(labels)}; without pos_label they must be "
                f"0/1, -1/1 or booleans. Say which one is positive, for example "
                f"pos_label={labels[-1]!r}."
            )
        pos_label = 1
    found = [label for label in labels if label == pos_label]
    if not found and len(labels) == 2:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label of y_true; choose one of {_listed(labels)}."
        )
    return np.asarray(y == found[0], dtype=bool) if found else np.zeros(len(y), dtype=bool)


def distinct_labels(y: NDArray[Any]) -> list[Any]:
    """Return the one or two distinct labels in O(n), without sorting the rows."""
    if y.dtype.kind == "O":
        try:
            labels = list(dict.fromkeys(y.tolist()))
            missing = any(label is None or bool(label != label) for label in labels)
        except TypeError:
            missing = True
        if missing:
            raise ValueError("y_true holds missing values; drop those rows first.")
    else:
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError("y_true holds NaN; drop those rows first.")
        labels = [y[0].item()]
        other = y != y[0]
        if other.any():
            second = y[int(np.argmax(other))]
            labels.append(second.item())
            third = other & (y != second)
            if third.any():
                labels.append(y[int(np.argmax(third))].item())
    if len(labels) > 2:
        raise ValueError(
            f"y_true holds more than two labels ({_listed(labels[:3])}, ...); this metric takes "
            "two. Pass y_true == label to make one label the positive class."
        )
    return sorted(labels, key=lambda label: (str(type(label)), label))


def _listed(labels: Iterable[Any]) -> str:
    return ", ".join(repr(label) for label in labels)


def _same_length(**arrays: NDArray[Any]) -> None:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        text = " and ".join(f"{name} has {length} rows" for name, length in lengths.items())
        raise ValueError(f"{text}; they must describe the same rows.")


def check_ties(ties: Any) -> None:
    """Raise unless ``ties`` names a known rule."""
    if ties not in TIES:
        raise ValueError(f"ties={ties!r} is unknown; choose one of {_listed(TIES)}.")


def at_least(value: FloatArray, bound: FloatArray | float) -> NDArray[np.bool_]:
    """``value >= bound`` that forgives the last digits of a rounded product."""
    return value >= np.asarray(bound) * (1 - ROUNDING)


def warn_undefined(name: str, missing: str, stacklevel: int = 3) -> float:
    """Warn that a metric has no value here and return NaN."""
    warnings.warn(
        f"{name} is undefined: y_true holds no {missing}. Returned nan.",
        UndefinedMetricWarning,
        stacklevel=stacklevel,
    )
    return math.nan
