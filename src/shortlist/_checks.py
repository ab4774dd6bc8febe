"""Checks of parameters, weights, counts and labels: errors name argument, value and remedy.

scikit-learn is imported by the two functions that need it: commands check labels before
anything heavy is loaded.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

_PACKAGE = __name__.partition(".")[0]
# 0.07 * 100 is 7.000000000000001: products this close to a whole number are that number.
ROUNDING = 1e-12
# Pairs whose positive label, the second, goes without saying.
_PAIRS = (("0", "1"), ("-1", "1"), ("no", "yes"), ("false", "true"))


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
        what = " ".join(["an integer" if integer else "a finite number", " and ".join(bounds)])
        raise ValueError(f"{name} must be {what.strip()}, got {name}={value!r}.")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise an error that lists the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {name}={value!r}.")


def check_weight(sample_weight: Any, n_rows: int, *, some: bool = False) -> np.ndarray:
    """Return the multiplicities of the rows as float64, ones where none are given.

    With `some`, at least one row must count.
    """
    from sklearn.utils import check_array

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
    if some and not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    return weight


def check_k(k: Any) -> int | float:
    """Return a list length: a count of at least 1, or a fraction in (0, 1)."""
    if not isinstance(k, bool | np.bool_):
        if isinstance(k, Integral) and int(k) >= 1:
            return int(k)
        if isinstance(k, Real) and not isinstance(k, Integral) and 0 < float(k) < 1:
            return float(k)
    raise ValueError(f"k must be an integer of at least 1 or a fraction in (0, 1), got k={k!r}.")


def check_rate(value: Any, name: str, *, low_open: bool = False, high_open: bool = False) -> float:
    """Return a number of [0, 1], with either end left out on request."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    low_ok = number and (value > 0 if low_open else value >= 0)
    high_ok = number and (value < 1 if high_open else value <= 1)
    if not (low_ok and high_ok):
        interval = f"{'(' if low_open else '['}0, 1{')' if high_open else ']'}"
        raise ValueError(f"{name}={value!r} is not in {interval}; pass a number in this range.")
    return float(value)


def round_up(mass: float, whole: bool) -> float:
    """Round a share of the rows up to a count, when counts are whole numbers."""
    return float(math.ceil(mass * (1 - ROUNDING))) if whole else mass


def round_down(mass: float, whole: bool) -> float:
    """Round a share of the rows down to a count, when counts are whole numbers."""
    return float(math.floor(mass * (1 + ROUNDING))) if whole else mass * (1 + ROUNDING)


def check_seed(random_state: Any) -> int:
    """Return a seed that repeats a call when it is passed as `random_state`."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral) and not isinstance(random_state, bool | np.bool_):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def list_length(k: int | float, total: float, whole: bool) -> float:
    """Turn ``k`` into the weight of the list, given the weight of all rows."""
    return float(k) if isinstance(k, int) else round_up(k * total, whole)


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


def spelling(value: Any) -> str:
    """One spelling for a label: 1, 1.0 and " 1 " are the same.

    Examples
    --------
    >>> from shortlist._checks import spelling
    >>> spelling(1.0), spelling(" 1"), spelling("fraud"), spelling("1000000000000000007")
    ('1', '1', 'fraud', '1000000000000000007')
    """
    text = str(value).strip()
    digits = text.removeprefix("-")
    if digits.isdecimal() and len(digits) < 1000:
        # Without a detour over floats, which take long ids for one another.
        return str(int(text))
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def plain_positive(labels: Sequence[Any]) -> int | None:
    """Position of the positive one of two labels, None where they do not explain themselves.

    Only 0/1, -1/1, no/yes, n/y, false/true and f/t do.

    Examples
    --------
    >>> from shortlist._checks import plain_positive
    >>> plain_positive(["Yes", "No"]), plain_positive([-1, 1]), plain_positive(["fraud", "legit"])
    (0, 1, None)
    """
    spelled = [spelling(label).lower() for label in labels]
    for other, positive in _PAIRS:
        if sorted(spelled) == sorted((other, positive)):
            return spelled.index(positive)
    return None


def label_index(classes: np.ndarray, pos_label: Any, name: str = "pos_label") -> int:
    """Position of the positive label among the classes."""
    labels = classes.tolist()
    if pos_label not in labels:
        raise ValueError(
            f"{name}={pos_label!r} is not a class of the data; choose one of {labels}."
        )
    return labels.index(pos_label)


def positive_last(classes: np.ndarray, pos_label: Any) -> np.ndarray:
    """Return two labels in the order (other, positive), see :func:`positive_index`."""
    return classes if positive_index(classes, pos_label) == 1 else classes[::-1]


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
            f"y holds {first!r} and {last!r}, and nothing says which of them you look for. Pass "
            f"pos_label={last!r} or pos_label={first!r}."
        )
    if isinstance(last, str):
        warnings.warn(
            f"Of the labels {first!r} and {last!r}, {last!r} is pushed to the top, because it "
            f"comes last in order. Pass pos_label={last!r} to confirm, or pos_label={first!r}.",
            UserWarning,
            stacklevel=outside(),
        )
    return 1


def outside() -> int:
    """Return the stack level of the first caller that is not part of the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


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
    k = check_k(k)
    if isinstance(k, int) and k > total * (1.0 + ROUNDING):
        raise ValueError(
            f"k={k!r} exceeds the {total:g} {what} (counted by sample_weight): "
            "choose a smaller k, or a fraction such as k=0.05. Weights are "
            "multiplicities; scale them up if they were normalised."
        )
    return min(max(1.0, list_length(k, total, whole=True)), total)
