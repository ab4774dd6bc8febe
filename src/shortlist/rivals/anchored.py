r"""SVMs whose hyperplane has a given value at one point, the anchor.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i c_i [1 - y_i (w \cdot x_i + b)]_+
          \quad\text{s.t.}\quad w \cdot a + b = v

.. math:: D(\alpha) = \sum \alpha_i - v \sum \alpha_i y_i
          - \tfrac12 \Bigl\| \sum \alpha_i y_i (x_i - a) \Bigr\|^2, \quad 0 \le \alpha_i \le c_i

The multiplier of the anchor is free, so every such :math:`\alpha` is feasible and bounds the
optimum. AATP anchors the boundary at a row, the transductive SVM the mean score of the
candidates. Programmes with changing rows are those of the library's active-set solver, in which
an infinite bound is a constraint and a zero one no row at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import ActiveSet
from ..rows.operators import Rows
from ..rows.rounding import UNIT, Reach, gamma, half_square_error, sum_error

_PIVOTS = 10_000
OPTIMAL, ABOVE = 0, 1


@dataclass(frozen=True)
class Plane:
    """A linear model with an intercept."""

    w: np.ndarray
    b: float

    def scores(self, rows: Rows) -> np.ndarray:
        """Score the rows of an operator."""
        return rows.scores(self.w) + self.b


class Programme:
    """Logical rows (stored row, sign, target, upper bound) in the active-set solver.

    Parameters
    ----------
    rows : Rows
        Stored rows.
    blocks : list of tuple
        Each has stored rows, signs, targets and bounds, one per row or for all.
    """

    def __init__(self, rows: Rows, blocks: list[tuple[Any, Any, Any, Any]]) -> None:
        columns = [np.broadcast_arrays(*(np.asarray(part) for part in block)) for block in blocks]
        stored, sign, target, upper = (
            np.concatenate([block[i] for block in columns]) for i in range(4)
        )
        self.qp = ActiveSet(
            *rows.arrays(),
            stored.astype(np.int64),
            *(part.astype(np.float64) for part in (sign, target, upper)),
        )
        self._pivots = _PIVOTS + 50 * len(stored)

    def solve(self, ceiling: float = np.inf) -> int:
        """Solve to the optimum, or until a lower bound exceeds `ceiling`; return the status."""
        return int(self.qp.optimise(ceiling, self._pivots))

    def plane(self) -> Plane:
        """Return the model."""
        return Plane(np.asarray(self.qp.weights()), float(self.qp.intercept))


@dataclass(frozen=True)
class LabelledRows:
    """Training rows with signs and weights of the loss.

    Attributes
    ----------
    rows : Rows
        The rows, less a centre where they are far from the origin.
    reach : Reach
        How far these and all other rows of the problem reach.
    sign : ndarray
        +1 or -1.
    c : ndarray
        Weight of the loss of every row.
    """

    rows: Rows
    reach: Reach
    sign: np.ndarray
    c: np.ndarray

    def objective(self, plane: Plane) -> float:
        """Value of a model."""
        loss = np.maximum(1.0 - self.sign * plane.scores(self.rows), 0.0)
        return 0.5 * float(plane.w @ plane.w) + float(self.c @ loss)

    def score_error(self, plane: Plane) -> float:
        """Bound the rounding error of every score."""
        size = self.reach.length * float(np.linalg.norm(plane.w)) + abs(plane.b)
        return self.reach.score_error(plane.w) + 4.0 * UNIT * size

    def objective_error(self, plane: Plane) -> float:
        """Bound the rounding error of :meth:`objective`."""
        loss = np.maximum(1.0 - self.sign * plane.scores(self.rows), 0.0)
        squared = gamma(len(plane.w)) * float(plane.w @ plane.w)
        several = sum_error(self.c * (1.0 + loss))
        return squared + several + float(self.c.sum()) * self.score_error(plane)

    def lower_bound(self, multipliers: np.ndarray, anchor: np.ndarray, value: float) -> float:
        """Bound the optimum with an anchor from below; rounding is subtracted already."""
        alpha = np.clip(multipliers, 0.0, self.c)
        if not np.isfinite(alpha).all():
            return 0.0
        signed = self.sign * alpha
        total, balance = float(alpha.sum()), float(signed.sum())
        model = self.rows.combine(signed) - balance * anchor
        error = self.reach.model_error(2.0 * total, len(alpha) + 2)
        error += gamma(len(alpha)) * total * float(np.linalg.norm(anchor))
        length = float(np.linalg.norm(model))
        off = half_square_error(length, error + gamma(len(model)) * length)
        off += (1.0 + 2.0 * abs(value)) * sum_error(alpha)
        # Zero is the value of multipliers zero.
        return max(total - value * balance - 0.5 * length * length - off, 0.0)
