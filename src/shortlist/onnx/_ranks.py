"""Ranks among the rows of a fit, as :class:`sklearn.preprocessing.QuantileTransformer` has them.

Between two of a column's quantiles a rank rises in a straight line; where many rows share a value,
and so quantiles are equal, it is the middle of theirs. A rank of the normal shape is the point
below which a normal variable falls as often: M. J. Wichura, "Algorithm AS 241: The percentage
points of the normal distribution", Applied Statistics 37, 1988, to sixteen digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from scipy.stats import norm

from ._graph import Graph

# How near to an end of a column a value takes the end's rank, in the normal shape.
_NEAR = 1e-7
# Shares in the middle, and those nearer to an end: coefficients from the constant on.
_MIDDLE = 0.425, 0.180625
_CENTRE = (
    (
        3.3871328727963666080,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_TAIL = (
    (
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_TAIL_FROM = 1.6


def ranks(step: Any, graph: Graph, x: str) -> str:
    """Return the ranks of the columns of x, a double matrix."""
    quantiles = np.asarray(step.quantiles_, dtype=np.float64).T
    levels = np.broadcast_to(np.asarray(step.references_, dtype=np.float64), quantiles.shape)
    rises = np.diff(levels) / np.where(np.diff(quantiles) > 0.0, np.diff(quantiles), np.inf)
    none = np.zeros((len(quantiles), 1))
    rises = np.hstack([none, rises, none])

    def doubled(values: np.ndarray, first: bool) -> np.ndarray:
        end = values[:, :1] if first else values[:, -1:]
        return np.hstack([end, values] if first else [values, end])

    sides = []
    # From the last quantile that is not above x, and from the first that is not below it.
    for is_first, operator in ((True, "LessOrEqual"), (False, "Less")):
        place = _counted(graph, quantiles, x, operator)
        tables = doubled(quantiles, is_first), doubled(levels, is_first), rises
        at, level, rise = (_table(graph, values)(place) for values in tables)
        sides.append(graph.add("Add", graph.add("Mul", rise, graph.add("Sub", x, at)), level))
    share = graph.add("Mul", graph.add("Add", *sides), graph.constant(0.5))
    normal = step.output_distribution == "normal"
    lowest, highest = (graph.constant(quantiles[:, end]) for end in (0, -1))
    if normal:
        near = graph.constant(_NEAR)
        low = graph.add("Less", graph.add("Sub", x, near), lowest)
        high = graph.add("Greater", graph.add("Add", x, near), highest)
    else:
        low, high = graph.add("Equal", x, lowest), graph.add("Equal", x, highest)
    share = graph.add("Where", high, graph.constant(1.0), share)
    share = graph.rounded(graph.add("Where", low, graph.constant(0.0), share))
    return graph.rounded(_normal(graph, share)) if normal else share


def _counted(graph: Graph, quantiles: np.ndarray, x: str, operator: str) -> str:
    """Return how many quantiles of its column are below each x, by halving."""
    n, k = quantiles.shape
    half = 1 << (k.bit_length() - 1)
    padded = np.full((n, 2 * half), np.inf)
    padded[:, :k] = quantiles
    entry = _table(graph, padded)
    count = graph.add("Cast", graph.add("Less", x, x), to=TensorProto.INT64)  # zeros
    while half:
        tried = entry(graph.add("Add", count, graph.axes(half - 1)))
        more = graph.add("Cast", graph.add(operator, tried, x), to=TensorProto.INT64)
        count = graph.add("Add", count, graph.add("Mul", more, graph.axes(half)))
        half //= 2
    return count


def _table(graph: Graph, values: np.ndarray) -> Callable[[str], str]:
    """Return what looks up the entry of row j of a table at each place of column j."""
    n, width = values.shape
    entries, first = graph.constant(values.ravel()), graph.axes(*(np.arange(n) * width))
    return lambda place: graph.add("Gather", entries, graph.add("Add", place, first))


def _normal(graph: Graph, share: str) -> str:
    """Return the normal variable below which a share falls."""
    off = graph.add("Sub", share, graph.constant(0.5))
    width, most = _MIDDLE
    inner = graph.add("Sub", graph.constant(most), graph.add("Mul", off, off))
    centre = graph.add("Mul", off, _ratio(graph, inner, _CENTRE))
    rest = graph.add("Min", share, graph.add("Sub", graph.constant(1.0), share))
    # What is cut off anyway, so that the logarithm is finite.
    rest = graph.add("Max", rest, graph.constant(0.5 * _NEAR))
    root = graph.add("Sqrt", graph.add("Neg", graph.add("Log", rest)))
    outer = _ratio(graph, graph.add("Sub", root, graph.constant(_TAIL_FROM)), _TAIL)
    outer = graph.add("Mul", graph.add("Sign", off), outer)
    middle = graph.add("LessOrEqual", graph.add("Abs", off), graph.constant(width))
    found = graph.add("Where", middle, centre, outer)
    end = _NEAR - np.spacing(1.0)
    ends = (graph.constant(norm.ppf(share)) for share in (end, 1.0 - end))
    return graph.add("Clip", found, *ends)


def _ratio(graph: Graph, x: str, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> str:
    sums = []
    for series in coefficients:
        total = graph.constant(series[-1])
        for value in series[-2::-1]:
            total = graph.add("Add", graph.add("Mul", total, x), graph.constant(value))
        sums.append(total)
    return graph.add("Div", *sums)
