r"""Newton systems of pair problems, :math:`(I + \Phi^T L \Phi)\,\delta = -g`.

:math:`L` is the Laplacian of the graph of curved pairs, known only through its
products. Conjugate gradients, preconditioned by the same matrix of a sample of rows
where models are short vectors: a few thousand rows estimate it so well that a couple of
products with all pairs suffice. With all rows in the sample the system is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import linalg

from .problem import ModelSums, PairProblem, Pairs, PairSums
from .spaces import FeatureSpace, LinearSpace, Point

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
    problem : Pairs
        The problem; the sample of rows is drawn once.
    stop : callable
        Asked at every product; a true answer ends a step before its accuracy.
    """

    def __init__(self, problem: Pairs, stop: Callable[[], bool]) -> None:
        self.problem = problem
        self._stop = stop

    @cached_property
    def _sample(self) -> tuple[PairProblem, np.ndarray] | None:
        """Some of the rows, and their features; None where there are too many features."""
        space = self.problem.space
        if not isinstance(space, FeatureSpace) or space.size > _MOST_FEATURES:
            return None
        sample = self.problem.sample(max(_LEAST_ROWS, _ROWS_PER_FEATURE * space.size))
        assert isinstance(sample.space, LinearSpace)
        return sample, sample.space.rows.dense()

    def solve(self, sums: ModelSums, gradient: Point, sharpen: float = 1.0) -> Point:
        """Return the Newton step, to a small relative residual.

        `sharpen` multiplies the curvature of the loss.
        """
        problem: Pairs = self.problem
        precondition = self._preconditioner(sums, sharpen)
        residual = gradient.times(-1.0)
        if precondition is None and isinstance(problem, PairProblem):
            assert isinstance(sums, PairSums)
            problem, sums = problem.curved(sums)
            if problem is not self.problem:
                residual = Point(problem.space, residual.u)

        def preconditioned(residual: Point) -> Point:
            if precondition is None:
                return residual
            return Point(problem.space, precondition(residual.u))

        step = problem.zero()
        z = preconditioned(residual)
        square = residual.dot(z)
        goal = _ACCURACY * _ACCURACY * square
        direction = z
        for _ in range(_MOST_STEPS):
            curved, product = problem.bend(sums, direction)
            image = direction.plus(sharpen, curved)
            bend = direction.dot(direction) + sharpen * product
            if bend <= 0.0:
                break
            length = square / bend
            step = step.plus(length, direction)
            residual = residual.plus(-length, image)
            z = preconditioned(residual)
            previous, square = square, residual.dot(z)
            if square <= goal or self._stop():
                break
            direction = z.plus(square / previous, direction)
        return step if problem is self.problem else Point(self.problem.space, step.u)

    def _preconditioner(self, sums: ModelSums, sharpen: float) -> Preconditioner | None:
        if self._sample is None:
            return None
        sample, X = self._sample
        point = sums.point if sample is self.problem else Point(sample.space, sums.point.u)
        degree = sample.sums(point, sums.width).degree
        matrix = X.T @ sample.laplacian(point.f, sums.width, X, degree)
        matrix *= sharpen
        matrix.flat[:: len(matrix) + 1] += 1.0
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return lambda r: linalg.cho_solve(factor, r, check_finite=False)
