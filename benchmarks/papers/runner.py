"""A table of a paper as cells: run once each, appended to a CSV, turned into a page."""

from __future__ import annotations

import csv
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.store import open_text
from shortlist.certificate import Certificate, Check, Trace

RESULTS = Path(__file__).parents[1] / "results"
FOLDER = "papers"
VERDICTS = Path(__file__).parent / "verdicts"
RUNS = "raw/papers-runs.csv.gz"

# One measurement of a cell: what it is, where on the axis it lies ("" if nowhere), its value.
Record = tuple[str, float | str, float]


@dataclass(frozen=True)
class Settings:
    """How much of a table to run.

    Attributes
    ----------
    sets : tuple of str
        Data sets.
    trials : int
        Random splits.
    folds : int
        Folds (or repeats) of the inner choice of parameters that are run.
    limit : float
        CPU seconds after which a slow reference gives up.
    rows : int
        At most so many training rows of a set.
    quick : bool
        A few candidates instead of the whole grid.
    """

    sets: tuple[str, ...]
    trials: int
    folds: int
    limit: float
    rows: int
    quick: bool = False


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    Attributes
    ----------
    name : str
        Name of the sub-command and of the CSV file.
    title, source : str
        Heading, and the paper it comes from.
    keys : tuple of str
        What tells the cells apart, one column each.
    cells : callable
        Settings to the keys of all cells, in the order they should run.
    run : callable
        Settings and the keys of one cell to its records.
    show : callable
        Finished rows and a folder for plots to Markdown.
    full, quick : Settings
        The paper's settings, and a version for seconds on bundled data.
    """

    name: str
    title: str
    source: str
    keys: tuple[str, ...]
    cells: Callable[[Settings], Iterable[tuple]]
    run: Callable[..., Iterable[Record]]
    show: Callable[[pd.DataFrame, Path], str]
    full: Settings
    quick: Settings

    def path(self, folder: Path) -> Path:
        """File of the finished cells."""
        return folder / "raw" / f"papers-{self.name}.csv.gz"


def run(table: Table, settings: Settings, folder: Path, only: Collection[str] | None = None) -> int:
    """Run the cells that are not in the file yet; return how many those were.

    With `only`, cells that have one of these keys.
    """
    path = table.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    done = finished(table, path)
    cells = [tuple(str(key) for key in cell) for cell in table.cells(settings)]
    cells = [cell for cell in cells if not only or not set(only).isdisjoint(cell)]
    todo = [cell for cell in cells if cell not in done]
    print(f"{table.title}: {len(cells)} cells, {len(cells) - len(todo)} done", flush=True)
    began, ended = time.process_time(), 0
    try:
        for number, cell in enumerate(todo, 1):
            start = time.process_time()
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                records = list(table.run(settings, *cell))
            append(path, (*table.keys, "what", "x", "value"), [(*cell, *r) for r in records])
            ended, spent = number, time.process_time() - start
            print(f"  {number}/{len(todo)}  {' '.join(cell)}  {spent:.1f} s", flush=True)
    finally:
        if ended:
            columns = ("table", "date", "cells", "cpu_seconds", "command")
            total = f"{time.process_time() - began:.0f}"
            row = (table.name, date.today().isoformat(), ended, total, command())
            append(folder / RUNS, columns, [row])
    return len(todo)


def finished(table: Table, path: Path) -> set[tuple[str, ...]]:
    if not path.exists():
        return set()
    with open_text(path, "r") as file:
        return {tuple(row[key] for key in table.keys) for row in csv.DictReader(file)}


def append(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> None:
    """Add the rows of one cell in a single write, so that no cell is ever half there."""
    new = not path.exists()
    lines: list[list[str]] = [list(columns)] if new else []
    lines += [[f"{v:.12g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    text = "".join(",".join(_quoted(v) for v in line) + "\n" for line in lines)
    with open_text(path, "a") as file:
        file.write(text)


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value


def command() -> str:
    return "python -m benchmarks.papers " + shlex.join(sys.argv[1:])


def read(table: Table, folder: Path) -> pd.DataFrame:
    """Return the finished rows of a table, keys as text."""
    frame = pd.read_csv(table.path(folder), dtype=dict.fromkeys(table.keys, str))
    return frame.fillna(dict.fromkeys(table.keys, ""))


def page(table: Table, folder: Path) -> str:
    """Markdown of one table: what was run, the figures, and what to make of them."""
    pages = folder / FOLDER
    pages.mkdir(exist_ok=True)
    runs = pd.read_csv(folder / RUNS)
    runs = runs[runs["table"] == table.name]
    lines = [f"## {table.title}", "", table.source, "", "```"]
    lines += [
        f"{row.date}  {row.command}    # {row.cells} cells, {row.cpu_seconds} CPU s"
        for row in runs.itertuples()
    ]
    lines += ["```", "", table.show(read(table, folder), pages).strip(), ""]
    verdict = VERDICTS / f"{table.name}.md"
    if verdict.exists() and folder == RESULTS:
        lines += [verdict.read_text().strip(), ""]
    return "\n".join(lines)


def markdown(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


@dataclass
class Clock:
    """A callback that notes CPU seconds at every check and stops a fit at a limit.

    A limit in wall-clock time would rob a fit on a busy machine.

    Attributes
    ----------
    limit : float
        CPU seconds allowed.
    enough : callable or None
        A check to whether it is good enough to stop.
    unit : float
        What primal and dual are divided by, before `enough` sees them: papers that state the
        objective in another unit.
    """

    limit: float = float("inf")
    enough: Callable[[Check], bool] | None = None
    unit: float = 1.0
    checks: list[Check] = field(default_factory=list)
    _start: float | None = None

    def start(self) -> Clock:
        """Begin to count: the time until the first check belongs to the fit."""
        self._start = time.process_time()
        return self

    def __call__(self, check: Check) -> bool:
        """Note a check; true means stop."""
        seconds = time.process_time() - (self._start or 0.0)
        noted = Check(seconds, check.iteration, check.primal / self.unit, check.dual / self.unit)
        self.checks.append(noted)
        return seconds > self.limit or (self.enough is not None and self.enough(noted))

    def records(self, most: int = 60) -> Iterator[Record]:
        """Primal and dual at a few checks, evenly spaced on a logarithmic axis."""
        n = len(self.checks)
        kept = {0, n - 1} | {round(n ** (i / (most - 1))) - 1 for i in range(most)}
        for i in sorted(kept):
            check = self.checks[i]
            yield "primal", f"{check.seconds:.6g};{check.iteration}", check.primal
            yield "dual", f"{check.seconds:.6g};{check.iteration}", check.dual


def certificate(rows: pd.DataFrame, tol: float) -> Certificate:
    """Rebuild the certificate of a trace that :meth:`Clock.records` wrote."""
    wide = rows[rows["what"].isin(["primal", "dual"])].pivot_table(
        index="x", columns="what", values="value", sort=False
    )
    checks = []
    for place, row in wide.iterrows():
        seconds, iteration = str(place).split(";")
        checks.append(Check(float(seconds), int(iteration), row["primal"], row["dual"]))
    last = checks[-1]
    return Certificate(last.primal, last.dual, "converged", tol, trace=Trace(tuple(checks)))


def choose(
    score: Callable[[Any], float], grid: Iterable[Any], size: Callable[[Any], float] = abs
) -> Any:
    """Return the candidate of the highest score; of equal ones the most moderate."""
    values = {candidate: score(candidate) for candidate in grid}
    return min(values, key=lambda candidate: (-values[candidate], size(candidate)))


def seconds(fit: Callable[[], Any]) -> float:
    start = time.process_time()
    fit()
    return time.process_time() - start
