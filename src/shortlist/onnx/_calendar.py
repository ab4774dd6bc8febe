"""Parts of a date, from seconds since 1970."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ._graph import Graph

DAY = 86400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Years that dates in nanoseconds can have.
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1678, 2262))


def local_time(graph: Graph, column: str, zone: str) -> str:
    """Return the seconds that clocks of a time zone show since 1970; missing ones stay so."""
    changes, offsets = _clock_changes(zone)
    after = graph.double(graph.add("GreaterOrEqual", column, graph.constant([changes])))
    count = graph.add("ReduceSum", after, graph.axes(1), keepdims=1)
    offset = graph.add("Gather", graph.constant(offsets), graph.add("Cast", count, to=7))
    return graph.add("Add", column, offset)


@functools.cache
def _clock_changes(zone: str) -> tuple[list[float], list[float]]:
    """Return when the clocks of a zone change, and their offset before and after, in seconds."""
    clock = ZoneInfo(zone)

    def offset(seconds: int) -> float:
        local = (_EPOCH + timedelta(seconds=seconds)).astimezone(clock)
        return (local.utcoffset() or timedelta()).total_seconds()

    changes, offsets = [], [offset(_FIRST)]
    for end in range(_FIRST + int(DAY), _LAST, int(DAY)):
        if offset(end) == offsets[-1]:
            continue
        before, after = end - int(DAY), end
        while after - before > 1:
            middle = (before + after) // 2
            if offset(middle) == offsets[-1]:
                before = middle
            else:
                after = middle
        changes.append(float(after))
        offsets.append(offset(after))
    return changes, offsets


def calendar(graph: Graph, column: str) -> tuple[str, dict[str, str]]:
    """Return where a date is missing, and year, month, day, weekday, hour and seconds.

    The calendar is that of H. Hinnant, "chrono-compatible low-level date algorithms": days
    are counted from 1 March of the year 0, so that the leap day is the last of its year.
    """
    gap = graph.add("IsNaN", column)
    known = graph.add("Where", gap, graph.constant(0.0), column)
    seconds = graph.double(graph.add("Cast", known, to=7))
    days = _floor(graph, seconds, DAY)
    z = _plus(graph, days, 719468.0)
    era = _floor(graph, z, 146097.0)
    of_era = _minus(graph, z, _times(graph, era, 146097.0))
    leaps = _minus(graph, _floor(graph, of_era, 36524.0), _floor(graph, of_era, 1460.0))
    leaps = _minus(graph, leaps, _floor(graph, of_era, 146096.0))
    year_of_era = _floor(graph, graph.add("Add", of_era, leaps), 365.0)
    start = _minus(graph, _floor(graph, year_of_era, 4.0), _floor(graph, year_of_era, 100.0))
    start = graph.add("Add", _times(graph, year_of_era, 365.0), start)
    of_year = _minus(graph, of_era, start)
    march = _floor(graph, _plus(graph, _times(graph, of_year, 5.0), 2.0), 153.0)
    first = _floor(graph, _plus(graph, _times(graph, march, 153.0), 2.0), 5.0)
    next_year = graph.double(graph.add("Greater", march, graph.constant(9.5)))
    year = graph.add("Add", year_of_era, _times(graph, era, 400.0))
    monday = _plus(graph, days, 3.0)
    return gap, {
        "year": graph.add("Add", year, next_year),
        "month": _plus(graph, _minus(graph, march, _times(graph, next_year, 12.0)), 3.0),
        "day": _plus(graph, _minus(graph, of_year, first), 1.0),
        "weekday": _minus(graph, monday, _times(graph, _floor(graph, monday, 7.0), 7.0)),
        "hour": _floor(graph, _minus(graph, seconds, _times(graph, days, DAY)), 3600.0),
        "seconds": seconds,
    }


def _floor(graph: Graph, x: str, divisor: float) -> str:
    return graph.add("Floor", graph.add("Div", x, graph.constant(divisor)))


def _plus(graph: Graph, x: str, number: float) -> str:
    return graph.add("Add", x, graph.constant(number))


def _times(graph: Graph, x: str, number: float) -> str:
    return graph.add("Mul", x, graph.constant(number))


def _minus(graph: Graph, x: str, y: str) -> str:
    return graph.add("Sub", x, y)
