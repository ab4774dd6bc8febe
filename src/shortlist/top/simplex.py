r"""The best point of a simplex, for hundreds of variables at once.

.. math:: \min_x\ \tfrac12 x^\top K x - p^\top x, \qquad x \ge 0, \quad \mathbf 1^\top x = r

K positive definite. A guess says which variables are above zero; a linear system gives their
values, and those whose sign, or whose slope at zero, is wrong change sides, all at once (L. F.
Portugal, J. J. Júdice and L. N. Vicente, "A comparison of block pivoting and interior-point
algorithms for linear least squares problems with nonnegative variables", Mathematics of
Computation 63, 1994). A few rounds do. Where K is nearly singular the number of those may cease
to fall; then they change sides one at a time, as shares of cutting planes do.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .. import _core

# Rounds in a row without fewer variables on the wrong side.
_PATIENCE = 3
# Changes of side one at a time, for every variable.
_PIVOTS = 20


def best_on_simplex(K: np.ndarray, pull: np.ndarray, start: np.ndarray, tol: float) -> np.ndarray:
    """Return the best point, or, where rounding is in the way, one no worse than the start.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive definite.
    pull : ndarray of shape (n,)
        The linear term p.
    start : ndarray of shape (n,)
        A point of the simplex: its sum is r, and what is above zero is the first guess.
    tol : float
        By how much the slope at a zero may be wrong.
    """
    total = float(start.sum())
    found = _many_at_a_time(K, pull, start > 0.0, total, tol)
    if found is None:
        found = start / total
        _core.plane_shares(total * K, pull, found, tol, _PIVOTS * len(found))
        found *= total
    return found


def _many_at_a_time(
    K: np.ndarray, pull: np.ndarray, above: np.ndarray, total: float, tol: float
) -> np.ndarray | None:
    fewest, patience = len(K) + 1, _PATIENCE
    while patience > 0:
        inside = np.flatnonzero(above)
        some, places = np.empty((len(inside), len(inside))), np.arange(len(inside))
        _core.gather(K, inside, inside, some, places, places)
        solved = _solve(some.T, pull[inside], total)
        if solved is None:
            return None
        x, level = solved
        out = np.zeros(len(K))
        out[inside] = x
        wrong = ~above & (K @ out - pull + level < -tol)
        wrong[inside[x < 0.0]] = True
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return out * (total / float(x.sum()))
        fewest, patience = (count, _PATIENCE) if count < fewest else (fewest, patience - 1)
        above = above ^ wrong
    return None


def _solve(K: np.ndarray, pull: np.ndarray, total: float) -> tuple[np.ndarray, float] | None:
    """Return x and the multiplier of its sum, without regard to signs; K is written over."""
    try:
        factor = linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    columns = np.column_stack([pull, np.ones(len(pull))])
    free, ones = linalg.cho_solve(factor, columns, check_finite=False).T
    level = (float(free.sum()) - total) / float(ones.sum())
    x = free - level * ones
    return (x, level) if np.isfinite(x).all() and len(x) else None
