"""Parts of a date, from seconds since 1970."""

from __future__ import annotations

from ._graph import Graph

DAY = 86400.0


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
