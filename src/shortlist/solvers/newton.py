"""The default solver of linear problems: interior-point Newton steps on a working set.

Few negatives are at the top. The problem restricted to some of them is a relaxation,
so its dual point is a lower bound of the whole problem, while one pass over all rows
gives the primal value and the negatives that were missing. The restricted problem is
solved only a little more accurately than the missing rows deserve, so that a dozen
passes suffice.
"""

from __future__ import annotations

import numpy as np

from ..certificate import Monitor
from ..problems.top import TopProblem
from .interior_point import InteriorPoint
from .solution import Solution

_START_ROWS = 500
_STEPS_BETWEEN_PASSES = 8
_STALL = 60


def newton(problem: TopProblem, monitor: Monitor) -> Solution:
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
        The best model seen and the dual weights of its negatives.
    """
    w, positive_scores, negative_scores = _start(problem)
    monitor.passes += 2
    best = Solution(w=np.zeros_like(w), threshold=0.0, primal=problem.value_at_zero)
    working = _top_rows(problem, negative_scores)
    point = InteriorPoint(problem, w, (positive_scores, negative_scores), working)
    outside = np.ones(len(negative_scores), dtype=bool)
    outside[working] = False
    dual, full_gap, since_pass, progress_at = 0.0, np.inf, 0, 0
    while True:
        dual = max(dual, point.dual())
        restricted_gap = min(point.primal(), best.primal) - dual
        goal = max(0.3 * full_gap, 0.3 * monitor.tol * best.primal)
        if restricted_gap <= goal or since_pass >= _STEPS_BETWEEN_PASSES or monitor.exhausted():
            positive_scores, negative_scores = problem.split_scores(point.w)
            monitor.passes += 1
            since_pass = 0
            primal, t = problem.primal(point.w, positive_scores, negative_scores)
            if primal < best.primal:
                best = Solution(w=point.w, threshold=t, primal=primal)
            if best.primal - dual < 0.9 * full_gap:
                progress_at = monitor.iteration
            full_gap = best.primal - dual
            if monitor.check(best.primal, dual) or monitor.iteration - progress_at >= _STALL:
                break
            new = np.flatnonzero(outside & (negative_scores > point.cut))
            if len(new):
                most = max(_START_ROWS, len(point.working))
                new = _highest(new, negative_scores[new], most)
                outside[new] = False
                point.extend(new, negative_scores[new])
                dual = max(dual, point.dual())
        if not np.isfinite(point.step()):
            break
        monitor.iteration += 1
        since_pass += 1
    best.top_negative = int(problem.negative[point.working[np.argmax(point.beta)]])
    return best


def _start(problem: TopProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Difference of the class means, at the best of a few lengths."""
    w = problem.signed_sum(
        problem.positive_weight / problem.positive_weight.sum(),
        problem.negative_weight / problem.negative_weight.sum(),
    )
    positive_scores, negative_scores = problem.split_scores(w)
    t = problem.threshold.value(negative_scores, problem.negative_weight)
    longest = 2.0 * problem.value_at_zero
    longest /= 1.0 + longest * float(w @ w)
    lengths = [longest * shrink for shrink in (1.0, 0.3, 0.1, 0.03)]
    length = min(lengths, key=lambda g: problem.primal_at(g * w, g * positive_scores, g * t))
    return length * w, length * positive_scores, length * negative_scores


def _top_rows(problem: TopProblem, scores: np.ndarray) -> np.ndarray:
    """Highest negatives: enough to start with, and twice the weight a cap asks for."""
    count = max(_START_ROWS, min(problem.rows.n_features, 2 * _START_ROWS))
    if problem.cap is not None:
        order = np.argsort(-scores, kind="stable")
        share = np.cumsum(problem.cap[order])
        count = max(count, 1 + int(np.searchsorted(share, 2.0)))
        return order[:count]
    return _highest(np.arange(len(scores)), scores, count)


def _highest(index: np.ndarray, scores: np.ndarray, count: int) -> np.ndarray:
    if len(index) <= count:
        return index
    return index[np.argpartition(-scores, count - 1)[:count]]
