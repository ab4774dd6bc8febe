"""Rows with multiplicities: equal ones merged, and their mean and spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .threads import each

Value = TypeVar("Value")

# Numbers that are looked at together: as many as a processor's cache holds.
_VALUES = 1 << 16
_TOGETHER = 1 << 17
# Columns of wide rows that tell most of them apart.
_GLANCE = 64


def distinct(X: Any, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return one position of every distinct row, and which of them each row is.

    Rows are equal where their numbers are: -0.0 and 0.0 are, and so are a stored zero and
    none. Their order depends on the rows' values only.

    Parameters
    ----------
    X : {ndarray, csr matrix}
        All rows.
    rows : ndarray of int or None
        The rows to compare; None for all. Positions count along these.

    Returns
    -------
    first : ndarray of int
        Positions of the first of every set of equal rows.
    group : ndarray of int
        Number of the set of every row.
    """
    rows = np.arange(X.shape[0]) if rows is None else rows
    if sparse.issparse(X):
        X = sparse.csr_array(X[rows])  # a copy: its zeros go
        X.sum_duplicates()
        X.eliminate_zeros()
        digest, same = _digests_of_sparse(X), _same_sparse
        numbers = np.arange(len(rows))
    else:
        digest, same, numbers = _digests(X, rows), _same_dense, rows
    _, first, group = np.unique(digest, return_index=True, return_inverse=True)
    group = group.ravel()
    repeated = np.flatnonzero(first[group] != np.arange(len(rows)))
    if same(X, numbers[repeated], numbers[first[group[repeated]]]):
        return first, group
    return _slowly(X, numbers)  # two rows share a digest, one chance in 10^9 and less


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Spread the high bits of numbers, which few digits fill, over the low ones."""
    return bits ^ (bits >> np.uint64(32))


def _factors(count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.integers(0, 1 << 63, count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _bits(values: np.ndarray) -> np.ndarray:
    # Adding zero turns -0.0 into 0.0, which is the same number in other bits.
    return (values.astype(np.float64, copy=False) + 0.0).view(np.uint64)


def _digests(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    first = (X.shape[1] - _GLANCE) // 2
    if first < _GLANCE:
        return _whole_digests(X, rows)
    # Rows that differ in some columns are looked at no further.
    out = _whole_digests(X[:, first : first + _GLANCE], rows)
    _, group, count = np.unique(out, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(count[group.ravel()] > 1)
    out[alike] = _whole_digests(X, rows[alike])
    return out


def _whole_digests(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    step = max(1, _VALUES // max(1, X.shape[1]))
    factors, out = _factors(X.shape[1]), np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        out[part] = _mixed(_bits(np.ascontiguousarray(X[rows[part]]))) @ factors
    return out


def _digests_of_sparse(X: Any) -> np.ndarray:
    sums = np.zeros(X.nnz + 1, dtype=np.uint64)
    np.cumsum(_mixed(_bits(X.data)) * _factors(X.shape[1])[X.indices], out=sums[1:])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _same_dense(X: np.ndarray, rows: np.ndarray, others: np.ndarray) -> bool:
    step = max(1, _VALUES // max(1, X.shape[1]))
    parts = (slice(start, start + step) for start in range(0, len(rows), step))
    return all(np.array_equal(X[rows[part]], X[others[part]]) for part in parts)


def _same_sparse(X: Any, rows: np.ndarray, others: np.ndarray) -> bool:
    return (X[rows] != X[others]).nnz == 0


def _slowly(X: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys = [
        (tuple(X[[i]].indices), tuple(X[[i]].data)) if sparse.issparse(X) else tuple(X[i])
        for i in rows
    ]
    ordered = {key: number for number, key in enumerate(sorted(set(keys)))}
    group = np.array([ordered[key] for key in keys], dtype=np.intp)
    return np.unique(group, return_index=True)[1], group


def merge_duplicates(X: Any, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Keep one of every set of identical rows and give it the weight of all.

    Weights are multiplicities, so the problem stays the same, with fewer variables and
    none of the flat directions that copies bring. The rows come back in an order that
    depends on their contents only.

    Parameters
    ----------
    X : {ndarray, csr matrix}
        All rows.
    rows : ndarray of int
        Rows of one class.
    weight : ndarray
        Multiplicities, changed in place.

    Returns
    -------
    ndarray of int
        The rows kept.
    """
    first, group = distinct(X, rows)
    total = np.bincount(group, weights=weight[rows])
    weight[rows] = 0.0
    weight[rows[first]] = total
    return rows[first]


@dataclass(frozen=True)
class CountedRows:
    """Rows that count, with their multiplicities.

    Attributes
    ----------
    X : {ndarray, csr matrix}
        Rows, of which some may not count.
    weight : ndarray
        Multiplicity of those that count.
    rows : ndarray of int
        Which ones these are, in the order in which they are summed.
    """

    X: Any
    weight: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(
        cls, X: Any, weight: np.ndarray | None = None, rows: np.ndarray | None = None
    ) -> CountedRows:
        """Count all rows of positive weight, or those given."""
        weight = np.ones(X.shape[0]) if weight is None else weight
        rows = np.flatnonzero(weight > 0.0) if rows is None else rows
        return cls(X, weight[rows], rows)

    def blocks(self, function: Callable[[np.ndarray, Any], Value]) -> Iterator[Value]:
        """Return what a function makes of weights and rows, some at a time, in float64."""
        step = max(1, _TOGETHER // max(1, self.X.shape[1]))

        def some(start: int) -> Value:
            part = slice(start, start + step)
            return function(self.weight[part], self.X[self.rows[part]].astype(np.float64))

        return each(some, range(0, len(self.rows), step))

    def variance(self) -> float:
        """Variance of all entries; of equal entries exactly zero."""
        entries = self.X.shape[1] * float(self.weight.sum())
        # From one of the entries, then from the mean: neither loses the digits of a spread.
        first = self._an_entry()
        mean = sum(self.blocks(lambda weight, A: _total(weight, A, first, 0.0, 1))) / entries
        return sum(self.blocks(lambda weight, A: _total(weight, A, first, mean, 2))) / entries

    def _an_entry(self) -> float:
        if not sparse.issparse(self.X):
            return float(self.X[self.rows[0]].flat[0])
        full = self.X.nnz == self.X.shape[0] * self.X.shape[1]
        return float(self.X.data[0]) if full and self.X.nnz else 0.0

    def centre(self) -> np.ndarray:
        """Mean of every column; of a sparse column that holds zeros, zero."""
        X, total = self.X, float(self.weight.sum())
        if not sparse.issparse(X):
            first = X[self.rows[0]].astype(np.float64)
            # As below: no product of BLAS.
            sums = sum(self.blocks(lambda weight, A: np.einsum("i,ij->j", weight, A - first)))
            return first + sums / total
        sums, count = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=np.intp)
        for more, nonzero in self.blocks(_column_sums):
            sums += more
            count += nonzero
        return np.where(count == len(self.rows), sums / total, 0.0)


def _column_sums(weight: np.ndarray, A: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of sparse columns, and how many of their entries are not zero."""
    return A.T @ weight, np.bincount(A.indices[A.data != 0.0], minlength=A.shape[1])


def _total(weight: np.ndarray, A: Any, first: float, mean: float, power: int) -> float:
    """Weighted sum of the entries less `first`, then less `mean`, or of their squares.

    One after the other: far from zero, their sum would lose the digits of the mean. And no
    products of BLAS, whose last digit depends on its number of threads.
    """
    if not sparse.issparse(A):
        return float((weight * (((A - first) - mean) ** power).sum(axis=1)).sum())
    counts = np.diff(A.indptr)
    stored = float((np.repeat(weight, counts) * ((A.data - first) - mean) ** power).sum())
    return stored + float((weight * (A.shape[1] - counts)).sum()) * (-first - mean) ** power
