"""The label column of a table, and the columns that give it away."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import plain_positive, spelling
from ._cells import is_blank
from ._numbers import POINT, look_at_numbers, read_number
from ._tables import TableError

if TYPE_CHECKING:
    import pandas as pd

    from ._columns import Columns

# A column that ranks this well is more likely to know the label than to predict it.
_LEAK_AUC = 0.999
# Chance of such a column by luck, over all columns, above which nothing is said.
_LUCK = 0.01


@dataclass(frozen=True)
class Leak:
    """A column that seems to know the label.

    Attributes
    ----------
    column : str
        Its name.
    auc : float
        How well it alone ranks the history.
    equal : bool
        Whether it repeats the label.
    """

    column: str
    auc: float
    equal: bool

    def __str__(self) -> str:
        what = (
            "repeats the label"
            if self.equal
            else f"alone tells the label (AUC {math.floor(self.auc * 1e4) / 1e4:g})"
        )
        return (
            f"column {self.column!r} {what}. If it is not known when a candidate is chosen, "
            f"add --drop {self.column!r}."
        )


def read_labels(
    cells: Sequence[Any],
    label: str,
    positive: str | None,
    name: str,
    alone: bool = False,
    instead: str = "",
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return which rows have a label, which of those are positive, and the positive label.

    Parameters
    ----------
    cells : sequence
        The labels, as text or in any type.
    label : str
        Name of their column.
    positive : str or None
        The positive label; None where it goes without saying (1, yes, true).
    name : str
        What messages call the file.
    alone : bool, default=False
        Whether one class may be all there is: the rows of a list may all be hits, or none.
    instead : str, default=""
        What to say where the column holds numbers, of which none is a label.
    """
    spelled = {cell: None if is_blank(cell) else spelling(cell) for cell in set(cells)}
    text = [spelled[cell] for cell in cells]
    counts = Counter(value for value in text if value is not None)
    if not counts:
        raise TableError(f"{name}: column {label!r} holds no label.")
    values = [value for value, _ in counts.most_common()]
    shown = ", ".join(f"{value!r} ({counts[value]:,})" for value in values[:5])
    if len(values) == 1 and positive in (None, *values) and not alone:
        raise TableError(
            f"{name}: column {label!r} holds one class only ({shown}); rows with the label you "
            "look for and rows without it are needed."
        )
    if positive is None:
        place = plain_positive(values)
        if place is None:
            more = f" and {len(values) - 5} more" if len(values) > 5 else ""
            raise TableError(
                f"{name}: column {label!r} holds {shown}{more}; say which one you look for, "
                f"for example --positive {shlex.quote(values[-1])}."
                + (f" {instead}" if instead and len(values) > 2 and _all_numbers(values) else "")
            )
        chosen = values[place]
    else:
        chosen = spelling(positive)
        if chosen not in counts and not (alone and len(values) == 1):
            raise TableError(
                f"{name}: column {label!r} has no label {positive!r}; it holds {shown}."
            )
    present = np.array([value is not None for value in text], dtype=bool)
    hit = np.array([value == chosen for value in text if value is not None], dtype=bool)
    return present, hit, chosen


def _all_numbers(values: Sequence[str]) -> bool:
    return look_at_numbers(values, [1] * len(values)).readable == 1.0


def find_leaks(
    rows: pd.DataFrame, typed: pd.DataFrame, columns: Columns, labels: pd.Series, y: np.ndarray
) -> Iterator[Leak]:
    """Yield columns that repeat the label or rank the history almost perfectly.

    Numbers and dates are ranked as they are, missing values first or last; text by the
    share of positives of each value among *other* rows, so that unique names stay innocent.

    Parameters
    ----------
    rows, typed : DataFrame
        The labelled rows as read, and in their types.
    columns : Columns
        How they are read.
    labels : Series
        The labels as read.
    y : ndarray of bool
        True where the label is the positive one.
    """
    from ._columns import DATE, NUMBER

    n, n_positive = len(y), int(y.sum())
    by_luck = math.log(2 * max(len(columns.names), 1)) - (
        math.lgamma(n + 1) - math.lgamma(n_positive + 1) - math.lgamma(n - n_positive + 1)
    )
    spelled = labels.map(spelling).to_numpy()
    few = labels.nunique()
    for name in columns.names:
        # A copy of the label has no more values than it; most columns need no closer look.
        equal = columns[name].distinct <= few and bool(
            (rows[name].map(spelling).to_numpy() == spelled).all()
        )
        if not equal and by_luck > math.log(_LUCK):
            continue
        is_text = columns[name].kind not in (NUMBER, DATE)
        auc = 1.0 if equal else _ranking(typed[name], is_text, y)
        if auc > _LEAK_AUC:
            yield Leak(name, auc, equal)


def _ranking(column: pd.Series, is_text: bool, y: np.ndarray) -> float:
    import pandas as pd
    from sklearn.metrics import roc_auc_score

    if is_text:
        by_value = pd.Series(y.astype(float), column.index).groupby(column)
        others = by_value.transform("count") - 1
        share = (by_value.transform("sum") - y) / others.clip(lower=1)
        scores = [share.where(others > 0, y.mean()).to_numpy()]
    else:
        values = column.to_numpy(dtype=np.float64)
        gap = np.isnan(values)
        known = values[~gap]
        scores = [
            np.where(gap, extreme, values)
            for extreme in (
                (known.min() - 1 - abs(known.min())),
                known.max() + 1 + abs(known.max()),
            )
        ]
    areas = [float(roc_auc_score(y, score)) for score in scores]
    return max(max(area, 1 - area) for area in areas)


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
