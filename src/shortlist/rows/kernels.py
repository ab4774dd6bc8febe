"""Kernels by name, and parts of the kernel matrix of the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._checks import check_number
from .formulas import KINDS, NamedKernel
from .gaussian import FEW_COLUMNS, GaussianEntries
from .grid import Grid, GridEntries
from .positive import is_positive
from .rounding import UNIT, UNIT32
from .weighted import CountedRows

KernelFunction = Callable[[Any, Any], np.ndarray]

KERNEL_NAMES = (*KINDS, "precomputed")

# Entries are computed in parts large enough for BLAS and small enough to be forgotten.
_ROWS = 512
_COLUMNS = 2048
# Columns of rows up to which a row of Gaussian entries is computed about as fast as it is read,
# by itself or among others; of rows on a grid, among others only, where they have more than some.
_NARROW, _NARROW_GRID = 64, (32, 320)


def kernel_function(
    kernel: str | KernelFunction,
    X: Any,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    weight: np.ndarray | None = None,
    rows: np.ndarray | None = None,
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
        Multiplicity of the rows, for the variance and the centre.
    rows : ndarray of int or None
        The rows that count, where not all do. Their order decides the last digits: the
        same rows with the same weights in the same order give the same kernel.

    Returns
    -------
    callable
        ``function(A, B)`` returns the kernel matrix of rows `A` and `B`: a
    :class:`~shortlist.rows.formulas.NamedKernel`, or the callable itself.
    """
    if callable(kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in KINDS:
        listed = ", ".join(repr(name) for name in KERNEL_NAMES)
        raise ValueError(f"kernel must be a callable or one of {listed}, got kernel={kernel!r}.")
    kind = KINDS[kernel]
    if sparse.issparse(X) and not kind.takes_sparse:
        raise ValueError(
            f"kernel={kernel!r} does not take sparse rows: pass X.toarray() or another kernel."
        )
    if "degree" in kind.takes:
        check_number("degree", degree, least=0, integer=True)
    if "coef0" in kind.takes:
        check_number("coef0", coef0)
    values = {"degree": degree, "coef0": coef0}
    counted = CountedRows.of(X, weight, rows)
    if "gamma" in kind.takes:
        values["gamma"] = _gamma(gamma, counted)
    return NamedKernel(kernel, {name: values[name] for name in kind.takes}).bound_to(counted)


def _gamma(gamma: str | float, counted: CountedRows) -> float:
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / counted.X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        variance = counted.variance()
        return 1.0 / (counted.X.shape[1] * variance) if variance > 0.0 else 1.0
    if isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 < float(gamma) < np.inf:
        return float(gamma)
    raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got gamma={gamma!r}.")


class KernelMatrix:
    r"""Blocks of the kernel matrix of the training rows, computed when asked for.

    Parameters
    ----------
    X : {ndarray, csr matrix}
        Training rows, or the square kernel matrix itself.
    function : callable or None
        Kernel of two row matrices; None means that `X` is the kernel matrix.
    wide : bool
        Compute float32 rows in float64, too.
    narrow : bool
        Compute float64 rows in float32, too, where the kernel has fast blocks for it and
        its rounding allows it.

    Attributes
    ----------
    n_rows : int
        Number of rows, and of columns.
    dtype : dtype
        Precision of the entries.
    scores_narrow : bool
        Whether new rows like these will be scored in float32.
    relative : bool
        Whether an entry is off by a share of itself at most: with the r of :meth:`bounds`,
        by :math:`\rho (1 + \rho)` times the computed one, :math:`\rho = r_i + r_j`.
    cheap : bool
        Whether rows are computed about as fast as they are read from memory: none is kept.
    by_row : bool
        Whether this holds of a single row, too: then it need not be computed before it is used.
    quick : bool
        Whether entries are computed faster than single ones are collected from memory.
    precomputed : bool
        Whether `X` is the matrix.
    function : callable or None
        The kernel, as given.
    """

    def __init__(
        self,
        X: Any,
        function: KernelFunction | None,
        *,
        wide: bool = False,
        narrow: bool = False,
    ) -> None:
        self._given = (X, function)
        self.function = function
        if wide and function is None:
            X = X.astype(np.float64, copy=False)
        self._X, self._function = X, function
        self._gaussian: GaussianEntries | GridEntries | None = None
        self._wide_gaussian: GaussianEntries | GridEntries | None = None
        gaussian = _with_blocks(X, function)
        if gaussian is not None:
            # Rows that are too narrow for it are computed when they are asked for.
            bytewise = _core.multiplies_bytes() and X.shape[1] > _NARROW_GRID[0]
            grid = Grid.of(X) if bytewise else None
            self._wide_gaussian = wide_blocks = _blocks(X, gaussian, np.float64, grid)
        elif sparse.issparse(X) and isinstance(function, NamedKernel) and function.moves:
            # Once for all: columns without zeros keep the rows as sparse as they are.
            self._X = function.centred(X.astype(np.float64))
            self._function = replace(function, centre=None)
        self.n_rows = X.shape[0]
        self.precomputed = function is None
        self._wide = wide
        one = slice(0, 1)
        # What the kernel returns, not what it is given, decides: a callable may widen.
        self.scores_narrow = np.asarray(self._raw(one, one)).dtype == np.float32 and not wide
        if gaussian is not None:
            blocks = wide_blocks
            if not wide and (self.scores_narrow or (narrow and gaussian.narrow)):
                blocks = _blocks(X, gaussian, np.float32, grid)
            self._gaussian, self.dtype = blocks, blocks.dtype
        else:
            self.dtype = np.dtype(np.float32 if self.scores_narrow else np.float64)
        self.relative = self._gaussian is not None
        self.by_row = isinstance(self._gaussian, GaussianEntries) and X.shape[1] <= _NARROW
        self.quick = isinstance(self._gaussian, GridEntries) and self.dtype == np.float32
        few = _NARROW_GRID[1] if self.quick else _NARROW
        self.cheap = self.relative and X.shape[1] <= few

    def widened(self) -> KernelMatrix:
        """Return the same matrix with float64 entries, computed in float64."""
        return KernelMatrix(*self._given, wide=True)

    def keep(self, order: np.ndarray, most: int) -> int:
        """Keep a copy of the rows along `order` that makes blocks faster; return its bytes.

        At most `most` bytes. Only blocks of these rows may then be filled.
        """
        return 0 if self._gaussian is None else self._gaussian.keep(order, most)

    def is_positive(self, rows: np.ndarray | None = None, *, centred: bool) -> bool:
        """Return whether it is positive semi-definite: by its formula, or by a look at it.

        See :func:`shortlist.rows.positive.is_positive`.
        """
        known = isinstance(self.function, NamedKernel) and self.function.positive
        return known or is_positive(self, rows, centred=centred)

    def bounds(self, wide: bool = True) -> tuple[np.ndarray, np.ndarray] | None:
        """Return q and r: entries are at most ``q_i q_j``, off by ``q_i r_j + r_i q_j``.

        A precomputed matrix is what it is. Of a function that the user wrote a few units of
        rounding are assumed in float64, and nothing is known in float32 (None). `wide` is
        for :meth:`wide_entries`, otherwise for :meth:`entries`.
        """
        X, function = self._given
        wide = wide or self.dtype == np.float64
        blocks = self._wide_gaussian if wide else self._gaussian
        if isinstance(blocks, GridEntries):
            return blocks.bounds()
        if isinstance(function, NamedKernel):
            return function.bounds(X, UNIT if wide else UNIT32)
        if function is not None and not wide:
            return None
        q = np.sqrt(np.maximum(self.diagonal(), 0.0))
        return q, (8.0 * UNIT if function is not None else 0.0) * q

    def _raw(
        self, rows: np.ndarray | slice, columns: np.ndarray | slice, wide: bool = False
    ) -> np.ndarray:
        if self._function is not None:
            A, B = self._X[rows], self._X[columns]
            if wide or self._wide:
                A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
            return self._function(A, B)
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

    def entries(self, rows: np.ndarray | slice, columns: np.ndarray | slice) -> np.ndarray:
        """Return the entries of these rows and columns, as ``dtype``."""
        if self._gaussian is not None:
            return self._blocks(self._gaussian, rows, columns)
        return _finite(np.asarray(self._raw(rows, columns)).astype(self.dtype, copy=False))

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
                entries = self.entries(rows[i : i + _ROWS], columns[j : j + _COLUMNS])
                first = start + j
                out[slots[i : i + _ROWS], first : first + entries.shape[1]] = entries

    def scatter(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        to: np.ndarray,
    ) -> None:
        """Write the entries to the rows `slots` and the columns `to` of `out`."""
        if isinstance(self._gaussian, GridEntries):
            self._gaussian.scatter(rows, columns, out, slots, to)
            return
        here = np.arange(len(rows))
        entries = np.empty((len(rows), len(columns)), dtype=self.dtype)
        self.fill(rows, columns, entries, here)
        _core.gather(entries, here, np.arange(len(columns)), out, slots, to)

    def rows(self, rows: np.ndarray, memory: np.ndarray) -> Any:
        """Return the matrix among these rows, row by row, for pair steps to ask for."""
        assert isinstance(self._gaussian, GaussianEntries)
        return self._gaussian.rows(rows, memory)

    def square(self, rows: np.ndarray, out: np.ndarray, first: int = 0) -> None:
        """Write the matrix among these rows, of a quick kernel; see the blocks' own."""
        assert isinstance(self._gaussian, GridEntries)
        self._gaussian.square(rows, out, first)

    def add(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the rows at these columns, times each set of values, to each row of `out`."""
        if self.cheap or self.quick:
            assert self._gaussian is not None
            self._gaussian.add(rows, columns, values, out)
        else:
            here = np.arange(len(rows))
            entries = np.empty((len(rows), len(columns)), dtype=self.dtype)
            self.fill(rows, columns, entries, here)
            for some, sums in zip(values, out, strict=True):
                _core.add_rows(entries, here, some, sums)

    def wide_entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries of these rows and columns, computed in float64."""
        if self._wide_gaussian is not None:
            return self._blocks(self._wide_gaussian, rows, columns)
        wide = self.dtype == np.float32
        return _finite(np.asarray(self._raw(rows, columns, wide), dtype=np.float64))

    def wide_sums(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        of_columns: np.ndarray,
        of_rows: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return sums of entries computed in float64.

        Parameters
        ----------
        rows, columns : ndarray of int
            Which entries.
        of_columns : ndarray
            What those of a row are multiplied with before they are added up.
        of_rows : ndarray or None
            The same of a column; None where its sums are not wanted.

        Returns
        -------
        ndarray, ndarray or None
            One sum for every row, and one for every column.
        """
        wide = self._wide_gaussian
        if not (isinstance(wide, GaussianEntries) and self._X.shape[1] <= _NARROW):
            entries = self.wide_entries(rows, columns)
            return entries @ of_columns, None if of_rows is None else of_rows @ entries
        of_row, of_column = np.zeros(len(rows)), np.zeros(len(columns))
        if of_rows is None:
            wide.add(columns, rows, of_columns[None], of_row[None])
            return of_row, None
        wide.add_both(rows, columns, (of_rows, of_columns), (of_row, of_column))
        return of_row, of_column

    def _blocks(
        self,
        entries: GaussianEntries | GridEntries,
        rows: np.ndarray | slice,
        columns: np.ndarray | slice,
    ) -> np.ndarray:
        rows, columns = (
            np.arange(self.n_rows)[part] if isinstance(part, slice) else part
            for part in (rows, columns)
        )
        out = np.empty((len(rows), len(columns)), dtype=entries.dtype)
        entries.fill(rows, columns, out, np.arange(len(rows)), 0)
        return out

    def diagonal(self, step: int = 256) -> np.ndarray:
        """Return the diagonal, in float64."""
        if self._function is None:
            return np.diagonal(self._X).astype(np.float64)
        out = np.empty(self.n_rows)
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            out[part] = np.diagonal(self.entries(part, part))
        return out


def _finite(entries: np.ndarray) -> np.ndarray:
    if not np.isfinite(entries).all():
        raise ValueError(
            "The kernel holds infinite or undefined values: scale the features, or choose "
            "another gamma, degree or coef0."
        )
    return entries


def _with_blocks(X: Any, function: KernelFunction | None) -> NamedKernel | None:
    """Return the kernel if matrix products of these rows give its blocks, None otherwise."""
    if not isinstance(function, NamedKernel) or function.name != "rbf" or function.direct:
        return None
    return function if not sparse.issparse(X) or X.shape[1] <= FEW_COLUMNS else None


def _blocks(
    X: Any, kernel: NamedKernel, dtype: Any, grid: Grid | None
) -> GaussianEntries | GridEntries:
    if grid is not None and grid.suits(dtype):
        return GridEntries(grid, kernel.parameters["gamma"], dtype)
    return GaussianEntries(X, X, **kernel.parameters, centre=kernel.centre, dtype=dtype)
