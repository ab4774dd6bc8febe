r"""The published feasible-direction method for the budgeted SVM.

A step follows the negative subgradient, projected so that no more than `k` candidates
rise above zero, and ends before the next candidate crosses: with L the positive
candidates, E those on the boundary and B the part of E that must stay there,

.. math:: d = P_{B^\perp}(-\nabla), \quad
          \alpha = \min_{j \in R,\, d_j > 0} -s_j / d_j, \quad
          t = \arg\min_{0 \le t \le \alpha/2} P((w, b) + t d).

Reference: L.-P. Liu, T. G. Dietterich, N. Li, Z.-H. Zhou, "Transductive optimization of
top k precision", IJCAI 2016, Algorithm 1 and (5)-(7). Corrected: since half steps never
reach the boundary, E takes a tolerance relative to :math:`\|w\|`; and since the printed
direction need not descend where training rows sit on the kink of the hinge, those rows
hold their margin unless the projection asks more of them than their weight, in which
case they count as violated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from ..certificate import Monitor
from .allowed_set import AllowedSet, thresholded
from .problem import BudgetedSVM, Solution

_BOUNDARY = 1e-6
_KINK = 1e-8
_SMALLEST_GAIN = 1e-5
_PATIENCE = 10


@dataclass
class _Point:
    """A model as one vector (w, b) with the scores of all rows."""

    v: np.ndarray
    training: np.ndarray
    candidates: np.ndarray


class _Basis:
    """Orthonormal basis of the rows a direction must not change: rows = R^T Q."""

    def __init__(self, size: int) -> None:
        self._Q = np.empty((size, size))
        self._R = np.zeros((size, size))
        self.count = 0

    def add(self, row: np.ndarray) -> np.ndarray | None:
        """Add a row; return its new unit vector, None if it depends on the others."""
        n = self.count
        if n == len(row):
            return None
        known = self._Q[:n]
        parts = known @ row
        rest = row - parts @ known
        again = known @ rest
        rest -= again @ known
        length = float(np.sqrt(rest @ rest))
        if length <= 1e-9 * float(np.sqrt(row @ row)):
            return None
        self._Q[n] = rest / length
        self._R[:n, n] = parts + again
        self._R[n, n] = length
        self.count = n + 1
        return self._Q[n]

    def coefficients(self, vector: np.ndarray) -> np.ndarray:
        """Return how the added rows combine to `vector`, which lies in their span."""
        n = self.count
        if n == 0:
            return np.empty(0)  # older versions of SciPy solve no empty system
        return solve_triangular(self._R[:n, :n], self._Q[:n] @ vector, check_finite=False)


def feasible_direction(problem: BudgetedSVM, monitor: Monitor) -> None:
    """Descend from the thresholded SVM.

    Parameters
    ----------
    problem : BudgetedSVM
        Training rows, candidates and budget.
    monitor : Monitor
        Limits and the record of the fit. Ends as "local", or as "converged" when the
        plain SVM keeps the budget.
    """
    state = AllowedSet(problem, monitor.exhausted)
    best = thresholded(problem, state)
    if monitor.check(best.primal, state.relaxed_bound, partial(state.prove, best)):
        return
    descent = _Descent(problem, best)
    waited = 0
    while waited < _PATIENCE and not monitor.exhausted():
        monitor.iteration += 1
        if not descent.step():
            break
        found = descent.solution()
        waited = 0 if found.primal < best.primal * (1.0 - _SMALLEST_GAIN) else waited + 1
        if found.primal < best.primal:
            best = found
            if monitor.check(best.primal, state.relaxed_bound, partial(state.prove, best)):
                break
    if monitor.status is None:
        monitor.status = "local"


class _Descent:
    def __init__(self, problem: BudgetedSVM, start: Solution) -> None:
        self.problem = problem
        self._n_features = problem.rows.n_features
        self.at = self._point(np.append(start.w, start.b))

    def _scores(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.problem.split_scores(v[:-1], float(v[-1]))

    def _point(self, v: np.ndarray) -> _Point:
        return _Point(v, *self._scores(v))

    def solution(self) -> Solution:
        """Return the current model, lowered by what the boundary's tolerance let pass."""
        w, b = self.at.v[:-1], float(self.at.v[-1])
        allowed = self.problem.best(self.at.candidates)
        return self.problem.lowered(w.copy(), b, allowed)

    def step(self) -> bool:
        """Move once; False where no feasible direction descends."""
        problem, at = self.problem, self.at
        width = _BOUNDARY * float(np.sqrt(at.v[:-1] @ at.v[:-1]))
        inside = at.candidates > width
        edge = np.flatnonzero(np.abs(at.candidates) <= width)
        violation = 1.0 - problem.sign * at.training
        violated = violation > _KINK
        kinks = np.flatnonzero(np.abs(violation) <= _KINK)
        room = problem.k - float(problem.count[inside].sum())
        while True:
            weight = np.zeros(problem.rows.n_rows)
            pull = np.where(violated, problem.c * problem.sign, 0.0)
            np.add.at(weight, problem.training, pull)
            descent = np.append(problem.rows.combine(weight) - at.v[:-1], pull.sum())
            direction, heavy = self._project(descent, edge, kinks, room)
            if not len(heavy):
                break
            violated[heavy] = True
            kinks = np.setdiff1d(kinks, heavy)
        size = float(direction @ direction)
        if size <= 1e-20 * max(1.0, float(descent @ descent)):
            return False
        length = self._line_search(direction, at.candidates < -width)
        if length == 0.0:
            return False
        self.at = self._point(at.v + length * direction)
        return True

    def _project(
        self, descent: np.ndarray, edge: np.ndarray, kinks: np.ndarray, room: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Project until no held candidate rises and no held kink falls.

        Returns the direction and the kinks that it holds by more than their weight:
        those are better violated.
        """
        problem = self.problem
        stored = np.concatenate([problem.candidates[edge], problem.training[kinks]])
        rows = problem.rows.take(stored).dense()
        rows = np.column_stack([rows, np.ones(len(rows))])
        rows[len(edge) :] *= -problem.sign[kinks][:, None]
        # Every row now asks for the same: that its slope be at most zero.
        slope = rows @ descent
        waiting = np.argsort(-slope[: len(edge)], kind="stable").tolist()
        if waiting and problem.count[edge[waiting[0]]] <= room:
            slope[waiting.pop(0)] = -np.inf
        basis = _Basis(len(descent))
        direction = descent
        loose = np.ones(len(rows), dtype=bool)
        held = []
        tolerance = 1e-10 * np.sqrt((rows * rows).sum(axis=1))
        while loose.any():
            limit = tolerance * float(np.sqrt(direction @ direction))
            rising = loose & (slope > limit)
            if rising[: len(edge)].any():
                row = waiting.pop(0)
            elif rising.any():
                row = int(np.argmax(np.where(rising, slope, -np.inf)))
            else:
                break
            loose[row] = False
            unit = basis.add(rows[row])
            if unit is not None:
                held.append(row)
                part = float(unit @ direction)
                direction = direction - part * unit
                slope = slope - part * (rows @ unit)
        share = -basis.coefficients(direction - descent)
        kink = np.array(held, dtype=int) - len(edge)
        mine = kink >= 0
        heavy = kink[mine][share[mine] > problem.c[kinks[kink[mine]]] * (1.0 + 1e-9)]
        return direction, kinks[heavy]

    def _line_search(self, direction: np.ndarray, outside: np.ndarray) -> float:
        """Minimise the piecewise quadratic objective over half the feasible segment."""
        problem, at = self.problem, self.at
        training, candidates = self._scores(direction)
        rising = outside & (candidates > 0.0)
        longest = np.inf
        if rising.any():
            longest = 0.5 * float((-at.candidates[rising] / candidates[rising]).min())
        violation = 1.0 - problem.sign * at.training
        rate = problem.sign * training
        w, dw = at.v[:-1], direction[:-1]
        # The derivative is linear between the points where a row starts or stops to lose.
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = violation / rate
        losing = (violation > 0.0) | ((np.abs(violation) <= _KINK) & (rate < 0.0))
        slope = float(w @ dw) - float((problem.c * rate)[losing].sum())
        curvature = float(dw @ dw)
        turning = np.flatnonzero((rate != 0.0) & (turn > 0.0) & (losing == (rate > 0.0)))
        turning = turning[np.argsort(turn[turning], kind="stable")]
        here = 0.0
        for i in turning:
            there = min(float(turn[i]), longest)
            if slope + curvature * (there - here) >= 0.0 or there == longest:
                break
            slope += curvature * (there - here) + problem.c[i] * abs(rate[i])
            here = there
        if slope >= 0.0:
            return here
        best = here - slope / curvature if curvature > 0.0 else longest
        return min(best, longest) if np.isfinite(min(best, longest)) else here
