"""Folds that respect time: learn from the past, test on a later window, wait for the labels."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..race.history import Folds, History
    from .terms import Terms

_DAY = 86_400.0
# How each unit may be written, and its seconds.
_UNITS = {
    r"s(?:ec(?:ond)?s?)?": 1.0,
    r"min(?:ute)?s?": 60.0,
    r"h(?:ours?)?": 3600.0,
    r"d(?:ays?)?": _DAY,
    r"w(?:eeks?)?": 604_800.0,
}
_WINDOWS = 6
_LEAST_ROWS = 20


def as_times(values: Any, name: str = "time") -> tuple[np.ndarray, bool]:
    """Return times as numbers, and whether they are seconds of a calendar.

    Numbers stay as they are; dates and text in ISO form become seconds.

    Examples
    --------
    >>> from shortlist.picking.terms.times import as_times
    >>> as_times(["2024-01-02", "2024-01-01 12:00"])[0] - as_times(["2024-01-01"])[0]
    array([86400., 43200.])
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one time per row, got shape {array.shape}.")
    if array.dtype.kind in "iuf":
        numbers = array.astype(np.float64)
        calendar = False
    else:
        numbers, calendar = _seconds(array, name), True
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} is missing or no time in row {row} ({array[row]!r}): every row needs one. "
            "Leave such rows out."
        )
    return numbers, calendar


def _seconds(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind != "M":
        import pandas as pd

        parsed = pd.to_datetime(pd.Series(array), errors="coerce", utc=True, format="ISO8601")
        wrong = parsed.isna().to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{name} holds {str(array[row])!r} in row {row}, which is no time. Write times as "
                "2024-05-31 or 2024-05-31T13:45:00, or pass numbers."
            )
        array = parsed.dt.tz_localize(None).to_numpy()
    out = array.astype("datetime64[us]").astype(np.int64) / 1e6
    out[np.isnat(array)] = np.nan
    return out


def as_delay(delay: Any, calendar: bool) -> float:
    """Return a delay in the unit of the times: "7d", "12 hours", a timedelta or a number.

    Examples
    --------
    >>> from shortlist.picking.terms.times import as_delay
    >>> as_delay("7d", calendar=True)
    604800.0
    """
    if delay is None:
        return 0.0
    number: float | None = None
    if isinstance(delay, timedelta):
        number = delay.total_seconds()
    elif isinstance(delay, np.timedelta64):
        number = float(delay / np.timedelta64(1, "s"))
    elif isinstance(delay, str):
        # A number alone counts what a number that is no text counts.
        units = {r"": _DAY, **_UNITS} if calendar else {r"": 1.0}
        for unit, seconds in units.items():
            if found := re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*{unit}\s*", delay):
                number = float(found[1]) * seconds
    elif isinstance(delay, int | float | np.number) and not isinstance(delay, bool):
        number = float(delay) * (_DAY if calendar else 1.0)
    if number is None or not np.isfinite(number) or number < 0:
        unit = "a number of days" if calendar else "a number in the unit of time"
        written = ' or a text such as "7d", "12h"' if calendar else ""
        raise ValueError(f"delay must be {unit}, at least 0{written}, got delay={delay!r}.")
    return number


def time_splits(
    time: np.ndarray,
    positive: np.ndarray,
    length: float,
    delay: float = 0.0,
    *,
    group: np.ndarray | None = None,
    only_new: bool = False,
    most: int = _WINDOWS,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (train, test) row numbers of the latest windows, oldest first.

    Each window is as long as the candidates' time. What is learned from it ends `delay`
    before it begins, because later labels are not known yet.

    Parameters
    ----------
    time : ndarray
        Time of every row.
    positive : ndarray of bool
        Labels; a training part needs both.
    length : float
        Length of a window.
    delay : float
        Time until a label is known.
    group : ndarray of int, default=None
        Groups: rows of a group that is tested are left out of the training part.
    only_new : bool
        Leave out of the test part the groups that were known when the window began, instead.
    most : int
        Windows at most.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.times import time_splits
    >>> time = np.arange(100.0)
    >>> splits = time_splits(time, time % 3 == 0, length=25, delay=5)
    >>> [(len(train), int(test.min()), int(test.max())) for train, test in splits]
    [(20, 25, 49), (45, 50, 74), (70, 75, 99)]
    """
    end = float(time.max())
    # A window holds rows enough to count hits in, even where the candidates are of one moment.
    order = np.sort(time)
    shortest = end - order[max(0, len(order) - _LEAST_ROWS)]
    length = max(length, shortest, np.finfo(float).tiny)
    splits: list[tuple[np.ndarray, np.ndarray]] = []
    for number in range(most):
        last = end - number * length
        begin = last - length
        tested = (time > begin) & (time <= last)
        learned = time <= begin - delay
        if group is not None and only_new:
            known = np.unique(group[time <= begin])
            tested &= ~np.isin(group, known)
        elif group is not None:
            learned &= ~np.isin(group, np.unique(group[tested]))
        labels = positive[learned]
        if not labels.any() or labels.all():
            break
        if tested.any():
            splits.append((np.flatnonzero(learned), np.flatnonzero(tested)))
    return splits[::-1]


def span(length: float, calendar: bool) -> str:
    """Write a length of time.

    Examples
    --------
    >>> from shortlist.picking.terms.times import span
    >>> span(604800.0, True), span(5.0, False)
    ('7 days', '5')
    """
    if not calendar:
        return f"{length:g}"
    for unit, name in ((_DAY, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if length >= 2 * unit:
            return f"{length / unit:.3g} {name}"
    return f"{length:.3g} seconds"


def time_folds(
    terms: Terms, history: History, only_new: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the windows of the history that are tested."""
    assert terms.time is not None
    group = None
    if history.groups is not None:
        group = np.unique(history.groups, return_inverse=True)[1]
    splits = time_splits(
        terms.time,
        history.positive,
        terms.window,
        terms.delay,
        group=group,
        only_new=only_new,
    )
    if not splits:
        raise ValueError(
            "time leaves no window to test: before each there must be labelled rows of both "
            "classes that are older than the delay. Use a longer history or a shorter delay."
        )
    return splits


def windows_in_words(folds: Folds, terms: Terms) -> str:
    """Say which windows were tested."""
    wait = "" if not terms.delay else f", labels known after {span(terms.delay, terms.calendar)}"
    length = span(terms.window, terms.calendar)
    return f"{len(folds.splits)} windows of {length}, each after what was learned from{wait}"
