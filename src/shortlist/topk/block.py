r"""Block-coordinate ascent on the dual of the top-k problems, one row at a time.

With all other rows fixed, row i's block of the dual is

.. math:: \max_{\beta} \; \langle \beta, a \rangle
          - \tfrac{q}{2} \Bigl( \sum_{j \ne y} \beta_j^2 + (\sum_{j \ne y} \beta_j)^2 \Bigr),
          \qquad \beta \in c_i \zeta \, \mathrm{Perm}(\rho), \; 0 \le \zeta \le 1,

``block`` solves it exactly (isotonic regression and a scalar search, ``_core/topk.hpp``);
``block_fw`` moves towards the best vertex with the exact step (Lacoste-Julien, Jaggi,
Schmidt, Pletscher, "Block-coordinate Frank-Wolfe optimization for structural SVMs", 2013).
A row that did not move rests for 1, 3, 7, ... sweeps. Only the order of the visits is
random. With many classes a visit looks at a few of them (:mod:`.selected`).

Rows with nearly the same features and different classes grow by a constant step per sweep
until they reach their bound, which takes sweeps in proportion to C. So every sixth sweep of
``block`` is followed by a leap: the change :math:`\Delta` of the last five sweeps is
prolonged by a factor r, projected row by row, and

.. math:: A \leftarrow A + t \, (\mathrm{proj}(A + r \Delta) - A), \qquad t \in [0, 1]

with the t of the highest dual value, a closed form. A stays feasible and D never falls. The
sweep after a leap settles the rows and is left out of the next :math:`\Delta`.

W, or the scores, are sums of many changes. Where a proof does not bear out what they claim,
they are computed anew.

The primal value is taken at the best of a few multiples of W and of its mean since
the last check: with separable classes a slightly longer W has far less loss.

Tried and dropped: resting rows by a small gain instead of none (stalls at large C); block
steps alone for small dense models, where ``proximal_newton`` needs no more time at C = 100
than at C = 1; Anderson extrapolation over five sweeps instead of the leap (with a fresh order
each sweep it returns a mean of the past and never moves ahead, with a fixed order it needs
1.5 times the sweeps of the leap, one run on one sparse text set). Leaps over three, four or
ten sweeps, or with a fixed order, made no clear difference there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import TopKDual
from ..certificate import Monitor, Proof
from ..rows.threads import team
from .problem import TopKProblem

_LONGEST_REST = 15
_LEAST_SWEEPS = 6
_PERIOD = 6
_FIRST_REACH = 4.0
_SCALES = np.array([0.0, 0.94, 0.98, 1.0, 1.02, 1.06])
# Seconds beyond the limit that are not worth dropping a model.
_GRACE = 0.2
# Checks without any progress after which there will be none.
_IDLE_CHECKS = 6
_PROGRESS = 1e-13


@dataclass
class Best:
    """The model of the lowest claim so far.

    Attributes
    ----------
    primal : float
        The claim.
    model : ndarray or csr array
        The model, before it is multiplied.
    multiple : float
        Its factor.
    visits : int
        Visits of rows after which it was the model of the dual point; -1 for another one.
    """

    primal: float
    model: Any
    multiple: float = 1.0
    visits: int = -1


def block(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` by exact block steps.

    Parameters
    ----------
    problem : TopKProblem
        Linear or kernel scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit; an iteration is a sweep.
    """
    with team():
        ascend(problem, problem.dual(), monitor, exact=True)


def block_fw(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` by block-coordinate Frank-Wolfe steps; see :func:`block`."""
    with team():
        ascend(problem, problem.dual(), monitor, exact=False)


def ascend(
    problem: TopKProblem,
    dual: TopKDual,
    monitor: Monitor,
    exact: bool,
    patience: float = np.inf,
) -> Best:
    """Sweep until the monitor stops, or until the gap's rate asks for too many sweeps.

    Parameters
    ----------
    problem : TopKProblem
        Linear or kernel scores.
    dual : TopKDual
        The zero dual point; holds the last one afterwards.
    monitor : Monitor
        Tolerance, limits and the record of the fit.
    exact : bool
        Exact block solutions, or Frank-Wolfe steps.
    patience : float
        How many more full sweeps are worth waiting for.

    Returns
    -------
    Best
        The best model seen.
    """
    scores = problem.scores
    scores.restart()
    monitor.accept(problem.zero_proof())
    best = Best(problem.value_at_zero, problem.zero_proof().solution)
    scale, visits, checked, reach, idle = 1.0, 0, 0, _FIRST_REACH, 0
    # Before Newton's method leaps brought nothing steady, and cost time on satimage, k = 5.
    leaps = scores.leaps and exact and np.isinf(patience)
    if monitor.check(best.primal, 0.0, problem.zero_proof):
        return best

    def prove() -> Proof:
        model = None if best.visits == visits else best.model
        return problem.prove(problem.point(dual), model, best.multiple)

    def stop() -> bool:
        monitor.reserve = scores.proof_sweeps * scores.seconds
        return monitor.exhausted()

    while monitor.status is None:
        if leaps and monitor.iteration % _PERIOD == 1:
            dual.remember()
        elif leaps and monitor.iteration % _PERIOD == 0 and monitor.iteration > 0:
            reach = _next_reach(reach, scores.leap(dual, reach))
        moved = scores.sweep(dual, problem.rng, exact, _LONGEST_REST, stop)
        visits += moved
        monitor.iteration += 1
        due = visits - checked >= scores.check_sweeps * max(scores.n_rows, visits // 16)
        due = due or moved < scores.n_rows // 50 or monitor.iteration >= monitor.max_iter
        if due:
            monitor.reserve += scores.seconds
        if monitor.exhausted() and monitor.status == "time_limit":
            # No time to compare: the last model is as a rule the best. And where there is
            # none to prove it, what was proved before has to do.
            assert monitor.time_limit is not None
            end = monitor.seconds + scores.proof_sweeps * scores.seconds
            best = Best(best.primal, None, visits=visits)
            in_time = end <= monitor.time_limit + _GRACE
            monitor.check(monitor.primal, monitor.dual, prove if in_time else None)
        elif due:
            before, since = (monitor.primal, monitor.dual), (visits - checked) / scores.n_rows
            gap, refuted = monitor.relative_gap, monitor.refuted
            checked = visits
            monitor.passes = visits // scores.n_rows
            best, value, scale = _certify(problem, dual, best, scale, visits)
            if monitor.check(best.primal, value, prove):
                break
            if problem.indefinite and monitor.refuted > refuted:
                monitor.status = "local"
                break
            if monitor.refuted > refuted:
                scores.renew(problem.alpha(dual))
                assert monitor.proof is not None
                best = Best(monitor.proof.primal, monitor.proof.solution)
            idle = 0 if _progress(before, monitor) else idle + 1
            if idle >= _IDLE_CHECKS or not np.isfinite(value):
                if np.isinf(patience):
                    monitor.stall()
                break
            now = max(monitor.relative_gap, 1e-300)
            left = np.log(now / monitor.goal)
            rate = np.log(max(gap, 1e-300) / now) / max(since, 1e-3)
            if monitor.passes >= _LEAST_SWEEPS and left > patience * rate:
                break
    return best


def _progress(before: tuple[float, float], monitor: Monitor) -> bool:
    """Whether either bound moved by more than rounding."""
    primal, dual = before
    least = _PROGRESS * abs(monitor.primal)
    return primal - monitor.primal > least or monitor.dual - dual > least


def _next_reach(reach: float, best: float) -> float:
    """Prolong more where the best step lies beyond the prolonged point, less where far inside."""
    if best > 1.0:
        return 2.0 * reach
    return max(0.5 * reach, 1.0) if best < 0.4 else reach


def _certify(
    problem: TopKProblem, dual: TopKDual, best: Best, scale: float, visits: int
) -> tuple[Best, float, float]:
    """Return the better model, the dual value and the best multiple of the present model."""
    scales = np.append(scale * _SCALES, 1.0)
    scaled_models = problem.scores.scaled_models(dual, scales, lambda: problem.alpha(dual))
    found = 1.0
    for trial in scaled_models:
        primal = 0.5 * (trial.norm + trial.ridge) * scales**2 + trial.losses
        lowest = int(np.argmin(primal))
        present = trial is scaled_models[0]
        if present:
            found = scales[lowest] or 1.0
        if primal[lowest] < best.primal:
            # A copy: sweeps change the model in place.
            model, multiple = trial.model.copy(), float(scales[lowest])
            best = Best(float(primal[lowest]), model, multiple, visits if present else -1)
    last = scaled_models[0]
    return best, last.own - 0.5 * (last.norm + last.ridge), found
