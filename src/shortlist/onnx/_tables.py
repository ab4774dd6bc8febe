"""Columns of a table as skrub's ``TableVectorizer`` turns them into numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import numpy as np

from ._calendar import calendar, local_time
from ._errors import NotConvertible
from ._graph import Graph
from ._words import directions_of_text


def is_table(step: Any) -> bool:
    """Whether it is a ``TableVectorizer``; skrub need not be installed to ask."""
    return any(
        kind.__name__ == "TableVectorizer" and kind.__module__.split(".")[0] == "skrub"
        for kind in type(step).__mro__
    )


def one_hot(
    graph: Graph,
    column: str,
    values: list[str],
    absent: str | None = None,
    aliases: Iterable[str] = (),
) -> str:
    """Return a column of 0 and 1 for each value; empty text and `aliases` mean `absent`."""
    codes = {value: code for code, value in enumerate(values)}
    if absent in codes:
        for text in ("", *aliases):
            codes.setdefault(text, codes[absent])
    code = graph.add(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=-1,
    )
    return graph.double(graph.add("Equal", code, graph.axes(*range(len(values)))))


def table_columns(step: Any) -> dict[str, str]:
    """Return the columns a ``TableVectorizer`` has learned from, and their kinds."""
    known = {"OneHotEncoder": "text", "TextPieces": "text", "DatetimeEncoder": "date"}
    kinds = {}
    for name in step.feature_names_in_:
        parts = _parts(step, name)
        if parts:
            kinds[str(name)] = next((known[part] for part in parts if part in known), "number")
    return kinds


def table(step: Any, graph: Graph, columns: dict[str, str]) -> str:
    """Return all features of all columns; they are in single precision, as skrub has them."""
    graph.single = True
    made = []
    for name in step.feature_names_in_:
        parts = _parts(step, name)
        if not parts:
            continue
        emit = next((_MADE[part] for part in parts if part in _MADE), None)
        if emit is None:
            raise NotConvertible(
                f"the column {name!r} goes through {list(parts)[-1]}, which has no ONNX form. "
                "Leave such columns out of the history, or use "
                "TableVectorizer(high_cardinality=TextPieces()) of shortlist.picking.texts, as "
                "pick does."
            )
        made.append(graph.rounded(emit(graph, columns[str(name)], parts, name)))
    return graph.add("Concat", *made, axis=1) if len(made) > 1 else made[0]


def _parts(step: Any, name: Any) -> dict[str, Any]:
    """Return the steps of a column by the names of their types; none for one left out."""
    parts = {type(part).__name__: part for part in step.all_processing_steps_[name]}
    parts.pop("ShortReprDict", None)
    drops = parts.get("DropUninformative")
    return {} if drops is not None and drops.drop_ else parts


def _numbers(graph: Graph, column: str, parts: dict[str, Any], name: Any) -> str:
    return column


def _dates(graph: Graph, column: str, parts: dict[str, Any], name: Any) -> str:
    wanted = parts["DatetimeEncoder"].extracted_features_
    zone = getattr(parts.get("ToDatetime"), "output_time_zone_", None)
    try:
        local = column if zone in (None, "UTC") else local_time(graph, column, zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise NotConvertible(
            f"the column {name!r} holds dates of the time zone {zone!r}, which has no entry in "
            "the time zone database: convert them to UTC or to a zone that has one."
        ) from None
    gap, known = calendar(graph, local)
    known["total_seconds"] = column
    if not set(wanted) <= set(known):
        raise NotConvertible(
            f"the column {name!r} holds dates, read for {', '.join(wanted)}: ONNX has the "
            "calendar here down to hours."
        )
    missing = graph.constant(np.nan)
    made = [graph.add("Where", gap, missing, known[part]) for part in wanted]
    return graph.add("Concat", *made, axis=1)


def _categories(graph: Graph, column: str, parts: dict[str, Any], name: Any) -> str:
    encoder = parts["OneHotEncoder"]
    (values,) = encoder.categories_
    missing = [value is None or value != value for value in values]
    texts = [_MISSING if gap else str(value) for gap, value in zip(missing, values, strict=True)]
    nulls = getattr(parts.get("CleanNullStrings"), "null_strings_", [])
    made = one_hot(graph, column, texts, _MISSING, aliases=nulls if any(missing) else ())
    dropped = None if encoder.drop_idx_ is None else encoder.drop_idx_[0]
    if dropped is None:
        return made
    kept = [place for place in range(len(texts)) if place != dropped]
    return graph.add("Gather", made, graph.axes(*kept), axis=1)


def _text(graph: Graph, column: str, parts: dict[str, Any], name: Any) -> str:
    learned = parts["TextPieces"]
    nulls = getattr(parts.get("CleanNullStrings"), "null_strings_", [])
    return directions_of_text(graph, column, learned.rarity_, learned.directions_, aliases=nulls)


_MISSING = "\0missing"  # no text of a table
_MADE: dict[str, Callable[[Graph, str, dict[str, Any], Any], str]] = {
    "OneHotEncoder": _categories,
    "TextPieces": _text,
    "DatetimeEncoder": _dates,
    "PassThrough": _numbers,
}
