"""The default solver of linear problems: interior-point Newton steps on a working set.

Few negatives are at the top. The problem restricted to some of them is a relaxation,
so its dual point is a lower bound of the whole problem, while one pass over all rows
gives the primal value and the negatives that were missing. The restricted problem is
solved only a little more accurately than the missing rows deserve, so that a dozen
passes suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..certificate import Monitor
from ..problems.thresholds import TopMean
from ..problems.top import TopProblem
from .interior_point import InteriorPoint
from .quantile_interior import QuantileInteriorPoint
from .solution import Solution

_START_ROWS = 500
_LONGEST_WAIT = 8
_LARGE_EXCESS = 30.0
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
    at = _start(problem)
    monitor.passes += 2
    best = at if at.primal < problem.value_at_zero else _zero(problem)
    working = _top_rows(problem, at.negative_scores)
    method = InteriorPoint if isinstance(problem.threshold, TopMean) else QuantileInteriorPoint
    point = method(problem, at.w, (at.positive_scores, at.negative_scores), working)
    outside = np.ones(len(problem.negative), dtype=bool)
    outside[working] = False
    dual, full_gap, since_pass, progress_at, wait = 0.0, np.inf, 0, 0, 1
    while True:
        dual = max(dual, point.dual())
        restricted_gap = min(point.primal(), best.primal) - dual
        goal = max(0.3 * full_gap, 0.3 * monitor.tol * best.primal)
        if restricted_gap <= goal or since_pass >= wait or monitor.exhausted():
            at = _evaluate(problem, point.w)
            monitor.passes += 1
            since_pass = 0
            if at.primal < best.primal:
                best = at
            if best.primal - dual < 0.9 * full_gap:
                progress_at = monitor.iteration
            full_gap = best.primal - dual
            if monitor.check(best.primal, dual) or monitor.iteration - progress_at >= _STALL:
                break
            new = np.flatnonzero(outside & (at.negative_scores > point.cut))
            wait = min(2 * wait, _LONGEST_WAIT)
            if len(new):
                excess = float(at.negative_scores[new].max()) - point.cut
                if excess > _LARGE_EXCESS * point.slack:
                    wait = 1
                most = max(_START_ROWS, len(point.working))
                new = _highest(new, at.negative_scores[new], most)
                outside[new] = False
                point.extend(new, at.negative_scores[new])
                dual = max(dual, point.dual())
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                point.step()
        except (FloatingPointError, ZeroDivisionError, linalg.LinAlgError):
            break  # beyond double precision: the certificate says how far it got
        monitor.iteration += 1
        since_pass += 1
    top = int(problem.negative[point.working[np.argmax(point.beta)]])
    scale = float(np.abs(best.negative_scores).max())
    return Solution(best.w, best.t, best.primal, score_scale=scale, top_negative=top)


@dataclass(frozen=True)
class _Point:
    """A model with the scores of all rows."""

    w: np.ndarray
    positive_scores: np.ndarray
    negative_scores: np.ndarray
    t: float
    primal: float


def _evaluate(problem: TopProblem, w: np.ndarray) -> _Point:
    positive_scores, negative_scores = problem.split_scores(w)
    primal, t = problem.primal(w, positive_scores, negative_scores)
    return _Point(w, positive_scores, negative_scores, t, primal)


def _zero(problem: TopProblem) -> _Point:
    return _Point(
        np.zeros(problem.rows.n_features),
        np.zeros(len(problem.positive)),
        np.zeros(len(problem.negative)),
        problem.threshold_at_zero,
        problem.value_at_zero,
    )


def _between(problem: TopProblem, best: _Point, far: _Point) -> _Point:
    """Return the lowest of a few points on the way from `best` to `far`."""
    step = 1.0
    for _ in range(12):
        step *= 0.5
        w, positive_scores, negative_scores = (
            a + step * (b - a)
            for a, b in (
                (best.w, far.w),
                (best.positive_scores, far.positive_scores),
                (best.negative_scores, far.negative_scores),
            )
        )
        primal, t = problem.primal(w, positive_scores, negative_scores)
        if primal < best.primal:
            return _Point(w, positive_scores, negative_scores, t, primal)
    return best


def _start(problem: TopProblem) -> _Point:
    """Difference of the class means, at the best of a few lengths, or the last model."""
    w = problem.signed_sum(
        problem.positive_weight / problem.positive_weight.sum(),
        problem.negative_weight / problem.negative_weight.sum(),
    )
    positive_scores, negative_scores = problem.split_scores(w)
    longest = 2.0 * problem.value_at_zero
    longest /= 1.0 + longest * float(w @ w)

    def point(length: float) -> _Point:
        model = (length * w, length * positive_scores, length * negative_scores)
        primal, t = problem.primal(*model)
        return _Point(*model, t, primal)

    points = [point(longest * shrink) for shrink in (1.0, 0.3, 0.1, 0.03)]
    if problem.start is not None:
        points.append(_evaluate(problem, problem.start))
    return min(points, key=lambda p: p.primal)


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
