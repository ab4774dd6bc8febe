"""Dates as files write them: ISO, day or month first, with names of months, SAS's, compact.

A layout is decided once for a column, from the history. Where day and month cannot be told
apart (no value above 12 in either place), the day comes first, and the user is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

DAY_FIRST, MONTH_FIRST = "day first", "month first"
_EPOCH = date(1970, 1, 1).toordinal()
# Cells that are looked at to find the layout.
_LOOK = 2_000

_TIME = (
    r"(?:(?:T|:|,? +)(?P<H>\d{1,2})[:.h](?P<M>\d{2})(?:[:.](?P<S>\d{2})(?:[.,]\d+)?)?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?)? ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_YEAR = r"(?P<y>\d{4}|\d{2})"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_LAYOUTS = {
    "year-month-day": r"(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})",
    "yearmonthday": r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
    DAY_FIRST: rf"(?P<d>\d{{1,2}})([-/.])(?P<m>\d{{1,2}})\2{_YEAR}",
    MONTH_FIRST: rf"(?P<m>\d{{1,2}})([-/.])(?P<d>\d{{1,2}})\2{_YEAR}",
    "day, name of month, year": rf"(?P<d>\d{{1,2}})\.?[-/ ]?{_NAME}[-/, ]*{_YEAR}",
    "name of month, day, year": rf"{_NAME} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    "year-month": r"(?P<y>(?:19|20)\d{2})-(?P<m>\d{2})(?P<d>)",
}
_PATTERNS = {name: re.compile(pattern + _TIME) for name, pattern in _LAYOUTS.items()}
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
    if not isinstance(value, str):
        return _of_type(value)
    found = _PATTERNS[layout].fullmatch(value.replace("\u00a0", " ").strip())
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


def look_at_dates(
    cells: Sequence[Any], counts: Sequence[int], prefer: str | None = None
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
    """
    # A sample tells the layout; the share that fits is that of all cells.
    step = max(1, len(cells) // _LOOK)
    fits = {
        layout: sum(read_date(cell, layout) is not None for cell in cells[::step])
        for layout in _LAYOUTS
    }
    certain = fits[DAY_FIRST] != fits[MONTH_FIRST]
    order = [prefer, *_LAYOUTS] if prefer else list(_LAYOUTS)
    layout = max(order, key=lambda name: fits[name])
    readable = fits[layout] and sum(
        count
        for cell, count in zip(cells, counts, strict=True)
        if read_date(cell, layout) is not None
    ) / sum(counts)
    return DateColumn(layout, readable, certain or layout not in (DAY_FIRST, MONTH_FIRST))
