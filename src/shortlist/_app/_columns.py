"""What the columns of a table mean: numbers, dates, categories, text.

Kinds and spellings are decided once, from the history, and applied to the candidates as they
are: a value that does not fit counts as missing. A column is read as what at least 95 % of
its cells are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._positive import spelling
from ._cells import is_blank, printable
from ._dates import DAY_FIRST, MONTH_FIRST, look_at_dates, read_date
from ._numbers import (
    COMMA,
    POINT,
    NumberColumn,
    currency,
    find_sentinel,
    look_at_numbers,
    read_number,
)
from ._tables import TableError

NUMBER, DATE, CATEGORY, TEXT = "number", "date", "category", "text"
# What --type may say, with the reading that goes with it.
TYPES: dict[str, tuple[str, str | None]] = {
    "number": (NUMBER, None),
    "decimal-point": (NUMBER, POINT),
    "decimal-comma": (NUMBER, COMMA),
    "date": (DATE, None),
    "day-first": (DATE, DAY_FIRST),
    "month-first": (DATE, MONTH_FIRST),
    "category": (CATEGORY, None),
    "text": (TEXT, None),
}
ABSENT = "(missing)"

_READABLE = 0.95
# Text of more different values than this is taken apart into pieces of words.
_CATEGORIES = 30
# From this share on, leading zeros mean that a column holds codes.
_CODES = 0.05
# A column that is numbers to this share, but not enough, is worth a word.
_ALMOST = 0.5
# A share of missing values this much higher than in the history is worth a warning.
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
        native = _native(cells, self.kind)
        if native is not None:
            return native
        codes, values = different(cells)
        return np.append(_read_all(values, self.kind, self.reading), np.nan)[codes]


def _read_all(values: Sequence[Any], kind: str, reading: str | None) -> np.ndarray:
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


def read_columns(
    rows: pd.DataFrame,
    types: Mapping[str, str] | None = None,
    unused: Mapping[str, str] | None = None,
    decimal: str | None = None,
) -> tuple[Columns, pd.DataFrame]:
    """Decide how the columns of a history are read; return that, and the rows so read.

    Parameters
    ----------
    rows : DataFrame
        The history, as text or in types.
    types : mapping, default=None
        Names and types that the user has decided, see `TYPES`.
    unused : mapping, default=None
        Columns that models do not learn from, and what they are: id, label, dropped.
    decimal : {".", ","}, default=None
        What the kind of file makes likely, where no column gives evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> from shortlist._app._columns import read_columns
    >>> rows = pd.DataFrame({"paid": ["1.050,00", "?", "20,88"], "at": ["31.1.20", "1.2.20", ""]})
    >>> columns, typed = read_columns(rows)
    >>> [column.kind for column in columns.used], typed["paid"].tolist()
    (['number', 'date'], [1050.0, nan, 20.88])
    """
    types, unused = types or {}, unused or {}
    looks = [
        _Look(rows[name], place, types.get(name), unused.get(name))
        for place, name in enumerate(rows.columns)
    ]
    prefer_decimal = _agreed(
        look.numbers.decimal for look in looks if look.numbers and look.numbers.evidence
    )
    prefer_order = _agreed(
        look.dates.layout
        for look in looks
        if look.dates and look.dates.certain and look.dates.layout in (DAY_FIRST, MONTH_FIRST)
    )
    columns = Columns(look.decide(prefer_decimal or decimal, prefer_order) for look in looks)
    typed = {
        column.name: look.read(column)
        for column, look in zip(columns.all, looks, strict=True)
        if column.used
    }
    return columns, pd.DataFrame(typed, index=rows.index)


def _agreed(found: Iterable[str]) -> str | None:
    """Return what all columns with evidence say, or None."""
    said = set(found)
    return said.pop() if len(said) == 1 else None


class _Look:
    """A column, looked at on its own; what other columns tell comes in with `decide`."""

    def __init__(
        self, cells: pd.Series, place: int, wanted: str | None, unused: str | None
    ) -> None:
        self.cells = cells
        self.name = str(cells.name)
        self.place = place
        self.wanted = wanted
        self.unused = unused
        self.codes, self.values = codes, _ = different(cells)
        self._known: dict[tuple[str, str | None], np.ndarray] = {}
        self.counts = np.bincount(codes[codes >= 0], minlength=len(self.values)).tolist()
        self.missing = int((codes < 0).sum())
        first = self.values[codes[codes >= 0][0]] if self.values else ""
        self.example = printable(str(first), 24)
        self.native = next(
            (kind for kind in (NUMBER, DATE) if _native(cells, kind) is not None), None
        )
        self.numbers: NumberColumn | None = None
        self.dates = None
        if unused is None and self.native is None and self.values:
            self.numbers = look_at_numbers(self.values, self.counts)
            # Numbers may be days, written 20240131; other dates are no numbers.
            if self.numbers.readable < _READABLE or self._eight_digits():
                self.dates = look_at_dates(self.values, self.counts)

    def read(self, column: Column) -> np.ndarray:
        """Return ``column.read`` of the cells, without reading a value twice."""
        if column.kind not in (NUMBER, DATE) or self.native == column.kind:
            return column.read(self.cells)
        return np.append(self._numbers(column.kind, column.reading), np.nan)[self.codes]

    def _numbers(self, kind: str, reading: str | None) -> np.ndarray:
        if (kind, reading) not in self._known:
            self._known[kind, reading] = _read_all(self.values, kind, reading)
        return self._known[kind, reading]

    def _eight_digits(self) -> bool:
        return all(len(str(value)) == 8 for value in self.values[:50])

    def decide(self, decimal: str | None, order: str | None) -> Column:
        """Return how the column is read."""
        if self.unused is not None:
            return self._column(self.unused, None, "not learned from", [])
        if not self.values:
            return self._column("empty", None, "not used: no value", [])
        if self.wanted is not None:
            kind, reading = TYPES[self.wanted]
            return self._of_kind(kind, reading, decimal, order, asked=True)
        if len(self.values) == 1 and not self.missing:
            return self._column("constant", None, "not used: the same in every row", [])
        if self._is_row_number():
            return self._column("row numbers", None, "not used: it numbers the rows", [])
        return self._of_kind(self._kind(), None, decimal, order, asked=False)

    def _kind(self) -> str:
        if self.native is not None:
            return self.native
        assert self.numbers is not None
        if self.dates is not None and self.dates.readable >= _READABLE:
            return DATE
        if self.numbers.readable >= _READABLE and self.numbers.codes < _CODES:
            return NUMBER
        return CATEGORY if len(self.values) <= _CATEGORIES else TEXT

    def _is_row_number(self) -> bool:
        """Whether pandas or a spreadsheet put its row numbers in a nameless first column."""
        named = self.name.startswith(("Unnamed: ", "column ", "__index_level_"))
        if not (named or self.name in ("", "index", "...1")) or self.place > 0 or self.missing:
            return False
        numbers = [read_number(value, POINT) for value in self.values]
        return len(set(numbers)) == len(self.cells) and all(
            number is not None and number == int(number) for number in numbers if number == number
        )

    def _of_kind(
        self, kind: str, reading: str | None, decimal: str | None, order: str | None, asked: bool
    ) -> Column:
        if kind == NUMBER:
            return self._as_number(reading, decimal, asked)
        if kind == DATE:
            return self._as_date(reading, order, asked)
        words = (
            "one feature for each value" if kind == CATEGORY else "features from pieces of words"
        )
        return self._column(kind, None, words, self._text_notes(asked))

    def _text_notes(self, asked: bool) -> list[str]:
        numbers = self.numbers
        if asked or numbers is None:
            return []
        if numbers.readable >= _READABLE and numbers.codes >= _CODES:
            return [f"codes, because of leading zeros; --type {_shell(self.name)}=number if not"]
        if numbers.readable >= _ALMOST:
            return [
                f"{numbers.readable:.0%} are numbers, {_READABLE:.0%} would be read so; "
                f"--type {_shell(self.name)}=number takes the others for missing"
            ]
        return []

    def _as_number(self, reading: str | None, prefer: str | None, asked: bool) -> Column:
        if self.native == NUMBER or self.numbers is None:
            return self._column(NUMBER, None, "number", self._sentinel(None))
        found = self.numbers
        notes = []
        if reading is None:
            reading = found.decimal
            if not found.certain:
                reading = prefer or POINT
                why = "as in other columns" if prefer else "no cell tells"
                other = "decimal-comma" if reading == POINT else "decimal-point"
                notes.append(
                    f"{self.example!r} is read as {_shown(read_number(self._unclear(), reading))}"
                    f" ({why}); --type {_shell(self.name)}={other} if not"
                )
        words = ["number"]
        if found.evidence or not found.certain or asked:
            words.append("decimal point" if reading == POINT else "decimal comma")
        if found.marks:
            words.append(f"without {' '.join(found.marks[:3])}")
        money = list(dict.fromkeys(currency(m) for m in found.marks if m not in "%‰"))
        if len(money) > 1:
            notes.append(f"holds {' and '.join(money[:4])}, which are not told apart")
        if "%" in found.marks:
            words.append("divided by 100")
        if found.brackets:
            words.append("brackets mean minus")
        return self._column(NUMBER, reading, ", ".join(words), notes + self._sentinel(reading))

    def _unclear(self) -> Any:
        return next(
            value for value in self.values
            if read_number(value, POINT) != read_number(value, COMMA)
        )  # fmt: skip

    def _sentinel(self, reading: str | None) -> list[str]:
        numbers = self._numbers(NUMBER, reading)
        # Spellings of one number, such as 5 and 5.0, are counted together.
        values, place = np.unique(numbers[~np.isnan(numbers)], return_inverse=True)
        counts = np.bincount(place, np.asarray(self.counts)[~np.isnan(numbers)])
        found = find_sentinel(values.tolist(), counts.astype(int).tolist())
        if found is None:
            return []
        return [f"{found[0]:g} stands {found[1]:,} times, apart from all others: missing values?"]

    def _as_date(self, reading: str | None, prefer: str | None, asked: bool) -> Column:
        if self.native == DATE or (self.numbers is None and not asked):
            return self._column(DATE, None, "date", [])
        notes = []
        if reading is None:
            found = self.dates or look_at_dates(self.values, self.counts)
            reading = found.layout
            if not found.certain:
                reading = prefer or DAY_FIRST
                why = "as in other columns" if prefer else "no cell tells"
                other = "month-first" if reading == DAY_FIRST else "day-first"
                notes.append(
                    f"{self.example!r} is read with the {reading} ({why}); "
                    f"--type {_shell(self.name)}={other} if not"
                )
        return self._column(DATE, reading, f"date, {reading}", notes)

    def _column(self, kind: str, reading: str | None, done: str, notes: list[str]) -> Column:
        rows = len(self.cells)
        column = Column(
            self.name, kind, reading, rows, self.missing, 0, len(self.values), self.example, done,
            notes,
        )  # fmt: skip
        if kind not in (NUMBER, DATE):
            return column
        unreadable = int(np.isnan(self.read(column)).sum()) - self.missing
        if unreadable:
            odd = np.flatnonzero(np.isnan(self._numbers(kind, reading)))[:3]
            shown = ", ".join(repr(printable(str(self.values[i]), 16)) for i in odd)
            said = (
                f"1 cell is no {kind} and counts"
                if unreadable == 1
                else f"{unreadable:,} cells are no {kind} and count"
            )
            notes = [*notes, f"{said} as missing ({shown})"]
        return dataclasses.replace(column, unreadable=unreadable, notes=notes)


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


def _native(cells: pd.Series, kind: str) -> np.ndarray | None:
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


def _shown(number: float | None) -> str:
    return "nothing" if number is None else f"{number:.10g}"


def _shell(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def parse_types(given: Sequence[str], known: Iterable[str]) -> dict[str, str]:
    """Read ``--type name=type`` options, whose columns have been checked by name."""
    known = set(known)
    found = {}
    for text in given:
        name, mark, kind = text.rpartition("=")
        if not mark or kind not in TYPES:
            raise TableError(
                f"--type {text} is not understood; write COLUMN=TYPE with one of "
                f"{', '.join(TYPES)}."
            )
        if name in known:
            found[name] = kind
    return found


class MissingCount:
    """Missing values of the candidates' columns, counted block by block.

    Parameters
    ----------
    columns : Columns
        How they are read, with the shares of missing values of the history.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._missing = dict.fromkeys(columns.names, 0)
        self._rows = 0

    def add(self, typed: pd.DataFrame) -> pd.DataFrame:
        """Count a block of rows, as read, and return it."""
        for column in self._columns.used:
            cells = typed[column.name].to_numpy()
            gaps = np.isnan(cells) if column.kind in (NUMBER, DATE) else cells == ABSENT
            self._missing[column.name] += int(gaps.sum())
        self._rows += len(typed)
        return typed

    def warnings(self) -> Iterable[str]:
        """Columns that are missing, or cannot be read, far more often than in the history."""
        for column in self._columns.used:
            share = self._missing[column.name] / max(self._rows, 1)
            if share - column.absent > _MORE_MISSING:
                kind = {NUMBER: "a number", DATE: "a date"}.get(column.kind, "text")
                yield (
                    f"column {column.name!r} is missing or not {kind} in {share:.0%} of the "
                    f"candidates, {column.absent:.0%} of the history: check that both files mean "
                    "the same."
                )
