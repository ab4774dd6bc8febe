"""Kernel rows in bounded memory.

Positions count along an order of the training rows that the solver chooses, so that a
random sample is a prefix and a row computed for the sample is only extended later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .. import _core
from .kernels import KernelMatrix
from .threads import every

# Blocks of rows that are used once and forgotten.
_ROWS = 1024
_COLUMNS = 2048
# Columns of such a block where entries are cheap: threads need several.
_FEW_COLUMNS = 512
# Rows that one thread copies at a time.
_COPIED = 128
# Columns that one thread adds up at a time.
_STRIP = 2048
# Of a quick kernel rows are kept where all of them together take so many times the memory, and so
# many bytes, at most: beyond, new memory for some costs more than computing all.
_TIMES, _MOST = 4, 1 << 31
# Share of the memory that a copy of the training rows may take: blocks gain much by it.
_COPY = 0.25


@dataclass(frozen=True)
class Known:
    """Entries that a solver holds already.

    Attributes
    ----------
    positions : ndarray of int
        Rows and columns, none twice.
    matrix : ndarray
        The entries among them.
    """

    positions: np.ndarray
    matrix: np.ndarray


class RowCache:
    """Rows of the kernel matrix along `order`.

    Parameters
    ----------
    kernel : KernelMatrix
        The entries.
    order : ndarray of int
        Training row at every position.
    budget : int
        Bytes for the rows kept.

    Attributes
    ----------
    keeps : bool
        Whether rows are kept at all.
    computed : int
        Kernel entries computed so far.
    most_rows : int
        Most rows kept at a time.
    most_working : int
        Most entries of a working set that the solver held besides.
    """

    def __init__(self, kernel: KernelMatrix, order: np.ndarray, budget: int) -> None:
        self.kernel = kernel
        self.order = order
        n = len(order)
        self._copied = kernel.keep(order, int(_COPY * budget))
        budget -= self._copied
        size = n * kernel.dtype.itemsize
        count = int(min(n, budget // size))
        if kernel.cheap or (kernel.quick and n * size > min(_TIMES * budget, _MOST)):
            count = 0
        # Memory is touched, and so taken, only as rows arrive.
        self._rows = _core.room(count, n, kernel.dtype == np.float32)
        self._slot = np.full(n, -1)
        self._filled = np.zeros(n, dtype=np.intp)
        self._free = list(range(count - 1, -1, -1))
        whole = kernel.whole()
        if whole is not None and np.array_equal(order, np.arange(kernel.n_rows)):
            # All rows are there already, in this order.
            self._rows, self._slot, self._free = whole, np.arange(n), []
            self._filled[:] = n
        self._borrowed = self._rows is whole
        self.keeps = len(self._rows) > 0
        self.computed = 0
        self._lock = threading.Lock()
        self.most_rows = 0
        self.most_working = 0

    def of(self, kernel: KernelMatrix) -> RowCache | None:
        """Return the rows kept, for equal entries in other memory; None where none are kept.

        The memory that the rows came from is the user's, and may have changed since.
        """
        if self._borrowed:
            return None
        self.kernel = kernel if kernel.dtype == self.kernel.dtype else kernel.widened()
        self.kernel.keep(self.order, self._copied)
        return self

    def has_room(self, count: int) -> bool:
        """Whether `count` more rows can be kept."""
        return self._borrowed or not self.keeps or len(self._free) >= count

    def release(self, keep: np.ndarray) -> None:
        """Forget every row whose position is not in the mask `keep`."""
        if self._borrowed:
            return
        for position in np.flatnonzero((self._slot >= 0) & ~keep):
            self._free.append(int(self._slot[position]))
            self._slot[position] = -1
            self._filled[position] = 0

    def holds(self, rows: np.ndarray, length: int) -> np.ndarray:
        """Whether each of these rows is kept up to column `length`."""
        return self._filled[rows] >= length

    def copy(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray, to: np.ndarray) -> None:
        """Write entries of rows that are kept to the rows `to` of `out`."""
        slots, every_column = self._slot[rows], np.arange(len(columns))

        def strip(start: int) -> None:
            part = slice(start, start + _COPIED)
            _core.gather(self._rows, slots[part], columns, out, to[part], every_column)

        every(strip, range(0, len(rows), _COPIED))

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries at these positions."""
        out = np.empty((len(rows), len(columns)), dtype=self.kernel.dtype)
        reach = int(columns.max()) + 1 if len(columns) else 0
        kept = self.holds(rows, reach)
        have, lack = np.flatnonzero(kept), np.flatnonzero(~kept)
        self.copy(rows[have], columns, out, have)
        if len(lack):
            self.kernel.fill(self.order[rows[lack]], self.order[columns], out, lack)
            self._count(len(lack) * len(columns))
        return out

    def _count(self, entries: int) -> None:
        with self._lock:
            self.computed += entries

    def add_to(
        self,
        outputs: list[np.ndarray],
        positions: np.ndarray,
        coefficients: list[np.ndarray],
        tick: Callable[[], None] = lambda: None,
        known: Known | None = None,
        only: np.ndarray | None = None,
    ) -> None:
        """Add the rows at `positions`, times each set of coefficients, to each output.

        An output of length u receives the first u columns; the others may be left out that
        are not in `only`. `tick` is called between parts of entries, and may raise: the rows
        stay right, the outputs are then of no use. Rows that are kept take over what is
        `known` of them.
        """
        length = len(outputs[0])
        for position in positions[self._slot[positions] < 0]:
            if not self._free:
                break
            self._slot[position] = self._free.pop()
        self.most_rows = max(self.most_rows, len(self._rows) - len(self._free))
        kept = self._slot[positions] >= 0
        inside = positions[kept]
        if known is not None:
            self._take_over(inside, length, known, tick)
        self._extend(inside, length, tick)
        slots = np.ascontiguousarray(self._slot[inside], dtype=np.int64)
        for out, c in zip(outputs, coefficients, strict=True):
            add_rows(self._rows, slots, c[kept], out)
        away = np.flatnonzero(~kept)
        for i in range(0, len(away), _ROWS):
            part = away[i : i + _ROWS]
            values = [v[part] for v in coefficients]
            if only is None:
                self._add_computed(outputs, positions[part], values, tick)
            else:
                some = [np.zeros(len(only)) for _ in outputs]
                self._add_computed(some, positions[part], values, tick, only)
                for out, sums in zip(outputs, some, strict=True):
                    out[only] += sums

    def _add_computed(
        self,
        outputs: list[np.ndarray],
        positions: np.ndarray,
        coefficients: list[np.ndarray],
        tick: Callable[[], None],
        only: np.ndarray | None = None,
    ) -> None:
        """Add rows that are not kept; to each output the columns `only`, in their order."""
        length, rows, values = len(outputs[0]), self.order[positions], np.stack(coefficients)
        order = self.order[:length] if only is None else self.order[only]

        step = _FEW_COLUMNS if self.kernel.cheap or self.kernel.quick else _COLUMNS

        def tile(start: int) -> None:
            columns = order[start : start + step]
            sums = np.zeros((len(outputs), len(columns)))
            self.kernel.add(rows, columns, values, sums)
            for out, more in zip(outputs, sums, strict=True):
                out[start : start + len(columns)] += more

        every(tile, _ticking(range(0, length, step), tick))
        self._count(len(positions) * length)

    def _take_over(
        self, positions: np.ndarray, length: int, known: Known, tick: Callable[[], None]
    ) -> None:
        """Fill the kept rows that are known in part: copy that part, compute the others."""
        place = np.full(length, -1)
        place[known.positions] = np.arange(len(known.positions))
        filled = self._filled[positions]
        for done in np.unique(filled[filled < length]):
            lacking = positions[(filled == done) & (place[positions] >= 0)]
            behind = place[done:]
            copied = np.flatnonzero(behind >= 0) + done
            computed = np.flatnonzero(behind < 0) + done
            from_columns = place[copied]

            def copy(
                some: np.ndarray, to: np.ndarray = copied, by: np.ndarray = from_columns
            ) -> None:
                slots = self._slot[some]
                _core.gather(known.matrix, place[some], by, self._rows, slots, to)

            for i in range(0, len(lacking), _ROWS):
                group = lacking[i : i + _ROWS]
                every(copy, (group[j : j + _COPIED] for j in range(0, len(group), _COPIED)))
                self._fill_columns(group, computed, self._slot[group], tick)
                self._filled[group] = length

    def _fill_columns(
        self, rows: np.ndarray, columns: np.ndarray, slots: np.ndarray, tick: Callable[[], None]
    ) -> None:
        """Compute entries of kept rows at columns that do not follow each other."""
        step = _FEW_COLUMNS if self.kernel.quick else _COLUMNS

        def tile(start: int) -> None:
            part = columns[start : start + step]
            self.kernel.scatter(self.order[rows], self.order[part], self._rows, slots, part)

        every(tile, _ticking(range(0, len(columns), step), tick))
        self._count(len(rows) * len(columns))

    def _extend(self, positions: np.ndarray, length: int, tick: Callable[[], None]) -> None:
        """Compute the columns up to `length` that these kept rows lack."""
        filled = self._filled[positions]
        for done in np.unique(filled[filled < length]):
            lacking = positions[filled == done]
            columns = self.order[int(done) : length]
            # Some at a time: a round must be able to end.
            step = max(1, _ROWS * _COLUMNS // len(columns))
            for i in range(0, len(lacking), step):
                tick()
                group = lacking[i : i + step]
                slots = self._slot[group]
                self.kernel.fill(self.order[group], columns, self._rows, slots, int(done))
                self._filled[group] = length
                self._count(len(group) * len(columns))


def add_rows(
    rows: np.ndarray, slots: np.ndarray, coefficients: np.ndarray, out: np.ndarray
) -> None:
    """Add the rows `slots` times their coefficients to `out`, some columns a thread."""

    def strip(start: int) -> None:
        _core.add_rows(rows, slots, coefficients, out[start : start + _STRIP], start)

    every(strip, range(0, len(out), _STRIP))


def _ticking(items: Iterable[int], tick: Callable[[], None]) -> Iterator[int]:
    for item in items:
        tick()
        yield item
