"""Kernels by name, and blocks of the kernel matrix of the training rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from .. import _core
from .gaussian import GaussianBlocks
from .operators import as_rows

KernelFunction = Callable[[Any, Any], np.ndarray]

# Entries are computed in blocks large enough for BLAS and small enough to be forgotten.
_ROWS = 512
_COLUMNS = 2048


def tanimoto_kernel(X: Any, Y: Any) -> np.ndarray:
    r"""Tanimoto kernel, :math:`x \cdot y / (\|x\|^2 + \|y\|^2 - x \cdot y)`; 1 at two zeros."""
    inner = pairwise.linear_kernel(X, Y)
    squares = [np.asarray((A.multiply(A) if sparse.issparse(A) else A * A).sum(1)) for A in (X, Y)]
    return _ratio(inner, squares[0].reshape(-1, 1) + squares[1].reshape(1, -1) - inner)


def laplacian_kernel(X: Any, Y: Any, gamma: float) -> np.ndarray:
    r"""Laplacian kernel, :math:`\exp(-\gamma \|x - y\|_1)`."""
    return np.exp(-gamma * _manhattan(X, Y))


def _manhattan(X: Any, Y: Any) -> np.ndarray:
    # scikit-learn's sparse distance takes 32-bit indices only.
    return pairwise.manhattan_distances(*(_narrow_indices(A) for A in (X, Y)))


def _narrow_indices(A: Any) -> Any:
    if not sparse.issparse(A) or A.indices.dtype == np.int32:
        return A
    parts = (A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=A.shape)


def minmax_kernel(X: Any, Y: Any) -> np.ndarray:
    r"""Min-max kernel of non-negative rows, :math:`\sum\min(x, y) / \sum\max(x, y)`."""
    for A in (X, Y):
        lowest = A.min() if A.shape[0] else 0.0
        if lowest < 0.0:
            raise ValueError(
                f"kernel='minmax' needs non-negative features, but X holds {lowest:g}: "
                "use counts or shift the columns, for example with MinMaxScaler."
            )
    distance = _manhattan(X, Y)
    sums = np.asarray(X.sum(1)).reshape(-1, 1) + np.asarray(Y.sum(1)).reshape(1, -1)
    return _ratio(sums - distance, sums + distance)


def rbf_kernel(X: Any, Y: Any, gamma: float) -> np.ndarray:
    r"""Gaussian kernel, :math:`\exp(-\gamma \|x - y\|^2)`.

    Float32 rows stay narrow: see :class:`~shortlist.rows.gaussian.GaussianBlocks`.
    """
    if not sparse.issparse(X) and X.dtype == Y.dtype == np.float32:
        blocks = GaussianBlocks(np.ascontiguousarray(X), np.ascontiguousarray(Y), gamma)
        if blocks.safe:
            out = np.empty((X.shape[0], Y.shape[0]), dtype=np.float32)
            rows = np.arange(X.shape[0])
            blocks.fill(rows, np.arange(Y.shape[0]), out, rows, 0)
            return out
    return pairwise.rbf_kernel(X, Y, gamma=gamma)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0.0)


# name -> (function, parameters it takes, whether it takes sparse rows)
_KERNELS: dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...], bool]] = {
    "linear": (pairwise.linear_kernel, (), True),
    "rbf": (rbf_kernel, ("gamma",), True),
    "poly": (pairwise.polynomial_kernel, ("gamma", "degree", "coef0"), True),
    "sigmoid": (pairwise.sigmoid_kernel, ("gamma", "coef0"), True),
    "laplacian": (laplacian_kernel, ("gamma",), True),
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
        Multiplicity of the rows, for the variance.

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
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        weight = np.ones(X.shape[0]) if weight is None else weight
        entries = X.shape[1] * float(weight.sum())
        rows = as_rows(X)
        mean = float(rows.combine(weight).sum()) / entries
        # Around zero, then around the mean: constant data must give exactly zero.
        square = float(weight @ rows.squared_norms()) / entries
        variance = square - mean * mean
        if variance <= 1e-10 * square:
            variance = 0.0
        return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    if isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 < float(gamma) < np.inf:
        return float(gamma)
    raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got gamma={gamma!r}.")


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
        self.precomputed = function is None
        self._gaussian = _gaussian(X, function)
        one = slice(0, 1)
        # What the kernel returns, not what it is given, decides: a callable may widen.
        narrow = np.asarray(self._raw(one, one)).dtype == np.float32
        self.dtype = np.dtype(np.float32 if narrow else np.float64)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return q and r: entries are at most ``q_i q_j``, off by ``q_i r_j + r_i q_j``."""
        q = np.sqrt(np.maximum(self.diagonal(), 0.0))
        return q, (0.0 if self._function is None else 1e-15 * self._X.shape[1]) * q

    def _raw(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        if self._function is not None:
            return self._function(self._X[rows], self._X[columns])
        X = self.whole()
        if X is None or isinstance(rows, slice) or isinstance(columns, slice):
            return self._X[rows][:, columns]
        out = np.empty((len(rows), len(columns)), dtype=X.dtype)
        _core.gather(X, rows, columns, out, np.arange(len(rows)), np.arange(len(columns)))
        return out

    def whole(self) -> np.ndarray | None:
        """Return the precomputed matrix in C order, None where there is none."""
        if not self.precomputed:
            return None
        # A symmetric matrix in Fortran order is its own transpose in C order.
        X = self._X.T if self._X.flags.f_contiguous else self._X
        return X if X.flags.c_contiguous else None

    def block(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return the entries of these rows and columns, as ``dtype``."""
        out = np.asarray(self._raw(rows, columns)).astype(self.dtype, copy=False)
        if not np.isfinite(out).all():
            raise ValueError(
                "The kernel holds infinite or undefined values: scale the features, or "
                "choose another gamma, degree or coef0."
            )
        return out

    def fill(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        start: int = 0,
    ) -> None:
        """Write the entries to the rows `slots` of `out`, from column `start` on."""
        if self._gaussian is not None:
            self._gaussian.fill(rows, columns, out, slots, start)
            return
        for i in range(0, len(rows), _ROWS):
            for j in range(0, len(columns), _COLUMNS):
                block = self.block(rows[i : i + _ROWS], columns[j : j + _COLUMNS])
                first = start + j
                out[slots[i : i + _ROWS], first : first + block.shape[1]] = block

    def wide_block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries of these rows and columns, computed in float64."""
        if self._function is None or self.dtype == np.float64:
            return self._raw(rows, columns).astype(np.float64, copy=False)
        wide = [self._X[index].astype(np.float64) for index in (rows, columns)]
        return np.asarray(self._function(*wide), dtype=np.float64)

    def diagonal(self, step: int = 256) -> np.ndarray:
        """Return the diagonal, in float64."""
        if self._function is None:
            return np.diagonal(self._X).astype(np.float64)
        out = np.empty(self.n_rows)
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            out[part] = np.diagonal(self.block(part, part))
        return out


def _gaussian(X: Any, function: KernelFunction | None) -> GaussianBlocks | None:
    """Blocks that keep what the whole matrix shares, where the kernel and rows allow it."""
    if not isinstance(function, functools.partial) or function.func is not rbf_kernel:
        return None
    if sparse.issparse(X) or X.dtype != np.float32 or not X.flags.c_contiguous:
        return None
    blocks = GaussianBlocks(X, X, **function.keywords)
    return blocks if blocks.safe else None
