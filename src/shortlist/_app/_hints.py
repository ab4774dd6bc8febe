"""What the columns suggest about the job: an order in time, customers that repeat, ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from ._cells import printable
from ._columns import DATE, NUMBER, TEXT, Column, Columns, different

# Rows are in an order of time if this share of neighbours is.
_ORDERED = 0.95
# Values that differ in this share of the rows name them: a file may hold a row twice.
_DIFFER = 0.99
# Values without a blank, to this share, are names of something rather than text.
_TOKENS = 0.95
_FEW = 20
# Columns that are named one by one; digits of a whole number that is rather a name.
_SHOWN, _DIGITS = 5, 12
_NAMES = re.compile(
    r"(^|[^a-z])(id|uid|uuid|guid|key|no|nr|number|code|customer|client|user|account|iban|"
    r"patient|member|person|employee|household|device|merchant|company|supplier|kunde|konto)"
    r"([^a-z]|$)"
)


def find_hints(
    rows: pd.DataFrame,
    typed: pd.DataFrame,
    columns: Columns,
    later: pd.DataFrame | None,
) -> Iterator[str]:
    """Yield hints for the history.

    Parameters
    ----------
    rows, typed : DataFrame
        The history as it was read, and in its kinds.
    columns : Columns
        How it is read.
    later : DataFrame or None
        Candidates in their kinds, if they are in memory.
    """
    if len(rows) < _FEW:
        return
    if not any(column.kind == "time" for column in columns.all):
        yield from _dated(typed, columns, later)
    repeated = [column for column in columns.used if _repeats(rows[column.name], column)]
    for column in repeated[:2]:
        name = _word(column)
        yield (
            f"{name} repeats {column.rows - column.missing - column.distinct:,} times: "
            f"--group {name}, --one-per {name}?"
        )
    naming = [
        column
        for column in columns.used
        if _names_rows(rows[column.name], typed[column.name].to_numpy(), column)
    ]
    for column in naming[:_SHOWN]:
        every = "every" if column.distinct == column.rows else "nearly every"
        yield f"{_word(column)} differs in {every} row, like an id: --id {_word(column)}?"
    if len(naming) > _SHOWN:
        yield f"{len(naming) - _SHOWN:,} more columns differ in every row, like ids."


def _word(column: Column) -> str:
    name = printable(column.name)
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'


def _dated(typed: pd.DataFrame, columns: Columns, later: pd.DataFrame | None) -> Iterator[str]:
    """One hint, for the column that orders the rows best."""
    best, found = 0.0, None
    for column in columns.used:
        if column.kind != DATE or column.absent > 0.05 or column.distinct < _FEW:
            continue
        times = typed[column.name].to_numpy()
        known = times[~np.isnan(times)]
        steps = np.sign(np.diff(known))
        ordered = max(float(np.mean(steps >= 0)), float(np.mean(steps <= 0)))
        if later is not None and len(later):
            new = later[column.name].to_numpy()
            new = new[~np.isnan(new)]
            # Candidates that come after nearly all of the history are the future of it.
            if len(new) and np.quantile(new, 0.05) >= np.quantile(known, 0.95):
                ordered = 1.0
        if ordered >= _ORDERED and ordered > best:
            best, found = ordered, column
    if found is not None:
        yield f"rows are dated: --time {_word(found)}?"


def _repeats(cells: pd.Series, column: Column) -> bool:
    """Whether a column names customers, machines and the like, each on several rows."""
    rows = column.rows - column.missing
    if not _FEW <= column.distinct <= rows / 1.5:
        return False
    if column.kind == NUMBER:
        return bool(_NAMES.search(column.name.lower())) and _whole(cells)
    return column.kind == TEXT and _tokens(cells)


def _tokens(cells: pd.Series) -> bool:
    _, values = different(cells)
    few = values[:1000]
    return sum(not re.search(r"\s", str(value).strip()) for value in few) >= _TOKENS * len(few)


def _whole(cells: pd.Series) -> bool:
    _, values = different(cells)
    return all(re.fullmatch(r"\d+(\.0)?", str(value).strip()) for value in values[:1000])


def _names_rows(cells: pd.Series, typed: np.ndarray, column: Column) -> bool:
    if column.missing or column.distinct < _DIFFER * column.rows:
        return False
    if column.kind == TEXT:
        # R puts the names of rows into a first column without one.
        return column.name in ("column 1", "Unnamed: 0", "...1") or _tokens(cells)
    moments = any("since 1970" in note for note in column.notes)
    if column.kind != NUMBER or moments or not _whole(cells):
        return False
    # Whole numbers that count, in order or without many gaps, or are called or as long as ids.
    spread = float(np.nanmax(typed) - np.nanmin(typed)) + 1.0
    return (
        bool(np.all(np.diff(typed) > 0))
        or spread <= 1.1 * len(typed)
        or bool(_NAMES.search(column.name.lower()))
        or float(np.nanmin(typed)) >= 10.0**_DIGITS
    )
