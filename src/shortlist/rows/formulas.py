"""The kernels that have a name: formulas, rounding, and the centre they are computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from .gaussian import GaussianEntries, longest_sum
from .operators import as_rows
from .rounding import UNIT, UNIT32, canonical
from .threads import every
from .weighted import CountedRows

# Numbers that are widened or moved at a time: as many as a processor's cache holds.
_VALUES = 1 << 16


def tanimoto_kernel(X: Any, Y: Any) -> np.ndarray:
    r"""Tanimoto kernel, :math:`x \cdot y / (\|x\|^2 + \|y\|^2 - x \cdot y)`; 1 at two zeros."""
    inner = pairwise.linear_kernel(X, Y)
    squares = [np.asarray((A.multiply(A) if sparse.issparse(A) else A * A).sum(1)) for A in (X, Y)]
    return _ratio(inner, squares[0].reshape(-1, 1) + squares[1].reshape(1, -1) - inner)


def laplacian_kernel(X: Any, Y: Any, gamma: float) -> np.ndarray:
    r"""Laplacian kernel, :math:`\exp(-\gamma \|x - y\|_1)`."""
    return np.exp(-gamma * _manhattan(X, Y))


def _manhattan(X: Any, Y: Any) -> np.ndarray:
    # scikit-learn's sparse distance takes 32-bit indices only, and sums in the rows' precision.
    wide = (_narrow_indices(A).astype(np.float64, copy=False) for A in (X, Y))
    return pairwise.manhattan_distances(*wide)


def _narrow_indices(A: Any) -> Any:
    if not sparse.issparse(A) or A.indices.dtype == np.int32:
        return A
    parts = (A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=A.shape)


def chi2_kernel(X: np.ndarray, Y: np.ndarray, gamma: float) -> np.ndarray:
    r"""Chi-squared kernel, :math:`\exp(-\gamma \sum (x - y)^2 / (x + y))`."""
    # scikit-learn's loop takes no rows that are read-only, as those of a mapped file are.
    X, Y = (A if A.flags.writeable else A.copy() for A in (X, Y))
    return pairwise.chi2_kernel(X, Y, gamma=gamma)


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
    # Widened first: the sum of sparse rows is made in their own precision.
    X, Y = (np.asarray(A.astype(np.float64, copy=False).sum(axis=1)) for A in (X, Y))
    sums = X.reshape(-1, 1) + Y.reshape(1, -1)
    return _ratio(sums - distance, sums + distance)


def rbf_kernel(X: Any, Y: Any, gamma: float, direct: bool = False) -> np.ndarray:
    r"""Gaussian kernel, :math:`\exp(-\gamma \|x - y\|^2)`, of rows near the origin.

    Distances come from inner products, which lose digits far from the origin and where
    `gamma` is large; from differences, slower, where `direct` asks for it. Float32 rows
    stay narrow: see :class:`~shortlist.rows.gaussian.GaussianEntries`.
    """
    dense = not sparse.issparse(X) and not sparse.issparse(Y)
    if dense and direct:
        squares = cdist(X, Y, "sqeuclidean")
    elif dense and X.dtype == Y.dtype == np.float32:
        entries = GaussianEntries(np.ascontiguousarray(X), np.ascontiguousarray(Y), gamma)
        out = np.empty((X.shape[0], Y.shape[0]), dtype=np.float32)
        rows = np.arange(X.shape[0])
        entries.fill(rows, np.arange(Y.shape[0]), out, rows, 0)
        return out
    else:
        squares = pairwise.euclidean_distances(X, Y, squared=True)
    squares *= -gamma
    return np.exp(squares, out=squares)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0.0)


Bounds = tuple[np.ndarray, np.ndarray]


def _relative(share: float) -> Callable[..., Bounds]:
    """Bounds of entries within [-1, 1] whose error is a number of units per feature."""

    def bounds(kernel: NamedKernel, X: Any, unit: float, n: int) -> Bounds:
        ones = np.ones(X.shape[0])
        return ones, share * unit * (n + 8) * ones

    return bounds


def _linear_bounds(kernel: NamedKernel, X: Any, unit: float, n: int) -> Bounds:
    q = np.sqrt(kernel.squares(X))
    return q, 0.5 * unit * (n + 6) * q


def _rbf_bounds(kernel: NamedKernel, X: Any, unit: float, n: int) -> Bounds:
    if kernel.direct:
        return _relative(1.0)(kernel, X, unit, n)
    # Of the exponent, in units times gamma (|x|^2 + |y|^2): n from the product, n from the
    # squares, of which float32 entries are spared (theirs come from float64), and ten more: rows
    # rounded once 4, their factor 2, the squares 1, their sum 1, the difference 2. A tenth of
    # n is what the square of n units adds, up to a million columns.
    each = 1.1 * longest_sum(n) + 12.0 if unit > UNIT else 2.0 * (n + 6)
    r = unit * (4.0 + each * kernel.parameters["gamma"] * kernel.squares(X))
    return np.ones(len(r)), r


def _poly_bounds(kernel: NamedKernel, X: Any, unit: float, n: int) -> Bounds:
    gamma, degree, coef0 = (kernel.parameters[name] for name in ("gamma", "degree", "coef0"))
    q = (gamma * kernel.squares(X) + abs(coef0)) ** (0.5 * degree)
    return q, 0.5 * max(degree, 1.0) * unit * (n + 8) * q


def _sigmoid_bounds(kernel: NamedKernel, X: Any, unit: float, n: int) -> Bounds:
    size = kernel.parameters["gamma"] * kernel.squares(X) + abs(kernel.parameters["coef0"])
    return np.ones(len(size)), unit * (2.0 + 0.5 * (n + 6) * size)


@dataclass(frozen=True)
class _Kind:
    """What is known of a kernel: its formula, what it takes, its errors, its symmetry, its sign."""

    function: Callable[..., np.ndarray]
    bounds: Callable[..., Bounds]
    takes: tuple[str, ...] = ()
    takes_sparse: bool = True
    # Whether rows may be moved together: the kernel, or every model of differences, stays.
    shifts: bool = False
    # Whether it is positive semi-definite, unless a coef0 below zero is taken from it.
    positive: bool = True


# Differences are exact enough far from the origin: the Laplacian kernel is not centred.
KINDS = {
    "linear": _Kind(pairwise.linear_kernel, _linear_bounds, shifts=True),
    "rbf": _Kind(rbf_kernel, _rbf_bounds, ("gamma",), shifts=True),
    "poly": _Kind(pairwise.polynomial_kernel, _poly_bounds, ("gamma", "degree", "coef0")),
    "sigmoid": _Kind(pairwise.sigmoid_kernel, _sigmoid_bounds, ("gamma", "coef0"), positive=False),
    "laplacian": _Kind(laplacian_kernel, _relative(1.0), ("gamma",)),
    "chi2": _Kind(chi2_kernel, _relative(1.0), ("gamma",), takes_sparse=False),
    "tanimoto": _Kind(tanimoto_kernel, _relative(4.0)),
    "minmax": _Kind(minmax_kernel, _relative(4.0)),
}

# Errors of an entry, per feature in float64 and in all in float32, from which distances are
# computed from differences, and in float64.
_COARSE, _COARSE32 = 1e-12, 0.05
# Sparse columns up to which rows may be made dense, some at a time, for it.
_FEW = 2000
# Entries up to which float32 arithmetic cannot overflow.
_LARGEST = 1e36
# Errors from which what float32 loses to underflow is below them.
_SMALLEST = 1e-40


@dataclass(frozen=True)
class NamedKernel:
    """A kernel with its parameters, around the centre of the training rows.

    The Gaussian kernel does not change when all rows are moved, and neither does a model
    of differences with the linear kernel; their arithmetic does. Both are computed from
    rows less `centre`, in float64.

    Attributes
    ----------
    name : str
        Name of the kernel.
    parameters : dict
        Those that it takes.
    centre : ndarray or None
        What is subtracted from every row; of sparse training rows, only the columns
        without zeros are moved.
    direct : bool
        Whether distances are computed from differences.
    narrow : bool
        Whether float32 rows give float32 entries.
    """

    name: str
    parameters: dict[str, float] = field(default_factory=dict)
    centre: np.ndarray | None = None
    direct: bool = False
    narrow: bool = True

    @property
    def moves(self) -> bool:
        """Whether rows are moved at all."""
        return self.centre is not None and bool(self.centre.any())

    @property
    def positive(self) -> bool:
        """Whether its matrices are positive semi-definite, whatever the rows."""
        return KINDS[self.name].positive and self.parameters.get("coef0", 0.0) >= 0.0

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        """Return the kernel matrix of rows `X` and `Y`."""
        function = KINDS[self.name].function
        X, Y = (canonical(A) if sparse.issparse(A) else A for A in (X, Y))
        if self.direct:
            X, Y = (A.toarray() if sparse.issparse(A) else A for A in (X, Y))
            return function(X, Y, direct=True, **self.parameters)
        if not self.narrow:
            X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        return function(self.centred(X), self.centred(Y), **self.parameters)

    def centred(self, X: Any) -> Any:
        """Return the rows less the centre, in their own precision."""
        if self.centre is None or not self.moves:
            return X
        if not sparse.issparse(X):
            wide = X.astype(np.float64, copy=False) - self.centre
            return wide.astype(X.dtype, copy=False)
        moved = np.flatnonzero(self.centre)
        rest = np.flatnonzero(self.centre == 0.0)
        values = X[:, moved].toarray().astype(np.float64) - self.centre[moved]
        parts = [sparse.csr_array(values.astype(X.dtype)), sparse.csr_array(X[:, rest])]
        back = np.argsort(np.concatenate([moved, rest]))
        return sparse.hstack(parts, format="csr")[:, back]

    def squares(self, X: Any) -> np.ndarray:
        """Squared length of every row, from the centre."""
        out = np.empty(X.shape[0])
        step = max(1, _VALUES // max(1, X.nnz // len(out) if sparse.issparse(X) else X.shape[1]))

        def some(start: int) -> None:
            part = slice(start, start + step)
            out[part] = as_rows(self.centred(X[part].astype(np.float64))).squared_norms()

        every(some, range(0, X.shape[0], step))
        return out

    def bounds(self, X: Any, unit: float) -> Bounds:
        """Return q and r: entries are at most ``q_i q_j``, off by ``q_i r_j + r_i q_j``.

        `unit` is the unit roundoff of the precision in which they are computed.
        """
        n = X.shape[1]
        if sparse.issparse(X):
            n = int(np.diff(X.indptr).max(initial=0))
        return KINDS[self.name].bounds(self, X, unit, n)

    def bound_to(self, counted: CountedRows) -> NamedKernel:
        """Return the kernel with the centre and the formula that suit these rows."""
        kernel = self
        if KINDS[self.name].shifts:
            kernel = replace(self, centre=counted.centre())
        q, r = (bound[counted.rows] for bound in kernel.bounds(counted.X, UNIT))
        largest, error = float(q.max()), float(r.max())
        dense = not sparse.issparse(counted.X) or counted.X.shape[1] <= _FEW
        if self.name == "rbf" and dense and not error <= _COARSE * counted.X.shape[1]:
            return replace(self, direct=True, narrow=False)
        exact = error * UNIT32 / UNIT <= _COARSE32 * largest
        least = float((q * r)[q > 0.0].min(initial=1.0)) * UNIT32 / UNIT
        inside = least >= _SMALLEST and largest * largest <= _LARGEST
        return replace(kernel, narrow=exact and inside)
