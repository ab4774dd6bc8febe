"""Checks of parameters, weights, counts and labels: errors name argument, value and remedy."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ._positive import plain_positive
from ._scores import label_index


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -np.inf,
    least: float = -np.inf,
    below: float = np.inf,
    integer: bool = False,
) -> None:
    """Raise an error that names the parameter, its value and the allowed range."""
    kind = Integral if integer else Real
    ok = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if not ok or not (above < value < below or value == least) or value < least:
        bounds = [
            text
            for text, used in (
                (f"greater than {above:g}", np.isfinite(above)),
                (f"at least {least:g}", np.isfinite(least)),
                (f"less than {below:g}", np.isfinite(below)),
            )
            if used
        ]
        what = "an integer" if integer else "a finite number"
        raise ValueError(f"{name} must be {what} {' and '.join(bounds)}, got {name}={value!r}.")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise an error that lists the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {name}={value!r}.")


def check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the multiplicities of the rows as float64, ones where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number per row, shape ({n_rows},), "
            f"got shape {weight.shape}. Sample weights must be 1D array or scalar."
        )
    if (weight < 0.0).any():
        row = int(np.argmax(weight < 0.0))
        raise ValueError(
            f"sample_weight must not be negative, got {weight[row]:g} in row {row}: "
            "a weight is a multiplicity, 0 leaves the row out."
        )
    return weight


def check_two_classes(estimator: Any, classes: np.ndarray, kind: str = "multiclass") -> None:
    """Raise an error unless there are two labels."""
    if kind != "binary" and len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"y holds {len(classes)} classes; compare one class with the rest, "
            "for example y == classes[0]."
        )
    if len(classes) < 2:
        found = repr(classes.tolist()[0]) if len(classes) else "no row at all"
        raise ValueError(
            f"y holds one class only ({found}): {type(estimator).__name__} needs "
            "positive and negative rows."
        )


def positive_index(classes: np.ndarray, pos_label: Any, *, refuse: bool = False) -> int:
    """Position of the positive one of two labels.

    Labels that explain themselves (0/1, -1/1, no/yes, false/true) need no `pos_label`. Of two
    numbers the larger is positive. Of two strings it is the last in order, as everywhere in
    scikit-learn, and a warning says which one that is.

    Parameters
    ----------
    classes : ndarray of shape (2,)
        The labels, in order.
    pos_label : label or None
        The positive one, if the user has said.
    refuse : bool, default=False
        Whether labels that do not explain themselves are an error.
    """
    if pos_label is not None:
        return label_index(classes, pos_label)
    place = plain_positive(classes.tolist())
    if place is not None:
        return place
    first, last = classes.tolist()
    if refuse:
        raise ValueError(
            f"y holds {first!r} and {last!r}, which do not say what you look for; add "
            f"pos_label={first!r} or pos_label={last!r}."
        )
    if isinstance(last, str):
        warnings.warn(
            f"Of the labels {first!r} and {last!r}, {last!r} is pushed to the top, because it "
            f"comes last in order. Pass pos_label={last!r} to confirm, or pos_label={first!r}.",
            UserWarning,
            stacklevel=3,
        )
    return 1


def check_both_count(sizes: tuple[float, float], classes: np.ndarray) -> None:
    """Raise an error if all rows of a class (negatives, positives) weigh nothing."""
    for size, label in zip(sizes, classes.tolist(), strict=True):
        if not size:
            raise ValueError(
                f"sample_weight is zero for every row of class {label!r}: "
                "give at least one row of each class a positive weight."
            )


def top_count(k: Any, weight: np.ndarray, what: str = "negatives") -> float:
    """Return how many rows, counted by `weight`, `k` stands for."""
    total = float(weight.sum())
    if isinstance(k, Integral) and not isinstance(k, bool | np.bool_):
        check_number("k", k, least=1, integer=True)
        if int(k) > total * (1.0 + 1e-12):
            raise ValueError(
                f"k={k!r} exceeds the {total:g} {what} (counted by sample_weight): "
                "choose a smaller k, or a fraction such as k=0.05. Weights are "
                "multiplicities; scale them up if they were normalised."
            )
        return float(int(k))
    if not isinstance(k, Real) or isinstance(k, bool | np.bool_) or not 0.0 < float(k) < 1.0:
        raise ValueError(
            f"k must be an integer of at least 1 or a fraction in (0, 1), got k={k!r}."
        )
    # The tolerance keeps 0.1 * 30 at 3, not at 4 through rounding.
    return min(max(1.0, math.ceil(float(k) * total * (1.0 - 1e-12))), total)
