"""Kernel matrix of a working set: held in memory, or computed row by row as steps ask for it.

A row of few columns is computed about as fast as it is read, and several times faster than
memory that was never used before is made ready. Then neither kernel rows nor the matrix are
kept, but for the rows that steps asked for last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..rows.cache import Known, RowCache, add_rows
from ..rows.kernels import KernelMatrix
from ..rows.threads import every
from .kernel_problem import KernelTopProblem

_PART = 512
# Share of the memory for the matrix of a working set, and where that is too small for the
# rows that matter; the rest holds rows.
SQUARE, SQUARE_CROWDED = 0.25, 0.9
# One part in so many of a working set's rows finds room in its matrix later on.
_SPARE = 25
# Bytes for rows of a working set that are computed when they are asked for.
_KEPT = 1 << 25


@dataclass(frozen=True)
class Held:
    """Kernel matrix of a working set, in memory.

    Attributes
    ----------
    rows : ndarray
        The matrix, with room for more rows and columns behind.
    count : int or None
        How many there are; None where there is no more room.
    """

    rows: np.ndarray
    count: int | None = None

    @property
    def dtype(self) -> np.dtype:
        """Precision of the entries."""
        return self.rows.dtype

    def known(self, positions: np.ndarray) -> Known | None:
        """Return what is held."""
        return Known(positions, self.rows)

    def among(self, first: int) -> np.ndarray:
        """Return the entries of the rows from `first` on, in float64, positive definite."""
        part = slice(first, self.count)
        return _definite(self.rows[part, part].astype(np.float64), self.dtype)

    def times(self, values: np.ndarray) -> np.ndarray:
        """Return the matrix times a vector."""
        out = np.zeros(len(values))
        add_rows(self.rows, np.arange(len(values)), values, out)
        return out


@dataclass(frozen=True)
class Computed:
    """Kernel matrix of a working set, its rows computed when they are asked for.

    Attributes
    ----------
    rows : object of the compiled core
        The rows.
    cache : RowCache
        The kernel.
    positions : ndarray of int
        Which rows.
    """

    rows: Any
    cache: RowCache
    positions: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        """Precision of the entries."""
        return self.cache.kernel.dtype

    def known(self, positions: np.ndarray) -> Known | None:
        """Return nothing: none is kept."""
        return None

    def among(self, first: int) -> np.ndarray:
        """Return the entries of the rows from `first` on, in float64, positive definite."""
        some = self.cache.order[self.positions[first:]]
        return _definite(self.cache.kernel.wide_entries(some, some), np.dtype(np.float64))

    def times(self, values: np.ndarray) -> np.ndarray:
        """Return the matrix times a vector."""
        out = np.zeros(int(self.positions.max()) + 1)
        used = np.flatnonzero(values)
        self.cache.add_to([out], self.positions[used], [values[used]], only=self.positions)
        return out[self.positions]


def _definite(matrix: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Add to the diagonal what rounding of entries of this precision may have taken from it."""
    np.fill_diagonal(matrix, matrix.diagonal() + 8.0 * np.finfo(dtype).eps * matrix.max())
    return matrix


def square(cache: RowCache, rows: np.ndarray, length: int, out: np.ndarray, first: int = 0) -> None:
    """Kernel matrix of `rows`: from rows of the cache what they hold, the rest computed.

    What belongs to the rows before `first` is there already.
    """
    if cache.kernel.quick:
        cache.kernel.square(cache.order[rows], out, first)
        return
    if first:
        added = np.arange(first, len(rows))
        _core.mirror(cache.entries(rows[added], rows), out, added, np.arange(len(rows)))
        return
    held = cache.holds(rows, length)
    kept, new = np.flatnonzero(held), np.flatnonzero(~held)
    cache.copy(rows[kept], rows, out, kept)

    def strip(start: int) -> None:
        # Of the entries among new rows half is computed.
        part, columns = new[start : start + _PART], new[start:]
        _core.mirror(cache.entries(rows[part], rows[columns]), out, part, columns)

    def turned(start: int) -> None:
        part = kept[start : start + _PART]
        _core.mirror(cache.entries(rows[part], rows[new]), out, part, new)

    if len(new):
        every(turned, range(0, len(kept), _PART))
        every(strip, range(0, len(new), _PART))


class Memory:
    """Kernel rows, and room for the matrix of a working set.

    Attributes
    ----------
    share : float
        Share of the memory for that matrix.
    cache : RowCache
        The rows.
    """

    def __init__(self, problem: KernelTopProblem, order: np.ndarray) -> None:
        self._bytes = problem.cache_bytes
        self._order = order
        self._matrix = np.empty(0)
        self.share = SQUARE
        self.cache = problem.cache or self._rows_of(problem.kernel)
        if not self.cache.keeps:
            self.share = SQUARE_CROWDED

    @property
    def most(self) -> int:
        """Rows whose square matrix the memory allows."""
        if self.cache.kernel.by_row:
            return len(self._order)
        entries = self.share * self._bytes / self.cache.kernel.dtype.itemsize
        return max(8, int(math.sqrt(entries)))

    def matrix(self, rows: np.ndarray, length: int) -> Held | Computed:
        """Return the matrix of these rows; one at a time, all are in the same memory."""
        cache, count = self.cache, len(rows)
        if cache.kernel.by_row:
            spare = min(int(self.share * self._bytes), _KEPT) // cache.kernel.dtype.itemsize
            room = self._room(min(count, max(3, spare // count)), count, spare)
            return Computed(cache.kernel.rows(cache.order[rows], room), cache, rows)
        side = max(count, min(self.most, len(self._order), count + count // _SPARE))
        room = self._room(side, side, min(self.most, len(self._order)) ** 2)
        square(cache, rows, length, room)
        return Held(room, count)

    def grown(self, held: Held | Computed, rows: np.ndarray, length: int) -> Held | None:
        """Return the matrix of these rows, of which the first are held; None without room."""
        if not isinstance(held, Held) or held.count is None or len(rows) > len(held.rows):
            return None
        square(self.cache, rows, length, held.rows, held.count)
        return Held(held.rows, len(rows))

    def _room(self, n_rows: int, n_columns: int, likely: int) -> np.ndarray:
        """Return memory; where it has to be new, for `likely` entries: others will follow.

        New memory is dear: it is cleared before it is given. What is never written to takes
        none.
        """
        dtype, size = self.cache.kernel.dtype, n_rows * n_columns
        if self._matrix.dtype != dtype or len(self._matrix) < size:
            self._matrix = np.empty(0)
            self._matrix = _core.room(1, max(size, likely), dtype == np.float32)[0]
        self.cache.most_working = max(self.cache.most_working, size)
        return self._matrix[:size].reshape(n_rows, n_columns)

    def renew(self, kernel: KernelMatrix, share: float) -> RowCache:
        """Forget all rows and go on with a kernel."""
        self.share = share
        self._matrix = np.empty(0)
        self.cache = self._rows_of(kernel)
        return self.cache

    def _rows_of(self, kernel: KernelMatrix) -> RowCache:
        return RowCache(kernel, self._order, int((1.0 - self.share) * self._bytes))
