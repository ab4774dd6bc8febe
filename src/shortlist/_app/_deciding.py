"""How the columns of a history are read: decided once, with evidence, and told.

A column is read as what at least 95 % of its cells are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._written import percent
from ._cells import printable
from ._columns import (
    CATEGORY,
    DATE,
    NUMBER,
    TEXT,
    Column,
    Columns,
    different,
    native_floats,
    read_all,
)
from ._dates import (
    DAY_FIRST,
    MONTH_FIRST,
    find_date_sentinel,
    in_several_layouts,
    look_at_dates,
    since_1970,
)
from ._numbers import (
    CLOCK,
    COMMA,
    POINT,
    SCALES,
    NumberColumn,
    count_units,
    currency,
    find_sentinel,
    look_at_measures,
    look_at_numbers,
    read_number,
    share_of_clocks,
)
from ._tables import TableError

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

_READABLE = 0.95
# Text of more different values than this is taken apart into pieces of words.
_CATEGORIES = 30
# From this share on, leading zeros mean that a column holds codes.
_CODES = 0.05
# A column that is numbers to this share, but not enough, is worth a word.
_ALMOST = 0.5
# Different numbers of a column that are too few to tell what they count.
_FEW = 20


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
    >>> from shortlist._app._deciding import read_columns
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
            (kind for kind in (NUMBER, DATE) if native_floats(cells, kind) is not None), None
        )
        self.numbers: NumberColumn | None = None
        self.dates = None
        self.clock = False
        if unused is not None or not self.values:
            return
        if self.native is None or (self.native == NUMBER and self._long()):
            self.native = None
            self.numbers = look_at_numbers(self.values, self.counts)
            # Numbers may be days, written 20240131; other dates are no numbers.
            if self.numbers.readable < _READABLE or self._eight_digits():
                self.dates = look_at_dates(self.values, self.counts)
            self._look_closer()

    def _look_closer(self) -> None:
        """See whether cells that are neither numbers nor dates are times or have a unit."""
        assert self.numbers is not None
        if max(self.numbers.readable, self.dates.readable if self.dates else 0.0) >= _READABLE:
            return
        self.clock = share_of_clocks(self.values, self.counts) >= _READABLE
        if not self.clock:
            measured = look_at_measures(self.values, self.counts, _READABLE)
            if measured is not None and measured.readable >= _READABLE:
                self.numbers = measured

    def _long(self) -> bool:
        """Whether whole numbers are too long for floats, which would take some for others."""
        return all(isinstance(value, int) for value in self.values[:50]) and (
            max(abs(value) for value in self.values) >= 10**16
        )

    def read(self, column: Column) -> np.ndarray:
        """Return ``column.read`` of the cells, without reading a value twice."""
        if column.kind not in (NUMBER, DATE) or self.native == column.kind:
            return column.read(self.cells)
        return np.append(self._numbers(column.kind, column.reading), np.nan)[self.codes]

    def _numbers(self, kind: str, reading: str | None) -> np.ndarray:
        if (kind, reading) not in self._known:
            self._known[kind, reading] = read_all(self.values, kind, reading)
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
        if self.clock:
            return NUMBER
        if (
            self.numbers.readable >= _READABLE
            and self.numbers.codes < _CODES
            # A file that has types says so of its categories, whatever they are called.
            and not isinstance(self.cells.dtype, pd.CategoricalDtype)
        ):
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
            why = "17 digits and more" if numbers.long else "leading zeros"
            return [f"codes, because of {why}; --type {_shell(self.name)}=number if not"]
        if numbers.readable >= _READABLE:
            return []
        dated = self.dates.readable if self.dates else 0.0
        for kind, share in ((NUMBER, numbers.readable), (DATE, dated)):
            if share >= _ALMOST:
                layout = f" ({self.dates.layout})" if self.dates and kind == DATE else ""
                return [
                    f"{percent(share)} are {kind}s{layout}, {percent(_READABLE)} would be read "
                    f"so; --type {_shell(self.name)}={kind} takes the others for missing"
                ]
        if dated and in_several_layouts(self.values):
            return ["dates in several layouts: write them alike to have them read so"]
        units = count_units(self.values, self.counts)
        if len(units) > 1 and units.total() >= _READABLE * sum(self.counts):
            shown = ", ".join(unit for unit, _ in units.most_common(4))
            return [f"numbers with several units ({shown}): bring them to one to have them read so"]
        return []

    def _as_number(self, reading: str | None, prefer: str | None, asked: bool) -> Column:
        if self.native == NUMBER or self.numbers is None:
            return self._column(NUMBER, None, "number", self._odd_numbers(None))
        if self.clock and reading is None:
            return self._column(NUMBER, CLOCK, "time of day or duration, in seconds", [])
        found = self.numbers
        notes = []
        if reading is None:
            reading = found.decimal
            if not found.certain:
                reading = prefer or POINT
                why = "as in other columns" if prefer else "no cell tells"
                other = "decimal-comma" if reading == POINT else "decimal-point"
                notes.append(
                    f"{printable(str(self._unclear()), 24)!r} is read as "
                    f"{_shown(read_number(self._unclear(), reading + found.unit))}"
                    f" ({why}); --type {_shell(self.name)}={other} if not"
                )
        if found.bare:
            notes.append(
                f"1 cell has no {found.unit} and counts as if it had"
                if found.bare == 1
                else f"{found.bare:,} cells have no {found.unit} and count as if they had"
            )
        words = ["number"]
        if found.evidence or not found.certain or asked:
            words.append("decimal point" if reading == POINT else "decimal comma")
        if found.marks or found.unit:
            words.append(f"without {' '.join([*found.marks[:3], found.unit.strip()]).strip()}")
        money = list(dict.fromkeys(currency(m) for m in found.marks if m not in "%‰"))
        if len(money) > 1:
            notes.append(f"holds {' and '.join(money[:4])}, which are not told apart")
        if "%" in found.marks:
            words.append("divided by 100")
        if 0.0 < found.percent < _READABLE:
            notes.append(
                f"{percent(found.percent)} of the cells have a % sign and are divided by 100, "
                "the others are not"
            )
        if found.scales:
            means = {3: "a thousand", 6: "a million", 9: "a billion"}
            words.append(", ".join(f"{mark} is {means[SCALES[mark]]}" for mark in found.scales))
        if found.brackets:
            words.append("brackets mean minus")
        reading += found.unit
        return self._column(NUMBER, reading, ", ".join(words), notes + self._odd_numbers(reading))

    def _unclear(self) -> Any:
        unit = "" if self.numbers is None else self.numbers.unit
        return next(
            value for value in self.values
            if read_number(value, POINT + unit) != read_number(value, COMMA + unit)
        )  # fmt: skip

    def _odd_numbers(self, reading: str | None) -> list[str]:
        """Say where a number may mean a missing one, or all may be moments: the user knows."""
        values, counts = self._counted(NUMBER, reading)
        notes = []
        found = find_sentinel(values, counts)
        if found is not None:
            notes.append(
                f"{found[0]:g} stands {found[1]:,} times, apart from all others: missing values?"
            )
        layout = since_1970(values) if len(values) > _FEW else None
        if layout is not None:
            notes.append(f"may be {layout}; --type {_shell(self.name)}=date if so")
        return notes

    def _counted(self, kind: str, reading: str | None) -> tuple[list[float], list[int]]:
        """Different numbers, increasing, and how often each occurs.

        Spellings of one number, such as 5 and 5.0, are counted together.
        """
        numbers = self._numbers(kind, reading)
        known = ~np.isnan(numbers)
        values, place = np.unique(numbers[known], return_inverse=True)
        counts = np.bincount(place, np.asarray(self.counts)[known], minlength=len(values))
        return values.tolist(), counts.astype(int).tolist()

    def _as_date(self, reading: str | None, prefer: str | None, asked: bool) -> Column:
        if self.native == DATE or (self.numbers is None and not asked):
            return self._column(DATE, None, "date", self._far_date(None))
        notes = []
        if reading is None:
            found = self.dates if self.dates and not asked else None
            found = found or look_at_dates(self.values, self.counts, asked=asked)
            reading = found.layout
            if not found.certain:
                reading = prefer or DAY_FIRST
                why = "as in other columns" if prefer else "no cell tells"
                other = "month-first" if reading == DAY_FIRST else "day-first"
                notes.append(
                    f"{self.example!r} is read with the {reading} ({why}); "
                    f"--type {_shell(self.name)}={other} if not"
                )
        return self._column(DATE, reading, f"date, {reading}", notes + self._far_date(reading))

    def _far_date(self, reading: str | None) -> list[str]:
        native = native_floats(self.cells, DATE)
        if native is None:
            values, counts = self._counted(DATE, reading)
        else:
            found, times = np.unique(native[~np.isnan(native)], return_counts=True)
            values, counts = found.tolist(), times.tolist()
        told = find_date_sentinel(values, counts)
        if told is None:
            return []
        return [f"{told[0]} stands {told[1]:,} times, far from all others: missing values?"]

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
