"""Dates as files write them: ISO, day or month first, with names of months, SAS's, compact.

A layout is decided once for a column, from the history. Where day and month cannot be told
apart (no value above 12 in either place), the day comes first, and the user is told. Seconds
since 1970 are dates only where the user says so: they are numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

DAY_FIRST, MONTH_FIRST = "day first", "month first"
_EPOCH = date(1970, 1, 1).toordinal()
# Cells that are looked at to find the layout.
_LOOK = 2_000
# Cells that tell whether all are dates of some kind.
_FEW = 200
# A space of spreadsheets; year, month and day in Chinese and Japanese.
_SAME = str.maketrans({"\u00a0": " ", "年": "-", "月": "-", "日": None})

_TIME = (
    r"(?:(?:T|:|,? +)(?P<H>\d{1,2})[:.h](?P<M>\d{2})(?:[:.](?P<S>\d{2})(?:[.,]\d+)?)?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?)? ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_YEAR = r"(?P<y>\d{4}|\d{2})"
# Names of weekdays before a date, in the languages of the months below; they add nothing.
_WEEKDAY = (
    r"(?:(?i:mo|tu|we|th|fr|sa|su|di|mi|do|so|lu|ma|me|je|ve|gi|vi|wo|vr|za|zo|mi|se|te|qu)"
    r"[^\W\d_]{0,8}(?:-feira)?\.?,? +)?"
)
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_LAYOUTS = {
    "year-month-day": r"(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})",
    "yearmonthday": r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
    DAY_FIRST: rf"(?P<d>\d{{1,2}})([-/.])(?P<m>\d{{1,2}})\2{_YEAR}",
    MONTH_FIRST: rf"(?P<m>\d{{1,2}})([-/.])(?P<d>\d{{1,2}})\2{_YEAR}",
    "day, name of month, year": rf"(?P<d>\d{{1,2}})\.?[-/ ]?{_NAME}[-/, ]*{_YEAR}",
    "name of month, day, year": rf"{_NAME} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    "year-month": r"(?P<y>(?:19|20)\d{2})[-/](?P<m>\d{2})(?P<d>)",
    "month/year": r"(?P<m>\d{1,2})[-/](?P<y>(?:19|20)\d{2})(?P<d>)",
    "name of month, year": rf"{_NAME}[-/ ](?P<y>(?:19|20)\d{{2}})(?P<d>)",
}
_PATTERNS = {name: re.compile(_WEEKDAY + pattern + _TIME) for name, pattern in _LAYOUTS.items()}
# Layouts that are tried only where the user says that a column holds dates.
_SINCE_1970 = {"seconds since 1970": 1, "milliseconds since 1970": 1000}
_FIRST, _LAST = 1_000_000_000, 2_000_000_000
# English, German, French, Spanish, Italian, Dutch, Portuguese: enough letters to tell them.
_MONTHS = {
    prefix: month
    for month, prefixes in enumerate(
        (
            "jan jän ene gen", "feb fév fev", "mar mär mrz mrt maa", "apr avr abr",
            "may mai mag mei", "jun juin giu", "jul juil lug", "aug aoû aou ago",
            "sep set", "oct okt ott out", "nov", "dec dez déc dic",
        ),
        1,
    )
    for prefix in prefixes.split()
}  # fmt: skip


@dataclass(frozen=True)
class DateColumn:
    """How the dates of a column are written.

    Attributes
    ----------
    layout : str
        Its name.
    readable : float
        Share of the cells that are dates in this layout.
    certain : bool
        Whether some value allows only this order of day and month.
    """

    layout: str
    readable: float
    certain: bool


def read_date(value: Any, layout: str) -> int | None:
    """Return a cell as seconds since 1970, UTC where it names a zone; None if it is no date.

    Examples
    --------
    >>> from shortlist._app._dates import read_date
    >>> read_date("02.01.1970 00:01", "day first")
    86460
    >>> read_date("02JAN1970:00:01:00", "day, name of month, year")
    86460
    """
    if layout in _SINCE_1970:
        return _counted(value, _SINCE_1970[layout])
    if not isinstance(value, str):
        return _of_type(value)
    found = _PATTERNS[layout].fullmatch(value.translate(_SAME).strip())
    if found is None:
        return None
    parts = found.groupdict()
    month = _month(parts["name"]) if "name" in parts else int(parts["m"])
    year, day = int(parts["y"]), int(parts["d"] or 1)
    if len(parts["y"]) == 2:
        year += 2000 if year < 69 else 1900
    seconds = _seconds(parts)
    if not month or seconds is None:
        return None
    try:
        return (date(year, month, day).toordinal() - _EPOCH) * 86400 + seconds
    except ValueError:
        return None


def _counted(value: Any, unit: int) -> int | None:
    try:
        seconds = float(value) / unit
    except (TypeError, ValueError):
        return None
    return int(seconds) if _FIRST <= seconds < _LAST else None


def since_1970(numbers: Iterable[float]) -> str | None:
    """Return the layout of numbers that may count from 1970: all lie in the years 2001 to 2033.

    Examples
    --------
    >>> from shortlist._app._dates import since_1970
    >>> since_1970([1.7e9, 1.71e9]), since_1970([1.7e12]), since_1970([3.0, 1.7e9])
    ('seconds since 1970', 'milliseconds since 1970', None)
    """
    known = list(numbers)
    for layout, unit in _SINCE_1970.items():
        if known and all(
            number == int(number) and _FIRST <= number / unit < _LAST for number in known
        ):
            return layout
    return None


# What programs write where a date is not known.
_SENTINELS = frozenset(
    (date(*parts).toordinal() - _EPOCH) * 86400
    for parts in (
        (1, 1, 1), (1753, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1970, 1, 1),
        (2099, 12, 31), (2999, 12, 31), (9999, 1, 1), (9999, 12, 31),
    )
)  # fmt: skip
_TEN_YEARS = 3653 * 86400


def find_date_sentinel(seconds: Sequence[float], counts: Sequence[int]) -> tuple[str, int] | None:
    """Return a date that repeats, is one programs write for none, and lies apart from the others.

    Parameters
    ----------
    seconds : sequence of float
        The different times of a column, increasing.
    counts : sequence of int
        How often each occurs.

    Examples
    --------
    >>> from shortlist._app._dates import find_date_sentinel
    >>> find_date_sentinel([-2208988800.0, 1.7e9, 1.8e9], [5, 2, 1])
    ('1900-01-01', 5)
    """
    if len(seconds) < 3:
        return None
    for end, neighbour in ((0, 1), (-1, -2)):
        day = seconds[end] // 86400 * 86400
        apart = abs(seconds[end] - seconds[neighbour]) > _TEN_YEARS
        if day in _SENTINELS and apart and counts[end] > 1:
            return date.fromordinal(int(day // 86400) + _EPOCH).isoformat(), int(counts[end])
    return None


def _month(name: str) -> int | None:
    name = name.lower()
    return _MONTHS.get(name[:4]) or _MONTHS.get(name[:3])


def _seconds(parts: dict[str, str]) -> int | None:
    hour, minute, second = (int(parts[key] or 0) for key in "HMS")
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"][0] in "pP")
    if hour > 24 or minute > 59 or second > 60:
        return None
    zone = parts["zone"]
    ahead = 0
    if zone and zone[0] in "+-":
        ahead = (int(zone[1:3]) * 60 + int(zone[-2:])) * (60 if zone[0] == "+" else -60)
    return hour * 3600 + minute * 60 + second - ahead


def _of_type(value: Any) -> int | None:
    """Return a cell that came as a date, from a spreadsheet or Parquet."""
    if not isinstance(value, date):
        return None
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return int(value.timestamp())


def in_several_layouts(cells: Sequence[Any]) -> bool:
    """Whether cells are dates, but not all in one layout.

    Examples
    --------
    >>> from shortlist._app._dates import in_several_layouts
    >>> in_several_layouts(["2020-01-31", "31.01.2020"]), in_several_layouts(["x", "31.01.2020"])
    (True, False)
    """
    some = cells[:: max(1, len(cells) // _FEW)]
    fits = [any(read_date(cell, layout) is not None for layout in _LAYOUTS) for cell in some]
    return sum(fits) >= 0.95 * len(some)


def look_at_dates(
    cells: Sequence[Any],
    counts: Sequence[int],
    prefer: str | None = None,
    asked: bool = False,
) -> DateColumn:
    """Decide the layout of a column.

    Parameters
    ----------
    cells : sequence
        Its different values, missing ones left out.
    counts : sequence of int
        How often each occurs.
    prefer : {"day first", "month first"}, default=None
        For a column whose values allow both, the order of the other columns of the file.
        None: day first.
    asked : bool, default=False
        Whether the user has said that these are dates: then they may count from 1970.
    """
    # A sample tells the layout; the share that fits is that of all cells.
    step = max(1, len(cells) // _LOOK)
    known = [*_LAYOUTS, *(_SINCE_1970 if asked else ())]
    fits = {
        layout: sum(read_date(cell, layout) is not None for cell in cells[::step])
        for layout in known
    }
    certain = fits[DAY_FIRST] != fits[MONTH_FIRST]
    order = [prefer, *known] if prefer else known
    layout = max(order, key=lambda name: fits[name])
    readable = fits[layout] and sum(
        count
        for cell, count in zip(cells, counts, strict=True)
        if read_date(cell, layout) is not None
    ) / sum(counts)
    return DateColumn(layout, readable, certain or layout not in (DAY_FIRST, MONTH_FIRST))
