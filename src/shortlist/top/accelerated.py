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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..certificate import Monitor, Proof
from .problem import NO_BOUND, Bound, Solution, TopProblem, dual_bound, primal_error
from .projections import project_balanced
from .sweeps import ArrayScores, ScaledScores

_CHECK_EVERY = 10
# The method is slow: only after so many steps that close a tenth of the gap is it stuck.
_STALL = 20_000


@dataclass(frozen=True)
class _Dual:
    """A dual point with its model and the scores of all rows under that model."""

    alpha: np.ndarray
    beta: np.ndarray
    w: np.ndarray
    positive_scores: np.ndarray
    ranked_scores: np.ndarray

    def extrapolate(self, previous: _Dual, momentum: float) -> _Dual:
        return _Dual(
            *(
                a + momentum * (a - b)
                for a, b in (
                    (self.alpha, previous.alpha),
                    (self.beta, previous.beta),
                    (self.w, previous.w),
                    (self.positive_scores, previous.positive_scores),
                    (self.ranked_scores, previous.ranked_scores),
                )
            )
        )


def accelerated(problem: TopProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : TopProblem
        Linear scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit. It is given every proof: a
        :class:`~shortlist.top.problem.Solution`, the best model seen.
    """
    ridge = problem.loss.ridge / problem.c
    upper = problem.loss.dual_bound(problem.c)
    zero = _Dual(
        np.zeros(len(problem.positive)),
        np.zeros(len(problem.ranked)),
        np.zeros(problem.n_features),
        np.zeros(len(problem.positive)),
        np.zeros(len(problem.ranked)),
    )
    previous = current = zero
    best, bound = _Best(zero, problem.value_at_zero, problem.threshold_at_zero), NO_BOUND
    objective, lipschitz, inertia = 0.0, 1.0, 1.0
    # No step bends more; beyond it the test only sees the rounding of a step that is zero.
    most = float(problem.rows.squared_norms().sum()) + float(np.max(ridge))
    best_gap, progress_at = np.inf, 0
    while True:
        if monitor.iteration % _CHECK_EVERY == 0 or monitor.exhausted():
            best = _better(problem, best, current)
            new = dual_bound(
                problem, problem.reach, current.alpha, current.beta, current.w,
                problem.ranked_weight, problem.cap,
            )  # fmt: skip
            bound = max(bound, new, key=lambda b: b.lower)
            if monitor.check(best.primal, bound.lower, _prover(problem, best, bound, current)):
                return
            if best.primal - bound.lower < 0.9 * best_gap:
                best_gap, progress_at = best.primal - bound.lower, monitor.iteration
            if monitor.iteration - progress_at >= _STALL or not np.isfinite(current.w).all():
                return monitor.stall()
        next_inertia = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * inertia * inertia))
        search = current.extrapolate(previous, (inertia - 1.0) / next_inertia)
        gradient_alpha = search.positive_scores + ridge * search.alpha - 1.0
        gradient_beta = -search.ranked_scores
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
            if not curvature > lipschitz * moved or lipschitz >= most:
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


@dataclass(frozen=True)
class _Best:
    """The best model, as the point it belongs to, with its objective and threshold."""

    point: _Dual
    primal: float
    t: float


def _better(problem: TopProblem, best: _Best, point: _Dual) -> _Best:
    primal, t = problem.primal(point.w, point.positive_scores, point.ranked_scores)
    return _Best(point, primal, t) if primal < best.primal else best


def _prover(problem: TopProblem, best: _Best, bound: Bound, current: _Dual) -> Callable[[], Proof]:
    """Return the proof of the best model: its scores are one pass over all rows."""

    def prove() -> Proof:
        point = best.point
        scores = ArrayScores(point.ranked_scores, problem.ranked_weight, problem.threshold)
        off = scores.threshold_error(best.t)
        error = primal_error(problem, problem.reach, point.w, point.positive_scores, best.t, off)
        top = int(problem.ranked[np.argmax(current.beta)]) if current.beta.any() else -1
        kept = ScaledScores(scores) if point.w.any() else None
        solution = Solution(point.w, best.t, scores.largest, top, kept)
        return Proof(solution, best.primal, bound.value, error + bound.error)

    return prove
