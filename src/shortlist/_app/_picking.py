"""The work of ``shortlist pick``: checks first, without loading anything heavy."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._files import Outputs, spooled
from ._cells import is_blank
from ._labels import finite_numbers, read_labels
from ._lists import OWN, check_ending, first_rows, print_json, write_list
from ._look import column_records
from ._progress import Clock
from ._tables import Table, TableError, check_file, known_encoding, listed
from ._terms import Request

if TYPE_CHECKING:
    from ..picking import Shortlist
    from ._learning import Job


# Rows of the list that the report shows.
_REPORTED = 5_000


def run_pick(request: Request) -> Shortlist:
    """Do what ``shortlist pick`` says; return the shortlist for those who want to say more."""
    clock = Clock()
    with ExitStack() as stack:
        outputs = _check_paths(request)
        table, old = (
            Table(
                stack.enter_context(spooled(path)),
                name or ("standard input" if path == "-" else path),
                request.encoding,
            )
            for path, name in zip((request.candidates, request.history), request.names, strict=True)
        )
        # Counting reads the file to its end: what is malformed is found before the work.
        if not table.n_rows:
            raise TableError(f"{table.name} has a line of names and no rows.")
        _check_columns(table, old, request)
        if request.budget is not None and request.budget > table.n_rows:
            raise TableError(
                f"k={request.budget} is more than the {table.n_rows:,} candidates; choose k of at "
                f"most {table.n_rows}."
            )
        labels = _read_known(old, request)
        clock.done("reading")

        from ._learning import learn

        clock.done("loading")
        stack.enter_context(outputs)
        job = learn(table, old, labels, request, clock)
        write_outputs(job, table, outputs, request)
        if request.as_json:
            job.entries = job.listed.entries(table)
    clock.done("writing")
    if request.as_json:
        print_json(_summary(job, request, clock))
    else:
        # The list itself has standard output when it goes there.
        piped = request.output == "-"
        click.echo(str(job.result), err=piped)
        for path in request.paths:
            if path != "-":
                click.echo(f"Wrote {path}", err=piped)
    return job.result


def _check_paths(request: Request) -> Outputs:
    """Say what is wrong with the names of files, before anything is read."""
    for path, ending in ((request.report, ".html"), (request.save, ".skops")):
        if path is not None and not path.lower().endswith(ending):
            raise TableError(f"{path} must end in {ending}.")
    if request.output is not None:
        check_ending(request.output)
    known_encoding(request.encoding)
    outputs = Outputs(*request.paths, force=request.force)
    for path in (request.candidates, request.history):
        if path != "-":
            check_file(path, path)
    return outputs


def _check_columns(table: Table, old: Table, request: Request) -> None:
    """Say what the two files do not share."""
    group = [] if request.group is None else [request.group]
    option = "--label" if request.outcome is None else "--outcome"
    old.check_columns([request.known], f"named by {option}")
    old.check_columns(request.drop, "named by --drop")
    old.check_columns(group, "named by --group")
    named = [text.rpartition("=")[0] for text in request.types]
    old.check_columns([name for name in named if name], "named by --type")
    table.check_columns(request.ids, "named by --id")
    request.check(table, old, request.ids)
    grouped = request.group is not None or request.one_per is not None
    if request.only_new and (request.time is None or not grouped):
        raise TableError(
            "--only-new is about what was not known before a window: it needs --time, and --group "
            "or --one-per."
        )
    unused = set(request.roles)
    columns = [name for name in old.columns if name not in unused]
    if not columns:
        raise TableError(
            f"{old.name} has no column to learn from besides {listed(sorted(unused), 5)}."
        )
    has = set(table.columns)
    lacking = [name for name in columns if name not in has]
    if lacking:
        known = {*columns, *unused}
        extra = [name for name in table.columns if name not in known]
        new = f" {table.name} has {listed(extra, 5)}, which {old.name} has not." if extra else ""
        remedy = " ".join(f"--drop {name!r}" for name in lacking[:5])
        raise TableError(
            f"the columns differ: {table.name} lacks {listed(lacking, 5)} of {old.name}.{new} "
            "Give both files the same columns, or add "
            f"{remedy}{' ...' if len(lacking) > 5 else ''}."
        )


def _read_known(old: Table, request: Request) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Return which rows have an outcome, what it was, and the label that is looked for."""
    cells = old.cells(request.known)
    if request.outcome is None:
        instead = (
            "For the list with the largest sum or mean of these numbers (a potency, an amount, "
            f"grades) write --outcome {shlex.quote(request.known)} in place of --label."
        )
        return read_labels(cells, request.known, request.positive, old.name, instead=instead)
    present = np.array([not is_blank(cell) for cell in cells], dtype=bool)
    if not present.any():
        raise TableError(f"{old.name}: column {request.known!r} holds no number.")
    return present, finite_numbers(cells, present, request.known, old.name), None


def write_outputs(job: Job, table: Table, outputs: Outputs, request: Request) -> None:
    """Write the list, the report and the model where they will wait for each other."""
    result = job.result
    shown: list[Any] = []
    blocks = first_rows(job.listed.blocks(table), shown, _REPORTED)
    if request.output is not None:
        write_list(outputs[request.output], request.output, blocks, request.safe)
    elif request.report is not None:
        for _ in blocks:
            pass
    if request.report is not None:
        import pandas as pd

        from ..report import write_report

        own = [name for name in shown[0].columns if name in OWN or name.startswith("reason_")]
        rows = pd.concat(shown, ignore_index=True).drop(columns=own)
        new = "new " if job.known.any() else ""
        heading = request.title or (
            f"{result.k:,} of the {result.n_candidates:,} {new}rows of {table.name}"
        )
        write_report(
            result,
            outputs[request.report],
            rows=rows,
            title=heading,
            overwrite=True,
            columns=column_records(job.columns),
            reasons=job.reasons,
            ids=request.ids,
            # Models are fitted again for it: only where time was offered.
            importance=result.importance() if request.effort == "thorough" else None,
        )
    if request.save is not None:
        from ._model_file import save_model

        save_model(job.saved(request), outputs[request.save])


def _summary(job: Job, request: Request, clock: Clock) -> dict[str, Any]:
    result = job.result
    wall, cpu = clock.all()
    return {
        "command": "pick",
        "k": result.k,
        "candidates": result.n_candidates,
        "known_candidates": int(np.sum(job.known)),
        "history": result.n_history,
        "positives": result.n_positive,
        "positive_label": result.positive_label,
        "verdict": result.verdict,
        "winner": result.winner,
        "baseline": result.baseline,
        "goal": result.settings["goal"],
        "expected_hits": None if result.expected_hits is None else vars(result.expected_hits),
        "expected_gain": vars(result.expected_gain),
        "drift": result.drift.to_dict(),
        "guarantee": None if result.guarantee is None else result.guarantee.to_dict(),
        "notes": result.notes,
        "windows": [vars(window) for window in result.windows],
        "comparison": result.comparison.to_frame().to_dict("records"),
        "columns": column_records(job.columns),
        "hints": job.hints,
        "leaks": [vars(leak) for leak in job.leaks],
        "warnings": job.notes,
        "settings": result.settings,
        "seconds": wall,
        "cpu_seconds": cpu,
        "files": {"output": request.output, "report": request.report, "save": request.save},
        "list": job.entries,
    }
