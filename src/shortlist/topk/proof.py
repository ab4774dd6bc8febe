r"""The proof of a top-k model: its objective, a feasible dual point, and what rounding may hide.

All is computed in float64 from the model and the dual point themselves.

- *Primal.* A score of row i is off by at most :math:`e_i`. The loss grows with the scores of
  the other classes, so the losses with all of these raised by :math:`2 e_i` bound the true
  ones from above; a row safely beyond its margins costs nothing either way. Where this
  matters (all rows just fulfilled, an objective far below one), a model longer by 1e-12 or so
  has margins to spare and a better bound.
- *Dual.* Every row's variables are moved into their domain (``_core/topk_proof.hpp``); what
  the move itself leaves by rounding, :math:`\delta_i` in sum, changes the dual by at most
  :math:`\delta_i` times the largest slope of the row.

The zero model and the zero dual point stand in where overflow or rounding leave less. A kernel
that is not positive semi-definite shows by a model of negative squared norm, or by a dual value
above the primal one of the zero model: then a negative square counts as zero, and no bound but
zero is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..certificate import Proof
from ..rows.rounding import gamma, half_square_error
from .scores import Measured

if TYPE_CHECKING:
    from .problem import DualPoint, TopKProblem

_LONGER = (1e-12, 1e-10, 1e-8, 1e-6)
# Where rounding is a smaller share of the objective a longer model is not tried.
_HARMLESS = 1e-8


def prove(
    problem: TopKProblem, point: DualPoint, model: Any = None, multiple: float = 1.0
) -> Proof:
    """Prove a model and a dual point.

    Parameters
    ----------
    problem : TopKProblem
        What they are to solve.
    point : DualPoint
        Dual variables, feasible but for rounding.
    model : ndarray, csr array or None
        The model; None is `multiple` times that of the dual point.
    multiple : float
        Factor of the model.

    Returns
    -------
    Proof
        With the model as its solution.
    """
    scores = problem.scores
    with np.errstate(over="ignore", invalid="ignore"):
        A, missing = problem.feasible(point)
        own_model = scores.model(A)
        measured = scores.measure(own_model)
        dual, dual_error = _dual(problem, A, missing, measured)
        negative = measured.half < -measured.error
        solution = scores.tidy(own_model if model is None else model)
        if model is not None or solution is not own_model:
            measured = scores.measure(solution)
        primal, primal_error, factor = _primal(problem, measured, multiple)
        solution = solution if factor == 1.0 else factor * solution
    at_zero = problem.zero_proof()
    if not primal + primal_error < at_zero.primal + at_zero.rounding:
        solution, primal, primal_error = at_zero.solution, at_zero.primal, at_zero.rounding
    rounding = primal_error + dual_error
    problem.indefinite |= negative or dual - rounding > at_zero.primal + at_zero.rounding
    if problem.indefinite:
        dual = -np.inf
    if not dual - rounding > 0.0:
        # Zero is a bound, and exact: the monitor will take the rounding off again.
        dual = rounding = primal_error
    return Proof(solution, float(primal), float(dual), float(rounding))


def _dual(problem: TopKProblem, A: Any, missing: np.ndarray, at: Measured) -> tuple[float, float]:
    """Value of the dual, and the bound of its error."""
    own = problem.own(A)
    half = max(at.half, 0.0)
    squares = A.multiply(A).sum(axis=1)
    ridge = 0.5 * float(problem.ridge @ squares)
    length = np.sqrt(2.0 * half)
    reach = np.sqrt(np.maximum(problem.scores.squares(), 0.0))
    slope = 1.0 + 2.0 * (reach * length + problem.ridge * np.sqrt(squares))
    moved = 2.0 * float(missing @ reach) + 2.0 * float(missing @ np.sqrt(problem.ridge))
    error = (
        gamma(A.shape[0]) * (own + ridge)
        + at.error
        + problem.scores.model_error(A, half)
        + float(missing @ slope)
        + half_square_error(0.0, moved)
    )
    return own - at.half - ridge, error


def _primal(problem: TopKProblem, at: Measured, multiple: float) -> tuple[float, float, float]:
    """Objective at the best multiple near `multiple`, the bound of its error, the multiple."""
    parts = list(at.parts) if len(problem.y) * problem.n_classes <= 1 << 22 else at.parts
    found = _objective(problem, Measured(at.half, at.error, parts), multiple)
    best = (*found, multiple)
    if found[1] > _HARMLESS * found[0] and isinstance(parts, list):
        for longer in _LONGER:
            factor = multiple * (1.0 + longer)
            found = _objective(problem, Measured(at.half, at.error, parts), factor)
            if sum(found) < best[0] + best[1]:
                best = (*found, factor)
    return best


def _objective(problem: TopKProblem, at: Measured, multiple: float) -> tuple[float, float]:
    loss, raised = 0.0, 0.0
    # The margins, their sorting weights and the factor round a few times more.
    spare = gamma(len(problem.rho) + 4)
    for rows, scores, error in at.parts:
        values = multiple * scores
        largest = np.abs(values).max(axis=1, initial=0.0)
        slack = 2.0 * multiple * error + spare * (1.0 + 2.0 * largest)
        loss += float(problem.losses(rows, values.copy(), np.zeros_like(slack)).sum())
        raised += float(problem.losses(rows, values, slack).sum())
    half = multiple**2 * max(at.half, 0.0)
    rounding = max(raised - loss, 0.0) + multiple**2 * at.error
    return half + loss, rounding + gamma(len(problem.y)) * (half + raised)


def zero_value(problem: TopKProblem) -> float:
    """Objective of the zero model: every other margin is 1."""
    scores = np.zeros((1, problem.n_classes))
    out, total = np.zeros(1), float(problem.c.sum())
    one = np.zeros(1)
    _core.topk_losses(
        problem.rho,
        problem.pseudo,
        scores,
        problem.y[:1],
        one + 1.0,
        one + problem.smoothing,
        one,
        out,
    )
    return total * float(out[0])
