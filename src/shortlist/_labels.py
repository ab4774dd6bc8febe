"""The label column of a table, and the columns that give it away."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ._columns import ColumnTypes, _without_blanks
from ._tables import TableError
from .metrics import partial_auc

# Labels whose positive one needs no explanation.
_PLAIN = ({"0", "1"}, {"-1", "1"}, {"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"})
_POSITIVE = ("1", "yes", "y", "true", "t")
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
    column: pd.Series, positive: str | None, name: str
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return which rows have a label, which of those are positive, and the positive label.

    Parameters
    ----------
    column : Series
        The labels, as text or in any type.
    positive : str or None
        The positive label; None where it goes without saying (1, yes, true).
    name : str
        What messages call the file.
    """
    column = _without_blanks(column)
    present = column.notna().to_numpy()
    text = column[present].map(_spelling)
    values = text.value_counts()
    label = column.name
    if not len(values):
        raise TableError(f"{name}: column {label!r} holds no label.")
    shown = ", ".join(f"{value!r} ({count:,})" for value, count in values.iloc[:5].items())
    if positive is None:
        found = {value.lower() for value in values.index}
        if len(values) == 1:
            raise TableError(
                f"{name}: column {label!r} holds one class only ({shown}); "
                "rows with the label you look for and rows without it are needed."
            )
        if found not in _PLAIN:
            more = f" and {len(values) - 5} more" if len(values) > 5 else ""
            raise TableError(
                f"{name}: column {label!r} holds {shown}{more}; say which one you look for, "
                f"for example --positive {values.index[-1]}."
            )
        chosen = next(value for value in values.index if value.lower() in _POSITIVE)
    else:
        chosen = _spelling(positive)
        if chosen not in values.index:
            raise TableError(
                f"{name}: column {label!r} has no label {positive!r}; it holds {shown}."
            )
        if len(values) == 1:
            raise TableError(
                f"{name}: column {label!r} holds one class only ({shown}); rows without it are "
                "needed, too."
            )
    return present, (text == chosen).to_numpy(), chosen


def read_numbers(column: pd.Series, name: str) -> np.ndarray:
    """Return a column of finite numbers, or name the first row that holds none."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"{name}: column {column.name!r} holds {column.iloc[row]!r} in row "
            f"{column.index[row]} (counted from 0), which is no finite number; "
            f"{int(wrong.sum()):,} rows are like that. Correct them or leave them out."
        )
    return numbers


def _spelling(value: Any) -> str:
    """One spelling for a value: 1, 1.0 and " 1 " are the same label."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def find_leaks(
    rows: pd.DataFrame, typed: pd.DataFrame, types: ColumnTypes, labels: pd.Series, y: np.ndarray
) -> Iterator[Leak]:
    """Yield columns that repeat the label or rank the history almost perfectly.

    Numbers and dates are ranked as they are, missing values first or last; text by the
    share of positives of each value among *other* rows, so that unique names stay innocent.

    Parameters
    ----------
    rows, typed : DataFrame
        The labelled rows as read, and in their types.
    types : ColumnTypes
        Their types.
    labels : Series
        The labels as read.
    y : ndarray of bool
        True where the label is the positive one.
    """
    n, n_positive = len(y), int(y.sum())
    by_luck = math.log(2 * len(types.used)) - (
        math.lgamma(n + 1) - math.lgamma(n_positive + 1) - math.lgamma(n - n_positive + 1)
    )
    spelled = labels.map(_spelling).to_numpy()
    for name in types.used:
        equal = bool((_without_blanks(rows[name]).map(_spelling).to_numpy() == spelled).all())
        if not equal and by_luck > math.log(_LUCK):
            continue
        auc = 1.0 if equal else _ranking(typed[name], name in types.texts, y)
        if auc > _LEAK_AUC:
            yield Leak(name, auc, equal)


def _ranking(column: pd.Series, is_text: bool, y: np.ndarray) -> float:
    if is_text:
        by_value = pd.Series(y.astype(float), column.index).groupby(column)
        others = by_value.transform("count") - 1
        share = (by_value.transform("sum") - y) / others.clip(lower=1)
        scores = [share.where(others > 0, y.mean()).to_numpy()]
    else:
        # Dates are ranked by their time in seconds; NaT is the lowest integer.
        gap = column.isna().to_numpy()
        values = (
            column.astype("int64").to_numpy(dtype=np.float64)
            if pd.api.types.is_datetime64_any_dtype(column)
            else column.to_numpy(dtype=np.float64)
        )
        known = values[~gap]
        scores = [
            np.where(gap, extreme, values)
            for extreme in (
                (known.min() - 1 - abs(known.min())),
                known.max() + 1 + abs(known.max()),
            )
        ]
    areas = [partial_auc(y, score) for score in scores]
    return max(max(area, 1 - area) for area in areas)
