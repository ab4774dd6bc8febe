r"""Newton systems of pair problems, :math:`(I + \Phi^T L \Phi)\,\delta = -g`.

:math:`L` is the Laplacian of the graph of curved pairs, known only through its
products. Conjugate gradients, preconditioned by the same matrix of a sample of rows
where models are short vectors: a few thousand rows estimate it so well that a couple of
products with all pairs suffice. With all rows in the sample the system is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ..problems.pairs import PairProblem, PairSums
from ..problems.spaces import LinearSpace, Point

_MOST_FEATURES = 600
_LEAST_ROWS = 4000
_ROWS_PER_FEATURE = 20
_MOST_STEPS = 250
_ACCURACY = 0.03

Preconditioner = Callable[[np.ndarray], np.ndarray]


class PairCurvature:
    """Solver of the Newton systems of one problem.

    Parameters
    ----------
    problem : PairProblem
        The problem; the sample of rows is drawn once.
    """

    def __init__(self, problem: PairProblem) -> None:
        self.problem = problem
        self._sample: PairProblem | None = None
        space = problem.space
        if isinstance(space, LinearSpace) and space.size <= _MOST_FEATURES:
            count = max(_LEAST_ROWS, _ROWS_PER_FEATURE * space.size)
            self._rows = sample_rows(problem, count)
            all_rows = len(self._rows) == space.n_rows
            self._sample = problem if all_rows else problem.take(self._rows)
            self._X = (space if all_rows else space.take(self._rows)).rows.dense()

    def solve(
        self, point: Point, width: float, sums: PairSums, gradient: Point, sharpen: float = 1.0
    ) -> Point:
        """Return the Newton step, to a small relative residual.

        `sharpen` multiplies the curvature of the loss.
        """
        problem = self.problem
        precondition = self._preconditioner(point.f, width, sharpen)

        def preconditioned(residual: Point) -> Point:
            if precondition is None:
                return residual
            return Point(problem.space, precondition(residual.u))

        step = problem.zero()
        residual = gradient.times(-1.0)
        z = preconditioned(residual)
        square = residual.dot(z)
        goal = _ACCURACY * _ACCURACY * square
        direction = z
        for _ in range(_MOST_STEPS):
            curved = sharpen * problem.laplacian(point.f, width, sums.degree, direction.f)
            image = direction.plus(1.0, problem.lift(curved))
            bend = direction.dot(direction) + float(curved @ direction.f)
            if bend <= 0.0:
                break
            length = square / bend
            step = step.plus(length, direction)
            residual = residual.plus(-length, image)
            z = preconditioned(residual)
            previous, square = square, residual.dot(z)
            if square <= goal:
                break
            direction = z.plus(square / previous, direction)
        return step

    def _preconditioner(self, f: np.ndarray, width: float, sharpen: float) -> Preconditioner | None:
        sample = self._sample
        if sample is None:
            return None
        f = f if sample is self.problem else f[self._rows]
        degree = sample.sums(f, width).degree
        matrix = sharpen * (self._X.T @ sample.laplacian(f, width, degree, self._X))
        matrix.flat[:: len(matrix) + 1] += 1.0
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return lambda r: linalg.cho_solve(factor, r, check_finite=False)


def sample_rows(problem: PairProblem, count: int) -> np.ndarray:
    """Draw about `count` rows with many pairs among them: whole groups where they are small."""
    n = problem.space.n_rows
    if n <= count:
        return np.arange(n)
    random = np.random.default_rng(0)
    group = problem.group
    n_groups = int(group.max()) + 1
    if n / n_groups <= count / 10:
        chosen = np.zeros(n_groups, dtype=bool)
        chosen[random.permutation(n_groups)[: max(1, round(n_groups * count / n))]] = True
        return np.flatnonzero(chosen[group])
    return np.sort(random.choice(n, size=count, replace=False))
