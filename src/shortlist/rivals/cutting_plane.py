r"""Cutting planes with one slack: the solver of every metric.

Each round adds the most violated labelling as a plane; the optimum over all planes so far is a
lower bound of the objective, and its model the next proposal
(:mod:`shortlist.rivals.planes`). That model jumps far while planes are few. So the labelling is
looked for a short step from the best model towards it, where planes are of use near the optimum
(V. Franc and S. Sonnenburg, "Optimized cutting plane algorithm for support vector machines",
ICML 2008, do so after a line search; a fixed step costs one evaluation a round). For the partial
area on nsl_kdd a step of 0.15 needed 211 planes where 0.5 needed 339.

Reference: T. Joachims, T. Finley, C.-N. J. Yu, "Cutting-plane training of structural SVMs",
Machine Learning 77, 2009.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..certificate import Monitor
from .metric_problem import MetricProblem
from .planes import Planes

_STEP = 0.15
# Every so often the whole way: where all planes that count are there, that is the optimum.
_WHOLE_EVERY = 8
# Rounds in which not even a tenth of the gap is closed.
_STALL = 400
# The square of a larger number overflows.
_LARGEST = 1e150
# How exactly the planes are solved, relative to the gap.
_SLACK = 0.02


def cutting_plane(problem: MetricProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : MetricProblem
        Rows and a metric.
    monitor : Monitor
        Tolerance, limits, the record of the fit and the best model that was proved.
    """
    planes = Planes(problem.c, problem.size)
    u = best = np.zeros(problem.size)
    primal, dual = np.inf, 0.0
    least_gap, progress_at, whole = np.inf, 0, False
    while True:
        before = monitor.seconds
        scores = problem.split_scores(u)
        if not all(np.isfinite(part).all() for part in scores):
            monitor.stall()
            return
        found, violation = problem.worst(*scores)
        value = problem.objective(u, violation)
        monitor.passes += 1
        monitor.reserve = 3.0 * (monitor.seconds - before)
        if value < primal:
            primal, best = value, u
        if monitor.check(primal, dual, partial(problem.prove, best, planes)):
            return
        if primal - dual < 0.9 * least_gap:
            least_gap, progress_at = primal - dual, monitor.iteration
        if monitor.iteration - progress_at >= _STALL:
            monitor.stall()
            return
        gradient, error = problem.gradient(found)
        if not float(np.abs(gradient).max()) < _LARGEST:
            monitor.stall()
            return
        new = planes.add(found.loss, gradient, error)
        if not new and whole and value > primal:
            # The planes say nothing else at their own optimum: the rest is rounding.
            monitor.stall()
            return
        planes.optimise(_SLACK * max(primal - dual, 0.0) / problem.c)
        gain, model, _ = planes.point()
        dual = max(dual, gain - 0.5 * float(model @ model))
        planes.forget()
        monitor.iteration += 1
        whole = not new or monitor.iteration % _WHOLE_EVERY == 0
        step = 1.0 if whole else _STEP
        u = step * model + (1.0 - step) * best
        monitor.passes += 1
