"""From fitted transformers to ONNX nodes: features, by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

from .._scores import in_double
from ._errors import NotConvertible, handler
from ._graph import Graph
from ._kernels import components
from ._ranks import ranks
from ._tables import is_table, one_hot, table


class Columns(dict):
    """Columns of a table by name, each of shape (n_rows, 1): numbers in double, or text."""


Rows = Any  # the name of a double matrix, or Columns


def features(step: Any, graph: Graph, x: Rows) -> Rows:
    """Return the transformed rows, in double."""
    if isinstance(step, str) and step == "passthrough":
        return x
    if is_table(step):
        return table(step, graph, x)
    return handler(step, _TRANSFORMERS, "features")(step, graph, x)


def matrix(graph: Graph, x: Rows) -> str:
    """Return the columns side by side."""
    if not isinstance(x, Columns):
        return x
    return graph.add("Concat", *x.values(), axis=1) if len(x) > 1 else next(iter(x.values()))


def _steps(step: Pipeline, graph: Graph, x: Rows) -> Rows:
    for _, part in step.steps:
        x = features(part, graph, x)
    return x


def _imputer(step: SimpleImputer, graph: Graph, x: Rows) -> str:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise NotConvertible(
            f"SimpleImputer(missing_values={step.missing_values!r}) has no ONNX form here: mark "
            "missing values by nan."
        )
    x = matrix(graph, x)
    statistics = np.asarray(step.statistics_, dtype=np.float64)
    kept = np.arange(len(statistics))
    if step.keep_empty_features:
        # Columns that were empty are filled with zero.
        statistics = np.nan_to_num(statistics, nan=0.0)
    else:
        kept = np.flatnonzero(~np.isnan(statistics))
    gap = graph.add("IsNaN", x)
    filled = graph.add("Where", gap, graph.rounded(graph.constant(statistics)), x)
    parts = [graph.add("Gather", filled, graph.axes(*kept), axis=1)]
    if step.add_indicator and len(step.indicator_.features_):
        marks = graph.add("Gather", gap, graph.axes(*step.indicator_.features_), axis=1)
        parts.append(graph.double(marks))
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _scaler(step: StandardScaler, graph: Graph, x: Rows) -> str:
    x = matrix(graph, x)
    if step.with_mean:
        x = graph.rounded(graph.add("Sub", x, graph.constant(step.mean_)))
    if step.with_std:
        x = graph.rounded(graph.add("Div", x, graph.constant(step.scale_)))
    return x


def _max_abs(step: MaxAbsScaler, graph: Graph, x: Rows) -> str:
    return graph.rounded(graph.add("Div", matrix(graph, x), graph.constant(step.scale_)))


def _quantiles(step: QuantileTransformer, graph: Graph, x: Rows) -> str:
    return ranks(step, graph, matrix(graph, x))


def _tf_idf(step: TfidfTransformer, graph: Graph, x: Rows) -> str:
    if step.sublinear_tf or step.norm not in ("l2", None):
        raise NotConvertible(
            f"TfidfTransformer(norm={step.norm!r}, sublinear_tf={step.sublinear_tf}) has no ONNX "
            "form here: leave both as they are by default."
        )
    x = matrix(graph, x)
    if step.use_idf:
        x = graph.rounded(graph.add("Mul", x, graph.constant(step.idf_)))
    if step.norm is None:
        return x
    size = graph.add("ReduceL2", x, graph.axes(1), keepdims=1)
    empty = graph.add("Equal", size, graph.constant(0.0))
    return graph.rounded(graph.add("Div", x, graph.add("Where", empty, graph.constant(1.0), size)))


def _nystroem(step: Nystroem, graph: Graph, x: Rows) -> str:
    return graph.rounded(components(step, graph, matrix(graph, x)))


def _column_transformer(step: ColumnTransformer, graph: Graph, x: Rows) -> str:
    parts = []
    for _, part, chosen in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        if not names:
            continue
        try:
            made = features(part, graph, Columns((each, x[each]) for each in names))
        except NotConvertible as error:
            listed = ", ".join(map(repr, names[:5]))
            raise NotConvertible(
                f"{error} It reads {listed}; leave such columns out of the history, or write "
                "them as numbers or as text of few different values."
            ) from None
        parts.append(matrix(graph, made))
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _one_hot(step: OneHotEncoder, graph: Graph, x: Columns) -> str:
    if step.drop is not None or step.min_frequency is not None or step.max_categories is not None:
        raise NotConvertible(
            "OneHotEncoder has an ONNX form here without drop and rare categories."
        )
    parts = [
        one_hot(graph, column, [str(value) for value in categories])
        for column, categories in zip(x.values(), step.categories_, strict=True)
    ]
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _function(step: FunctionTransformer, graph: Graph, x: Rows) -> Rows:
    if step.func is in_double:
        graph.single = False
        return matrix(graph, x)
    if step.func is not None:
        raise NotConvertible("FunctionTransformer runs Python, which ONNX cannot hold.")
    return x


_TRANSFORMERS: dict[type, Callable[[Any, Graph, Any], Any]] = {
    Pipeline: _steps,
    SimpleImputer: _imputer,
    StandardScaler: _scaler,
    MaxAbsScaler: _max_abs,
    QuantileTransformer: _quantiles,
    TfidfTransformer: _tf_idf,
    Nystroem: _nystroem,
    ColumnTransformer: _column_transformer,
    OneHotEncoder: _one_hot,
    FunctionTransformer: _function,
}
