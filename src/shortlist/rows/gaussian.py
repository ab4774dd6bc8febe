r"""Blocks of the Gaussian kernel :math:`\exp(-\gamma \|x - y\|^2)`, from matrix products.

.. math:: -\gamma \|x - y\|^2 = 2 \gamma x \cdot y - \gamma \|x\|^2 - \gamma \|y\|^2

with x and y counted from a common centre: distances stay, and keep their digits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .rounding import canonical
from .threads import every

# Rows and columns of a product: large enough for BLAS, small enough to stay in the cache.
_ROWS, _COLUMNS = 1024, 1024
# Terms of a float32 product that are summed together, as in the core: short sums round less.
_TERMS = 256
# Whether products are made beside their exponentials, and not by BLAS.
OWN_PRODUCTS = _core.makes_products()
# Columns up to which sparse rows are made dense, some at a time: products of sparse rows
# take longer than those of so many columns.
FEW_COLUMNS = 300


class _Scratch(threading.local):
    """Memory of one thread that products are written to, again and again."""

    def __init__(self) -> None:
        self._kept = np.empty(0, dtype=np.uint8)

    def matrices(self, n_rows: int, n_columns: int, dtype: np.dtype) -> np.ndarray:
        """Return two of them."""
        size = 2 * n_rows * n_columns * dtype.itemsize
        if len(self._kept) < size:
            self._kept = np.empty(size, dtype=np.uint8)
        return self._kept[:size].view(dtype).reshape(2, n_rows, n_columns)


def longest_sum(n: int) -> float:
    """Additions that a term of a float32 product of `n` terms goes through at most."""
    return float(n) if n <= _TERMS else _TERMS + n / _TERMS + 1.0


class GaussianEntries:
    """The kernel between two sets of rows.

    In float32 three times faster than in float64; for rows whose entries
    :meth:`shortlist.rows.formulas.NamedKernel.bounds` finds exact enough, and for solvers
    that prove their models in float64 in the end.

    Parameters
    ----------
    X, Y : {ndarray, csr matrix} of float32 or float64
        The rows; `Y` may be `X`.
    gamma : float
        The coefficient.
    centre : ndarray or None
        What is subtracted from every row.
    dtype : dtype
        Precision of products and entries, whatever that of the rows.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        gamma: float,
        centre: np.ndarray | None = None,
        dtype: Any = np.float32,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self._gamma = gamma
        self._centre = np.zeros(X.shape[1])
        if centre is not None:
            self._centre[:] = centre
        same = X is Y
        self._X = canonical(X) if sparse.issparse(X) else X
        self._Y = self._X if same else canonical(Y) if sparse.issparse(Y) else Y
        self._y = self._squares(self._Y)
        self._x = self._y if same else self._squares(self._X)
        self._kept: np.ndarray | None = None
        self._place = np.empty(0, dtype=np.int64)
        self._scratch = _Scratch()

    def _squares(self, X: Any) -> np.ndarray:
        out = np.empty(X.shape[0], dtype=self.dtype)

        def some(start: int) -> None:
            part = self._dense(X, np.arange(start, min(start + _COLUMNS, len(out))))
            # In float64, and rounded once: half of what float32 entries would be off by.
            squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
            out[start : start + _COLUMNS] = self._gamma * squares

        every(some, range(0, len(out), _COLUMNS))
        return out

    def keep(self, order: np.ndarray, most: int) -> int:
        """Keep a dense copy of the rows along `order` if `most` bytes allow; return its bytes.

        For rows of which `Y` is `X`. No other rows may be asked for afterwards.
        """
        size = len(order) * self._X.shape[1] * self.dtype.itemsize
        if self._X is not self._Y or size > most:
            return 0
        self._kept = None
        kept = _core.room(len(order), self._X.shape[1], self.dtype == np.float32)

        def copy(start: int) -> None:
            part = slice(start, start + _COLUMNS)
            self._dense(self._X, order[part], kept[part])

        every(copy, range(0, len(order), _COLUMNS))
        self._place = np.zeros(self._X.shape[0], dtype=np.int64)
        self._place[order] = np.arange(len(order))
        self._kept = kept
        return size

    def fill(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        start: int,
    ) -> None:
        """Write the entries to the rows `slots` of `out`, from column `start` on."""

        def tile(corner: tuple[np.ndarray, np.ndarray, int, int]) -> None:
            A, chosen, i, j = corner
            part, to = columns[j : j + _COLUMNS], slots[i : i + _ROWS]
            B = self._take(self._Y, part)
            if OWN_PRODUCTS:
                _core.gaussian_block(A, self._x[chosen], B, self._y[part], out, to, start + j)
                return
            inner, more = self._scratch.matrices(len(A), len(B), self.dtype)
            step = _TERMS if self.dtype == np.float32 else max(1, A.shape[1])
            np.matmul(A[:, :step], B[:, :step].T, out=inner)
            for first in range(step, A.shape[1], step):
                terms = slice(first, first + step)
                inner += np.matmul(A[:, terms], B[:, terms].T, out=more)
            _core.gaussian_entries(inner, self._x[chosen], self._y[part], out, to, start + j)

        every(tile, self._corners(rows, columns))

    def rows(self, rows: np.ndarray, memory: np.ndarray) -> Any:
        """Return the kernel among these rows, each row computed when it is asked for.

        `memory` has room for those that are kept, three at least unless there are fewer.
        """
        kind = _core.GaussianRows32 if self.dtype == np.float32 else _core.GaussianRows64
        return kind(self._take(self._X, rows), self._x[rows], self._gamma, memory)

    def add(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the kernel rows, times each set of values, to each row of `out`.

        For rows of few columns: no entry is stored.
        """
        A = self._take(self._X, rows) * self.dtype.type(2.0 * self._gamma)
        B = self._take(self._Y, columns)
        _core.add_gaussian(A, self._x[rows], B, self._y[columns], values, out)

    def add_both(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        values: tuple[np.ndarray, np.ndarray],
        out: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Add the columns, times the values of the columns, to the first of `out`.

        And the rows, times the values of the rows, to the second: each entry is computed once.
        As :meth:`add`.
        """
        A = self._take(self._X, rows) * self.dtype.type(2.0 * self._gamma)
        B = self._take(self._Y, columns)
        of_rows, of_columns = values
        _core.add_gaussian_both(
            A, self._x[rows], B, self._y[columns], of_rows, out[1], of_columns, out[0]
        )

    def _corners(
        self, rows: np.ndarray, columns: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
        for i in range(0, len(rows), _ROWS):
            chosen = rows[i : i + _ROWS]
            A = self._take(self._X, chosen) * self.dtype.type(2.0 * self._gamma)
            for j in range(0, len(columns), _COLUMNS):
                yield A, chosen, i, j

    def _take(self, X: Any, rows: np.ndarray) -> np.ndarray:
        if self._kept is None:
            return self._dense(X, rows)
        place = self._place[rows]
        first = int(place[0]) if len(place) else 0
        if np.array_equal(place, np.arange(first, first + len(place))):
            return self._kept[first : first + len(place)]
        return self._kept[place]

    def _dense(self, X: Any, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return rows around the centre, in `out` if given."""
        if out is None:
            out = np.empty((len(rows), X.shape[1]), dtype=self.dtype)
        if sparse.issparse(X) or not X.flags.c_contiguous:
            some = X[rows]
            some = some.toarray() if sparse.issparse(some) else some
            np.subtract(some, self._centre, out=out, casting="same_kind")
        else:
            _core.centred_rows(X, np.ascontiguousarray(rows, dtype=np.int64), self._centre, out)
        return out
