"""Mean and spread of weighted rows, without loss of digits far from the origin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

_VALUES = 1 << 17


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

    def blocks(self) -> Iterator[tuple[np.ndarray, Any]]:
        """Weights and rows, some at a time, in float64."""
        step = max(1, _VALUES // max(1, self.X.shape[1]))
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            yield self.weight[part], self.X[self.rows[part]].astype(np.float64)

    def variance(self) -> float:
        """Variance of all entries; of equal entries exactly zero."""
        entries = self.X.shape[1] * float(self.weight.sum())
        # From one of the entries, then from the mean: neither loses the digits of a spread.
        first = self._an_entry()
        mean = sum(_total(weight, A, first, 0.0, 1) for weight, A in self.blocks()) / entries
        return sum(_total(weight, A, first, mean, 2) for weight, A in self.blocks()) / entries

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
            sums = sum(weight @ (A - first) for weight, A in self.blocks())
            return first + sums / total
        sums, count = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=np.intp)
        for weight, A in self.blocks():
            sums += A.T @ weight
            count += np.bincount(A.indices[A.data != 0.0], minlength=X.shape[1])
        return np.where(count == len(self.rows), sums / total, 0.0)


def _total(weight: np.ndarray, A: Any, first: float, mean: float, power: int) -> float:
    """Weighted sum of the entries less `first`, then less `mean`, or of their squares.

    One after the other: far from zero, their sum would lose the digits of the mean.
    """
    if not sparse.issparse(A):
        return float(weight @ (((A - first) - mean) ** power).sum(axis=1))
    counts = np.diff(A.indptr)
    stored = float(np.repeat(weight, counts) @ ((A.data - first) - mean) ** power)
    return stored + float(weight @ (A.shape[1] - counts)) * (-first - mean) ** power
