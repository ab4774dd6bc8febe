"""Numbers as people and spreadsheets write them.

Two conventions: a point or a comma before the decimals. With a point, thousands are apart by
a comma, a space or an apostrophe (``1,234.50``, ``1 234.50``, ``1'234.50``); with a comma, by
a point, a space or an apostrophe (``1.234,50``). Currency signs and codes are read over, a
percentage is divided by 100, brackets and a sign behind mean minus. Which convention a column
follows is decided once, from all values of the history that allow only one of them. ``1.2K``
is 1,200 and ``3M`` three million. A unit that all cells share is read over, and times of day
become seconds.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import Any

# A reading is what stands before the decimals, and the unit that is read over, if there is one.
POINT, COMMA = ".", ","
# Times of day and durations, as 17:05 or 17:05:59.
CLOCK = ":"
# Different cells of a first look, and the share of numbers below which it is the last.
_LOOK, _HOPELESS = 1_000, 0.4

# Spaces that Excel and word processors put between thousands, and signs that look alike.
_SAME = {ord(c): " " for c in "\u00a0\u202f\u2009\u2007\u2008\u200a\t"}
_SAME |= {ord("\u2212"): "-", ord("\u2013"): "-", ord("\u2019"): "'", ord("`"): "'"}
# Digits and signs as wide as Chinese ones.
_SAME |= {wide: chr(wide - 0xFEE0) for wide in range(ord("\uff01"), ord("\uff5f"))}
_SAME |= {ord("\uffe5"): "¥", ord("\uffe1"): "£"}
_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|RMB|INR|RUB|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|TRY|"
    "SGD|HKD|KRW|ILS|RON|BGN|THB|US\\$|C\\$|A\\$|R\\$|Fr\\.|kr\\.?|zł|Kč|Rs\\.?"
)
_SIGNS = "".join(
    chr(c)
    for c in range(0x24, 0x20C1)
    if unicodedata.category(chr(c)) == "Sc" and chr(c).isprintable()
)
_MONEY = rf"(?:{_CODES}|[{re.escape(_SIGNS)}])"
# Powers of ten behind a number. Single letters stand close to it: 300 K is a temperature.
SCALES = {"k": 3, "K": 3, "M": 6, "B": 9, "mn": 6, "bn": 9, "Mio": 6, "Mrd": 9}
_AROUND = re.compile(
    rf"(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_MONEY})? ?(?P<sign2>[+-])? ?(?P<inner>\()? ?"
    rf"(?P<body>[0-9.,][0-9., ']*(?:[eE][+-]?\d+)?)(?:(?P<scale>{'|'.join(SCALES)})\.?)? ?"
    rf"(?P<after>%|‰|{_MONEY})? ?(?P<behind>-)? ?(?P<close>\))?",
    re.IGNORECASE,
)
# Nothing, as bookkeepers write it: "$ -".
_NOUGHT = re.compile(rf"{_MONEY} ?-+", re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_DASHED = re.compile(r"[.,]-+$")
_BARE = re.compile(r"[+-]?[0-9.,]*")
# Digits that a number does not keep apart: names of something.
_LONG = 17
_UNIT = re.compile(
    r"[+-]?[0-9][0-9., ']*(?P<unit>(?:[^\W\d_]{1,5}[²³]?(?:/[^\W\d_]{1,5})?|°[CF]?))"
)
_TIME = re.compile(
    # Durations of pandas begin with days.
    r"(?:(?P<days>-?\d+) days?,? \+?)?(?P<sign>-)?(?P<hour>\d{1,3})[:h](?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d(?:[.,]\d+)?))?(?: ?(?P<half>[ap])\.?m\.?)?",
    re.IGNORECASE,
)


def _body(decimal: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    group = "[, ']" if decimal == POINT else "[. ']"
    return re.compile(
        # Thousands in threes, or the last three and then in twos, as in India.
        rf"(?P<whole>[1-9]\d{{0,2}}(?P<mark>{group})\d{{3}}(?:(?P=mark)\d{{3}})*"
        rf"|[1-9]\d?(?P<mark2>{group})\d\d(?:(?P=mark2)\d\d)*(?P=mark2)\d{{3}}|\d+|(?={point}\d))"
        rf"(?:{point}(?P<part>\d*))?(?P<power>[eE][+-]?\d+)?"
    )


_BODIES = {POINT: _body(POINT), COMMA: _body(COMMA)}


@dataclass(frozen=True)
class NumberColumn:
    """How the numbers of a column are written, and what speaks for it.

    Attributes
    ----------
    decimal : str
        What stands before the decimals: a point or a comma.
    readable : float
        Share of the cells that are numbers in this convention.
    certain : bool
        Whether some value allows only this convention, or no value allows both.
    evidence : int
        Cells that allow only this convention.
    marks : tuple of str
        Currencies and percent signs that were met.
    codes : float
        Share of cells with leading zeros, such as 00731, or with 17 digits and more.
    long : bool
        Whether cells of 17 digits and more are among them.
    brackets : bool
        Whether a number in brackets was met.
    percent : float
        Share of cells with a percent sign.
    scales : tuple of str
        Powers of ten that were met, such as "K".
    unit : str
        What stands behind the numbers in nearly all cells, such as "km".
    bare : int
        Cells without the unit.
    """

    decimal: str
    readable: float
    certain: bool
    evidence: int
    marks: tuple[str, ...]
    codes: float
    long: bool
    brackets: bool
    percent: float
    scales: tuple[str, ...] = ()
    unit: str = ""
    bare: int = 0


def read_number(value: Any, reading: str) -> float | None:
    """Return a cell as a number; NaN where it is infinite, None where it is no number.

    Parameters
    ----------
    value : object
        The cell.
    reading : str
        What stands before the decimals, followed by a unit to be read over; or `CLOCK`.

    Examples
    --------
    >>> from shortlist._app._numbers import read_number
    >>> [read_number(cell, ".") for cell in ("1,234.50", "€ 0.16", "(12.00)", "50 %", "1,5")]
    [1234.5, 0.16, -12.0, 0.5, None]
    >>> read_number("1.234,50", ","), read_number("3.5 km", ".km"), read_number("01:30", ":")
    (1234.5, 3.5, 5400.0)
    >>> read_number("$1.2K", "."), read_number("3 Mio. €", ",")
    (1200.0, 3000000.0)
    """
    if reading == CLOCK:
        return _read_clock(value)
    decimal, unit = reading[0], reading[1:]
    if not isinstance(value, str):
        return _of_type(value)
    if unit:
        value = value.strip().removesuffix(unit)
    if decimal == POINT or value.isdecimal():
        # Most cells are plain; this saves them the long way.
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and "_" not in value:
            return number
    plain = _plain(value)
    parts = _AROUND.fullmatch(plain)
    if parts is None:
        if _NOUGHT.fullmatch(plain):
            return 0.0
        return math.nan if _INFINITE.fullmatch(value.strip()) else None
    scale = parts["scale"]
    if scale and (scale not in SCALES or (len(scale) == 1 and parts["body"].endswith(" "))):
        return None
    body = _BODIES[decimal].fullmatch(parts["body"].strip())
    opened = [bracket for bracket in (parts["open"], parts["inner"]) if bracket]
    if body is None or len(opened) != (parts["close"] is not None):
        return None
    if parts["before"] and parts["after"] and parts["after"] not in "%‰":
        return None
    signs = [sign for sign in (parts["sign"], parts["sign2"], parts["behind"]) if sign]
    if len(signs) > 1 or (signs and opened):
        return None
    mark = body["mark"] or body["mark2"]
    if mark and body["power"]:
        # Thousands are never marked before a power of ten: in 1,340E+00 a comma is a decimal's.
        return None
    whole = body["whole"].replace(mark, "") if mark else body["whole"]
    # A percentage moves the point, so that 32.9 % is 0.329 to the last digit.
    power = int((body["power"] or "e0")[1:]) - {"%": 2, "‰": 3}.get(parts["after"], 0)
    power += SCALES.get(scale, 0)
    number = float(f"{whole or '0'}.{body['part'] or '0'}e{power}")
    if not math.isfinite(number):
        return math.nan
    return -number if "-" in signs or opened else number


def _read_clock(value: Any) -> float | None:
    """Return a time of day, or a duration, in seconds."""
    if isinstance(value, time):
        return value.hour * 3600.0 + value.minute * 60 + value.second + value.microsecond / 1e6
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (found["half"] in "pP")
    second = float((found["second"] or "0").replace(",", "."))
    day = (hour * 3600.0 + int(found["minute"]) * 60 + second) * (-1 if found["sign"] else 1)
    return int(found["days"] or 0) * 86400.0 + day


def share_of_clocks(cells: Sequence[Any], counts: Sequence[int]) -> float:
    """Return the share of cells that are times of day or durations."""
    fits = sum(
        count for cell, count in zip(cells, counts, strict=True) if _read_clock(cell) is not None
    )
    return fits / max(sum(counts), 1)


def currency(mark: str) -> str:
    """One spelling for a currency: € and EUR are the same."""
    return {"EUR": "€", "USD": "$", "US$": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}.get(
        mark.upper(), mark
    )


def _plain(value: str) -> str:
    """One kind of space, minus and apostrophe; no dash for the decimals, as in "12.–"."""
    return _DASHED.sub("", value.translate(_SAME).strip())


def _of_type(value: Any) -> float | None:
    """Return a cell that came as a number, from a spreadsheet or Parquet."""
    if isinstance(value, bytes) or not hasattr(value, "__float__"):
        return None
    number = float(value)
    return number if math.isfinite(number) else math.nan


def _readings(cell: Any) -> dict[str, float | None]:
    point = read_number(cell, POINT)
    if isinstance(cell, str) and point is not None and COMMA not in cell:
        # The most frequent cells, without the long way: without a mark there is nothing to
        # tell, "3.25" is no thousands, and neither are "0.125" and "1234.125".
        whole, mark, part = cell.partition(POINT)
        if not mark:
            return {POINT: point, COMMA: point}
        if part.isdecimal():
            digits = whole.removeprefix("-")
            if len(part) != 3 or digits.startswith("0"):
                return {POINT: point, COMMA: None}
            if digits.isdecimal():
                return {POINT: point, COMMA: float(whole + part) if len(digits) <= 3 else None}
    return {POINT: point, COMMA: read_number(cell, COMMA)}


def look_at_numbers(
    cells: Sequence[Any], counts: Sequence[int], prefer: str | None = None
) -> NumberColumn:
    """Decide the convention of a column.

    Parameters
    ----------
    cells : sequence
        Its different values, missing ones left out.
    counts : sequence of int
        How often each occurs.
    prefer : {".", ","}, default=None
        For a column whose values allow both, such as "1,234" alone: the convention of the
        other columns of the file. None: the point.
    """
    if cells and all(_is_address(cell) for cell in cells[:_LOOK]):
        # Points between the numbers of a machine's address mark no thousands.
        return NumberColumn(POINT, 0.0, True, 0, (), 0.0, False, False, 0.0)
    step = max(1, len(cells) // _LOOK)
    if step > 1:
        # Words are no numbers: a sample says so, and saves the rest of them the look.
        sample = look_at_numbers(cells[::step], counts[::step], prefer)
        if sample.readable < _HOPELESS:
            return sample
    both = {POINT: 0, COMMA: 0}
    only = {POINT: 0, COMMA: 0}
    either = total = codes = 0
    long = False
    marks: dict[str, int] = {}
    scales: set[str] = set()
    brackets = False
    for cell, count in zip(cells, counts, strict=True):
        total += count
        readings = _readings(cell)
        fits = [decimal for decimal, number in readings.items() if number is not None]
        for decimal in fits:
            both[decimal] += count
        if len(fits) == 1:
            only[fits[0]] += count
        elif len(fits) == 2:
            one, other = readings.values()
            either += count * (one != other and one == one)
        if isinstance(cell, int) and abs(cell) >= 10 ** (_LONG - 1):
            codes, long = codes + count, True
        elif isinstance(cell, str) and fits:
            digits = cell.strip()
            if digits.isdecimal() and (
                len(digits) >= _LONG or (digits[0] == "0" and len(digits) > 1)
            ):
                codes, long = codes + count, long or len(digits) >= _LONG
            found = None if _BARE.fullmatch(cell) else _AROUND.fullmatch(_plain(cell))
            if found is not None:
                brackets |= found["close"] is not None
                scales |= {found["scale"]} & SCALES.keys()
                for mark in (found["before"], found["after"]):
                    if mark:
                        marks[mark] = marks.get(mark, 0) + count
    if only[POINT] != only[COMMA]:
        decimal, certain = max(only, key=lambda mark: only[mark]), True
    else:
        decimal, certain = prefer or POINT, not either
    return NumberColumn(
        decimal,
        both[decimal] / max(total, 1),
        certain,
        only[decimal],
        tuple(sorted(marks, key=lambda mark: -marks[mark])),
        codes / max(total, 1),
        long,
        brackets,
        (marks.get("%", 0) + marks.get("‰", 0)) / max(total, 1),
        tuple(sorted(scales, key=lambda scale: (SCALES[scale], scale))),
    )


def _is_address(cell: Any) -> bool:
    """Whether a cell is an address such as 192.168.100.200."""
    parts = cell.strip().split(".") if isinstance(cell, str) else []
    return len(parts) == 4 and all(part.isdecimal() and int(part) < 256 for part in parts)


def look_at_measures(
    cells: Sequence[Any], counts: Sequence[int], enough: float
) -> NumberColumn | None:
    """Decide the convention of a column whose cells end in the same unit, None if they do not.

    Parameters
    ----------
    cells, counts
        As for :func:`look_at_numbers`.
    enough : float
        Share of the cells that must have the unit.

    Examples
    --------
    >>> from shortlist._app._numbers import look_at_measures
    >>> look_at_measures(["3,5 km", "12 km"], [1, 1], 0.95).unit
    'km'
    >>> look_at_measures(["3 km", "12 m"], [1, 1], 0.95)
    """
    units = count_units(cells, counts)
    unit, met = units.most_common(1)[0] if units else ("", 0)
    if not met or met < enough * sum(counts):
        return None
    bare = [cell.strip().removesuffix(unit) if isinstance(cell, str) else cell for cell in cells]
    found = look_at_numbers(bare, counts)
    without = sum(
        count
        for cell, text, count in zip(cells, bare, counts, strict=True)
        if str(cell).strip() == text and read_number(cell, found.decimal) is not None
    )
    return replace(found, unit=unit, bare=without)


def count_units(cells: Sequence[Any], counts: Sequence[int]) -> Counter[str]:
    """Return what stands behind numbers, and in how many cells."""
    units: Counter[str] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        found = _UNIT.fullmatch(_plain(cell)) if isinstance(cell, str) else None
        if found is not None:
            units[found["unit"]] += count
    return units


# What files write where a number is not known, when it is far from the others.
_SENTINELS = frozenset(
    sign * number for number in (99, 999, 9999, 99999, 999999) for sign in (1, -1)
)
# Different numbers, besides -1, of a column where -1 is not one of them.
_MANY = 10


def find_sentinel(values: Sequence[float], counts: Sequence[int]) -> tuple[float, int] | None:
    """Return a number that repeats, is all nines or -1, and lies apart from all others.

    Parameters
    ----------
    values : sequence of float
        The different numbers of a column, increasing.
    counts : sequence of int
        How often each occurs.

    Examples
    --------
    >>> from shortlist._app._numbers import find_sentinel
    >>> find_sentinel([-999.0, 3.0, 4.0, 7.0], [5, 2, 1, 1])
    (-999.0, 5)
    """
    if len(values) < 3:
        return None
    lowest, highest = values[0], values[-1]
    told = lowest in _SENTINELS or (lowest == -1 and len(values) >= _MANY)
    if told and lowest < 0 <= values[1] and counts[0] > 1:
        return float(lowest), int(counts[0])
    apart = highest - values[-2] > values[-2] - min(lowest, 0.0)
    if highest in _SENTINELS and highest > 0 and apart and counts[-1] > 1:
        return float(highest), int(counts[-1])
    return None
