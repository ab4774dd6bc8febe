r"""The default solver of pair problems: Newton steps with implicit pairs.

The squared hinge is minimised as it is. The hinge is rounded to a quadratic on
:math:`0 < z < \mu`, and :math:`\mu` shrinks as the fit gets on. At a model :math:`w`
the slope of the rounded loss is a feasible dual point :math:`\alpha`, and

.. math:: P(w) - D(\alpha) = \tfrac12\|g\|^2 + \sum\bigl(c\,[z]_+ - \alpha z\bigr), \qquad
          g = w - \sum\alpha_{ij}(\phi_i - \phi_j):

one part is the gradient of the rounded problem, the other the rounding. Newton steps
reduce the first; when it, or the decrease that a step promises, is the smaller one,
:math:`\mu` is reduced. Rounding costs
:math:`O(\mu^2)` where pairs are dense, so a certified fit needs few widths. Many rows
start from the solution of a tenth of them.

Reference: O. Chapelle and S. S. Keerthi, "Efficient algorithms for ranking with SVMs",
Information Retrieval 13 (2010), for the squared hinge; C.-P. Lee and C.-J. Lin,
"Large-scale linear RankSVM", Neural Computation 26 (2014), for the implicit products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..certificate import Monitor
from .curvature import PairCurvature
from .problem import ModelSums, Pairs, dual_value, primal_value
from .proof import check_positive, prove
from .solution import BestPoint
from .spaces import FeatureSpace, Point

_FIRST_WIDTH = 2.0
_LEAST_SHRINK = 0.2
_LEAST_WIDTH = 1e-9
_LINE_STEPS, _STEEP_AFTER = 30, 4
_FLAT = 0.2
_FEW_PAIRS = 40.0
_STALL = 100
_SAMPLE_FROM = 40_000
_SAMPLE_TOL = 1e-3


def pair_newton(problem: Pairs, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : Pairs
        Either loss, any space.
    monitor : Monitor
        Tolerance, limits, the record of the fit and the best model that was proved.
    """
    _minimise(problem, monitor)


def _minimise(problem: Pairs, monitor: Monitor) -> tuple[Point, float]:
    """Return the best model and the last width."""
    hinge = problem.loss.bounded
    best = BestPoint(problem.zero(), problem.value_at_zero)
    point, width = _start(problem, monitor)
    curvature = PairCurvature(problem, monitor.exhausted)
    before = monitor.seconds
    sums = problem.sums(point, width)
    dual, proposed = -np.inf, (point.u, width)
    least_gap, progress_at, decrement = np.inf, 0, np.inf
    while True:
        monitor.passes += 1
        best.offer(point, primal_value(problem, sums))
        model = sums.model()
        if (value := dual_value(problem, sums, model)) > dual:
            dual, proposed = value, (point.u, width)
        if not monitor.reserve:
            # A proof takes two such looks at the pairs, and the scores of two models.
            monitor.reserve = 3.0 * (monitor.seconds - before)
        # At a tiny C the zero model is within the tolerance, but orders nothing.
        if monitor.iteration or monitor.exhausted():
            proof = partial(prove, problem, best.point, *proposed)
            if monitor.check(best.primal, dual, proof):
                break
        if best.primal - dual < 0.9 * least_gap:
            least_gap, progress_at = best.primal - dual, monitor.iteration
        if monitor.iteration - progress_at >= _STALL:
            monitor.stall()
            break
        gradient = point.plus(-1.0, model)
        residual = 0.5 * gradient.dot(gradient)
        rounding = sums.hinge - sums.slack if hinge else 0.0
        goal = 0.4 * monitor.goal * best.primal
        settled = min(residual, decrement) <= rounding
        if hinge and settled and rounding > goal and width > _LEAST_WIDTH:
            shrink = max(_LEAST_SHRINK, min(0.5, 0.7 * np.sqrt(goal / rounding)))
            step = _follow(problem, curvature, sums, gradient, shrink)
            width *= shrink
            sums = problem.sums(point, width)
            decrement, progress_at = np.inf, monitor.iteration
            if step is None:
                continue
        else:
            step = curvature.solve(sums, gradient)
            decrement = 0.5 * abs(gradient.dot(step))
        point, sums = _line_search(problem, step, sums, monitor.exhausted)
        monitor.iteration += 1
        if monitor.iteration > 1 and point.dot(point) < 0.0:
            check_positive(problem, point)
            monitor.stall()
            break
    return best.point, width


def _start(problem: Pairs, monitor: Monitor) -> tuple[Point, float]:
    n_rows = problem.space.n_rows
    if isinstance(problem.space, FeatureSpace) and n_rows >= _SAMPLE_FROM:
        part = problem.sample(n_rows // 10)
        if part.n_pairs:
            left = None
            if monitor.time_limit is not None:
                left = 0.5 * max(monitor.time_limit - monitor.seconds, 0.0)
            rehearsal = Monitor(max(monitor.tol, _SAMPLE_TOL), monitor.max_iter, left)
            point, width = _minimise(part, rehearsal)
            return Point(problem.space, point.u), width
    return problem.zero(), _FIRST_WIDTH if problem.loss.bounded else np.inf


def _follow(
    problem: Pairs, curvature: PairCurvature, sums: ModelSums, gradient: Point, shrink: float
) -> Point | None:
    """Return the step to a smaller width that keeps the curved pairs curved.

    Where they are few, they are the pairs at the kink of the optimum: their violations
    shrink with the width while their dual variables stay. Where they are many, most
    leave the zone, and an ordinary Newton step does better.
    """
    if not 0.0 < sums.curved_pairs <= _FEW_PAIRS * problem.freedom:
        return None
    stronger = 1.0 / shrink
    target = gradient.plus(1.0 - stronger, sums.curved_model())
    return curvature.solve(sums, target, stronger)


def _line_search(
    problem: Pairs, step: Point, sums: ModelSums, stop: Callable[[], bool]
) -> tuple[Point, ModelSums]:
    """Find where the slope of the rounded objective along `step` is nearly zero."""
    point, width = sums.point, sums.width
    along, square = point.dot(step), step.dot(step)

    def slope(t: float, sums: ModelSums) -> float:
        return along + t * square - sums.along(step)

    first = slope(0.0, sums)
    if first >= 0.0:
        return point, sums
    low, slope_low, high, slope_high = 0.0, first, np.inf, np.inf
    lowest = point, sums
    t = 1.0
    for count in range(_LINE_STEPS):
        new = point.plus(t, step)
        sums = problem.sums(new, width)
        at = slope(t, sums)
        if abs(at) <= _FLAT * abs(first) or stop():
            return new, sums
        if at < 0.0:
            low, slope_low, lowest = t, at, (new, sums)
        else:
            high, slope_high = t, at
        if np.isinf(high):
            t *= 4.0
        elif low == 0.0 and count >= _STEEP_AFTER:
            t *= 0.01  # where no pair is curved, the step knows nothing of the scale
        else:
            secant = low - slope_low * (high - low) / (slope_high - slope_low)
            t = min(max(secant, low + 0.1 * (high - low)), high - 0.1 * (high - low))
    return lowest if low > 0.0 else (new, sums)
