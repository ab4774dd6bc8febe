"""What ``shortlist pick`` is told: its options, and the terms of the list that they make.

:class:`Request` holds the options as they were written, :class:`Said` those about the list:
values, limits, entities, rows already handled. :func:`read_terms` turns these into the
arguments of :func:`shortlist.pick`, in the numbers and spellings of both files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import spelling
from ._cells import is_blank
from ._look import role_of
from ._tables import Table, TableError, check_file, listed

if TYPE_CHECKING:
    import pandas as pd

CLUSTER = "cluster"


@dataclass(frozen=True, kw_only=True)
class Said:
    """Options of ``shortlist pick`` that say what the list is for.

    Attributes
    ----------
    value, cost : str or None
        A column or a number.
    one_per, time, delay : str or None
        As in :func:`shortlist.pick`.
    at_most, at_least : sequence of str
        ``COLUMN:VALUE=NUMBER``.
    at_most_each : sequence of str
        ``COLUMN=NUMBER``.
    clusters : int or None
        Clusters of look-alikes, which limits call "cluster".
    exclude : str or None
        A file of rows that were handled.
    base_rate : float or None
        Share of positives among the candidates.
    fill, only_new : bool
        As in :func:`shortlist.pick`.
    """

    value: str | None = None
    cost: str | None = None
    one_per: str | None = None
    time: str | None = None
    delay: str | None = None
    at_most: Sequence[str] = ()
    at_least: Sequence[str] = ()
    at_most_each: Sequence[str] = ()
    clusters: int | None = None
    exclude: str | None = None
    base_rate: float | None = None
    fill: bool = False
    only_new: bool = False

    @property
    def numbers(self) -> dict[str, str]:
        """Columns named by ``--value`` and ``--cost``."""
        named = {"value": self.value, "cost": self.cost}
        return {
            option: given
            for option, given in named.items()
            if given is not None and _number(given) is None
        }

    def columns(self, has: Sequence[str]) -> list[str]:
        """Columns that both files need, besides those that models learn from."""
        limited = [column for column, *_ in self.limits(has)]
        named = [*self.numbers.values(), self.one_per, self.time, *limited]
        return list(dict.fromkeys(name for name in named if name not in (None, CLUSTER)))

    def limits(self, has: Sequence[str]) -> list[tuple[str, str | None, int | None, int | None]]:
        """Column, value, least and most of every limit."""
        found: list[tuple[str, str | None, int | None, int | None]] = []
        known = [*has, CLUSTER] if self.clusters is not None else list(has)
        for option, texts in (("--at-most", self.at_most), ("--at-least", self.at_least)):
            for text in texts:
                name, number = _count(option, text, "COLUMN:VALUE=NUMBER")
                column, value = _group(option, name, known)
                bounds = (None, number) if option == "--at-most" else (number, None)
                found.append((column, value, *bounds))
        for text in self.at_most_each:
            name, number = _count("--at-most-each", text, "COLUMN=NUMBER")
            _known("--at-most-each", name, known)
            found.append((name, None, None, number))
        return found

    def check(self, table: Table, old: Table, ids: Sequence[str]) -> None:
        """Say what does not fit, before anything is read."""
        for option, name in (("--one-per", self.one_per), ("--time", self.time)):
            for file in (old, table):
                file.check_columns([] if name is None else [name], f"named by {option}")
        for option, name in self.numbers.items():
            for file in (old, table):
                file.check_columns([name], f"named by --{option}")
        for column in self.columns(old.columns):
            table.check_columns([column], "named by a limit")
        if self.delay is not None and self.time is None:
            raise TableError("--delay says how long labels take, and needs --time.")
        if self.clusters is not None and not any(
            column == CLUSTER for column, *_ in self.limits(old.columns)
        ):
            raise TableError(
                f"--clusters {self.clusters} limits nothing by itself: add --at-most-each "
                f"{CLUSTER}=2, or so."
            )
        if self.exclude is not None:
            check_file(self.exclude, self.exclude)
            if self.one_per is None and not ids:
                raise TableError(
                    "--exclude needs to know which column names a row: add --id or --one-per."
                )


@dataclass(frozen=True, kw_only=True)
class Request(Said):
    """What ``shortlist pick`` was asked to do; the names are those of its options."""

    candidates: str
    history: str
    label: str | None = None
    outcome: str | None = None
    goal: str = "sum"
    budget: int | float | None = None
    precision: float | None = None
    confidence: float | None = None
    positive: str | None = None
    output: str | None = None
    report: str | None = None
    save: str | None = None
    ids: Sequence[str] = ()
    drop: Sequence[str] = ()
    types: Sequence[str] = ()
    group: str | None = None
    keep_known: bool = False
    effort: str = "normal"
    reasons: int = 3
    encoding: str = "utf-8"
    seed: int = 0
    jobs: int = 1
    force: bool = False
    safe: bool = False
    as_json: bool = False
    title: str | None = None
    # What messages call the two files, where that is not their path.
    names: tuple[str | None, str | None] = (None, None)

    @property
    def roles(self) -> dict[str, str]:
        """Columns that models do not learn from, and what they are."""
        roles = role_of(self.label, self.ids, self.drop, self.group)
        if self.outcome is not None:
            roles[self.outcome] = "outcome"
        named = {"one per": self.one_per, "time": self.time}
        return {name: role for role, name in named.items() if name is not None} | roles

    @property
    def known(self) -> str:
        """The column that says how rows of the history turned out."""
        name = self.label if self.outcome is None else self.outcome
        assert name is not None
        return name

    @property
    def paths(self) -> list[str]:
        """Outputs in the order in which they appear: the list last."""
        return [path for path in (self.report, self.save, self.output) if path is not None]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _count(option: str, text: str, shape: str) -> tuple[str, int]:
    name, equals, number = text.rpartition("=")
    if not equals or not name or not number.strip().isdecimal():
        raise TableError(
            f"{option} {text}: write {shape}, with a whole number of rows, at least 0."
        )
    return name, int(number)


def _group(option: str, name: str, known: Sequence[str]) -> tuple[str, str]:
    """Split ``region:north``; names of columns may hold colons themselves."""
    for place in (i for i, letter in enumerate(name) if letter == ":"):
        if name[:place] in known:
            return name[:place], name[place + 1 :]
    if ":" not in name:
        raise TableError(f"{option} {name}: name the group as well, COLUMN:VALUE=NUMBER.")
    _known(option, name.partition(":")[0], known)
    raise AssertionError


def _known(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise TableError(f"{option}: there is no column {name!r}; there are {listed(known, 8)}.")


def read_terms(
    said: Said,
    rows: pd.DataFrame,
    coming: pd.DataFrame,
    names: tuple[str, str],
    types: Sequence[str],
    encoding: str,
    ids: Sequence[str],
) -> dict[str, Any]:
    """Return the arguments of :func:`shortlist.pick`.

    Parameters
    ----------
    said : Said
        The options.
    rows, coming : DataFrame
        Cells of the history, and of the candidates.
    names : tuple of str
        What messages call the two files.
    types : sequence of str
        ``--type`` options, which say how a column is read.
    encoding : str
        Of the excluded file.
    ids : sequence of str
        Columns that name rows.
    """
    both = (rows, coming)
    terms: dict[str, Any] = {
        option: _numbers(f"--{option}", given, both, names, types)
        for option, given in said.numbers.items()
    }
    for option in ("value", "cost"):
        given = getattr(said, option)
        if given is not None and option not in terms:
            terms[option] = _number(given)
    if said.one_per is not None:
        for side, file in zip(both, names, strict=True):
            _check_present("--one-per", said.one_per, side, file)
        terms["one_per"] = tuple(_spelled(side[said.one_per]) for side in both)
    if said.time is not None:
        terms["time"] = _times(said.time, both, names, types)
        terms["delay"] = said.delay
        terms["only_new"] = said.only_new
    if said.clusters is not None:
        terms["clusters"] = said.clusters
    limits = _limits(said, both, names)
    if limits:
        terms["limits"] = limits
    if said.exclude is not None:
        terms["exclude"] = _handled(said, coming, encoding, ids, names[1])
    if said.base_rate is not None:
        terms["base_rate"] = said.base_rate
    if said.fill:
        terms["fill"] = True
    return terms


def read_numbers(
    option: str, name: str, rows: pd.DataFrame, file: str, types: Sequence[str]
) -> np.ndarray:
    """Return a column of numbers, which may miss some."""
    from ._columns import NUMBER
    from ._deciding import parse_types, read_columns

    wanted = parse_types([t for t in types if t.rpartition("=")[0] == name], [name])
    (column,) = read_columns(rows[[name]], wanted or {name: "number"})[0].all
    numbers = column.read(rows[name])
    if column.kind != NUMBER or not len(numbers) or np.isnan(numbers).all():
        raise TableError(f"{option} {name}: {file} holds no numbers there, as {column.example!r}.")
    return np.asarray(numbers, dtype=np.float64)


def _numbers(
    option: str,
    name: str,
    both: tuple[pd.DataFrame, pd.DataFrame],
    files: tuple[str, str],
    types: Sequence[str],
) -> tuple[np.ndarray, ...]:
    found = []
    for rows, file in zip(both, files, strict=True):
        numbers = read_numbers(option, name, rows, file, types)
        gap = np.isnan(numbers)
        if gap.any():
            row = int(np.argmax(gap))
            raise TableError(
                f"{option} {name}: {file} has no number in row {row} (counted from 0: "
                f"{rows[name].iloc[row]!r}), and {int(gap.sum()):,} rows are like it. Every row "
                "needs one: fill them in or leave the rows out."
            )
        found.append(numbers)
    return tuple(found)


def _times(
    name: str,
    both: tuple[pd.DataFrame, pd.DataFrame],
    files: tuple[str, str],
    types: Sequence[str],
) -> tuple[np.ndarray, ...]:
    from ._columns import DATE
    from ._deciding import parse_types, read_columns

    wanted = parse_types([t for t in types if t.rpartition("=")[0] == name], [name])
    (column,) = read_columns(both[0][[name]], wanted or {name: "date"})[0].all
    if not wanted and np.isnan(column.read(both[0][name])).all():
        # Days or steps that are counted are times, too.
        try:
            return _numbers("--time", name, both, files, types)
        except TableError:
            pass
    found = []
    for rows, file in zip(both, files, strict=True):
        times = column.read(rows[name]) if column.kind == DATE else np.full(len(rows), np.nan)
        gap = np.isnan(times)
        if gap.any():
            row = int(np.argmax(gap))
            raise TableError(
                f"--time {name}: {file} holds {rows[name].iloc[row]!r} in row {row} (counted from "
                "0), which is no date. Every row needs one; --type says how dates are written, as "
                f"in --type {name}=day-first."
            )
        found.append(times.astype(np.int64).astype("datetime64[s]"))
    return tuple(found)


def _limits(
    said: Said, both: tuple[pd.DataFrame, pd.DataFrame], files: tuple[str, str]
) -> list[tuple[Any, Any]]:
    """Return limits as :func:`shortlist.pick` takes them: one item a column."""
    asked: dict[str, dict[str | None, list[int | None]]] = {}
    for column, value, least, most in said.limits(list(both[0].columns)):
        group = None if value is None else spelling(value)
        bounds = asked.setdefault(column, {}).setdefault(group, [None, None])
        for place, bound in enumerate((least, most)):
            if bound is not None and bounds[place] is not None:
                name = column if group is None else f"{column}:{group}"
                raise TableError(
                    f"{name} has two limits of one kind, {bounds[place]} and {bound}; give one."
                )
            bounds[place] = bounds[place] if bound is None else bound
    items: list[tuple[Any, Any]] = []
    for column, by_group in asked.items():
        pair: Any = CLUSTER
        if column != CLUSTER:
            # Messages call the group by the name of the series.
            pair = tuple(side[column].map(spelling) for side in both)
            there = set(pair[0]) | set(pair[1])
            for group in by_group:
                if group is not None and group not in there:
                    raise TableError(
                        f"{column} has no value {group!r} in {files[0]} or {files[1]}; it has "
                        f"{listed(sorted(there), 8)}."
                    )
        each = by_group.pop(None, [None, None])[1]
        if by_group and column != CLUSTER:
            items.append((pair, _by_group(column, by_group, each, there)))
        else:
            items.append((pair, by_group or each))
    return items


def _by_group(
    column: str, named: dict[str | None, list[int | None]], each: int | None, there: set[str]
) -> dict[str, tuple[int | None, int | None]]:
    """Return least and most of every group that has a bound of its own, or that all have."""
    found = {}
    for group in sorted(there if each is not None else {str(name) for name in named}):
        least, most = named.get(group, [None, None])
        if each is not None:
            most = each if most is None else min(most, each)
        if least is not None and most is not None and least > most:
            raise TableError(
                f"The list must hold at least {least} of {column}={group}, and at most {most}: "
                "that contradicts."
            )
        found[group] = (least, most)
    return found


def _handled(
    said: Said, coming: pd.DataFrame, encoding: str, ids: Sequence[str], file: str
) -> np.ndarray:
    """Return which candidates are in the file of rows that were handled."""
    assert said.exclude is not None
    table = Table(said.exclude, said.exclude, encoding)
    keys = [name for name in (said.one_per, *ids) if name is not None and name in table.columns]
    if not keys:
        wanted = [name for name in (said.one_per, *ids) if name is not None]
        raise TableError(
            f"--exclude {said.exclude} has none of the columns {listed(wanted, 5)} that name a row."
        )
    key = keys[0]
    handled = {spelling(cell) for cell in table.cells(key) if not is_blank(cell)}
    found = np.isin(_spelled(coming[key]), np.array(sorted(handled), dtype=object))
    if found.all():
        raise TableError(f"--exclude {said.exclude} names every row of {file}: nothing is left.")
    return np.asarray(found)


def _check_present(option: str, name: str, rows: pd.DataFrame, file: str) -> None:
    gap = np.array([is_blank(cell) for cell in rows[name]], dtype=bool)
    if gap.any():
        raise TableError(
            f"{option} {name}: {file} has no value in row {int(np.argmax(gap))} (counted from 0), "
            f"and {int(gap.sum()):,} rows are like it. Give them a value of their own, or leave "
            "them out."
        )


def _spelled(cells: pd.Series) -> np.ndarray:
    return np.asarray(cells.map(spelling).to_numpy(), dtype=object)
