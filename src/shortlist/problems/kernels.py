"""Kernels by name, and blocks of the kernel matrix of the training rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

KernelFunction = Callable[[Any, Any], np.ndarray]


def tanimoto_kernel(X: Any, Y: Any) -> np.ndarray:
    r"""Tanimoto kernel, :math:`x \cdot y / (\|x\|^2 + \|y\|^2 - x \cdot y)`; 1 at two zeros."""
    inner = pairwise.linear_kernel(X, Y)
    squares = [np.asarray((A.multiply(A) if sparse.issparse(A) else A * A).sum(1)) for A in (X, Y)]
    return _ratio(inner, squares[0].reshape(-1, 1) + squares[1].reshape(1, -1) - inner)


def minmax_kernel(X: Any, Y: Any) -> np.ndarray:
    r"""Min-max kernel of non-negative rows, :math:`\sum\min(x, y) / \sum\max(x, y)`."""
    for A in (X, Y):
        lowest = A.min() if A.shape[0] else 0.0
        if lowest < 0.0:
            raise ValueError(
                f"kernel='minmax' needs non-negative features, but X holds {lowest:g}: "
                "use counts or shift the columns, for example with MinMaxScaler."
            )
    distance = pairwise.manhattan_distances(X, Y)
    sums = np.asarray(X.sum(1)).reshape(-1, 1) + np.asarray(Y.sum(1)).reshape(1, -1)
    return _ratio(sums - distance, sums + distance)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0.0)


# name -> (function, parameters it takes, whether it takes sparse rows)
_KERNELS: dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...], bool]] = {
    "linear": (pairwise.linear_kernel, (), True),
    "rbf": (pairwise.rbf_kernel, ("gamma",), True),
    "poly": (pairwise.polynomial_kernel, ("gamma", "degree", "coef0"), True),
    "sigmoid": (pairwise.sigmoid_kernel, ("gamma", "coef0"), True),
    "laplacian": (pairwise.laplacian_kernel, ("gamma",), True),
    "chi2": (pairwise.chi2_kernel, ("gamma",), False),
    "tanimoto": (tanimoto_kernel, (), True),
    "minmax": (minmax_kernel, (), True),
}

KERNEL_NAMES = (*_KERNELS, "precomputed")


def kernel_function(
    kernel: str | KernelFunction,
    X: Any,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    weight: np.ndarray | None = None,
) -> KernelFunction:
    """Bind a kernel's parameters to training rows.

    Parameters
    ----------
    kernel : str or callable
        A name from ``KERNEL_NAMES`` other than "precomputed", or a function of two
        row matrices that returns their kernel matrix.
    X : {ndarray, csr matrix}
        Training rows: ``gamma="scale"`` is ``1 / (n_features * X.var())``, ``"auto"``
        is ``1 / n_features``.
    gamma, degree, coef0
        Parameters as in :class:`sklearn.svm.SVC`.
    weight : ndarray or None
        Multiplicity of every row, for the variance of ``gamma="scale"``.

    Returns
    -------
    callable
        ``function(A, B)`` returns the kernel matrix of rows `A` and `B`.
    """
    if callable(kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in _KERNELS:
        listed = ", ".join(repr(name) for name in KERNEL_NAMES)
        raise ValueError(f"kernel must be a callable or one of {listed}, got kernel={kernel!r}.")
    function, takes, takes_sparse = _KERNELS[kernel]
    if sparse.issparse(X) and not takes_sparse:
        raise ValueError(
            f"kernel={kernel!r} does not take sparse rows: pass X.toarray() or another kernel."
        )
    values = {"degree": degree, "coef0": coef0}
    if "gamma" in takes:
        values["gamma"] = _gamma(gamma, X, weight)
    chosen = {name: values[name] for name in takes}
    return functools.partial(function, **chosen)


def _gamma(gamma: str | float, X: Any, weight: np.ndarray | None) -> float:
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        variance = _variance(X, weight)
        return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    if isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 < gamma < np.inf:
        return float(gamma)
    raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got gamma={gamma!r}.")


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """Variance of all entries, rows counted by `weight`."""
    if weight is None:
        weight = np.ones(X.shape[0])
    total = float(weight.sum()) * X.shape[1]

    def mean(A: Any) -> float:
        return float(weight @ np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()) / total

    centre = mean(X)
    if sparse.issparse(X):
        return mean(X.multiply(X)) - centre * centre
    return mean((X - centre) ** 2)


class KernelMatrix:
    """Blocks of the kernel matrix of the training rows, computed when asked for.

    Parameters
    ----------
    X : {ndarray, csr matrix}
        Training rows, or the square kernel matrix itself.
    function : callable or None
        Kernel of two row matrices; None means that `X` is the kernel matrix.
    """

    def __init__(self, X: Any, function: KernelFunction | None) -> None:
        self._X = X
        self._function = function
        self.n_rows = X.shape[0]

    def block(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return the entries of these rows and columns."""
        if self._function is None:
            return self._X[rows][:, columns]
        return self._function(self._X[rows], self._X[columns])

    def diagonal(self, step: int = 256) -> np.ndarray:
        """Return the diagonal, in float64."""
        if self._function is None:
            return np.diagonal(self._X).astype(np.float64)
        out = np.empty(self.n_rows)
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            out[part] = np.diagonal(self.block(part, part))
        return out
