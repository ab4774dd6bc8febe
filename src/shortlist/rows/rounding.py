r"""Bounds of rounding errors: what a proof in float64 may be off by.

A sum of n products, in whatever order and with or without fused operations, is off by at
most :math:`\gamma_n \sum |a_i| |b_i|` with :math:`\gamma_n = nu / (1 - nu)` and
:math:`u = 2^{-53}` (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
section 3.1). A value that is itself rounded once counts as one product more. From it follow
the two bounds that linear models need, with :math:`m_j = \max_i |x_{ij}|` the reach of the
columns and d the most entries of a row:

- a score :math:`w \cdot x_i` is off by at most :math:`\gamma_{d} \, m \cdot |w|`;
- a model :math:`v = \sum_i a_i x_i` of n rows is off by at most
  :math:`\gamma_{n} \|m\| \sum |a_i|` in length, so that half its square is off by at most
  :math:`\|v\| e + e^2 / 2` with that e.

The bounds are themselves computed in floating point; a few units more in every
:math:`\gamma` make up for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core

UNIT, UNIT32 = 2.0**-53, 2.0**-24
# Roundings of the bounds themselves, of rows that were shifted, and of a few sums.
_SPARE = 10
# Rows whose entries reach beyond the spread of the rows by this lose that many digits.
_FAR = 100.0
_FEW_ROWS = 20


def gamma(count: float) -> float:
    """Relative error of a sum of `count` products, the spare roundings included."""
    product = (count + _SPARE) * UNIT
    return product / (1.0 - product) if product < 0.5 else math.inf


def half_square_error(length: float, error: float) -> float:
    """Error of half the square of a vector of this length that is off by `error`."""
    return error * (length + 0.5 * error)


def sum_error(values: np.ndarray) -> float:
    """Error of the sum of `values`, added up in any order."""
    return gamma(len(values)) * float(np.abs(values).sum())


@dataclass(frozen=True)
class Reach:
    """How far rows reach: all that bounds of their products depend on.

    Attributes
    ----------
    length : float
        No row is longer.
    entries : int
        No row has more entries.
    lowest, highest : ndarray or None
        Range of every column, where it is known.
    """

    length: float
    entries: int
    lowest: np.ndarray | None = None
    highest: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any) -> Reach:
        """Return that of a validated matrix, dense or CSR."""
        if sparse.issparse(X):
            return _reach_of_csr(X)
        if not X.shape[0]:
            return cls(0.0, 0)
        return cls.between(*_ranges(X), X.shape[1])

    @classmethod
    def between(cls, lowest: np.ndarray, highest: np.ndarray, entries: int) -> Reach:
        """Return that of rows with columns of these ranges."""
        length = float(np.linalg.norm(np.maximum(-lowest, highest)))
        return cls(length, entries, lowest, highest)

    @classmethod
    def merged(cls, parts: Sequence[Reach]) -> Reach:
        """Return that of the rows of all parts."""
        parts = [part for part in parts if part.entries] or list(parts[:1])
        entries = max(part.entries for part in parts)
        lowest = [part.lowest for part in parts if part.lowest is not None]
        highest = [part.highest for part in parts if part.highest is not None]
        if len(lowest) == len(highest) == len(parts):
            return cls.between(np.min(lowest, axis=0), np.max(highest, axis=0), entries)
        return cls(max(part.length for part in parts), entries)

    def centre(self) -> np.ndarray | None:
        """Return what to subtract from rows far from the origin, None where they are near.

        Zero for columns that are near. A column with zeros left out is never far.
        """
        if self.lowest is None or self.highest is None:
            return None
        # Halves first: the range itself may overflow.
        spread = float(np.linalg.norm(0.5 * self.highest - 0.5 * self.lowest))
        far = np.maximum(-self.lowest, self.highest) > _FAR * spread
        if not far.any():
            return None
        return np.where(far, 0.5 * self.lowest + 0.5 * self.highest, 0.0)

    def shifted(self, centre: np.ndarray | None) -> Reach:
        """Return the reach of the rows less `centre`."""
        if centre is None or self.lowest is None or self.highest is None:
            return self
        return Reach.between(self.lowest - centre, self.highest - centre, self.entries)

    def score_error(self, w: np.ndarray) -> float:
        """Bound the error of every score under the model `w`."""
        if self.lowest is None or self.highest is None:
            size = self.length * float(np.linalg.norm(w))
        else:
            size = float(np.maximum(-self.lowest, self.highest) @ np.abs(w))
        return gamma(self.entries) * size

    def model_error(self, total: float, count: int) -> float:
        """Bound the error, in length, of a sum of `count` rows of total weight `total`."""
        return gamma(count) * self.length * total


def _ranges(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of every column; not finite where X is not."""
    if not X.flags.c_contiguous or X.dtype not in (np.float32, np.float64):
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    lowest, highest = np.empty(X.shape[1]), np.empty(X.shape[1])
    _core.column_ranges(X, lowest, highest)
    return lowest, highest


def _reach_of_csr(X: Any) -> Reach:
    """Return the ranges too, where a column has entries in every row: only these can be far."""
    counts = np.diff(X.indptr)
    entries = int(counts.max(initial=0))
    if not entries:
        return Reach(0.0, 0)
    if _may_have_full_column(X):
        full = canonical(X)
        if (np.bincount(full.indices, minlength=X.shape[1]) == X.shape[0]).any():
            lowest, highest = (
                np.asarray(end.todense(), dtype=np.float64).ravel()
                for end in (full.min(axis=0), full.max(axis=0))
            )
            return Reach.between(lowest, highest, entries)
    scale = float(max(X.data.max(), -X.data.min()))
    # Entries of one place may be given in several parts, which add up.
    return Reach(scale * (math.sqrt(entries) if X.has_canonical_format else entries), entries)


def canonical(X: Any) -> Any:
    """Return a CSR matrix with one entry at a place, in order: a copy where it has others.

    Squares of entries given in parts are not the squares of their sums.
    """
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _may_have_full_column(X: Any) -> bool:
    """Look at some rows for a column that all of them have."""
    shared: np.ndarray | None = None
    for row in np.linspace(0, X.shape[0] - 1, _FEW_ROWS).astype(np.intp):
        indices = X.indices[X.indptr[row] : X.indptr[row + 1]]
        shared = indices if shared is None else np.intersect1d(shared, indices)
        if not len(shared):
            return False
    return True
