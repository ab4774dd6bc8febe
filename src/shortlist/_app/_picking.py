"""The work of ``shortlist pick``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
import pandas as pd

from .._files import Outputs, spooled
from ..picking import job as picking
from ..picking.history import check_budget
from ._columns import ColumnTypes, MissingCount, make_features, read_types
from ._labels import Leak, find_leaks, read_labels
from ._lists import entries, first_rows, list_blocks, print_json, warn
from ._model_file import SavedModel, save_model
from ._tables import Table, TableError, check_ending, write_list

# Candidates above this number of cells are read in blocks.
_CELLS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Past:
    """The history, ready to learn from.

    Attributes
    ----------
    rows : DataFrame
        Typed columns of the labelled rows.
    y : ndarray of bool
        True for the label that is looked for.
    types : ColumnTypes
        Types of the columns.
    positive : str
        The label that is looked for.
    groups : ndarray or None
        Group of each row.
    leaks : list of Leak
        Columns that seem to know the label.
    """

    rows: pd.DataFrame
    y: np.ndarray
    types: ColumnTypes
    positive: str
    groups: np.ndarray | None
    leaks: list[Leak]


def run_pick(
    candidates: str,
    history: str,
    *,
    label: str,
    positive: str | None = None,
    budget: int | float,
    output: str | None = None,
    report: str | None = None,
    save: str | None = None,
    ids: Sequence[str] = (),
    drop: Sequence[str] = (),
    group: str | None = None,
    encoding: str = "utf-8",
    seed: int = 0,
    jobs: int = 1,
    force: bool = False,
    as_json: bool = False,
    title: str | None = None,
) -> picking.Shortlist:
    """Do what ``shortlist pick`` says; return the shortlist for those who want to say more."""
    if output is None and not as_json:
        output = "-"
    for path, ending in ((report, ".html"), (save, ".skops")):
        if path is not None and not path.lower().endswith(ending):
            raise TableError(f"{path} must end in {ending}.")
    if output is not None:
        check_ending(output)
    paths = [path for path in (output, report, save) if path is not None]
    with ExitStack() as stack:
        outputs = Outputs(*paths, force=force)
        table, old = (
            Table(
                stack.enter_context(spooled(path)),
                "standard input" if path == "-" else path,
                encoding,
            )
            for path in (candidates, history)
        )
        # Counting reads the file to its end: what is malformed is found before the work.
        if not table.n_rows:
            raise TableError(f"{table.name} has a line of names and no rows.")
        past_columns = _check_columns(table, old, label, [*ids], [*drop], group)
        check_budget(budget, table.n_rows)
        past = read_past(old, past_columns, label, positive, group)
        for leak in past.leaks:
            warn(str(leak))
        stack.enter_context(outputs)
        missing = MissingCount(past.types)
        result, notes = _pick(table, past, budget, seed, jobs, missing)
        notes += missing.warnings()
        for note in notes:
            warn(note)
        _write(result, table, past, outputs, output, report, save, label, ids, title)
        if as_json:
            listed = entries(table, result.selected, result.scores, ids)
    if as_json:
        print_json(
            _summary(
                result, past, notes, listed, {"output": output, "report": report, "save": save}
            )
        )
    else:
        # The list itself has standard output when it goes there.
        click.echo(str(result), err=output == "-")
        for path in paths:
            if path != "-":
                click.echo(f"Wrote {path}", err=output == "-")
    return result


def _check_columns(
    table: Table,
    old: Table,
    label: str,
    ids: list[str],
    drop: list[str],
    group: str | None,
) -> list[str]:
    """Return the columns to learn from, or say what the two files do not share."""
    old.check_columns([label], "named by --label")
    old.check_columns(drop, "named by --drop")
    old.check_columns([] if group is None else [group], "named by --group")
    table.check_columns(ids, "named by --id")
    unused = {label, *ids, *drop, group}
    columns = [name for name in old.columns if name not in unused]
    if not columns:
        besides = _quoted(sorted(filter(None, unused)))
        raise TableError(f"{old.name} has no column to learn from besides {besides}.")
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        known = {*columns, *unused}
        extra = [name for name in table.columns if name not in known]
        new = f" {table.name} has {_quoted(extra)}, which {old.name} has not." if extra else ""
        remedy = " ".join(f"--drop {name!r}" for name in lacking[:5])
        raise TableError(
            f"the columns differ: {table.name} lacks {_quoted(lacking)} of {old.name}.{new} "
            "Give both files the same columns, or add "
            f"{remedy}{' ...' if len(lacking) > 5 else ''}."
        )
    return columns


def _quoted(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def read_past(
    old: Table, columns: list[str], label: str, positive: str | None, group: str | None
) -> Past:
    """Read the history: labels, types of the columns, columns that know too much."""
    rows = old.read()
    if not len(rows):
        raise TableError(f"{old.name} has a line of names and no rows.")
    present, y, chosen = read_labels(rows[label], positive, old.name)
    if not present.all():
        warn(f"{(~present).sum():,} rows of {old.name} without a label are left out.")
        rows = rows[present].reset_index(drop=True)
    types, typed = read_types(rows[columns])
    if types.empty:
        warn(f"{_quoted(types.empty)} of {old.name} hold no value and are not used.")
    if not types.used:
        raise TableError(f"{old.name} has no column with values besides the label.")
    leaks = list(find_leaks(rows, typed, types, rows[label], y))
    groups = None if group is None else rows[group].astype(str).to_numpy()
    return Past(typed, y, types, chosen, groups, leaks)


def _pick(
    table: Table, past: Past, budget: int | float, seed: int, jobs: int, missing: MissingCount
) -> tuple[picking.Shortlist, list[str]]:
    def blocks() -> Iterator[pd.DataFrame]:
        for block in table.blocks():
            yield missing.add(past.types.apply(block))

    at_once = table.n_rows * len(table.columns) <= _CELLS_AT_ONCE
    with progress_bar() as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = picking.pick(
            past.rows,
            past.y,
            pd.concat(list(blocks()), ignore_index=True) if at_once else blocks,
            budget,
            features=make_features(past.types, past.rows),
            groups=past.groups,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
    told = (str(w.message) for w in caught if w.category is UserWarning)
    return replace(result, positive_label=past.positive), list(dict.fromkeys(told))


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a callback that draws a bar on standard error, or None where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Comparing models", total=None)

        def show(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total, description=message)

        yield show


def _write(
    result: picking.Shortlist,
    table: Table,
    past: Past,
    outputs: Outputs,
    output: str | None,
    report: str | None,
    save: str | None,
    label: str,
    ids: Sequence[str],
    title: str | None,
) -> None:
    shown: list[pd.DataFrame] = []
    blocks = first_rows(list_blocks(table, result.selected, result.scores, ids), shown)
    if output is not None:
        write_list(outputs[output], blocks)
    elif report is not None:
        next(blocks)
    if report is not None:
        own = ["rank", "row", "score"]
        heading = title or f"{result.k:,} of the {result.n_candidates:,} rows of {table.name}"
        result.report(
            outputs[report], rows=shown[0].drop(columns=own), title=heading, overwrite=True
        )
    if save is not None:
        model = SavedModel(
            result.model, past.types, label, past.positive, list(ids), result.winner,
            dict(result.settings["versions"]),
        )  # fmt: skip
        save_model(model, outputs[save])


def _summary(
    result: picking.Shortlist,
    past: Past,
    notes: list[str],
    listed: list[dict[str, Any]],
    files: dict[str, str | None],
) -> dict[str, Any]:
    expected = result.expected_hits
    return {
        "command": "pick",
        "k": result.k,
        "candidates": result.n_candidates,
        "history": result.n_history,
        "positives": result.n_positive,
        "positive_label": past.positive,
        "verdict": result.verdict,
        "winner": result.winner,
        "baseline": result.baseline,
        "expected_hits": {
            name: getattr(expected, name) for name in ("value", "low", "high", "confidence")
        },
        "comparison": result.comparison.to_frame().to_dict("records"),
        "leaks": [vars(leak) for leak in past.leaks],
        "warnings": notes,
        "settings": result.settings,
        "files": files,
        "list": listed,
    }
