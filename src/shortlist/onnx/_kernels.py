"""Weighted sums of kernels as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..rows.formulas import NamedKernel, minmax_kernel, tanimoto_kernel
from ._errors import NotConvertible
from ._graph import Graph

# Distances from products of centred rows are used while what they lose is below this.
_LOST = 1e-14


def dense(rows: Any) -> np.ndarray:
    """Rows as a double array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def gamma_of(model: Any) -> float:
    """Return the `gamma` of a fitted model as a number."""
    gamma = model.gamma
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if gamma is None or gamma == "auto":  # scikit-learn's Nystroem says None
        return 1.0 / model.n_features_in_
    # "scale" depends on the training rows: the fit has kept the number, scikit-learn's SVC
    # by itself, ours in the kernel that it has bound.
    if "_gamma" in vars(model):
        return float(model._gamma)
    for value in vars(model).values():
        if isinstance(value, NamedKernel) and "gamma" in value.parameters:
            return float(value.parameters["gamma"])
    raise NotConvertible(
        f"{type(model).__name__}(gamma={gamma!r}) does not tell which number it used. "
        "Fit it again with gamma as a number."
    )


def kernel_scores(model: Any, graph: Graph, x: str) -> str:
    """Return sums of the kernel with the support vectors, of shape (n_rows, n_outputs)."""
    weights = np.atleast_2d(dense(model.dual_coef_)).T
    kernel = _FUNCTIONS.get(model.kernel, model.kernel) if callable(model.kernel) else model.kernel
    if kernel == "precomputed":
        # The columns of x are all training rows.
        whole = np.zeros((model.n_features_in_, weights.shape[1]))
        whole[model.support_] = weights
        return graph.add("MatMul", x, graph.constant(whole))
    vectors = _vectors(model)
    if not len(vectors):
        zero = np.zeros((model.n_features_in_, weights.shape[1]))
        return graph.add("MatMul", x, graph.constant(zero))
    if not isinstance(kernel, str) or kernel not in _KERNELS:
        raise NotConvertible(
            f"{type(model).__name__}(kernel={kernel!r}) cannot be written as ONNX: choose one of "
            f"{', '.join(map(repr, _KERNELS))}."
        )
    return _KERNELS[kernel](model, graph, x, vectors, weights)


def components(step: Any, graph: Graph, x: str) -> str:
    """Return scikit-learn's Nystroem features: kernels with its components, normalised."""
    if step.kernel != "rbf":
        raise NotConvertible(
            f"Nystroem(kernel={step.kernel!r}) cannot be written as ONNX: choose kernel='rbf'."
        )
    return _rbf(step, graph, x, dense(step.components_), dense(step.normalization_).T)


def _vectors(model: Any) -> np.ndarray:
    # scikit-learn keeps all rows, and no vectors, where the kernel is a function.
    rows = getattr(model, "_BaseLibSVM__Xfit", None) if callable(model.kernel) else None
    return dense(model.support_vectors_) if rows is None else dense(rows)[model.support_]


def _products(graph: Graph, x: str, vectors: np.ndarray) -> str:
    return graph.add("MatMul", x, graph.constant(vectors.T))


def _weigh(graph: Graph, block: str, weights: np.ndarray) -> str:
    return graph.add("MatMul", block, graph.constant(weights))


def _linear(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    return graph.add("MatMul", x, graph.constant(vectors.T @ weights))


def _affine(model: Any, graph: Graph, x: str, vectors: np.ndarray) -> str:
    inner = _products(graph, x, gamma_of(model) * vectors)
    return graph.add("Add", inner, graph.constant(model.coef0))


def _poly(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    base = _affine(model, graph, x, vectors)
    return _weigh(graph, graph.add("Pow", base, graph.constant(model.degree)), weights)


def _sigmoid(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    return _weigh(graph, graph.add("Tanh", _affine(model, graph, x, vectors)), weights)


def _rbf(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    gamma = gamma_of(model)
    centre = vectors.mean(axis=0)
    centred = vectors - centre
    squares = np.sum(centred**2, axis=1)
    if gamma * squares.max() * np.finfo(float).eps > _LOST:

        def distances(part: Graph, differences: str) -> str:
            return part.add("ReduceSumSquare", differences, part.axes(1), keepdims=0)

        return _of_differences(graph, x, vectors, weights, gamma, distances)
    y = graph.add("Sub", x, graph.constant(centre))
    own = graph.add("ReduceSumSquare", y, graph.axes(1), keepdims=1)
    cross = _products(graph, y, 2.0 * centred)
    distance = graph.add("Sub", graph.add("Add", own, graph.constant(squares)), cross)
    distance = graph.add("Max", distance, graph.constant(0.0))
    return _weigh(graph, _decay(graph, distance, gamma), weights)


def _decay(graph: Graph, distance: str, gamma: float) -> str:
    return graph.add("Exp", graph.add("Mul", distance, graph.constant(-gamma)))


def _of_differences(
    graph: Graph,
    x: str,
    vectors: np.ndarray,
    weights: np.ndarray,
    gamma: float,
    distances: Callable[[Graph, str], str],
) -> str:
    def body(part: Graph, row: str) -> str:
        differences = part.add("Sub", part.constant(vectors), row)
        return _weigh(part, _decay(part, distances(part, differences), gamma), weights)

    return graph.row_by_row(x, body, weights.shape[1])


def _laplacian(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    def distances(part: Graph, differences: str) -> str:
        return part.add("ReduceSum", part.add("Abs", differences), part.axes(1), keepdims=0)

    return _of_differences(graph, x, vectors, weights, gamma_of(model), distances)


def _chi2(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    gamma = gamma_of(model)

    def body(part: Graph, row: str) -> str:
        known = part.constant(vectors)
        difference = part.add("Sub", known, row)
        total = part.add("Add", known, row)
        # Two zeros do not differ.
        total = part.add("Where", _positive(part, total), total, part.constant(1.0))
        terms = part.add("Div", part.add("Mul", difference, difference), total)
        distance = part.add("ReduceSum", terms, part.axes(1), keepdims=0)
        return _weigh(part, _decay(part, distance, gamma), weights)

    return graph.row_by_row(x, body, weights.shape[1])


def _minmax(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    def body(part: Graph, row: str) -> str:
        known = part.constant(vectors)
        low, high = (
            part.add("ReduceSum", part.add(which, known, row), part.axes(1), keepdims=0)
            for which in ("Min", "Max")
        )
        return _weigh(part, _ratio(part, low, high), weights)

    return graph.row_by_row(x, body, weights.shape[1])


def _tanimoto(model: Any, graph: Graph, x: str, vectors: np.ndarray, weights: np.ndarray) -> str:
    inner = _products(graph, x, vectors)
    own = graph.add("ReduceSumSquare", x, graph.axes(1), keepdims=1)
    squares = graph.add("Add", own, graph.constant(np.sum(vectors**2, axis=1)))
    return _weigh(graph, _ratio(graph, inner, graph.add("Sub", squares, inner)), weights)


def _positive(graph: Graph, x: str) -> str:
    return graph.add("Greater", x, graph.constant(0.0))


def _ratio(graph: Graph, numerator: str, denominator: str) -> str:
    """Quotient; one where both rows are zero."""
    some, one = _positive(graph, denominator), graph.constant(1.0)
    safe = graph.add("Where", some, denominator, one)
    return graph.add("Where", some, graph.add("Div", numerator, safe), one)


_KERNELS: dict[str, Callable[[Any, Graph, str, np.ndarray, np.ndarray], str]] = {
    "linear": _linear,
    "rbf": _rbf,
    "poly": _poly,
    "sigmoid": _sigmoid,
    "laplacian": _laplacian,
    "chi2": _chi2,
    "tanimoto": _tanimoto,
    "minmax": _minmax,
}
# Functions that `pick` hands to scikit-learn's machines, which know no such names.
_FUNCTIONS: dict[Callable, str] = {tanimoto_kernel: "tanimoto", minmax_kernel: "minmax"}
