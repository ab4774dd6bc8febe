"""The work of ``shortlist pick``: checks first, without loading anything heavy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._files import Outputs, spooled
from ._cells import is_blank, printable
from ._judging import finite_numbers
from ._labels import read_labels
from ._lists import OWN, first_rows, print_json, warn
from ._look import SHORT, column_lines, column_records, role_of
from ._tables import Table, TableError, check_file, known_encoding, listed
from ._terms import Said
from ._writing import check_ending, write_list

if TYPE_CHECKING:
    from ..picking import Shortlist
    from ._learning import Job


# Rows of the list that the report shows.
_REPORTED = 5_000


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


class Clock:
    """Seconds of each part of the work, on the wall and of the processor."""

    def __init__(self) -> None:
        self._last = self._first = self._now()
        self._parts: dict[str, np.ndarray] = {}

    @staticmethod
    def _now() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()])

    def done(self, part: str) -> None:
        """Put what has passed down to a part."""
        now = self._now()
        self._parts[part] = self._parts.get(part, 0.0) + now - self._last
        self._last = now

    def all(self) -> tuple[dict[str, float], dict[str, float]]:
        """Every part, and the sum: seconds, and CPU seconds of this process."""
        every = {**self._parts, "total": self._last - self._first}
        wall, cpu = ({name: float(t[side]) for name, t in every.items()} for side in (0, 1))
        return wall, cpu


def run_pick(request: Request) -> Shortlist:
    """Do what ``shortlist pick`` says; return the shortlist for those who want to say more."""
    clock = Clock()
    with ExitStack() as stack:
        outputs = check_paths(request)
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
        check_columns(table, old, request)
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


def _read_known(old: Table, request: Request) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Return which rows have an outcome, what it was, and the label that is looked for."""
    cells = old.cells(request.known)
    if request.outcome is None:
        return read_labels(cells, request.known, request.positive, old.name)
    present = np.array([not is_blank(cell) for cell in cells], dtype=bool)
    if not present.any():
        raise TableError(f"{old.name}: column {request.known!r} holds no number.")
    return present, finite_numbers(cells, present, request.known, old.name), None


def check_paths(request: Request) -> Outputs:
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


def check_columns(table: Table, old: Table, request: Request) -> None:
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


def tell_columns(job: Job, name: str) -> None:
    """Show how the columns were read, and what that suggests."""
    for line in column_lines(job.columns, printable(name, 200), SHORT):
        click.echo(line, err=True)
    for hint in job.hints:
        click.secho(f"Hint: {hint}", fg="cyan", err=True)
    for leak in job.leaks:
        warn(str(leak))


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
        heading = request.title or (
            f"{result.k:,} of the {result.n_candidates:,} rows of {table.name}"
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
