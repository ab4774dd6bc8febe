"""Row operators: the only place that knows how rows are stored.

Values may be float32 or float64; every product is accumulated in float64, slice
by slice, so that neither a certificate loses digits nor the data is copied whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .. import _core
from .weighted import distinct

_SLICE_BYTES = 1 << 20
# Beyond, BLAS adds up weighted squares of rows as fast as the compiled loop.
_FEW_COLUMNS = 100
# BLAS has products with many rows this short sooner where they lie column by column.
_VERY_FEW, _MANY_ROWS = 16, 1000


class Rows(Protocol):
    """A matrix of rows seen through the products that solvers need."""

    n_rows: int
    n_features: int
    n_values: int
    cheap_inner: bool  # whether inner products of rows cost no more than their multiplications

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return ``X @ w``, written to `out` where that is given."""

    def combine(self, v: np.ndarray) -> np.ndarray:
        """Return ``X.T @ v``."""

    def combines(self, v: np.ndarray) -> np.ndarray:
        """Return ``X.T @ v.T`` for one to three rows of `v`, in one look at the rows."""

    def add_gram(self, v: np.ndarray, out: np.ndarray) -> None:
        """Add ``X.T @ diag(v) @ X`` for ``v >= 0``; the upper triangle is valid."""

    def inner(self) -> np.ndarray:
        """Return ``X @ X.T``."""

    def squared_norms(self) -> np.ndarray:
        """Return the squared length of every row."""

    def column_squares(self, v: np.ndarray) -> np.ndarray:
        """Return ``(X ** 2).T @ v``."""

    def scaled_columns(self, v: np.ndarray) -> Rows:
        """Return ``X @ diag(v)``."""

    def take(self, index: np.ndarray) -> Rows:
        """Return the chosen rows as an operator of their own."""

    def stack(self, other: Any) -> Rows:
        """Return these rows followed by those of `other`."""

    def merged(self, v: np.ndarray) -> Rows:
        """Return the one row ``X.T @ v``."""

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Return one position of every distinct row, and which of them each row is.

        Their order depends on the rows' values only.
        """

    def dense(self) -> np.ndarray:
        """Return the rows as a float64 array in C order: for a few rows only."""

    def arrays(self) -> tuple:
        """Return the arrays by which compiled loops know the rows."""


class DenseRows:
    """Rows of a two-dimensional array, C or F order, less a `centre` where there is one.

    The centre is subtracted in float64, slice by slice: rows far from the origin keep
    their digits, and are not copied whole.
    """

    def __init__(self, X: np.ndarray, centre: np.ndarray | None = None) -> None:
        self._X = X
        self._centre = centre
        self.n_rows, self.n_features = X.shape
        self.n_values = X.size
        self.cheap_inner = True
        self._wide = X.dtype == np.float64 and centre is None
        self._narrow = X.dtype == np.float32 and X.flags.c_contiguous and centre is None
        known = centre is None and X.dtype in (np.float32, np.float64)
        whole = X.flags.c_contiguous or X.flags.f_contiguous
        self._very_few = self.n_features <= _VERY_FEW
        self._few_columns = known and whole and self.n_features <= _FEW_COLUMNS
        self._step = max(1, _SLICE_BYTES // max(1, 8 * self.n_features))

    def _values(self, index: Any) -> np.ndarray:
        """Return some rows; in their own precision where they are as they were given."""
        return self._X[index] if self._centre is None else self._X[index] - self._centre

    def _slices(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, self.n_rows, self._step):
            part = slice(start, start + self._step)
            yield part, self._values(part).astype(np.float64, copy=False)

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if self._wide:
            return np.matmul(self._X, w, out=out)
        out = np.empty(self.n_rows) if out is None else out
        if self._narrow:
            _core.dense_scores(self._X, w, out)
            return out
        for part, piece in self._slices():
            out[part] = piece @ w
        return out

    def combine(self, v: np.ndarray) -> np.ndarray:
        if self._wide:
            return self._X.T @ v
        out = np.zeros(self.n_features)
        if self._narrow:
            _core.dense_combine(self._X, v, out)
            return out
        for part, piece in self._slices():
            out += piece.T @ v[part]
        return out

    def combines(self, v: np.ndarray) -> np.ndarray:
        if self._wide:
            return self._X.T @ v.T
        return np.column_stack([self.combine(one) for one in v])

    def add_gram(self, v: np.ndarray, out: np.ndarray) -> None:
        if self._few_columns:
            by_column = not self._X.flags.c_contiguous
            return _core.dense_gram(self._X.T if by_column else self._X, v, out, by_column)
        root = np.sqrt(v)
        for part, piece in self._slices():
            scaled = piece * root[part, None]
            out += scaled.T @ scaled

    def inner(self) -> np.ndarray:
        X = self._values(slice(None)).astype(np.float64, copy=False)
        return X @ X.T

    def squared_norms(self) -> np.ndarray:
        out = np.empty(self.n_rows)
        for part, piece in self._slices():
            out[part] = np.einsum("ij,ij->i", piece, piece)
        return out

    def column_squares(self, v: np.ndarray) -> np.ndarray:
        out = np.zeros(self.n_features)
        for part, piece in self._slices():
            out += v[part] @ (piece * piece)
        return out

    def dense(self) -> np.ndarray:
        return np.ascontiguousarray(self._values(slice(None)), dtype=np.float64)

    def scaled_columns(self, v: np.ndarray) -> DenseRows:
        return DenseRows(self._values(slice(None)) * v)

    def take(self, index: np.ndarray) -> DenseRows:
        values = self._values(index)
        many = len(values) >= _MANY_ROWS and values.dtype == np.float64
        return DenseRows(np.asfortranarray(values) if many and self._very_few else values)

    def stack(self, other: DenseRows) -> DenseRows:
        return DenseRows(np.concatenate([self._values(slice(None)), other._values(slice(None))]))

    def merged(self, v: np.ndarray) -> DenseRows:
        return DenseRows(self.combine(v)[None, :])

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        return distinct(self._values(slice(None)))

    def arrays(self) -> tuple:
        return (np.ascontiguousarray(self._values(slice(None))),)


class SparseRows:
    """Rows of a CSR matrix."""

    def __init__(self, X: Any) -> None:
        if not X.has_sorted_indices:
            X = X.sorted_indices()
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.n_values = X.nnz
        self.cheap_inner = False
        self._parts = (X.indptr, X.indices, X.data)
        self._checked = 0

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = np.empty(self.n_rows) if out is None else out
        _core.csr_scores(*self._parts, w, out, self._checked)
        self._checked = self.n_features  # every column has been looked at
        return out

    def combine(self, v: np.ndarray) -> np.ndarray:
        out = np.zeros(self.n_features)
        _core.csr_combine(*self._parts, v, out, self._checked)
        return out

    def combines(self, v: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_features, len(v)))
        _core.csr_combines(*self._parts, v, out, self._checked)
        return out

    def add_gram(self, v: np.ndarray, out: np.ndarray) -> None:
        _core.csr_gram(*self._parts, v, out)

    def inner(self) -> np.ndarray:
        X = self._X.astype(np.float64)
        return (X @ X.T).toarray()

    def squared_norms(self) -> np.ndarray:
        squares = sparse.csr_array(
            (self._X.data.astype(np.float64) ** 2, self._X.indices, self._X.indptr),
            shape=self._X.shape,
        )
        return np.asarray(squares.sum(axis=1)).ravel()

    def column_squares(self, v: np.ndarray) -> np.ndarray:
        X = self._X
        row_weight = np.repeat(v, np.diff(X.indptr))
        return np.bincount(
            X.indices,
            weights=row_weight * X.data.astype(np.float64) ** 2,
            minlength=self.n_features,
        )

    def scaled_columns(self, v: np.ndarray) -> SparseRows:
        return SparseRows(self._X.multiply(v[None, :]).tocsr())

    def take(self, index: np.ndarray) -> SparseRows:
        return SparseRows(self._X[index])

    def stack(self, other: SparseRows) -> SparseRows:
        return SparseRows(sparse.vstack([self._X, other._X], format="csr"))

    def merged(self, v: np.ndarray) -> SparseRows:
        return SparseRows(sparse.csr_array(self.combine(v)[None, :]))

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        return distinct(self._X)

    def dense(self) -> np.ndarray:
        return self._X.toarray().astype(np.float64, copy=False)

    def arrays(self) -> tuple:
        return (*self._parts, self.n_features)


def as_rows(X: Any, centre: np.ndarray | None = None) -> Rows:
    """Wrap validated data in the operator for its storage, less a centre.

    In the columns of a CSR matrix where the centre is not zero, entries that were left out
    become explicit.
    """
    if not sparse.issparse(X):
        return DenseRows(X, centre)
    return SparseRows(X if centre is None else _shifted(X, centre))


def _shifted(X: Any, centre: np.ndarray) -> Any:
    far = np.flatnonzero(centre)
    moved = X[:, far].toarray() - centre[far]
    near = sparse.csr_array(X, dtype=np.float64, copy=True)
    near.data[centre[near.indices] != 0.0] = 0.0
    starts = np.arange(X.shape[0] + 1) * len(far)
    places = np.tile(far, X.shape[0])
    return sparse.csr_array(near + sparse.csr_array((moved.ravel(), places, starts), X.shape))
