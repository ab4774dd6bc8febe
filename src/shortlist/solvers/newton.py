"""The default solver of linear problems: interior-point Newton steps on a working set.

Few negatives are at the top. The problem restricted to some of them is a relaxation,
so its dual point is a lower bound of the whole problem, while one pass over all rows
gives the primal value and the negatives that were missing. The restricted problem is
solved only a little more accurately than the missing rows deserve, so that a dozen
passes suffice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..certificate import Monitor
from ..problems.sweeps import Candidates, Sweep, SweptProblem, Wanted
from ..problems.thresholds import TopMean
from .interior_point import InteriorPoint
from .quantile_interior import QuantileInteriorPoint
from .solution import ScaledScores, Solution

_START_ROWS = 500
_LONGEST_WAIT = 8
_LARGE_EXCESS = 30.0
_STALL = 60


def newton(problem: SweptProblem, monitor: Monitor) -> Solution:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : SweptProblem
        Linear scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit.

    Returns
    -------
    Solution
        The best model seen and the dual weights of its negatives.
    """
    at, working = _start(problem, monitor)
    best = at if at.primal < problem.value_at_zero else _zero(problem)
    method = InteriorPoint if isinstance(problem.threshold, TopMean) else QuantileInteriorPoint
    point = method(problem, at.w, at.positive_scores, working)
    dual, full_gap, since_pass, progress_at, wait = 0.0, np.inf, 0, 0, 1
    while True:
        dual = max(dual, point.dual())
        restricted_gap = min(point.primal(), best.primal) - dual
        goal = max(0.3 * full_gap, 0.3 * monitor.tol * best.primal)
        if restricted_gap <= goal or since_pass >= wait or monitor.exhausted():
            most = max(_START_ROWS, len(point.working))
            sweep = problem.sweep(point.w, Wanted(most, cut=point.cut, known=point.working))
            at = _evaluate(problem, point.w, sweep)
            monitor.passes += 1
            since_pass = 0
            if at.primal < best.primal:
                best = at
            if best.primal - dual < 0.9 * full_gap:
                progress_at = monitor.iteration
            full_gap = best.primal - dual
            if monitor.check(best.primal, dual) or monitor.iteration - progress_at >= _STALL:
                break
            new = sweep.candidates()
            del sweep  # it holds these rows as well, and they may be many
            wait = min(2 * wait, _LONGEST_WAIT)
            if len(new.position):
                if float(new.scores.max()) - point.cut > _LARGE_EXCESS * point.slack:
                    wait = 1
                point.extend(new)
                dual = max(dual, point.dual())
            del new
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                point.step()
        except (FloatingPointError, ZeroDivisionError, linalg.LinAlgError):
            break  # beyond double precision: the certificate says how far it got
        monitor.iteration += 1
        since_pass += 1
    top = problem.row_number(int(point.working[np.argmax(point.beta)]))
    scale = 0.0 if best.scores is None else best.scores.largest
    return Solution(best.w, best.t, best.primal, scale, top, best.scores)


@dataclass(frozen=True)
class _Point:
    """A model and what a pass told about it."""

    w: np.ndarray
    positive_scores: np.ndarray
    t: float
    primal: float
    scores: ScaledScores | None


def _evaluate(problem: SweptProblem, w: np.ndarray, sweep: Sweep, length: float = 1.0) -> _Point:
    """Return the model `length` times `w`, where `sweep` is of `w`."""
    t = sweep.scores.threshold(length)
    w, positive_scores = length * w, length * sweep.positive_scores
    primal = problem.primal_at(w, positive_scores, t)
    return _Point(w, positive_scores, t, primal, ScaledScores(sweep.scores, length))


def _zero(problem: SweptProblem) -> _Point:
    w = np.zeros(problem.n_features)
    scores = np.zeros(len(problem.c))
    return _Point(w, scores, problem.threshold_at_zero, problem.value_at_zero, None)


def _start(problem: SweptProblem, monitor: Monitor) -> tuple[_Point, Candidates]:
    """Difference of the class means, at the best of a few lengths, or the last model.

    The highest negatives come with it: enough to start with, and twice the weight that
    caps ask for.
    """
    weight = 2.0 * problem.threshold.k if problem.capped else 0.0  # type: ignore[union-attr]
    wanted = Wanted(max(_START_ROWS, min(problem.n_features, 2 * _START_ROWS)), weight)
    w = problem.mean_difference()
    sweep = problem.sweep(w, wanted)
    monitor.passes += problem.start_passes + 1
    longest = 2.0 * problem.value_at_zero
    longest /= 1.0 + longest * float(w @ w)
    lengths = [longest * shrink for shrink in (1.0, 0.3, 0.1, 0.03)]
    points = [(_evaluate(problem, w, sweep, length), sweep) for length in lengths]
    if problem.start is not None:
        last = problem.sweep(problem.start, wanted)
        monitor.passes += 1
        points.append((_evaluate(problem, problem.start, last), last))
    at, sweep = min(points, key=lambda point: point[0].primal)
    assert at.scores is not None
    working = sweep.candidates()
    return at, replace(working, scores=at.scores.length * working.scores)
