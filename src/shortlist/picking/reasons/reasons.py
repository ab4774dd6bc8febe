"""Why a row is on the list: what its columns add to its score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._scores import positive_scores, take_rows
from .mixing import mixer
from .shapley import Values, additive, grouped, sampled, split_members
from .subject import Subject, column_values

# Candidates that stand for all of them, and those whose cells say what is usual.
_BACKGROUND = 200
_USUAL = 1_000
_LONGEST = 40


@dataclass(frozen=True, eq=False)
class Reasons:
    """What the columns of some rows add to their scores, in log odds.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers of the candidates.
    columns : list
        Names of the columns.
    value : ndarray of shape (n_rows, n_columns)
        What each column adds, against the average candidate.
    error : ndarray of shape (n_rows, n_columns)
        Half the width of its 95 % interval, zero where it is exact.
    cells : list of ndarray
        The cells of each column.
    usual : list
        The middle number of each column among the candidates, or its most frequent value.
    """

    rows: np.ndarray
    columns: list[Any]
    value: np.ndarray
    error: np.ndarray
    cells: list[np.ndarray]
    usual: list[Any]

    def strongest(self, row: int, n: int) -> np.ndarray:
        """Columns that add most to the score of a row, whichever way, the strongest first."""
        size = np.abs(self.value[row])
        first = np.argsort(-size, kind="stable")[:n]
        return first[size[first] > 0]

    def texts(self, n: int) -> list[list[str]]:
        """Return the strongest `n` reasons of each row, in words."""
        return [
            [
                in_words(
                    self.columns[j], self.cells[j][row], self.usual[j], float(self.value[row, j])
                )
                for j in self.strongest(row, n)
            ]
            for row in range(len(self.rows))
        ]

    def to_frame(self, n: int) -> Any:
        """Return a pandas frame, one row for each reason."""
        import pandas as pd

        records = [
            {
                "row": int(self.rows[row]),
                "rank": row + 1,
                "reason": number,
                "column": self.columns[j],
                "value": self.cells[j][row],
                "contribution": float(self.value[row, j]),
                "usual": self.usual[j],
                "error": float(self.error[row, j]),
            }
            for row in range(len(self.rows))
            for number, j in enumerate(self.strongest(row, n), 1)
        ]
        names = ["row", "rank", "reason", "column", "value", "contribution", "usual", "error"]
        return pd.DataFrame.from_records(records, columns=names)


def find_reasons(
    stack: Any, subject: Subject, rows: np.ndarray, scores: np.ndarray, seed: int
) -> Reasons:
    """Explain the scores of some candidates.

    Parameters
    ----------
    stack : TopStack
        The fitted combination.
    subject : Subject
        The candidates.
    rows : ndarray of int
        Those to explain.
    scores : ndarray
        Scores of all candidates, not a number for those that do not count.
    seed : int
        Of the sampling.
    """
    if not len(rows):
        nothing = np.zeros((0, len(subject.columns)))
        empty = [np.empty(0)] * len(subject.columns)
        return Reasons(rows, subject.columns, nothing, nothing, empty, [None] * len(empty))
    known = np.flatnonzero(np.isfinite(scores))
    by_score = known[np.argsort(scores[known], kind="stable")]
    several = by_score[_spread(len(by_score), max(_BACKGROUND, _USUAL))]
    table, around = subject.take(rows), subject.take(several)
    made, surroundings = subject.make(table), subject.make(around)
    n_columns = len(subject.columns)
    linear, score = split_members(stack)
    value, error = np.zeros((len(rows), n_columns)), np.zeros((len(rows), n_columns))
    owner = subject.owner
    if owner is None and linear:
        # Features that mix columns are no sum over columns.
        linear, score = [], lambda M: positive_scores(stack, M, 1)
    if linear:
        assert owner is not None
        value += _linear_values(linear, subject, made, n_columns)
    if score is not None and len(rows):
        few = _spread(len(several), _BACKGROUND)
        others, background = take_rows(around, few), take_rows(surroundings, few)
        total = scores[rows] - float(scores[known].mean()) - value.sum(axis=1)
        mix, differ = mixer(subject, table, others, made, background)
        surrogate = _surrogate(score, surroundings, made, background, owner, n_columns)
        found: Values = sampled(
            score, made, background, mix, differ, total, n_columns, surrogate, seed
        )
        value, error = value + found.value, found.error
    cells = [column_values(table, j) for j in range(n_columns)]
    usual = [_usual(column_values(around, j)) for j in range(n_columns)]
    return Reasons(rows, subject.columns, value, error, cells, usual)


def _spread(size: int, wanted: int) -> np.ndarray:
    """Places spread evenly over so many."""
    if size <= wanted:
        return np.arange(size)
    return ((np.arange(wanted) + 0.5) * size / wanted).astype(int)


def _linear_values(linear: list[Any], subject: Subject, made: Any, n_columns: int) -> np.ndarray:
    assert subject.owner is not None
    n_features = len(subject.owner)
    sums: list[Any] = [0.0] * len(linear)
    count = 0
    for block in subject.blocks():
        matrix = subject.make(block)
        count += int(matrix.shape[0])
        sums = [
            total + np.asarray(part.scaled(matrix).sum(axis=0)).ravel()
            for total, part in zip(sums, linear, strict=True)
        ]
    parts = np.zeros((int(made.shape[0]), n_features))
    for part, total in zip(linear, sums, strict=True):
        parts += part.parts(part.scaled(made), n_features)
        parts -= part.parts(total[None, :] / count, n_features)
    return grouped(parts, subject.owner, n_columns)


def _surrogate(
    score: Any,
    surroundings: Any,
    made: Any,
    background: Any,
    owner: np.ndarray | None,
    n_columns: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    if owner is None:
        return None
    parts = additive(surroundings, score(surroundings), owner, n_columns)
    if parts is None:
        return None
    return parts(made), parts(background), parts(surroundings).mean(axis=0)


def _usual(cells: np.ndarray) -> Any:
    """Return the middle of numbers, the most frequent of anything else."""
    if cells.dtype.kind in "iufb":
        known = cells[np.isfinite(cells.astype(float))]
        return float(np.median(known)) if len(known) else None
    if cells.dtype.kind in "mM":
        known = np.sort(cells[~np.isnat(cells)])
        return known[len(known) // 2] if len(known) else None
    counts: dict[str, int] = {}
    for cell in cells.tolist():
        if cell is not None and cell == cell:
            counts[str(cell)] = counts.get(str(cell), 0) + 1
    # Where nearly every cell is different none of them is usual.
    best = max(counts, key=lambda text: counts[text], default=None)
    return best if best is not None and counts[best] > max(1, len(cells) // 50) else None


def in_words(column: Any, cell: Any, usual: Any, contribution: float) -> str:
    """Write a reason.

    Examples
    --------
    >>> from shortlist.picking.reasons.reasons import in_words
    >>> in_words("amount", 4310.0, 35.0, 1.94)
    'amount 4,310 (usually 35): +1.9'
    >>> in_words("country", None, "FR", -0.312)
    'country is missing (usually FR): -0.31'
    """
    shown = cell_text(cell)
    what = f"{column} is missing" if shown is None else f"{column} {shown}"
    normal = cell_text(usual)
    note = "" if normal is None or normal == shown else f" (usually {normal})"
    return f"{what}{note}: {contribution:+.{2 if abs(contribution) < 0.995 else 1}f}"


def cell_text(cell: Any) -> str | None:
    """Write a cell for a reader; None where it is missing.

    Examples
    --------
    >>> from shortlist.picking.reasons.reasons import cell_text
    >>> cell_text(1234.5678), cell_text(0.012345), cell_text(2019.0), cell_text(float("nan"))
    ('1,235', '0.01235', '2019', None)
    """
    if cell is None or (not isinstance(cell, str) and cell != cell):
        return None
    if isinstance(cell, np.datetime64):
        return str(cell.astype("datetime64[s]")).replace("T00:00:00", "").replace("T", " ")
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, int | float | np.number):
        number = float(cell)
        if number.is_integer() and abs(number) < 1e15:
            # It may be a year.
            return f"{number:.0f}" if 1900 <= number <= 2100 else f"{number:,.0f}"
        return f"{number:,.0f}" if 1000 <= abs(number) < 1e15 else f"{number:.4g}"
    text = " ".join(str(cell).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
