r"""What pairs prove: bounds of the objective, with a bound of every rounding error.

A proof looks at a model anew: its scores, the sums over pairs at them, and the model of the
dual point that they propose. Sums over pairs are differences of running sums, and the slope
of a narrow rounded hinge would magnify their errors. So the scores are first put on a grid
of a power of two, coarse enough that no running sum needs more than 53 bits: all sums over
pairs are then exact. The dual point belongs to the scores on the grid, and is feasible as
it is; the loss of the model itself differs by at most twice the largest move of a score,
per pair. With weights that need too many bits for a useful grid, the scores stay as they are
and the error of the running sums is bounded instead.

That bound serves most fits as they are: the sums that a solver computed on its way are proved
by it, once the scores they were made of are compared with those of the model. Only where it
leaves too large a gap are the sums computed anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..certificate import CertificateError, Proof
from ..rows.rounding import UNIT
from .spaces import Point


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


@dataclass(frozen=True)
class Reckoned(Evidence):
    """Evidence of sums that are at hand; the loss is that of the scores they were made of.

    Attributes
    ----------
    total : float
        Sum of the proposed dual point.
    """

    total: float


@dataclass(frozen=True)
class Claim:
    """What a solver wants proved.

    Attributes
    ----------
    point : Point
        The model to return.
    proposer : ndarray
        The model that proposes the dual point.
    width : float
        Width of the rounded hinge at which it does.
    own, proposed : Reckoned or None
        What was computed at either on the way.
    """

    point: Point
    proposer: np.ndarray
    width: float
    own: Reckoned | None = None
    proposed: Reckoned | None = None


class Provable(Protocol):
    """What a proof needs of a pair problem."""

    space: Any

    def moved_loss(self, point: Point, total: float) -> float:
        """Bound what lies between the loss of the scores at hand and that of the model."""

    def evidence(self, u: np.ndarray, width: float) -> Evidence:
        """Return the evidence at a model, its scores computed anew."""

    @property
    def vertex_error(self) -> float:
        """Bound of the error of the sums of any vertex, relative to the weight of all pairs."""

    @property
    def value_at_zero(self) -> float:
        """Sum of the weights of all pairs."""


def prove(problem: Provable, claim: Claim, tol: float = 0.0) -> Proof:
    """Prove a claim, from what is at hand where that leaves a relative gap of at most `tol`."""
    point, width = claim.point, claim.width
    if claim.own is not None and claim.proposed is not None:
        proof = _reckoned(problem, point, claim.own, claim.proposed)
        if proof.primal - (proof.dual - proof.rounding) <= tol * proof.primal:
            return proof
    found = problem.evidence(point.u, width)
    primal, primal_error = _primal(problem, point, found)
    if claim.proposer is not point.u:
        found = problem.evidence(claim.proposer, width)
    return _against(problem, point, primal, primal_error, found)


def _reckoned(problem: Provable, point: Point, own: Reckoned, proposed: Reckoned) -> Proof:
    primal, error = _primal(problem, point, own)
    error += problem.moved_loss(point, own.total)
    return _against(problem, point, primal, error, proposed)


def _against(
    problem: Provable, point: Point, primal: float, primal_error: float, found: Evidence
) -> Proof:
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
