r"""Proximal point on the dual, Newton on its primal: top-k problems with few coefficients.

Outer step: from the dual point :math:`A` maximise

.. math:: D(A') - \sum_i \frac{\gamma}{2 c_i} \|\alpha'_i - \alpha_i\|^2 .

Its own dual is a smooth problem in W, strongly convex and piecewise quadratic,

.. math:: \psi(W) = \tfrac12\|W\|^2 + \sum_i \max_{\alpha} \; \langle \alpha, e_{y_i} - W^T x_i
          \rangle - \frac{\gamma}{2 c_i}\|\alpha - \alpha_i\|^2 ,
          \qquad \nabla\psi = W - W(A'(W)),

whose maximisers are the exact blocks of ``_core/topk.hpp``. Their Jacobian is a sum of
centring matrices over pools of tied classes, so the generalised Hessian
:math:`I + \sum_i J_i \otimes x_i x_i^T` costs about one pass over the rows, and Newton's
method needs few steps whatever C. Every evaluation yields a model W and a feasible dual
point A'(W), hence a certificate. The pull :math:`\gamma` shrinks from step to step.
Block sweeps go first, and to the end where they promise to get there sooner.

Reference: R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point
algorithm in convex programming", 1976; X. Li, D. Sun, K.-C. Toh, "A highly efficient
semismooth Newton augmented Lagrangian method", 2018. The blocks and their Jacobian are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._core import TopKDual
from ..certificate import Monitor
from .block import ascend
from .problem import TopKProblem
from .solution import ClassScores

_FIRST_PULL = 1.0
_SHRINK = 0.25
_INNER = 0.1
_LEAST_PULL = 1e-9


@dataclass
class _Point:
    """A model with everything that one pass over the rows tells about it."""

    W: np.ndarray
    primal: float
    dual: float
    value: float
    gradient: np.ndarray


def proximal_newton(problem: TopKProblem, monitor: Monitor) -> ClassScores:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : TopKProblem
        Linear scores with few coefficients.
    monitor : Monitor
        Tolerance, limits and the record of the fit; an iteration is a Newton step.

    Returns
    -------
    ClassScores
        The best model seen.
    """
    dual = problem.dual()
    scores = problem.scores
    best = ascend(problem, dual, monitor, exact=True, patience=_newton_cost(problem))
    if monitor.status is not None:
        return best
    pull, lower = _FIRST_PULL, monitor.dual / problem.scale

    def evaluate(W: np.ndarray) -> _Point:
        nonlocal best, lower
        point = _evaluate(problem, dual, W, pull)
        monitor.passes += 1
        if point.primal < best.primal:
            best = ClassScores(point.W, point.primal)
        lower = max(lower, point.dual)
        return point

    at = evaluate(scores.W.copy())
    while not monitor.check(problem.scale * best.primal, problem.scale * lower):
        if 0.5 * np.vdot(at.gradient, at.gradient) <= _INNER * (best.primal - lower):
            dual.accept(1.0)
            pull = max(_SHRINK * pull, _LEAST_PULL)
            at = evaluate(at.W)
        direction = _newton_direction(problem, dual, at.gradient)
        at = _line_search(at, direction, evaluate)
        monitor.iteration += 1
    return best


def _newton_cost(problem: TopKProblem) -> float:
    """Estimate the work of all Newton steps, in sweeps over the rows."""
    n, (d, m) = problem.scores.n_rows, problem.scores.W.shape
    factorisation, hessian, passes = (d * m) ** 3 / 12.0, 0.75 * n * d * d, 4.0 * n * d * m
    return 30.0 * (factorisation + hessian + passes) / (3.0 * n * d * m)


def _evaluate(problem: TopKProblem, dual: TopKDual, W: np.ndarray, pull: float) -> _Point:
    scores = problem.scores
    model = np.zeros_like(W)
    loss, value, own, ridge = dual.propose(scores.X, W, scores.bias, pull, model)
    half = 0.5 * float(np.vdot(W, W))
    return _Point(
        W=W,
        primal=half + 0.5 * ridge + loss,
        dual=own - 0.5 * float(np.vdot(model, model)) - 0.5 * ridge,
        value=half + value,
        gradient=W - model,
    )


def _newton_direction(problem: TopKProblem, dual: TopKDual, gradient: np.ndarray) -> np.ndarray:
    scores = problem.scores
    hessian = np.zeros((gradient.size, gradient.size))
    dual.hessian(scores.X, scores.bias, hessian)
    # Where features are huge the unit of the norm is lost in rounding: keep it positive.
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += max(1.0, 1e-12 * float(hessian[diagonal].max()))
    factor = cho_factor(hessian, lower=False, overwrite_a=True, check_finite=False)
    step = cho_solve(factor, -gradient.T.ravel(), check_finite=False)
    return np.ascontiguousarray(step.reshape(gradient.shape[::-1]).T)


def _line_search(
    at: _Point, direction: np.ndarray, evaluate: Callable[[np.ndarray], _Point]
) -> _Point:
    """Backtrack along `direction` by secant steps on the slope of the convex value."""
    slope = float(np.vdot(at.gradient, direction))
    length = 1.0
    while True:
        trial = evaluate(at.W + length * direction)
        enough = trial.value <= at.value + 1e-4 * length * slope + 1e-13 * abs(at.value)
        if enough or length < 1e-8:
            return trial
        ahead = float(np.vdot(trial.gradient, direction))
        ratio = slope / (slope - ahead) if ahead > slope else 0.5
        length *= min(max(ratio, 0.1), 0.7)
