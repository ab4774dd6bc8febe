"""The work of ``shortlist export``: the features of a saved model as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..onnx._emit import one_hot
from ..onnx._errors import NotConvertible
from ..onnx._graph import Graph
from ..onnx._write import column_inputs, finish
from ._columns import ABSENT, DATE, NUMBER
from ._features import FAR, Features
from ._model_file import SavedModel

_DAY = 86400.0


def write_model(saved: SavedModel, dtype: str) -> tuple[bytes, dict[str, str]]:
    """Return the ONNX file of a saved model, and the kind of each input."""
    kinds = {column.name: column.kind for column in saved.columns.used}
    inputs = {name: "number" if kind in (NUMBER, DATE) else "text" for name, kind in kinds.items()}
    graph = Graph()
    declared, columns = column_inputs(graph, inputs, dtype)
    rows = _features(graph, columns, saved.features)
    description = f"{saved.winner}: scores for {saved.label} = {saved.positive}"
    written = finish(saved.pipeline, graph, declared, rows, dtype, description)
    return written.SerializeToString(), kinds


def _features(graph: Graph, columns: dict[str, str], features: Features) -> str:
    """Return the scaled features; see :class:`Features` for what they are."""
    content = features.to_plain()
    made = [
        _PARTS[part["kind"]](graph, columns[name], part, name)
        for name, part in content["parts"].items()
    ]
    every = graph.add("Concat", *made, axis=1)
    kept = graph.add("Gather", every, graph.axes(*content["kept"]), axis=1)
    middle = graph.add("Sub", kept, graph.constant(content["middle"]))
    scaled = graph.add("Div", middle, graph.constant(content["spread"]))
    return graph.add("Clip", scaled, graph.constant(-FAR), graph.constant(FAR))


def _numbers(graph: Graph, column: str, part: dict[str, Any], name: str) -> str:
    return _filled(graph, column, graph.add("IsNaN", column), part)


def _filled(graph: Graph, values: str, gap: str, part: dict[str, Any]) -> str:
    filled = graph.add("Where", gap, graph.constant(part["middle"]), values)
    return graph.add("Concat", filled, graph.double(gap), axis=1) if part["gaps"] else filled


def _dates(graph: Graph, column: str, part: dict[str, Any], name: str) -> str:
    """Year, month, day, weekday and hour from seconds since 1970.

    The calendar is that of H. Hinnant, "chrono-compatible low-level date algorithms": days
    are counted from 1 March of the year 0, so that the leap day is the last of its year.
    """
    gap = graph.add("IsNaN", column)
    known = graph.add("Where", gap, graph.constant(0.0), column)
    seconds = graph.double(graph.add("Cast", known, to=7))
    days = _floor(graph, seconds, _DAY)
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
    day = _plus(graph, _minus(graph, of_year, first), 1.0)
    next_year = graph.double(graph.add("Greater", march, graph.constant(9.5)))
    month = _plus(graph, _minus(graph, march, _times(graph, next_year, 12.0)), 3.0)
    year = graph.add("Add", year_of_era, _times(graph, era, 400.0))
    year = graph.add("Add", year, next_year)
    monday = _plus(graph, days, 3.0)
    weekday = _minus(graph, monday, _times(graph, _floor(graph, monday, 7.0), 7.0))
    hour = _floor(graph, _minus(graph, seconds, _times(graph, days, _DAY)), 3600.0)
    when = graph.add("Div", seconds, graph.constant(_DAY))
    values = (when, year, month, day, weekday, hour)
    made = [
        _filled(graph, value, gap, learned)
        for value, learned in zip(values, part["parts"], strict=True)
    ]
    return graph.add("Concat", *made, axis=1)


def _floor(graph: Graph, x: str, divisor: float) -> str:
    return graph.add("Floor", graph.add("Div", x, graph.constant(divisor)))


def _plus(graph: Graph, x: str, number: float) -> str:
    return graph.add("Add", x, graph.constant(number))


def _times(graph: Graph, x: str, number: float) -> str:
    return graph.add("Mul", x, graph.constant(number))


def _minus(graph: Graph, x: str, y: str) -> str:
    return graph.add("Sub", x, y)


def _categories(graph: Graph, column: str, part: dict[str, Any], name: str) -> str:
    return one_hot(graph, column, part["values"], ABSENT)


def _pieces(graph: Graph, column: str, part: dict[str, Any], name: str) -> str:
    raise NotConvertible(
        f"the column {name!r} is free text, which has no ONNX form. Leave it out when you pick "
        f"(--drop {name!r}), or have it read as a category (--type)."
    )


_PARTS: dict[str, Callable[[Graph, str, dict[str, Any], str], str]] = {
    "Numbers": _numbers,
    "Dates": _dates,
    "Categories": _categories,
    "Pieces": _pieces,
}
