r"""What pairs prove: bounds of the objective, with a bound of every rounding error.

A proof looks at a model anew: its scores, the sums over pairs at them, and the model of the
dual point that they propose. Sums over pairs are differences of running sums, and the slope
of a narrow rounded hinge would magnify their errors. So the scores are first put on a grid
of a power of two, coarse enough that no running sum needs more than 53 bits: all sums over
pairs are then exact. The dual point belongs to the scores on the grid, and is feasible as
it is; the loss of the model itself differs by at most twice the largest move of a score,
per pair. With weights that need too many bits for a useful grid, the scores stay as they are
and the error of the running sums is bounded instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..certificate import CertificateError, Proof
from ..rows.rounding import UNIT, gamma
from .spaces import Point

# Running sums stay below 2 ** _BITS units of the grid.
_BITS = 51
# Weights of more bits than this, added up, leave too few to the scores.
_MOST_WEIGHT_BITS = 28


@dataclass(frozen=True)
class Evidence:
    """Loss of a model and the dual point it proposes, with bounds of their errors.

    All are sums over pairs, so those of parts add up.

    Attributes
    ----------
    loss, loss_error : float
        Loss of the model.
    gain, gain_error : float
        Dual value of the proposed point without the square of its model.
    model : ndarray
        Model of the proposed point.
    model_error : float
        Bound of its error, in length.
    """

    loss: float
    loss_error: float
    gain: float
    gain_error: float
    model: np.ndarray
    model_error: float

    def packed(self) -> np.ndarray:
        """Return all in one array."""
        numbers = [self.loss, self.loss_error, self.gain, self.gain_error, self.model_error]
        return np.concatenate([numbers, self.model])

    @classmethod
    def unpacked(cls, packed: np.ndarray) -> Evidence:
        """Return the evidence of an array."""
        loss, loss_error, gain, gain_error, model_error = packed[:5].tolist()
        return cls(loss, loss_error, gain, gain_error, packed[5:], model_error)


class Provable(Protocol):
    """What a proof needs of a pair problem."""

    space: Any

    def evidence(self, u: np.ndarray, width: float) -> Evidence:
        """Return the evidence at a model, its scores computed anew."""

    @property
    def vertex_error(self) -> float:
        """Bound of the error of the sums of any vertex, relative to the weight of all pairs."""

    @property
    def value_at_zero(self) -> float:
        """Sum of the weights of all pairs."""


def collect(problem: Any, u: np.ndarray, width: float, count: float) -> Evidence:
    """Return the evidence of the rows of a ``PairProblem``.

    Parameters
    ----------
    problem : PairProblem
        The pairs.
    u : ndarray
        Model.
    width : float
        Width of the rounded hinge, infinite for the squared one.
    count : float
        Rows and parts that are added up in all.
    """
    space, c, grid = problem.space, problem.c, problem.grid
    f = space.scores(u)
    moved = space.score_error(u)
    if not np.isfinite(f).all() or not np.isfinite(moved):
        nothing = np.zeros(len(space.lift(np.zeros(space.n_rows))))
        return Evidence(np.inf, 0.0, -np.inf, 0.0, nothing, 0.0)
    f = f - (0.5 * float(f.max()) + 0.5 * float(f.min()))
    largest = float(np.abs(f).max()) + 1.0
    moved += 4.0 * UNIT * largest
    if grid.exact:
        step = grid.step(2.0 * largest)
        f = np.rint(f / step) * step
        moved += step
        if math.isfinite(width):
            width = max(1.0, float(np.rint(width / step))) * step
    sums = problem.sums(Point(space, u, f), width)
    hinge = problem.loss.bounded
    slope = c * problem.curvature(width)
    spread = np.abs(f)
    # What running sums that are not exact may lose, over all rows.
    lost = 0.0 if grid.exact else grid.lost * grid.weight * float(problem.weight.sum())
    few = 3.0 * gamma(count)
    net_error = lost * slope * 2.0 * largest + 16.0 * UNIT * abs(sums.total)
    slack_error = few * (sums.total + float(np.abs(sums.net) @ spread)) + largest * net_error
    if hinge:
        loss = sums.hinge
        loss_error = few * (sums.violated + float(np.abs(sums.vertex) @ spread))
        loss_error += lost * c * 2.0 * largest + 2.0 * moved * problem.value_at_zero
        gain, gain_error = sums.total, few * sums.total + net_error
    else:
        loss = 0.5 * sums.slack
        loss_error = 0.5 * slack_error + 2.0 * moved * sums.total
        loss_error += 4.0 * moved * moved * problem.value_at_zero
        gain, gain_error = sums.total - loss, few * sums.total + net_error + 0.5 * slack_error
    model_error = space.length * (
        net_error + gamma(count) * (float(np.abs(sums.net).sum()) + net_error)
    )
    return Evidence(loss, loss_error, gain, gain_error, space.lift(sums.net), model_error)


def prove(problem: Provable, point: Point, proposer: np.ndarray, width: float) -> Proof:
    """Prove the model `point` against the dual point that another model proposes."""
    found = problem.evidence(point.u, width)
    primal, primal_error = _primal(problem, point, found)
    if proposer is not point.u:
        found = problem.evidence(proposer, width)
    # Zero is the value of the dual point zero.
    dual = max(found.gain - _half_square(problem, found.model, found.model_error), 0.0)
    rounding = primal_error + found.gain_error + _defect(problem, point.u, found.model)
    return Proof(point, primal, dual, rounding)


def prove_average(problem: Provable, point: Point, model: Point, total: float, steps: int) -> Proof:
    """Prove the model `point` against an average of vertices.

    Averages of exact numbers are as exact as the worst of them, and every step adds a few
    roundings.

    Parameters
    ----------
    problem : Provable
        The problem.
    point : Point
        The model to return.
    model : Point
        Average of the vertices' models.
    total : float
        Average of their sums.
    steps : int
        How often the average was changed.
    """
    found = problem.evidence(point.u, 1.0)
    primal, primal_error = _primal(problem, point, found)
    error = (4.0 * (steps + 1) * UNIT + problem.vertex_error) * problem.value_at_zero
    # A pair is part of two rows.
    dual = total - _half_square(problem, model.u, 2.0 * error * problem.space.length)
    rounding = primal_error + error + _defect(problem, point.u, model.u)
    return Proof(point, primal, dual, rounding)


def check_positive(problem: Provable, point: Point) -> None:
    """Raise an error if a model has a negative square by more than rounding."""
    square, error = problem.space.square(point.u)
    if square + error + problem.space.defect * float(point.u @ point.u) < 0.0:
        raise CertificateError(f"A model has the square {square!r}: the kernel is not positive.")


def _primal(problem: Provable, point: Point, found: Evidence) -> tuple[float, float]:
    square, square_error = problem.space.square(point.u)
    return 0.5 * square + found.loss, 0.5 * square_error + found.loss_error


def _defect(problem: Provable, u: np.ndarray, v: np.ndarray) -> float:
    """Bound what a kernel that is not quite positive may take from the gap of two models."""
    lengths = math.sqrt(float(u @ u)) + math.sqrt(float(v @ v))
    return 0.5 * problem.space.defect * lengths * lengths


def _half_square(problem: Provable, model: np.ndarray, error: float) -> float:
    """Upper bound of half the square of a model that is off by `error`."""
    square, square_error = problem.space.square(model)
    length = math.sqrt(max(square, 0.0) + square_error) + error
    return 0.5 * length * length * (1.0 + 4.0 * UNIT)
