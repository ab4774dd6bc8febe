"""A scored list and its outcomes, from one file or from two."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from .._checks import spelling
from .._files import spooled
from ._cells import is_blank
from ._labels import read_labels
from ._numbers import POINT, look_at_numbers, read_number
from ._tables import Table, TableError, check_file


def read_scored(
    scored: str,
    truth: str | None,
    keys: Sequence[str],
    *,
    label: str,
    positive: str | None,
    score: str,
    encoding: str,
    alone: bool = False,
) -> tuple[np.ndarray, np.ndarray, int, str, list[str]]:
    """Return labels, scores, rows of the list, the positive label, and what was left out.

    Outcomes of rows that are not in the list stand below it: they were not chosen.

    Parameters
    ----------
    scored : str
        The list.
    truth : str or None
        Another file that holds the label.
    keys : sequence of str
        Columns that name a row in both.
    label, positive, score, encoding
        As in the command.
    alone : bool, default=False
        Whether the rows may be of one class.
    """
    for path in (scored, truth):
        if path not in ("-", None):
            check_file(str(path), str(path))
    notes: list[str] = []
    below = np.empty(0, dtype=bool)
    with ExitStack() as stack:
        table = _table(stack, scored, encoding)
        table.check_columns([score], "named by --score")
        cells = table.cells(score)
        if truth is None:
            table.check_columns([label], "named by --label")
            found, name = table.cells(label), table.name
            present, y, chosen = read_labels(found, label, positive, name, alone)
        else:
            known = _table(stack, truth, encoding)
            known.check_columns([label], "named by --label")
            for file in (table, known):
                file.check_columns(keys, "named by --on")
            place = _places(table, known, keys)
            every = known.cells(label)
            # All outcomes say which labels there are; the list may hold one of them only.
            outcome, hit, chosen = read_labels(every, label, positive, known.name, alone)
            hits = np.zeros(len(every), dtype=bool)
            hits[np.flatnonzero(outcome)] = hit
            met = place >= 0
            present = met & outcome[place]
            y = hits[place[present]]
            outcome[place[met]] = False
            below = hits[outcome]
            if not met.all():
                notes.append(
                    f"{(~met).sum():,} rows of {table.name} are not in {known.name} and are left "
                    "out."
                )
            if not met.any():
                raise TableError(
                    f"no row of {table.name} is in {known.name}: compare their columns "
                    f"{', '.join(map(repr, keys))}."
                )
            if (met & ~present).any():
                notes.append(f"{(met & ~present).sum():,} rows without a label are left out.")
            if len(below):
                notes.append(
                    f"{len(below):,} rows of {known.name} are not in {table.name} and count as not "
                    "chosen."
                )
    if truth is None and not present.all():
        notes.append(f"{(~present).sum():,} rows without a label are left out.")
    scores = finite_numbers(cells, present, score, table.name)
    lowest = np.full(len(below), scores.min(initial=0.0) - 1.0)
    return np.append(y, below), np.append(scores, lowest), len(y), chosen, notes


def _table(stack: ExitStack, path: str, encoding: str) -> Table:
    copy = stack.enter_context(spooled(path))
    return Table(copy, "standard input" if path == "-" else path, encoding)


def _places(table: Table, known: Table, keys: Sequence[str]) -> np.ndarray:
    """Row of the outcome for each row of the list, -1 where there is none."""
    where: dict[tuple[str | None, ...], int] = {}
    for row, key in enumerate(_keys(known, keys)):
        if None in key:
            continue
        if key in where:
            raise TableError(
                f"{known.name} has more than one row with {', '.join(map(repr, keys))} = "
                f"{', '.join(map(str, key))}; one outcome for each is needed. Name more columns "
                "with --on, or keep one row of each."
            )
        where[key] = row
    return np.array([where.get(key, -1) for key in _keys(table, keys)], dtype=np.int64)


def _keys(table: Table, keys: Sequence[str]) -> list[tuple[str | None, ...]]:
    columns = [
        [None if is_blank(cell) else spelling(cell) for cell in table.cells(key)] for key in keys
    ]
    return list(zip(*columns, strict=True))


def finite_numbers(cells: list[object], present: np.ndarray, score: str, name: str) -> np.ndarray:
    """Finite numbers, or the first row that holds none."""
    rows = np.flatnonzero(present)
    different = list({cells[row] for row in rows})
    decimal = look_at_numbers(different, [1] * len(different)).decimal if different else POINT
    read = {cell: read_number(cell, decimal) for cell in different}
    numbers = np.array(
        [np.nan if read[cells[row]] is None else read[cells[row]] for row in rows],
        dtype=np.float64,
    )
    wrong = np.isnan(numbers)
    if wrong.any():
        row = int(rows[np.argmax(wrong)])
        raise TableError(
            f"{name}: column {score!r} holds {cells[row]!r} in row {row} (counted from 0), which "
            f"is no finite number; {int(wrong.sum()):,} rows are like that. Correct them or leave "
            "them out."
        )
    return numbers
