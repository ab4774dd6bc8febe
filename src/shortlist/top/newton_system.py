"""Linear systems ``(I + A^T E A + B^T D B) x = r`` of one Newton step.

A holds the positives, B the working set of negatives, E and D are non-negative
weights that change at every step. Three ways, chosen by size: a Cholesky factor in
feature space, one in row space (Woodbury), or conjugate gradients preconditioned by
the diagonal plus the heaviest rows, as many as it takes to make the others light.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from ..rows.operators import Rows, SparseRows

Solve = Callable[[np.ndarray], np.ndarray]

_DIRECT_LIMIT = 1500
_FEW_SPARSE = 300
_MOST_HEAVY = 3000
_MOST_STEPS = 500
_POWER_STEPS = 5
_TINY = float(np.finfo(float).tiny)


class NewtonSystem:
    """Factor once per step, solve for several right-hand sides."""

    def __init__(self, positives: Rows, negatives: Rows) -> None:
        self._parts = (positives, negatives)
        self._n_features = positives.n_features
        n_rows = positives.n_rows + negatives.n_rows
        # Inner products of sparse rows cost far more than products with a vector.
        direct = _FEW_SPARSE if isinstance(positives, SparseRows) else 2 * _DIRECT_LIMIT
        if self._n_features <= max(_DIRECT_LIMIT, min(n_rows, 2 * _DIRECT_LIMIT)):
            self.factor: Callable[[np.ndarray, np.ndarray], Solve] = self._factor_features
        elif n_rows <= direct:
            self._inner = positives.stack(negatives).inner()
            self.factor = self._factor_rows
        else:
            self.factor = self._factor_heavy_rows

    def _factor_features(self, E: np.ndarray, D: np.ndarray) -> Solve:
        positives, negatives = self._parts
        matrix = positives.gram(E)
        matrix += negatives.gram(D)
        matrix.flat[:: self._n_features + 1] += 1.0
        factor = _cholesky(matrix)
        return lambda rhs: linalg.cho_solve(factor, rhs, check_finite=False)

    def _factor_rows(self, E: np.ndarray, D: np.ndarray) -> Solve:
        root = np.sqrt(np.concatenate([E, D]))
        matrix = self._inner * root
        matrix *= root[:, None]
        matrix.flat[:: len(root) + 1] += 1.0
        factor = _cholesky(matrix)
        rows = self._parts[0].stack(self._parts[1])

        def rough(rhs: np.ndarray) -> np.ndarray:
            inside = linalg.cho_solve(factor, root * rows.scores(rhs), check_finite=False)
            return rhs - rows.combine(root * inside)

        def solve_one(rhs: np.ndarray) -> np.ndarray:
            # Heavy rows cancel in Woodbury's difference: refine once.
            x = rough(rhs)
            return x + rough(rhs - x - rows.combine(root * root * rows.scores(x)))

        return _by_column(solve_one)

    def _factor_heavy_rows(self, E: np.ndarray, D: np.ndarray) -> Solve:
        rows = self._parts[0].stack(self._parts[1])
        v = np.concatenate([E, D])
        heavy = _heavy_rows(rows, v)
        count = len(heavy)
        light = v.copy()
        light[heavy] = 0.0
        diagonal = 1.0 + rows.column_squares(light)
        heavy_rows, root = rows.take(heavy), np.sqrt(v[heavy])
        scaled = heavy_rows.scaled_columns(1.0 / np.sqrt(diagonal))
        matrix = scaled.inner() * root
        matrix *= root[:, None]
        matrix.flat[:: count + 1] += 1.0
        factor = _cholesky(matrix)

        def precondition(r: np.ndarray) -> np.ndarray:
            base = r / diagonal
            inside = linalg.cho_solve(factor, root * heavy_rows.scores(base), check_finite=False)
            return base - heavy_rows.combine(root * inside) / diagonal

        def apply(x: np.ndarray) -> np.ndarray:
            return x + rows.combine(v * rows.scores(x))

        shape = (self._n_features, self._n_features)
        operator = sparse.linalg.LinearOperator(shape, matvec=apply, dtype=np.float64)
        preconditioner = sparse.linalg.LinearOperator(shape, matvec=precondition, dtype=np.float64)

        def solve_one(rhs: np.ndarray) -> np.ndarray:
            x, _ = sparse.linalg.cg(operator, rhs, rtol=1e-9, maxiter=_MOST_STEPS, M=preconditioner)
            return x

        return _by_column(solve_one)


def _heavy_rows(rows: Rows, v: np.ndarray) -> np.ndarray:
    """Return the rows whose curvature is worth a factor.

    Steps of conjugate gradients grow with the root of the largest curvature that is left.
    It is measured with some rows left, and taken to grow as their sum does. Costs are
    nanoseconds, roughly: of the steps for three right-hand sides, and of the factor.
    """
    heaviness = v * rows.squared_norms()
    order = np.argsort(-heaviness)
    left = np.append(np.cumsum(heaviness[order[::-1]])[::-1], 0.0)
    some = min(_MOST_HEAVY // 10, rows.n_rows // 2)
    light = v.copy()
    light[order[:some]] = 0.0
    x = rows.combine(light)
    for _ in range(_POWER_STEPS):
        x = rows.combine(light * rows.scores(x / max(float(np.linalg.norm(x)), _TINY)))
    share = float(np.linalg.norm(x)) / left[some] if left[some] > 0.0 else 1.0
    largest = share * left
    count = np.unique(np.geomspace(1, min(_MOST_HEAVY, rows.n_rows), 25).astype(int))
    steps = np.minimum(5.0 + 6.0 * np.sqrt(largest[count]), _MOST_STEPS)
    per_step = 3.0 * rows.n_values + 5.0 * rows.n_features + count**2.0
    per_pair = 30.0 + 0.5 * rows.n_values / rows.n_rows + 0.02 * count
    return order[: count[np.argmin(3.0 * steps * per_step + per_pair * count**2.0)]]


def _cholesky(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    # The transposed view is Fortran-ordered, so LAPACK works in place on what
    # was the upper triangle.
    jitter, size = 0.0, float(np.trace(matrix))
    while True:
        trial = matrix.T if jitter == 0.0 else matrix.T + jitter * np.eye(len(matrix))
        try:
            return linalg.cho_factor(trial, lower=True, check_finite=False)
        except linalg.LinAlgError:
            if not jitter < size < np.inf:
                raise  # not finite: no jitter will do
            jitter = max(10.0 * jitter, 1e-14 * size)


def _by_column(solve_one: Solve) -> Solve:
    def solve(rhs: np.ndarray) -> np.ndarray:
        if rhs.ndim == 1:
            return solve_one(rhs)
        return np.column_stack([solve_one(np.ascontiguousarray(column)) for column in rhs.T])

    return solve
