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

Scales. The pull starts where :math:`\gamma \alpha_i / c_i` is of the size of a margin: with
large features and separable classes :math:`\alpha_i` is far below its bound. Rows far from
the origin are turned so that one feature is their common part and the others are centred,
without rounding to speak of; the objective does not change. The Hessian's null vectors (the
same for every class; W has none of them) are filled, so that only those of the data are left.

Reference: R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point
algorithm in convex programming", 1976; X. Li, D. Sun, K.-C. Toh, "A highly efficient
semismooth Newton augmented Lagrangian method", 2018. The blocks and their Jacobian are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._core import TopKDual
from ..certificate import Monitor, Proof
from .block import ascend
from .problem import TopKProblem
from .scores import LinearScores

_LEAST_PULL = 1e-9
_SHRINK = 0.25
_INNER = 0.1
# The common part of the rows is this much longer than the rest: it is turned away.
_FAR = 30.0
# Newton steps that may pass without the gap falling by a tenth.
_IDLE_STEPS = 60
_TRIALS = 60
# A step cut to less than this was too long in some directions: the next is damped.
_SHORT, _STIFF_DAMPING = 0.01, 1e-10
# First damping of a Hessian that rounding has made indefinite, and by how much it grows.
_DAMPING, _MORE_DAMPING, _DAMPINGS = 1e-14, 100.0, 6


@dataclass
class _Point:
    """A model with everything that one pass over the rows tells about it."""

    W: np.ndarray
    primal: float
    dual: float
    value: float
    gradient: np.ndarray


@dataclass
class _Rows:
    """The rows that Newton's method sees: as they are, or turned.

    Attributes
    ----------
    X : ndarray
        The rows.
    bias : float
        Value of the constant feature that they still lack.
    mirror : ndarray or None
        Unit vector of the reflection that turned them.
    """

    X: np.ndarray
    bias: float
    mirror: np.ndarray | None = None

    @classmethod
    def of(cls, scores: LinearScores) -> _Rows:
        """Turn the rows where they are far from the origin."""
        X, bias = scores.X, scores.bias
        with np.errstate(over="ignore", invalid="ignore"):
            centre = X.mean(axis=0, dtype=np.float64)
            rest = float(np.mean(scores.squares() - bias**2) - centre @ centre)
            common = np.append(centre, bias) if bias else centre
            length = float(np.linalg.norm(common))
        if not np.isfinite(length) or not length**2 > _FAR**2 * max(rest, 1e-9 * length**2):
            return cls(X, bias)
        # The reflection that takes the common part to the first axis.
        mirror = common.copy()
        mirror[0] += np.copysign(length, common[0])
        mirror /= np.linalg.norm(mirror)
        centred = np.zeros((X.shape[0], len(common)))
        np.subtract(X, centre, out=centred[:, : X.shape[1]])
        turned = _reflect(centred.T, mirror).T
        turned[:, 0] -= np.copysign(length, common[0])
        return cls(np.ascontiguousarray(turned), 0.0, mirror)

    def turn(self, W: np.ndarray) -> np.ndarray:
        """Take a model to these rows, or back."""
        return W if self.mirror is None else np.ascontiguousarray(_reflect(W, self.mirror))


def _reflect(columns: np.ndarray, mirror: np.ndarray) -> np.ndarray:
    return columns - np.outer(2.0 * mirror, mirror @ columns)


def proximal_newton(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : TopKProblem
        Linear scores with few coefficients.
    monitor : Monitor
        Tolerance, limits and the record of the fit; an iteration is a Newton step.
    """
    dual = problem.dual()
    found = ascend(problem, dual, monitor, exact=True, patience=_newton_cost(problem))
    if monitor.status is not None:
        return
    rows, point = _Rows.of(problem.scores), problem.point(dual)
    best, least = found.multiple * found.model, found.primal
    first_pull = _first_pull(problem, point.beta)
    pull, lower = first_pull, monitor.dual

    def evaluate(W: np.ndarray) -> _Point:
        nonlocal best, least, lower, point
        began = monitor.seconds
        at = _evaluate(problem, rows, dual, W, pull)
        monitor.passes += 1
        monitor.reserve = 4.0 * (monitor.seconds - began)
        if at.primal < least:
            best, least = rows.turn(at.W), at.primal
        if at.dual > lower:
            point, lower = problem.proposed(dual), at.dual
        return at

    def prove() -> Proof:
        return problem.prove(point, best)

    at = evaluate(rows.turn(problem.scores.W.copy()))
    idle, mark, steps, damping = 0, np.inf, 0, 0.0
    while not monitor.check(least, lower, prove):
        least, lower = min(least, monitor.primal), monitor.dual
        if 0.5 * np.vdot(at.gradient, at.gradient) <= _INNER * (least - lower):
            dual.accept(1.0)
            pull = max(pull * (_SHRINK if steps > 1 else _SHRINK**2), _LEAST_PULL)
            at, steps = evaluate(at.W), 0
        direction = _newton_direction(rows, dual, at.gradient, damping)
        if direction is None or idle >= _IDLE_STEPS:
            monitor.stall()
            return
        trial, length = _line_search(at, direction, evaluate)
        monitor.iteration += 1
        steps += 1
        if length < _SHORT:
            damping = max(_STIFF_DAMPING, _MORE_DAMPING * damping)
        elif length == 1.0:
            damping = 0.1 * damping if damping > _STIFF_DAMPING else 0.0
        if trial is None:
            # Too stiff: back to a stronger pull, from the dual point that is held.
            if pull >= first_pull:
                monitor.stall()
                return
            pull = min(pull / _SHRINK**2, first_pull)
            trial = evaluate(at.W)
        at = trial
        idle, mark = (idle + 1, mark) if least - lower > 0.9 * mark else (0, least - lower)


def _newton_cost(problem: TopKProblem) -> float:
    """Estimate the work of all Newton steps, in sweeps over the rows."""
    n, (d, m) = problem.scores.n_rows, problem.scores.W.shape
    factorisation, hessian, passes = (d * m) ** 3 / 12.0, 0.75 * n * d * d, 4.0 * n * d * m
    return 30.0 * (factorisation + hessian + passes) / (3.0 * n * d * m)


def _first_pull(problem: TopKProblem, beta: np.ndarray) -> float:
    """One where the dual variables are near their bounds, more where they are far below."""
    # Without limits they would be about as large as one over the squares of the rows.
    most = float(problem.c.max() * problem.scores.squares().max())
    held = max(float(beta.sum()), 1e-300)
    return max(1.0, min(0.01 * float(problem.c.sum()) / held, most))


def _evaluate(
    problem: TopKProblem, rows: _Rows, dual: TopKDual, W: np.ndarray, pull: float
) -> _Point:
    model = np.zeros_like(W)
    loss, value, own, ridge = dual.propose(rows.X, W, rows.bias, pull, model)
    half = 0.5 * float(np.vdot(W, W))
    return _Point(
        W=W,
        primal=half + 0.5 * ridge + loss,
        dual=own - 0.5 * float(np.vdot(model, model)) - 0.5 * ridge,
        value=half + value,
        gradient=W - model,
    )


def _newton_direction(
    rows: _Rows, dual: TopKDual, gradient: np.ndarray, damping: float
) -> np.ndarray | None:
    """Solve with the Hessian, damped more where need be; None where nothing helps."""
    width, n_classes = gradient.shape
    side = gradient.size
    hessian = np.zeros((side, side))
    dual.hessian(rows.X, rows.bias, hessian)
    if not np.isfinite(gradient).all() or not np.isfinite(hessian).all():
        return None
    diagonal = np.diag_indices(side)
    # The same change in every class is a null vector, and no direction has a part in it.
    common = hessian[diagonal].reshape(n_classes, width).mean(axis=0)
    cells = hessian.reshape(n_classes, width, n_classes, width)
    feature = np.arange(width)
    cells[:, feature, :, feature] += common[:, None, None] / n_classes
    curvature = hessian[diagonal].copy()
    hessian[diagonal] += 1.0
    for _ in range(_DAMPINGS):
        damped = hessian + np.diag(damping * curvature) if damping > 0.0 else hessian.copy()
        try:
            factor = cho_factor(damped, lower=False, overwrite_a=True, check_finite=False)
            step = cho_solve(factor, -gradient.T.ravel(), check_finite=False)
        except LinAlgError:
            step = np.full(side, np.nan)
        step = step.reshape(n_classes, width).T
        step = step - step.mean(axis=1, keepdims=True)
        if np.isfinite(step).all() and np.vdot(step, gradient) < 0.0:
            return np.ascontiguousarray(step)
        damping = max(_DAMPING * side, _MORE_DAMPING * damping)
    return None


def _line_search(
    at: _Point, direction: np.ndarray, evaluate: Callable[[np.ndarray], _Point]
) -> tuple[_Point | None, float]:
    """Go along `direction` until the slope of the convex value has fallen; and how far.

    Where the step is too long the slope has changed its sign: secants between the two ends,
    the held end halved each time (the Illinois method), and the middle where they creep.
    """
    first = float(np.vdot(at.gradient, direction))
    low, high = (0.0, first), (np.inf, 0.0)
    length = 1.0
    for trial_number in range(_TRIALS):
        trial = evaluate(at.W + length * direction)
        slope = float(np.vdot(trial.gradient, direction))
        enough = trial.value <= at.value + 1e-4 * length * first + 1e-15 * abs(at.value)
        if (enough and length == 1.0) or (enough and abs(slope) <= -0.9 * first):
            return trial, length
        if not np.isfinite(slope) or slope > 0.0 or not enough:
            high = (length, slope if np.isfinite(slope) and slope > 0.0 else 0.0)
            low = (low[0], 0.5 * low[1])
        else:
            low = (length, slope)
            high = (high[0], 0.5 * high[1])
        if not np.isfinite(high[0]):
            return trial, length
        width = high[0] - low[0]
        share = low[1] / (low[1] - high[1]) if high[1] > 0.0 and trial_number % 3 < 2 else 0.5
        length = low[0] + width * min(max(share, 1e-3), 0.9)
        if width <= 1e-16 * high[0]:
            break
    return None, 0.0
