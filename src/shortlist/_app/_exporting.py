"""The work of ``shortlist export``: the features of a saved model as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import is_classifier

from ..onnx._calendar import DAY, calendar
from ..onnx._graph import Graph
from ..onnx._tables import one_hot
from ..onnx._words import directions_of_text
from ..onnx._write import column_inputs, finish
from ._columns import ABSENT, DATE, NUMBER
from ._features import FAR, Features
from ._model_file import SavedModel


def write_model(saved: SavedModel, dtype: str) -> tuple[bytes, dict[str, str], list[str]]:
    """Return the ONNX file of a saved model, the kind of each input, and the outputs."""
    kinds = {column.name: column.kind for column in saved.columns.used}
    known = {NUMBER: "number", DATE: "date"}
    inputs = {name: known.get(kind, "text") for name, kind in kinds.items()}
    graph = Graph()
    declared, columns = column_inputs(graph, inputs, dtype)
    rows = _features(graph, columns, saved.features)
    numeric = not is_classifier(saved.pipeline)
    aim = (
        f"the {saved.positive} of {saved.label}" if numeric else f"{saved.label} = {saved.positive}"
    )
    description = f"{saved.winner}: scores for {aim}"
    written = finish(saved.pipeline, graph, declared, rows, dtype, description)
    return written.SerializeToString(), kinds, [each.name for each in written.graph.output]


def _features(graph: Graph, columns: dict[str, str], features: Features) -> str:
    """Return the scaled features; see :class:`Features` for what they are."""
    content = features.to_plain()
    made = [
        _PARTS[part["kind"]](graph, columns[name], part) for name, part in content["parts"].items()
    ]
    every = graph.add("Concat", *made, axis=1)
    kept = graph.add("Gather", every, graph.axes(*content["kept"]), axis=1)
    middle = graph.add("Sub", kept, graph.constant(content["middle"]))
    scaled = graph.add("Div", middle, graph.constant(content["spread"]))
    return graph.add("Clip", scaled, graph.constant(-FAR), graph.constant(FAR))


def _numbers(graph: Graph, column: str, part: dict[str, Any]) -> str:
    return _filled(graph, column, graph.add("IsNaN", column), part)


def _filled(graph: Graph, values: str, gap: str, part: dict[str, Any]) -> str:
    filled = graph.add("Where", gap, graph.constant(part["middle"]), values)
    return graph.add("Concat", filled, graph.double(gap), axis=1) if part["gaps"] else filled


def _dates(graph: Graph, column: str, part: dict[str, Any]) -> str:
    gap, known = calendar(graph, column)
    when = graph.add("Div", known["seconds"], graph.constant(DAY))
    values = (when, *(known[each] for each in ("year", "month", "day", "weekday", "hour")))
    made = [
        _filled(graph, value, gap, learned)
        for value, learned in zip(values, part["parts"], strict=True)
    ]
    return graph.add("Concat", *made, axis=1)


def _categories(graph: Graph, column: str, part: dict[str, Any]) -> str:
    return one_hot(graph, column, part["values"], ABSENT)


def _pieces(graph: Graph, column: str, part: dict[str, Any]) -> str:
    return directions_of_text(graph, column, part["rarity"], part["directions"], ABSENT)


_PARTS: dict[str, Callable[[Graph, str, dict[str, Any]], str]] = {
    "Numbers": _numbers,
    "Dates": _dates,
    "Categories": _categories,
    "Pieces": _pieces,
}
