r"""The Gaussian kernel of rows on a grid: pixels, counts, zeros and ones.

Where every column holds whole multiples :math:`0, 1, \dots, 255` of one step above its
lowest value, rows are bytes, and

.. math:: k(x, y) = \exp(-\gamma h^2 \, \|p - q\|^2), \qquad x = l + h p, \quad y = l + h q

with a squared distance of whole numbers that is exact in 32 bits. Processors with products
of bytes compute it in a quarter of the time of a float32 product, and it is more exact.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .rounding import UNIT, UNIT32
from .threads import every

_STEPS = 255
_MOST_FEATURES = 33_000
# Rows looked at before all are, and rows of a part.
_FEW, _SOME, _PART = 4, 64, 2048
# Values of a column closer than this share of its range are one value and its rounding.
_SAME = 1e-5
# Steps whose squares are neither zero nor infinite, nor those of the rows.
_LEAST_STEP = 1e-140
# Beyond it unequal rows have entries of zero in any precision.
_LARGEST_SCALE = 1e30
# Rows and columns that one thread computes at a time: a millisecond or so, since those that are
# done wait for the last.
_ROWS, _COLUMNS = 1024, 512
# Columns of a square matrix that one thread computes at a time.
_STRIP = 256


class Grid:
    """Rows as bytes.

    Attributes
    ----------
    step : float
        What one counts for.
    codes : tuple of ndarray
        The bytes, of shape (n_rows, features and up to three zeros); of every row of them
        the squared length and the sum.
    squares : ndarray
        Squared length of every row, from the lowest values.
    off : float
        No row is farther from its place on the grid.
    """

    def __init__(
        self, step: float, codes: tuple[np.ndarray, np.ndarray, np.ndarray], errors: np.ndarray
    ) -> None:
        self.step = step
        self.codes = codes
        self.squares = step * step * codes[1]
        longest = float(np.sqrt(self.squares.max(initial=0.0)))
        # The distances were rounded, too: every step and every difference once or twice.
        self.off = 1.001 * float(np.sqrt(errors.max(initial=0.0))) + 4.0 * UNIT * longest

    @classmethod
    def of(cls, X: Any) -> Grid | None:
        """Find the grid of a matrix, dense or CSR; None where there is none."""
        n, d = X.shape
        if not 0 < d < _MOST_FEATURES:
            return None
        # A few rows tell most tables that are none.
        step = _step(X, _FEW) and _step(X, _SOME)
        if step is None or not _LEAST_STEP < step < 1.0 / _LEAST_STEP:
            return None
        lowest, highest = _range(X)
        if not float((highest - lowest).max()) < (_STEPS + 0.5) * step:
            return None
        codes = np.empty((n, -(-d // 4) * 4), dtype=np.uint8)
        squares, sums = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
        errors = np.empty(n)

        def some(start: int) -> None:
            part = slice(start, start + _PART)
            made = codes[part], squares[part], sums[part]
            _core.grid_codes(_dense(X, part), lowest, step, *made, errors[part])

        every(some, range(0, n, _PART))
        return cls(step, (codes, squares, sums), errors) if np.isfinite(errors).all() else None

    def suits(self, dtype: Any) -> bool:
        """Whether rows are off the grid by less than products of this precision round."""
        longest = float(self.squares.max(initial=0.0))
        allowed = _unit(dtype) * self.codes[0].shape[1] * longest
        return 4.0 * self.off * np.sqrt(longest) + 2.0 * self.off**2 <= allowed


class GridEntries:
    """The kernel among rows on a grid.

    Parameters
    ----------
    grid : Grid
        The rows.
    gamma : float
        The coefficient.
    dtype : dtype
        Precision of the entries.
    """

    def __init__(self, grid: Grid, gamma: float, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self._grid = grid
        self._gamma = gamma
        self._scale = min(gamma * grid.step * grid.step, _LARGEST_SCALE)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Return q and r as :meth:`shortlist.rows.kernels.KernelMatrix.bounds` does.

        Distances are at most :math:`a_i + a_j`, the lengths from the lowest values. Rows off
        the grid by :math:`\varepsilon` change their squares by at most
        :math:`4 \varepsilon (a_i + a_j) + 4 \varepsilon^2`; the exponent is rounded three
        times, and the exponential is off by two units.
        """
        grid, gamma = self._grid, self._gamma
        r = _unit(self.dtype) * (4.0 + 8.0 * gamma * grid.squares)
        r += gamma * (4.0 * grid.off * np.sqrt(grid.squares) + 2.0 * grid.off**2)
        return np.ones(len(r)), r

    def keep(self, order: np.ndarray, most: int) -> int:
        """Return the bytes that the rows, which are there already, count for: at most `most`."""
        return min(sum(part.nbytes for part in self._grid.codes), most)

    def fill(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        start: int,
    ) -> None:
        """Write the entries to the rows `slots` of `out`, from column `start` on."""
        self.scatter(rows, columns, out, slots, np.arange(start, start + len(columns)))

    def scatter(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        to: np.ndarray,
    ) -> None:
        """Write the entries to the rows `slots` and columns `to` of `out`."""

        def tile(corner: tuple[int, int]) -> None:
            i, j = slice(corner[0], corner[0] + _ROWS), slice(corner[1], corner[1] + _COLUMNS)
            _core.grid_entries(
                *self._grid.codes, rows[i], columns[j], self._scale, out, slots[i], to[j]
            )

        every(tile, product(range(0, len(rows), _ROWS), range(0, len(columns), _COLUMNS)))

    def square(self, rows: np.ndarray, out: np.ndarray, first: int = 0) -> None:
        """Write the entries among these rows; half of them is computed.

        Those among the rows before `first` stay as they are. `out` may be larger.
        """

        def strip(start: int) -> None:
            last = min(len(rows), start + _STRIP)
            _core.grid_square(*self._grid.codes, rows, self._scale, out, start, last)

        # The longest first: threads end together.
        every(strip, range(first, len(rows), _STRIP)[::-1])

    def add(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the kernel rows, times each set of values, to each row of `out`."""
        single = self.dtype == np.float32
        _core.add_grid(*self._grid.codes, rows, columns, self._scale, values, out, single)


def _unit(dtype: Any) -> float:
    return UNIT32 if np.dtype(dtype) == np.float32 else UNIT


def _step(X: Any, count: int) -> float | None:
    """Return the step of which some rows, column by column, hold a few multiples."""
    n = X.shape[0]
    sample = _dense(X, np.unique(np.linspace(0, n - 1, min(n, count)).astype(int)))
    values = np.sort((sample.astype(np.float64) - sample.min(axis=0)).ravel())
    values = values[np.diff(values, prepend=-np.inf) > _SAME * values[-1]]
    if len(values) == 1:
        return 1.0  # all are equal: no step is wrong yet
    if len(values) > _STEPS + 1:
        return None
    counts = np.rint(values / np.diff(values).min())
    share = float((values / values[-1]) @ counts / (counts @ counts))
    return share * float(values[-1])


def _dense(X: Any, rows: Any) -> np.ndarray:
    some = X[rows]
    return np.ascontiguousarray(some.toarray() if sparse.issparse(some) else some)


def _range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X):
        return tuple(side(axis=0).toarray().ravel().astype(np.float64) for side in (X.min, X.max))
    if not X.flags.c_contiguous:
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    lowest, highest = np.empty(X.shape[1]), np.empty(X.shape[1])
    _core.column_ranges(X, lowest, highest)
    return lowest, highest
