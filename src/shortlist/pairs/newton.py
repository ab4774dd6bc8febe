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

The Newton systems are :math:`(I + \Phi^T L \Phi)\,\delta = -g`.
:math:`L` is the Laplacian of the graph of curved pairs, known only through its
products. Conjugate gradients, preconditioned by the same matrix of a sample of rows
where models are short vectors: a few thousand rows estimate it so well that a couple of
products with all pairs suffice. With all rows in the sample the system is exact.

Reference: O. Chapelle and S. S. Keerthi, "Efficient algorithms for ranking with SVMs",
Information Retrieval 13 (2010), for the squared hinge; C.-P. Lee and C.-J. Lin,
"Large-scale linear RankSVM", Neural Computation 26 (2014), for the implicit products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from scipy import linalg

from ..certificate import Monitor, Proof
from .problem import (
    ModelSums,
    PairProblem,
    Pairs,
    PairSums,
    dual_value,
    primal_value,
)
from .proof import Claim, Reckoned, check_positive, prove
from .spaces import BestPoint, FeatureSpace, LinearSpace, Point

_MOST_FEATURES = 600
_LEAST_ROWS = 4000
_ROWS_PER_FEATURE = 20
_MOST_STEPS = 250
_ACCURACY = 0.03

Preconditioner = Callable[[np.ndarray], np.ndarray]
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
    _minimise(problem, monitor, partial(prove, problem, tol=monitor.tol))


def _minimise(
    problem: Pairs, monitor: Monitor, prove: Callable[[Claim], Proof] | None = None
) -> tuple[Point, float]:
    """Return the best model and the last width.

    Without `prove`, claims are believed: nobody sees more of the model than where it is.
    """
    hinge = problem.loss.bounded
    best = BestPoint(problem.zero(), problem.value_at_zero)
    point, width = _start(problem, monitor)
    curvature = PairCurvature(problem, monitor.exhausted)
    before = monitor.seconds
    sums = problem.sums(point, width)
    dual, proposed = -np.inf, (point.u, width)
    own: Reckoned | None = None  # what was computed at the best model
    other: Reckoned | None = None  # and at the one whose dual point is the best
    least_gap, progress_at, decrement = np.inf, 0, np.inf
    while True:
        monitor.passes += 1
        model = sums.model()
        taken = best.offer(point, primal_value(problem, sums))
        raised = (value := dual_value(problem, sums, model)) > dual
        if prove is not None and (taken or raised):
            now = problem.reckoned(sums, model)
            own, other = now if taken else own, now if raised else other
        if raised:
            dual, proposed = value, (point.u, width)
        if not monitor.reserve:
            # A proof takes two such looks at the pairs, and the scores of two models.
            monitor.reserve = 3.0 * (monitor.seconds - before)
        # At a tiny C the zero model is within the tolerance, but orders nothing.
        if monitor.iteration or monitor.exhausted():
            if prove is not None:
                claim = Claim(best.point, *proposed, own, other)
                proof: Callable[[], Proof] = partial(prove, claim)
            else:
                proof = partial(Proof, best.point, best.primal, min(dual, best.primal), 0.0)
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
            if not bend > 0.0 or not square > 0.0:  # nothing is left but rounding
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
