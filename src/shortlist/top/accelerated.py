r"""Accelerated projected gradient on the dual: the published method, as reference.

Minimises :math:`\tfrac12\|X^T v\|^2 + \sum \frac{r}{2c_i}\alpha_i^2 - \sum\alpha` over the
feasible :math:`v = (\alpha, -\beta)` by Nesterov's method with a backtracked
Lipschitz constant and the exact projection of :mod:`shortlist.top.projections`.

Reference: N. Li, R. Jin, Z.-H. Zhou, "Top rank optimization in linear time", NIPS
2014, Algorithms 1 and 2. Corrected: the printed sufficient-decrease test diverges,
the printed projection may not end, and the printed stopping rule (a small change of
the objective) stops far from the optimum; here the duality gap decides. Momentum
restarts when the objective rises, which only helps it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..certificate import Monitor
from .problem import TopProblem
from .projections import project_balanced
from .solution import Solution

_CHECK_EVERY = 10


@dataclass(frozen=True)
class _Dual:
    """A dual point with its model and the scores of all rows under that model."""

    alpha: np.ndarray
    beta: np.ndarray
    w: np.ndarray
    positive_scores: np.ndarray
    negative_scores: np.ndarray

    def extrapolate(self, previous: _Dual, momentum: float) -> _Dual:
        return _Dual(
            *(
                a + momentum * (a - b)
                for a, b in (
                    (self.alpha, previous.alpha),
                    (self.beta, previous.beta),
                    (self.w, previous.w),
                    (self.positive_scores, previous.positive_scores),
                    (self.negative_scores, previous.negative_scores),
                )
            )
        )


def accelerated(problem: TopProblem, monitor: Monitor) -> Solution:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : TopProblem
        Linear scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit.

    Returns
    -------
    Solution
        The best model seen.
    """
    ridge = problem.loss.ridge / problem.c
    upper = problem.loss.dual_bound(problem.c)
    best = Solution(np.zeros(problem.rows.n_features), 0.0, problem.value_at_zero)
    current = _Dual(
        np.zeros(len(problem.positive)),
        np.zeros(len(problem.negative)),
        best.w,
        np.zeros(len(problem.positive)),
        np.zeros(len(problem.negative)),
    )
    previous = current
    objective, lipschitz, inertia, dual = 0.0, 1.0, 1.0, 0.0
    # No step bends more; beyond it the test only sees the rounding of a step that is zero.
    most = float(problem.rows.squared_norms().sum()) + float(np.max(ridge))
    while True:
        if monitor.iteration % _CHECK_EVERY == 0 or monitor.exhausted():
            dual = max(dual, problem.dual_ray(current.alpha, current.w).value)
            best = _better(problem, best, current)
            if monitor.check(best.primal, dual):
                break
        next_inertia = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia * inertia))
        search = current.extrapolate(previous, (inertia - 1.0) / next_inertia)
        gradient_alpha = search.positive_scores + ridge * search.alpha - 1.0
        gradient_beta = -search.negative_scores
        while True:
            alpha, beta = project_balanced(
                search.alpha - gradient_alpha / lipschitz,
                search.beta - gradient_beta / lipschitz,
                upper=upper,
                cap=problem.cap,
            )
            w = problem.signed_sum(alpha, beta)
            d_alpha, d_beta, d_w = alpha - search.alpha, beta - search.beta, w - search.w
            # For a quadratic, the test g(x) <= g(s) + <grad, x - s> + L/2 |x - s|^2.
            curvature = float(d_w @ d_w) + float(d_alpha @ (ridge * d_alpha))
            moved = float(d_alpha @ d_alpha) + float(d_beta @ d_beta)
            if curvature <= lipschitz * moved or lipschitz >= most:
                break
            lipschitz *= 2.0
        value = 0.5 * float(w @ w) + 0.5 * float(alpha @ (ridge * alpha)) - float(alpha.sum())
        if value > objective:
            next_inertia = 1.0
        objective, inertia = value, next_inertia
        previous = current
        current = _Dual(alpha, beta, w, *problem.split_scores(w))
        monitor.iteration += 1
        monitor.passes += 2
    if current.beta.any():
        best.top_negative = int(problem.negative[np.argmax(current.beta)])
    return best


def _better(problem: TopProblem, best: Solution, point: _Dual) -> Solution:
    primal, t = problem.primal(point.w, point.positive_scores, point.negative_scores)
    if primal >= best.primal:
        return best
    return Solution(point.w, t, primal, score_scale=float(np.abs(point.negative_scores).max()))
