r"""Interior point on the dual of the pair hinge: kernel models of few rows, any C.

.. math:: \max_{0 \le \alpha \le c} \; \sum\alpha_p
          - \tfrac12 \alpha^T A K A^T \alpha, \qquad (A f)_p = f_i - f_j \text{ for } p = (i, j)

With multipliers s of :math:`\alpha \ge 0` and t of :math:`\alpha \le c`, optimality is
:math:`A K u - 1 = s - t`, :math:`\alpha s = 0` and :math:`(c - \alpha) t = 0`. The
model has coefficients u of its own, and :math:`u = A^T\alpha` is one equation more. A step
solves all of them, linearised, with products of :math:`\mu > 0` in place of 0; with
:math:`D = s / \alpha + t / (c - \alpha)` and b what the equations lack, it is

.. math:: (I + L K)\, v = A^T D^{-1} b - (u - A^T\alpha), \qquad L = A^T D^{-1} A,

a system as large as the rows, not as the pairs; :math:`L` is the Laplacian of a weighted
graph, one block per group. Newton's method on a rounded hinge
(:mod:`shortlist.pairs.newton`) crawls where C is large: the slope of a narrow zone decides
thousands of pairs. Here every pair has a variable of its own, and the steps needed hardly
depend on C. Where rounding ends the path too early, Newton's method goes on.

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM
J. Optimization 2 (1992), for the predictor and the corrector.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import linalg

from ..certificate import Monitor
from .newton import pair_newton
from .plan import PairPlan, listed_pairs
from .problem import PairProblem
from .proof import prove_average
from .spaces import BestPoint, KernelSpace, Point

# How far of the way to the boundary a step goes.
_SHORT = 0.995
# Where alpha starts in its box: most pairs end at zero.
_START = 0.15
_STALL = 60


def pair_interior_point(problem: PairProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : PairProblem
        With the hinge and a kernel, the matrix in memory.
    monitor : Monitor
        Tolerance, limits, the record of the fit and the best model that was proved.
    """
    path = _Path(problem)
    best = BestPoint(problem.zero(), problem.value_at_zero)
    dual, least, waited = 0.0, np.inf, 0
    total, model = 0.0, problem.zero()
    while True:
        before = monitor.seconds
        best.offer(*path.primal())
        point, here = path.dual()
        if (value := here - 0.5 * point.dot(point)) > dual:
            dual, total, model = value, here, point
        monitor.passes += 1
        if monitor.iteration or monitor.exhausted():
            proof = partial(prove_average, problem, best.point, model, total, 1)
            if monitor.check(best.primal, dual, proof):
                return
        waited = 0 if best.primal - dual < 0.9 * least else waited + 1
        least = min(least, best.primal - dual)
        if waited >= _STALL or not path.step():
            pair_newton(problem, monitor)
            return
        monitor.iteration += 1
        monitor.reserve = monitor.seconds - before


class _Path:
    """The point, and the steps along the central path."""

    def __init__(self, problem: PairProblem) -> None:
        space = problem.space
        assert isinstance(space, KernelSpace)
        assert space.matrix is not None
        self._space, self._matrix = space, space.matrix
        self._pairs = _Pairs(problem.plan, problem.group)
        weight = problem.weight
        self._c = problem.c * weight[self._pairs.upper] * weight[self._pairs.lower]
        # Inside the box, at the model zero: products of about one size, long steps. That the
        # model is not the one of alpha yet is a residual that vanishes with the others.
        self._alpha = _START * self._c
        self._s, self._t = np.ones(len(self._c)), np.full(len(self._c), 2.0)
        self._u = self._f = np.zeros(space.n_rows)
        self._margin = self._pairs.differences(self._f)

    def _put(self, u: np.ndarray) -> None:
        self._u = u
        self._f = self._matrix @ u
        self._margin = self._pairs.differences(self._f)

    def primal(self) -> tuple[Point, float]:
        """Return the model and its objective."""
        loss = float(self._c @ np.maximum(1.0 - self._margin, 0.0))
        return Point(self._space, self._u, self._f), 0.5 * float(self._u @ self._f) + loss

    def dual(self) -> tuple[Point, float]:
        """Return the model of the dual point, and the sum of its variables."""
        return Point(self._space, self._pairs.back(self._alpha)), float(self._alpha.sum())

    def step(self) -> bool:
        """Take a step; False where rounding leaves none."""
        alpha, s, t, room = self._alpha, self._s, self._t, self._c - self._alpha
        mu = float(alpha @ s + room @ t) / (2 * len(alpha))
        inverse = 1.0 / (s / alpha + t / room)
        apart = self._u - self._pairs.back(alpha)
        try:
            # Entries far apart in size, but a system that is never singular.
            factor = linalg.lu_factor(
                self._pairs.system(inverse, self._matrix), overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError:
            return False

        def direction(
            low: np.ndarray, high: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
            """Step towards the products `low` of alpha and s, and `high` of the others."""
            b = 1.0 - self._margin + low / alpha - high / room
            target = self._pairs.back(inverse * b) - apart
            v = linalg.lu_solve(factor, target, check_finite=False)
            move = inverse * (b - self._pairs.differences(self._matrix @ v))
            return v, move, (low - s * move) / alpha - s, (high + t * move) / room - t

        nothing = np.zeros(len(alpha))
        _, move, move_s, move_t = direction(nothing, nothing)
        length, other = self._lengths(move, move_s, move_t)
        after = float((alpha + length * move) @ (s + other * move_s))
        after += float((room - length * move) @ (t + other * move_t))
        centring = (after / (2 * len(alpha) * mu)) ** 3 * mu
        v, move, move_s, move_t = direction(centring - move * move_s, centring + move * move_t)
        length, other = (_SHORT * x for x in self._lengths(move, move_s, move_t))
        moves = (v, move, move_s, move_t)
        if not length > 1e-10 or not all(np.isfinite(m).all() for m in moves):
            return False
        self._alpha = alpha + length * move
        self._s, self._t = s + other * move_s, t + other * move_t
        # What rounding takes beyond a bound is not a point inside.
        tiny = np.finfo(np.float64).tiny
        inside = np.nextafter(self._c, 0.0)
        self._alpha = np.clip(self._alpha, 1e-14 * self._c, inside)
        np.maximum(self._s, tiny, out=self._s)
        np.maximum(self._t, tiny, out=self._t)
        self._put(self._u + other * v)
        return True

    def _lengths(
        self, move: np.ndarray, move_s: np.ndarray, move_t: np.ndarray
    ) -> tuple[float, float]:
        """Longest steps, up to 1, that keep alpha inside its box and s and t positive."""
        room = self._c - self._alpha
        primal = max(np.max(-move / self._alpha), np.max(move / room))
        dual = max(np.max(-move_s / self._s), np.max(-move_t / self._t))
        return min(1.0, 1.0 / max(primal, 1e-300)), min(1.0, 1.0 / max(dual, 1e-300))


class _Pairs:
    """All pairs of a plan, listed; segment by segment."""

    def __init__(self, plan: PairPlan, group: np.ndarray) -> None:
        self._n_rows = len(group)
        self.upper, self.lower = listed_pairs(plan)
        # The graph of the pairs has a block for every group.
        self._blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        place = np.empty(len(group), dtype=np.int64)
        of_pair = group[self.upper]
        for number in np.unique(of_pair):
            rows, pairs = np.flatnonzero(group == number), np.flatnonzero(of_pair == number)
            place[rows] = np.arange(len(rows))
            cell = place[self.upper[pairs]] * len(rows) + place[self.lower[pairs]]
            self._blocks.append((rows, pairs, cell))

    def differences(self, f: np.ndarray) -> np.ndarray:
        """Return the score of the upper row minus that of the lower, pair by pair."""
        return f[self.upper] - f[self.lower]

    def back(self, values: np.ndarray) -> np.ndarray:
        """Return what pairs add to their rows: to the upper, and less to the lower."""
        out = np.bincount(self.upper, values, self._n_rows)
        return out - np.bincount(self.lower, values, self._n_rows)

    def system(self, weight: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Return the identity plus the Laplacian of the weighted pairs times `matrix`."""
        out = np.zeros_like(matrix)
        for rows, pairs, cell in self._blocks:
            n = len(rows)
            graph = np.bincount(cell, weight[pairs], n * n).reshape(n, n)
            graph += graph.T
            laplacian = np.diag(graph.sum(axis=1)) - graph
            out[rows] = laplacian @ matrix[rows]
        out.flat[:: len(out) + 1] += 1.0
        return out
