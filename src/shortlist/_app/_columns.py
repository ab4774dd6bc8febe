"""What the columns of a table mean: numbers, dates, categories, text.

How they are read is decided once, from the history (:mod:`shortlist._app._deciding`), and
applied to the candidates as they are: a value that does not fit counts as missing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._checks import spelling
from .._written import percent
from ._cells import is_blank, printable
from ._dates import DAY_FIRST, read_date
from ._numbers import POINT, read_number

NUMBER, DATE, CATEGORY, TEXT = "number", "date", "category", "text"
ABSENT = "(missing)"

# A share of missing or new values this much higher than in the history is worth a warning.
_MORE_MISSING = 0.3


@dataclass(frozen=True)
class Column:
    """How a column is read.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "date", "category", "text", or why it is not learned from: "empty",
        "constant", "row numbers", "id", "label", "dropped", ...
    reading : str or None
        What stands before decimals, or the layout of dates; None for cells that came in
        their type.
    rows, missing, unreadable, distinct : int
        Rows, cells without a value, cells that do not fit the kind (they count as missing,
        too), and different values.
    example : str
        The first value.
    done : str
        What became of it, in words.
    notes : list of str
        What the user should know.
    """

    name: str
    kind: str
    reading: str | None
    rows: int
    missing: int
    unreadable: int
    distinct: int
    example: str
    done: str
    notes: list[str]

    @property
    def used(self) -> bool:
        """Whether models learn from it."""
        return self.kind in (NUMBER, DATE, CATEGORY, TEXT)

    @property
    def absent(self) -> float:
        """Share of cells that count as missing."""
        return (self.missing + self.unreadable) / max(self.rows, 1)

    def read(self, cells: pd.Series) -> np.ndarray:
        """Return cells in this column's kind: floats (dates in seconds), or text.

        Missing are NaN among numbers and dates, and ``"(missing)"`` in text: that a value
        is missing may mean something, too.
        """
        if self.kind not in (NUMBER, DATE):
            codes, values = different(cells)
            # A category 7 is the same whether it came as text, whole or with a point.
            spelled = [v.strip() if isinstance(v, str) else spelling(v) for v in values]
            return np.array([*spelled, ABSENT], dtype=object)[codes]
        native = native_floats(cells, self.kind)
        if native is not None:
            return native
        codes, values = different(cells)
        return np.append(read_all(values, self.kind, self.reading), np.nan)[codes]


def read_all(values: Sequence[Any], kind: str, reading: str | None) -> np.ndarray:
    """Numbers, or seconds, of different cells; NaN where they do not fit."""
    one: Callable[[Any, Any], float | None] = read_number if kind == NUMBER else read_date
    reading = reading or (POINT if kind == NUMBER else DAY_FIRST)
    found = (one(value, reading) for value in values)
    return np.array([np.nan if number is None else number for number in found], dtype=np.float64)


class Columns:
    """The columns of a table, in its order.

    Parameters
    ----------
    columns : iterable of Column
        How each is read.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.all = list(columns)
        self._by_name = {column.name: column for column in self.all}

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    @property
    def used(self) -> list[Column]:
        """Columns that models learn from."""
        return [column for column in self.all if column.used]

    @property
    def names(self) -> list[str]:
        """Names of the columns that models learn from."""
        return [column.name for column in self.used]

    def apply(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the used columns of some rows in their kinds."""
        typed = {column.name: column.read(rows[column.name]) for column in self.used}
        return pd.DataFrame(typed, index=rows.index)

    def to_plain(self) -> list[dict[str, Any]]:
        """Return all that is known, as plain values."""
        return [dataclasses.asdict(column) for column in self.all]

    @classmethod
    def from_plain(cls, content: Any) -> Columns:
        """Make them again; raise where the content is not what :meth:`to_plain` returns."""
        fields = {field.name for field in dataclasses.fields(Column)}
        columns = []
        for item in content:
            if not isinstance(item, dict) or set(item) != fields:
                raise ValueError("a column is not described as it should be")
            column = Column(**item)
            texts = (column.name, column.kind, column.example, column.done)
            counts = (column.rows, column.missing, column.unreadable, column.distinct)
            if not all(isinstance(text, str) for text in texts) or not all(
                isinstance(count, int) for count in counts
            ):
                raise ValueError("a column is not described as it should be")
            columns.append(column)
        return cls(columns)


def different(cells: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Return the place of each cell among the different values, -1 where missing, and those."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        cells = cells.astype(object)
    try:
        codes, found = pd.factorize(cells)
    except TypeError:
        # Lists and the like cannot be compared; their text can.
        codes, found = pd.factorize(cells.map(str))
    values = found.tolist()
    kept = [not is_blank(value) for value in values]
    if not all(kept):
        place = np.cumsum(kept) - 1
        place[~np.asarray(kept)] = -1
        codes = np.append(place, -1)[codes]
        values = [value for value, keep in zip(values, kept, strict=True) if keep]
    return codes, values


def native_floats(cells: pd.Series, kind: str) -> np.ndarray | None:
    """Return cells that came in this type, as floats; None where they came otherwise."""
    dtype = cells.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        if kind != DATE:
            return None
        if getattr(dtype, "tz", None) is not None:
            cells = cells.dt.tz_convert("UTC").dt.tz_localize(None)
        times = cells.to_numpy(dtype="datetime64[s]")
        return np.where(np.isnat(times), np.nan, times.astype(np.int64).astype(np.float64))
    if kind != NUMBER:
        return None
    if pd.api.types.is_timedelta64_dtype(dtype):
        return cells.dt.total_seconds().to_numpy(dtype=np.float64)
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    return None


class StrangeCount:
    """Missing and new values of the candidates' columns, counted block by block.

    Parameters
    ----------
    columns : Columns
        How they are read, with the shares of missing values of the history.
    categories : mapping
        Values that the history has, for columns that are categories.
    """

    def __init__(self, columns: Columns, categories: Mapping[str, Sequence[str]]) -> None:
        self._columns = columns
        self._missing = dict.fromkeys(columns.names, 0)
        self._known = {name: {*values, ABSENT} for name, values in categories.items()}
        self._new: dict[str, Counter[str]] = {name: Counter() for name in categories}
        self._rows = 0

    def add(self, typed: pd.DataFrame) -> pd.DataFrame:
        """Count a block of rows, as read, and return it."""
        for column in self._columns.used:
            cells = typed[column.name].to_numpy()
            gaps = np.isnan(cells) if column.kind in (NUMBER, DATE) else cells == ABSENT
            self._missing[column.name] += int(gaps.sum())
            if column.name in self._new:
                met = Counter(cells.tolist())
                for value in met.keys() - self._known[column.name]:
                    self._new[column.name][value] += met[value]
        self._rows += len(typed)
        return typed

    def warnings(self) -> Iterable[str]:
        """Yield what is missing, unreadable or new far more often than in the history."""
        for column in self._columns.used:
            share = self._missing[column.name] / max(self._rows, 1)
            if share - column.absent > _MORE_MISSING:
                kind = {NUMBER: "a number", DATE: "a date"}.get(column.kind, "text")
                yield (
                    f"column {column.name!r} is missing or not {kind} in {percent(share)} of the "
                    f"candidates, {percent(column.absent)} of the history: check that both files "
                    "mean the same."
                )
        for name, new in self._new.items():
            share = new.total() / max(self._rows, 1)
            if share > _MORE_MISSING:
                first = sorted(new, key=lambda value: (-new[value], value))[:3]
                shown = ", ".join(repr(printable(value, 24)) for value in first)
                yield (
                    f"column {name!r} holds values in {percent(share)} of the candidates that the "
                    f"history has not ({shown}): check that both files mean the same."
                )
