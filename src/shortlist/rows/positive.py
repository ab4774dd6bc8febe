"""Whether a matrix is a kernel's: symmetric and positive semi-definite, as bounds assume.

Most kernels with a name are, whatever the rows, and nobody asks here. Of the others (a matrix
or a function that the user gave, "sigmoid", "poly" with a negative coef0) the matrix itself is
looked at: all of it up to a thousand rows, that of a random thousand beyond. With a negative
eigenvalue the dual problem bounds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from .rounding import UNIT, UNIT32

if TYPE_CHECKING:
    from .kernels import KernelMatrix

_MOST = 1000
# Mirrored entries may differ by this share of the largest, by the precision of the entries.
_ASYMMETRY = {"float32": 1e-4, "float64": 1e-8}


def is_positive(kernel: KernelMatrix, rows: np.ndarray | None = None, *, centred: bool) -> bool:
    """Return whether the matrix of these rows is positive semi-definite, up to rounding.

    Parameters
    ----------
    kernel : KernelMatrix
        The matrix.
    rows : ndarray of int or None
        The rows that count; None is all.
    centred : bool
        Whether models have coefficients of sum zero: then it need be positive for these only.

    Raises
    ------
    ValueError
        Where the matrix is not symmetric.
    """
    rows = np.arange(kernel.n_rows) if rows is None else np.sort(rows)
    if len(rows) > _MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST, replace=False))
    K = kernel.wide_entries(rows, rows)
    largest = float(np.abs(K).max(initial=0.0))
    if largest == 0.0:
        return True
    _check_symmetric(K, rows, kernel, largest)
    K = K / (2.0 * largest) + K.T / (2.0 * largest)
    # Rounding of the entries moves no eigenvalue by more.
    rounding = 8.0 * (UNIT32 if kernel.dtype == np.float32 else UNIT) * float(np.linalg.norm(K))
    if centred:
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1, keepdims=True)
    K[np.diag_indices_from(K)] += rounding + 4.0 * len(K) * UNIT
    try:
        linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _check_symmetric(K: np.ndarray, rows: np.ndarray, kernel: KernelMatrix, largest: float) -> None:
    off = np.abs(K - K.T)
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    if not off[i, j] <= _ASYMMETRY[kernel.dtype.name] * largest:
        what = "X with kernel='precomputed'" if kernel.precomputed else "The kernel"
        raise ValueError(
            f"{what} must be symmetric, but is {K[i, j]:g} for rows {rows[i]} and {rows[j]} and "
            f"{K[j, i]:g} for rows {rows[j]} and {rows[i]}. Pass the kernel of the training rows "
            "with themselves; where rounding made the difference, its mean with its transpose."
        )
