"""The work of ``shortlist evaluate``: a scored list and its outcomes, from one file or from two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import click
import numpy as np

from .._checks import spelling
from .._files import spooled
from ._cells import is_blank
from ._labels import finite_numbers, read_labels
from ._lists import print_json, warn
from ._tables import Table, TableError, check_file


def run_evaluate(
    scored: str,
    *,
    label: str,
    positive: str | None,
    score: str,
    budget: int | float | None,
    truth: str | None,
    keys: Sequence[str],
    against: str | None,
    log: str | None,
    encoding: str,
    as_json: bool,
) -> None:
    """Do what ``shortlist evaluate`` says."""
    saved = None
    if against is not None:
        from ._keeping import load_promise

        saved = load_promise(against)
        positive = saved.positive if positive is None else positive
    y, scores, listed, chosen, notes = read_scored(
        scored,
        truth,
        keys,
        label=label,
        positive=positive,
        score=score,
        encoding=encoding,
        # Which label is looked for is known: a list may be all hits, or none.
        alone=saved is not None,
    )
    from ..metrics import interval
    from ..picking.race.history import check_budget

    for note in notes:
        warn(note)
    k = check_budget(listed if budget is None else budget, listed)
    found = {
        name: interval(name, y, scores, method="wilson", **params)
        for name, params in (
            ("precision_at_k", {"k": k}),
            ("recall_at_k", {"k": k}),
            ("positives_at_top", {}),
        )
        if name == "precision_at_k" or 0 < y.sum() < len(y)
    }
    figures: dict[str, dict[str, Any]] = {
        name: {"estimate": value.estimate, "low": value.low, "high": value.high}
        for name, value in found.items()
    }
    precision = figures["precision_at_k"]
    hits = {key: value * k for key, value in precision.items()}
    kept: dict[str, Any] = {}
    said: list[str] = []
    if against is not None and saved is not None:
        from ._keeping import keep_promise

        found_hits = hits["estimate"]
        kept, said = keep_promise(scored, against, saved, log, found_hits, k, listed, label, chosen)
    if as_json:
        print_json(
            {
                "command": "evaluate",
                "k": k,
                "rows": len(y),
                "positives": int(y.sum()),
                "positive_label": chosen,
                "confidence": found["precision_at_k"].confidence,
                "warnings": notes,
                "hits": hits,
                **figures,
                **kept,
            }
        )
        return
    click.echo(f"{len(y):,} rows, {int(y.sum()):,} labelled {chosen!r}; list of {k:,}")
    lines: list[tuple[str, dict[str, Any], str | None]] = [
        (f"hits in the first {k:,}", hits, None),
        ("precision", precision, "{:.1f} %"),
        (f"recall, of all {chosen!r}", figures.get("recall_at_k", {}), "{:.1f} %"),
        ("above every other row", figures.get("positives_at_top", {}), "{:.1f} %"),
    ]
    lines = [line for line in lines if line[1]]
    width = max(len(name) for name, _, _ in lines)
    for name, value, style in lines:
        estimate, low, high = (
            _count(value[key], key) if style is None else style.format(100 * value[key])
            for key in ("estimate", "low", "high")
        )
        click.echo(f"  {name:<{width}}  {estimate:>7}   95 % interval {low} to {high}")
    for line in said:
        click.echo(line)


def _count(hits: float, key: str) -> str:
    """Hits: whole where they are whole, one decimal where ties share them; ends rounded out."""
    ends = {"low": math.floor, "high": math.ceil}
    whole = ends.get(key, round)(round(hits, 9))
    return f"{whole:,}" if key in ends or abs(hits - whole) < 1e-9 else f"{hits:,.1f}"


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
