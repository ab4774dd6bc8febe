"""What a list is for, as the user says it: values, costs, entities, limits, times.

Every argument that speaks of rows is the name of a column, where history and candidates are
frames, or a pair of arrays, one for the history and one for the candidates. Columns of
entities and times are no features; all others stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._checks import check_number
from ..race.history import Candidates, as_table, check_budget
from .clusters import NAME, Clusters
from .selection import Limit, Rule, select
from .times import as_delay, as_times


@dataclass(frozen=True, eq=False)
class Side:
    """The terms of the history's rows, or of the candidates'.

    Attributes
    ----------
    value, cost : ndarray
        What a hit brings, and what taking the row costs.
    entity : ndarray of int or None
        Entity of every row.
    groups : tuple of ndarray
        Group of every row in each limit.
    allowed : ndarray of bool
        Rows that may be taken.
    """

    value: np.ndarray
    cost: np.ndarray
    entity: np.ndarray | None
    groups: tuple[np.ndarray, ...]
    allowed: np.ndarray

    def take(self, rows: np.ndarray) -> Side:
        """Return the terms of some rows."""
        return Side(
            self.value[rows],
            self.cost[rows],
            None if self.entity is None else self.entity[rows],
            tuple(group[rows] for group in self.groups),
            self.allowed[rows],
        )

    @property
    def longest(self) -> int:
        """Rows of the longest list, limits aside: all that are allowed, or one of each entity."""
        if self.entity is None:
            return int(self.allowed.sum())
        return len(np.unique(self.entity[self.allowed]))

    def gain(self, probability: np.ndarray) -> np.ndarray:
        """Return what taking each row brings in expectation."""
        return probability * self.value - self.cost


@dataclass(frozen=True, eq=False)
class Terms:
    """All terms of a list.

    Attributes
    ----------
    history, candidates : Side
        Rows of either.
    bounds : tuple of Limit
        The limits, with the groups of the candidates.
    fill : bool
        Whether rows of no expected gain may fill the budget.
    valued : bool
        Whether hits have values or rows costs.
    base_rate : float or None
        Share of positives among the candidates, where the history was thinned.
    time, delay, window : ndarray, float, float
        Times of the history, time until a label is known, and the candidates' span; None,
        0 and 0 without times.
    calendar : bool
        Whether times are seconds.
    goal : str
        What the list is to be full of; see :mod:`shortlist.picking.race.goals`.
    """

    history: Side
    candidates: Side
    bounds: tuple[Limit, ...]
    fill: bool
    valued: bool
    base_rate: float | None
    time: np.ndarray | None
    delay: float
    window: float
    calendar: bool = True
    goal: str = "hits"

    def limited(self, name: str, history: np.ndarray, candidates: np.ndarray) -> Terms:
        """Return the terms with the groups of a limit that was waiting for them."""
        labels = np.unique(np.concatenate([history, candidates]))
        sides, bounds = [], self.bounds
        for side, group in ((self.history, history), (self.candidates, candidates)):
            code = np.searchsorted(labels, group)
            waiting = [bound.name == name and not len(bound.labels) for bound in bounds]
            groups = zip(side.groups, waiting, strict=True)
            sides.append(replace(side, groups=tuple(code if w else g for g, w in groups)))
        if not any(waiting):
            raise ValueError(
                f"clusters limits nothing by itself: add limits={{{name!r}: 2}}, or so."
            )
        code = np.searchsorted(labels, candidates)
        n = len(labels)
        bounds = tuple(
            Limit(name, code, labels.tolist(), np.full(n, b.least[0]), np.full(n, b.most[0]))
            if w
            else b
            for b, w in zip(bounds, waiting, strict=True)
        )
        return replace(self, history=sides[0], candidates=sides[1], bounds=bounds)

    @property
    def restricts(self) -> bool:
        """Whether the list is not simply that of the highest scores."""
        return (
            self.valued
            or bool(self.bounds)
            or self.history.entity is not None
            or not self.candidates.allowed.all()
        )

    @property
    def ruled(self) -> bool:
        """Whether anything but the scores decides what is on the list, or what it brings."""
        return self.restricts or self.base_rate is not None or self.goal != "hits"

    def budget(self, k: Any) -> int:
        """Return the budget in rows of the list, if they can keep the limits.

        A fraction counts entities, where the list takes one row of each.
        """
        coming, whole = self.candidates, isinstance(k, int | np.integer)
        units = coming.value if whole or coming.entity is None else np.unique(coming.entity)
        places = check_budget(k, len(units))
        if self.bounds:
            select(np.zeros(len(coming.value)), self.rule(places, coming), coming.allowed)
        return places

    def rule(self, k: int, side: Side) -> Rule:
        """Return the rule for one side's rows."""
        limits = tuple(
            Limit(bound.name, group, bound.labels, bound.least, bound.most)
            for bound, group in zip(self.bounds, side.groups, strict=True)
        )
        return Rule(k, side.entity, limits, self.fill)


class Reader:
    """Finds the values of an argument: a column of both frames, or a pair of arrays."""

    def __init__(self, X: Any, candidates: Any, n_history: int, n_candidates: int) -> None:
        self.X, self.candidates = X, candidates
        self.frames = hasattr(X, "columns") and hasattr(candidates, "columns")
        self.sizes = (n_history, n_candidates)
        self.dropped: list[Any] = []

    def pair(self, name: str, given: Any, feature: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of both sides."""
        if isinstance(given, tuple) and len(given) == 2:
            found = tuple(np.asarray(part) for part in given)
        elif self.frames and _is_column(given, self.X):
            if not _is_column(given, self.candidates):
                raise ValueError(f"{name}={given!r} is a column of X and not of the candidates.")
            found = (np.asarray(self.X[given]), np.asarray(self.candidates[given]))
            if not feature and given not in self.dropped:
                self.dropped.append(given)
        elif self.frames and isinstance(given, str):
            listed = ", ".join(repr(str(column)) for column in list(self.X.columns)[:8])
            raise ValueError(f"{name}={given!r} is no column of X. It has {listed}, ...")
        else:
            raise ValueError(
                f"{name} must be the name of a column, where X and candidates are frames, or a "
                f"pair of arrays (history, candidates), got {type(given).__name__}."
            )
        for values, size, side in zip(found, self.sizes, ("X", "candidates"), strict=True):
            if values.shape != (size,):
                raise ValueError(
                    f"{name} must hold one entry per row of {side}, shape ({size},), got shape "
                    f"{values.shape}."
                )
        return found[0], found[1]

    def coming(self, name: str, column: Any) -> np.ndarray:
        """Return a column of the candidates, which the history need not have."""
        if not _is_column(column, self.candidates):
            raise ValueError(f"{name}={column!r} is no column of the candidates.")
        if _is_column(column, self.X) and column not in self.dropped:
            self.dropped.append(column)
        return np.asarray(self.candidates[column])

    def numbers(self, name: str, given: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return finite numbers of both sides; one number stands for all rows."""
        if isinstance(given, int | float | np.number) and not isinstance(given, bool):
            check_number(name, float(given))
            return tuple(np.full(size, float(given)) for size in self.sizes)  # type: ignore[return-value]
        out = []
        for values, side in zip(self.pair(name, given), ("X", "candidates"), strict=True):
            try:
                numbers = values.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{name} must hold numbers, got {values.dtype} in {side}."
                ) from error
            wrong = ~np.isfinite(numbers)
            if wrong.any():
                raise ValueError(
                    f"{name} is {numbers[wrong][0]} in row {int(np.argmax(wrong))} of {side}, "
                    f"and {int(wrong.sum())} rows are like it: every row needs a number. Fill "
                    "them in or leave the rows out."
                )
            out.append(numbers)
        return out[0], out[1]

    def codes(
        self, name: str, given: Any, feature: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return numbers that stand for the distinct entries of both sides, and the entries."""
        history, candidates = self.pair(name, given, feature)
        if not feature:
            for values, side in ((history, "X"), (candidates, "candidates")):
                _check_present(name, values, side)
        both = np.concatenate([_text(history), _text(candidates)])
        labels, code = np.unique(both, return_inverse=True)
        return code[: len(history)], code[len(history) :], labels


def read_order(
    X: Any,
    candidates: Any,
    sample_weight: Any,
    clusters: Clusters | None = None,
    **said: Any,
) -> tuple[Any, Candidates, Terms]:
    """Return history and candidates without ids and times, and the terms of their rows.

    Rows of the history that weigh nothing are left out of the terms, as they will be of the
    history.
    """
    X = as_table(X, "X")
    pool = Candidates(candidates, X)
    whole = None if pool.streamed else as_table(candidates, "candidates")
    reader = Reader(X, whole, int(X.shape[0]), pool.n_rows)
    terms = read_terms(reader, **said)
    if reader.dropped:
        X = X[[name for name in X.columns if name not in reader.dropped]]
        pool = Candidates(pool.whole(), X)
    if clusters is not None:
        terms = terms.limited(NAME, *clusters.find(X, pool))
    if sample_weight is not None:
        used = np.flatnonzero(np.asarray(sample_weight) > 0)
        time = None if terms.time is None else terms.time[used]
        terms = replace(terms, history=terms.history.take(used), time=time)
    return X, pool, terms


def read_terms(
    reader: Reader,
    *,
    value: Any,
    cost: Any,
    one_per: Any,
    limits: Any,
    exclude: Any,
    time: Any,
    delay: Any,
    base_rate: Any,
    fill: bool | None,
    goal: str = "hits",
    cluster: str | None = None,
) -> Terms:
    """Check all of it."""
    valued = value is not None or cost is not None
    values = reader.numbers("value", 1.0 if value is None else value)
    costs = reader.numbers("cost", 0.0 if cost is None else cost)
    entity: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    if one_per is not None:
        entity = reader.codes("one_per", one_per, feature=False)[:2]
    bounds = tuple(_limit(reader, *item, cluster) for item in _limit_items(limits))
    groups = tuple(tuple(group[side] for group, _ in bounds) for side in (0, 1))
    allowed = _allowed(reader, exclude, one_per)
    if fill is not None and not isinstance(fill, bool | np.bool_):
        raise ValueError(f"fill must be True, False or None, got fill={fill!r}.")
    if base_rate is not None:
        if goal != "hits":
            raise ValueError(
                f"base_rate={base_rate!r} is a share of positives; with goal={goal!r} there are "
                "none. Leave it out."
            )
        check_number("base_rate", base_rate, above=0.0, below=1.0)
    moments, wait, window, calendar = None, 0.0, 0.0, True
    if time is not None:
        past, coming = reader.pair("time", time, feature=False)
        moments, calendar = as_times(past, "time")
        later, as_well = as_times(coming, "time")
        if calendar != as_well:
            raise ValueError(
                "time holds dates in one of X and candidates and numbers in the other; both must "
                "be of one kind."
            )
        wait, window = as_delay(delay, calendar), float(np.ptp(later))
    elif delay is not None:
        raise ValueError(f"delay={delay!r} needs time: say which column holds the times.")
    everyone = np.ones(reader.sizes[0], dtype=bool)
    return Terms(
        Side(values[0], costs[0], entity[0], groups[0], everyone),
        Side(values[1], costs[1], entity[1], groups[1], allowed),
        tuple(limit for _, limit in bounds),
        # Rows that are expected to bring less than nothing make no sum larger.
        (not valued and goal != "sum") if fill is None else bool(fill),
        valued,
        None if base_rate is None else float(base_rate),
        moments,
        wait,
        window,
        calendar,
        goal,
    )


def _limit_items(limits: Any) -> list[tuple[Any, Any]]:
    if limits is None:
        return []
    items = list(limits.items()) if isinstance(limits, Mapping) else list(limits)
    for item in items:
        if not isinstance(item, tuple) or len(item) != 2:
            raise ValueError(
                "limits must be a dict {column: bounds}, or a list of ((history, candidates), "
                f"bounds), got an item {item!r}."
            )
    return items


def _limit(
    reader: Reader, given: Any, bounds: Any, cluster: str | None
) -> tuple[tuple[np.ndarray, np.ndarray], Limit]:
    """Read ``{"north": (0, 10), "south": 5}``, or one number for every group.

    Clusters are not known yet: their limit waits, without groups.
    """
    if cluster is not None and isinstance(given, str) and given == cluster:
        if isinstance(bounds, Mapping):
            raise ValueError(
                f"limits: clusters have no names; give one number, as {{{given!r}: 2}}."
            )
        least, most = (np.array([bound]) for bound in _bound(given, "each", bounds))
        none = (np.zeros(reader.sizes[0], dtype=int), np.zeros(reader.sizes[1], dtype=int))
        return none, Limit(given, none[1], [], least, most)
    name = given if isinstance(given, str) else "group"
    if isinstance(given, tuple):
        name = str(getattr(given[0], "name", None) or name)
    history, candidates, labels = reader.codes("limits", given, feature=True)
    least, most = np.zeros(len(labels)), np.full(len(labels), np.inf)
    if isinstance(bounds, Mapping):
        for label, bound in bounds.items():
            found = np.flatnonzero(labels == _text(np.array([label], dtype=object))[0])
            if not len(found):
                listed = ", ".join(repr(str(known)) for known in labels[:8])
                raise ValueError(f"limits: {name} has no group {label!r}; it has {listed}.")
            least[found], most[found] = _bound(name, label, bound)
    else:
        least[:], most[:] = _bound(name, "each", bounds)
    return (history, candidates), Limit(name, candidates, labels.tolist(), least, most)


def _bound(name: str, label: Any, bound: Any) -> tuple[float, float]:
    low, high = bound if isinstance(bound, tuple | list) and len(bound) == 2 else (0, bound)
    low = 0.0 if low is None else low
    high = np.inf if high is None else high
    numbers = all(
        isinstance(end, int | float | np.number) and not isinstance(end, bool)
        for end in (low, high)
    )
    if not numbers or not 0 <= low <= high or low != np.floor(low) or high != np.floor(high):
        raise ValueError(
            f"limits: {name}={label!s} must be at most a whole number of rows, or (least, most) "
            f"with 0 <= least <= most, got {bound!r}."
        )
    return float(low), float(high)


def _allowed(reader: Reader, exclude: Any, one_per: Any) -> np.ndarray:
    """Return which candidates may be taken."""
    allowed = ~_handled(reader, exclude, one_per)
    if not allowed.any():
        raise ValueError("exclude leaves no candidate: there is nothing to choose from.")
    return allowed


def _handled(reader: Reader, exclude: Any, one_per: Any) -> np.ndarray:
    """Return which candidates must not be taken."""
    n = reader.sizes[1]
    if isinstance(exclude, Mapping):
        found = np.zeros(n, dtype=bool)
        for column, handled in exclude.items():
            found |= np.isin(_text(reader.coming("exclude", column)), _text(_listed(handled)))
        return found
    if isinstance(exclude, str):
        return _marks(reader.coming("exclude", exclude))
    if isinstance(exclude, tuple) and len(exclude) == 2 and np.ndim(exclude[1]) == 1:
        return _marks(reader.pair("exclude", exclude)[1])
    handled = _listed([] if exclude is None else exclude)
    if handled.dtype == bool and handled.shape == (n,):
        return handled
    if one_per is not None:
        return np.isin(_text(reader.pair("one_per", one_per)[1]), _text(handled))
    if handled.size == 0:
        return np.zeros(n, dtype=bool)
    rows = handled.dtype.kind in "iu" and handled.ndim == 1
    if not rows or not 0 <= handled.min() <= handled.max() < n:
        raise ValueError(
            "exclude must be row numbers of the candidates, a mask with one entry per candidate, "
            "the name of a column that is true for rows to leave out, {column: values}, or, with "
            f"one_per, its values; got {exclude!r}."[:400]
        )
    found = np.zeros(n, dtype=bool)
    found[handled] = True
    return found


def _listed(values: Any) -> np.ndarray:
    return np.asarray(sorted(values) if isinstance(values, set | frozenset) else values)


def _marks(values: np.ndarray) -> np.ndarray:
    """Return true and false as they are written: booleans, or 0 and 1."""
    known = [isinstance(v, bool | int | float) and v in (0, 1) for v in values.tolist()]
    if not all(known):
        row = known.index(False)
        raise ValueError(
            f"exclude must be true for rows to leave out and false for others, got {values[row]!r} "
            f"in row {row} of the candidates. For other marks pass {{column: values}}."
        )
    return values.astype(bool)


def _check_present(name: str, values: np.ndarray, side: str) -> None:
    """Raise where an entity is missing: rows without one would count as one and the same."""
    missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} is missing in row {int(np.argmax(missing))} of {side}, and "
            f"{int(missing.sum())} rows are like it: every row needs one. Give such rows an id of "
            "their own, or leave them out."
        )


def _is_column(name: Any, frame: Any) -> bool:
    try:
        return name in list(frame.columns)
    except (AttributeError, TypeError, ValueError):
        return False


def _text(values: np.ndarray) -> np.ndarray:
    """Entries as text, so that numbers and words can be compared; whole numbers without a point."""
    return np.array(
        [
            str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
            for value in values.tolist()
        ],
        dtype=str,
    )
