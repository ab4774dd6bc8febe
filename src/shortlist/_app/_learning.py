"""The heavy part of ``shortlist pick``: reading cells, making features, comparing models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pandas as pd
from sklearn.preprocessing import FunctionTransformer

from .. import picking
from ..picking.drift.drift import drawn_rows
from ..picking.forecast.promise import promises_of
from ..picking.reasons.reasons import Reasons, find_reasons
from ..picking.reasons.subject import Shown, Subject
from ._cells import printable
from ._columns import ABSENT, DATE, Columns, StrangeCount
from ._copies import Copies
from ._deciding import parse_types, read_columns
from ._features import Features
from ._hints import find_hints
from ._labels import Leak, find_leaks
from ._lists import Listed, warn
from ._look import SHORT, column_lines
from ._progress import Clock, progress
from ._tables import Table, TableError, listed
from ._terms import Request, read_terms

if TYPE_CHECKING:
    from ._model_file import SavedModel

# Candidates above this number of cells are read in blocks.
_CELLS_AT_ONCE = 1_000_000
# Rows of the list that get reasons: each costs some hundred mixed rows to score.
_EXPLAINED = 500


@dataclass
class Job:
    """What is known after the work.

    Attributes
    ----------
    columns : Columns
        How the columns are read.
    features : Features
        What is made of them.
    known : ndarray of bool
        Candidates that are in the history.
    hints, notes : list of str
        What the columns suggest, and what went less well.
    leaks : list of Leak
        Columns that seem to know the label.
    result : Shortlist
        The list, with row numbers of the candidates file.
    reasons : Reasons or None
        Why its rows are on it; the first of them, where it is long.
    listed : Listed
        The list, as it is written.
    entries : list of dict
        The list for programs, where it is asked for.
    """

    columns: Columns
    features: Features
    known: np.ndarray
    hints: list[str]
    notes: list[str]
    leaks: list[Leak]
    result: picking.Shortlist = field(init=False)
    reasons: Reasons | None = field(init=False, default=None)
    listed: Listed = field(init=False)
    entries: list[dict[str, Any]] = field(init=False, default_factory=list)

    def saved(self, request: Request) -> SavedModel:
        """Return what a model file holds."""
        from ._model_file import SavedModel

        return SavedModel(
            self.result.model,
            self.columns,
            self.features,
            request.known,
            str(self.result.positive_label or request.goal),
            list(request.ids),
            self.result.winner,
            dict(self.result.settings["versions"]),
            None if self.result.expected_hits is None else promises_of(self.result),
        )


def learn(
    table: Table,
    old: Table,
    labels: tuple[np.ndarray, np.ndarray, str | None],
    request: Request,
    clock: Clock,
) -> Job:
    """Read both files, tell how, compare models and choose."""
    present, y, positive = labels
    rows = old.read()
    notes = [*old.notes, *table.notes]
    if not present.all():
        notes.append(f"{(~present).sum():,} rows of {old.name} without a label are left out.")
        rows = rows[present].reset_index(drop=True)
    clock.done("reading")
    roles = request.roles
    columns, typed = read_columns(
        rows, parse_types(request.types, rows.columns), roles, old.decimal
    )
    if not columns.names:
        raise TableError(
            f"{old.name} has no column with different values besides {listed(sorted(roles), 5)}."
        )
    shared = [name for name in roles if name in set(table.columns) & set(old.columns)]
    shared = [name for name in shared if name != request.known]
    identified = any(name in request.ids for name in shared)
    copies = Copies(columns, shared, identified)
    marks = copies.marks(rows, typed)
    repeated = _repeated(marks, y, identified)
    copies.learn(marks)
    if repeated.any():
        kept = ~repeated
        rows, typed, y = rows[kept], typed[kept].reset_index(drop=True), y[kept]
        rows = rows.reset_index(drop=True)
        notes.append(
            f"{repeated.sum():,} rows of {old.name} repeat another row, id and label included: "
            "each counts once."
        )
    elif copies.repeated:
        notes.append(
            f"{copies.repeated:,} rows of {old.name} repeat another row in every column: if they "
            "are the same case, keep one of each, or the forecast is too good."
        )
    clock.done("columns")
    extra = request.columns(old.columns)
    if request.exclude is not None:
        extra = list(dict.fromkeys([*extra, *request.ids]))
    pool = _FileCandidates(table, columns, copies, extra, keep_known=request.keep_known)
    notes += pool.notes(old.name)
    pool.check_budget(request.budget)
    clock.done("reading")
    job = Job(
        columns,
        Features(columns, typed),
        pool.known,
        list(find_hints(rows, typed, columns, pool.typed)),
        notes,
        list(find_leaks(rows, typed, columns, rows[request.known], _told_apart(y))),
    )
    _tell_columns(job, old.name)
    for note in job.notes:
        warn(note)
    clock.done("features")
    terms = read_terms(
        request,
        rows,
        pool.extra,
        (old.name, table.name),
        request.types,
        request.encoding,
        request.ids,
    )
    if request.group is not None:
        terms["groups"] = rows[request.group].astype(str).to_numpy()
    if request.outcome is not None:
        terms["goal"] = request.goal
    if request.precision is not None:
        terms["precision"] = request.precision
        if request.confidence is not None:
            terms |= {"guarantee": "high_probability", "confidence": request.confidence}
    _choose(job, typed, y, terms, pool, request)
    job.result = replace(job.result, positive_label=positive)
    clock.done("models")
    if request.reasons and len(job.result.selected):
        job.reasons = _reasons(job)
    clock.done("reasons")
    result = job.result
    job.listed = Listed(
        result.selected,
        result.scores[result.selected],
        None if result.probability is None else result.probability[result.selected],
        [] if job.reasons is None else job.reasons.texts(request.reasons),
        request.ids,
    )
    return job


def _tell_columns(job: Job, name: str) -> None:
    """Show how the columns were read, and what that suggests."""
    for line in column_lines(job.columns, printable(name, 200), SHORT):
        click.echo(line, err=True)
    for hint in job.hints:
        click.secho(f"Hint: {hint}", fg="cyan", err=True)
    for leak in job.leaks:
        warn(str(leak))


def _reasons(job: Job) -> Reasons:
    """Explain the first rows of the list; dates as dates."""
    result = job.result
    found = find_reasons(
        result.model[-1],
        result.subject,
        result.selected[:_EXPLAINED],
        result.scores,
        result.settings["seed"],
    )
    if len(found.rows) < result.k:
        note = f"reasons are given for the first {len(found.rows):,} rows of the list."
        warn(note)
        job.notes.append(note)
    cells, usual = list(found.cells), list(found.usual)
    for place, name in enumerate(found.columns):
        if job.columns[name].kind == DATE:
            cells[place] = as_dates(cells[place])
            if usual[place] is not None:
                usual[place] = as_dates(np.array([usual[place]]))[0]
        elif cells[place].dtype == object:
            cells[place] = cells[place].copy()
            cells[place][cells[place] == ABSENT] = None
            usual[place] = None if usual[place] == ABSENT else usual[place]
    return replace(found, cells=cells, usual=usual)


def _told(typed: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return rows with dates as dates and gaps as gaps."""
    told = {}
    for name in columns.names:
        cells = typed[name].to_numpy()
        if columns[name].kind == DATE:
            cells = as_dates(cells)
        elif cells.dtype == object:
            cells = np.where(cells == ABSENT, None, cells)
        told[name] = cells
    return pd.DataFrame(told)


def as_dates(seconds: np.ndarray) -> np.ndarray:
    """Seconds since 1970 as dates; what is not a number is no date."""
    known = np.isfinite(seconds)
    whole = np.where(known, seconds, 0.0).astype(np.int64)
    return np.where(known, whole.astype("datetime64[s]"), np.datetime64("NaT"))


def _told_apart(y: np.ndarray) -> np.ndarray:
    """Return two classes: positives, or outcomes above the middle one."""
    return y if y.dtype == bool else y > np.median(y)


def _repeated(marks: np.ndarray, y: np.ndarray, identified: bool) -> np.ndarray:
    """Rows of the history that repeat an earlier one, with the same id and label."""
    if not identified:
        return np.zeros(len(marks), dtype=bool)
    repeated: np.ndarray = pd.DataFrame({"row": marks, "y": y}).duplicated().to_numpy()
    return repeated


class _FileCandidates:
    """The candidates, read once to find those that are in the history."""

    def __init__(
        self,
        table: Table,
        columns: Columns,
        copies: Copies,
        extra: Sequence[str],
        keep_known: bool,
    ) -> None:
        self._table = table
        self._columns = columns
        at_once = table.n_rows * len(table.columns) <= _CELLS_AT_ONCE
        known, kept, others = [], [], []
        for block in table.blocks():
            others.append(block[list(extra)])
            typed = columns.apply(block)
            known.append(copies.known(copies.marks(block, typed)))
            if at_once:
                kept.append(typed)
        equal = np.concatenate(known)
        self._equal = int(equal.sum())
        self._left_out = copies.telling and not keep_known and not equal.all()
        self.known = equal if self._left_out else np.zeros(len(equal), dtype=bool)
        self.rows = np.flatnonzero(~self.known)
        self.extra = pd.concat(others, ignore_index=True).iloc[self.rows].reset_index(drop=True)
        self.typed = (
            pd.concat(kept, ignore_index=True).iloc[self.rows].reset_index(drop=True)
            if at_once
            else None
        )

    def notes(self, old: str) -> list[str]:
        """Say how many candidates are in the history, and what follows."""
        if not self._equal:
            return []
        if self._equal == len(self.known):
            return [
                f"every row of {self._table.name} is in {old}: if they are the same cases, their "
                "outcome is known and the forecast does not hold."
            ]
        said = f"{self._equal:,} of the {len(self.known):,} rows of {self._table.name} are in {old}"
        if self._left_out:
            return [
                f"{said}, so that their outcome is known: they are left out of the list and of "
                "the forecast. --keep-known keeps them."
            ]
        return [
            f"{said}, alike in every column. They stay in the list; for those that are the same "
            "case the forecast does not hold."
        ]

    def check_budget(self, budget: int | float | None) -> None:
        """Raise where fewer candidates are left than the budget asks for."""
        if budget is not None and budget > len(self.rows):
            raise TableError(
                f"k={budget} is more than the {len(self.rows):,} candidates whose outcome is not "
                "known; choose a smaller k, or add --keep-known."
            )

    def take(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows of the file in their kinds."""
        return pd.concat(map(self._columns.apply, self._table.take(rows)), ignore_index=True)

    def blocks(self) -> Iterator[pd.DataFrame]:
        """Yield the candidates in their kinds, without those that are known."""
        if self.typed is not None:
            yield self.typed
            return
        first = 0
        for block in self._table.blocks():
            keep = ~self.known[first : first + len(block)]
            first += len(block)
            yield self._columns.apply(block[keep])


def _choose(
    job: Job,
    typed: pd.DataFrame,
    y: np.ndarray,
    terms: dict[str, Any],
    pool: _FileCandidates,
    request: Request,
) -> None:
    """Compare models and choose the rows."""
    strange = StrangeCount(job.columns, job.features.categories)
    # Without names: some models take only plain words, and columns are called what they are.
    made = job.features.make(typed).to_numpy()
    job.features.forget()

    drawn = drawn_rows(len(pool.rows), request.seed)
    kept: list[pd.DataFrame] = []

    def blocks() -> Iterator[np.ndarray]:
        kept.clear()
        first = 0
        for block in pool.blocks():
            here = drawn[(drawn >= first) & (drawn < first + len(block))] - first
            kept.append(block.iloc[here])
            first += len(block)
            yield job.features.make(strange.add(block)).to_numpy()

    candidates = next(blocks()) if pool.typed is not None else blocks
    with progress() as show, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = picking.pick(
            made,
            y,
            candidates,
            request.budget,
            # They are scaled and without gaps already.
            features=FunctionTransformer(),
            random_state=request.seed,
            n_jobs=request.jobs,
            progress=show,
            effort=request.effort,
            shown=Shown(
                _told(typed, job.columns),
                job.columns.names,
                lambda: _told(pd.concat(kept, ignore_index=True), job.columns),
            ),
            **terms,
        )
    told = [str(w.message) for w in caught if w.category is UserWarning]
    fresh = list(dict.fromkeys([*told, *strange.warnings()]))
    for note in fresh:
        warn(note)
    job.notes += fresh
    scores = np.full(len(pool.known), np.nan)
    scores[pool.rows] = result.scores
    names = job.columns.names
    subject = Subject(
        names,
        pool.take,
        pool.blocks,
        lambda rows: job.features.make(rows).to_numpy(),
        np.array([names.index(owner) for owner in job.features.owners], dtype=int),
    )
    assert subject.owner is not None
    job.result = replace(
        result,
        selected=pool.rows[result.selected],
        scores=scores,
        subject=subject,
        study=replace(result.study, columns=names, owner=subject.owner),
    )
