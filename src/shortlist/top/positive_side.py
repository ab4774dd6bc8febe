r"""The rows with a loss in the interior point: :math:`\alpha_i y_i = 0`.

With :math:`y_i = w \cdot x_i - t - 1 + \xi_i`. The slack of the squared hinge is a function
of its multiplier, :math:`\xi_i = r\alpha_i / c_i`; that of the hinge has one of its own,
:math:`\gamma_i \xi_i = 0` with :math:`\gamma_i = c_i - \alpha_i`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._losses import Loss
from ..rows.operators import Rows
from .central_path import bent, boxed, recalled
from .slacks import Goals, Pair, Pairs, PairStep, Steps


@dataclass(frozen=True)
class PositiveEquations:
    """Weights of the rows in the Newton system, and residuals of their equations."""

    E: np.ndarray
    residual: np.ndarray


class PositiveSide:
    """Multipliers and slacks of the rows with a loss.

    Parameters
    ----------
    rows : Rows
        The rows.
    scores, c, weight : ndarray
        Their scores, the weights of their losses, and their multiplicities.
    loss : Loss
        The loss.
    """

    def __init__(
        self, rows: Rows, scores: np.ndarray, c: np.ndarray, weight: np.ndarray, loss: Loss
    ) -> None:
        self.rows = rows
        self.scores = scores
        self.c = c
        self.ridge = loss.ridge / c
        self.bounded = loss.bounded
        self.even = weight / float(weight.sum())
        self.known: np.ndarray | None = None  # multipliers of an earlier fit, in units of c
        self.pairs: Pairs = {}

    @property
    def alpha(self) -> np.ndarray:
        """The multipliers."""
        return self.pairs["alpha_y"].a

    @property
    def _xi(self) -> np.ndarray:
        return self.pairs["gamma_xi"].b if self.bounded else self.ridge * self.alpha

    def start(self, t: float) -> None:
        """Choose multipliers for a model of which nothing is known."""
        violation = 1.0 + t - self.scores
        xi = np.maximum(violation, 0.3)
        alpha = 0.5 * self.c if self.bounded else 2.0 * self.c * xi
        self.pairs = {"alpha_y": Pair(alpha, np.maximum(xi - violation, 0.3), self.even)}
        if self.bounded:
            self.pairs["gamma_xi"] = Pair(self.c - alpha, xi, self.even)

    def centre(self, t: float, mu: float) -> None:
        """Set multipliers and slacks so that every product is mu times its weight."""
        c, target = self.c, mu * self.even
        margin = self.scores - t - 1.0
        if self.bounded:
            alpha, gamma = boxed(margin, c, target)
            if self.known is not None:
                typical = mu / float(c.sum())
                alpha, gamma = recalled(self.known * c, margin, c, target, typical)
            self.pairs["gamma_xi"] = self.pairs["gamma_xi"].centred(gamma, mu)
        else:
            alpha = bent(margin, self.ridge, target)
        self.pairs["alpha_y"] = self.pairs["alpha_y"].centred(alpha, mu)

    def linearise(self, t: float) -> PositiveEquations:
        """Return what the Newton system needs."""
        ay = self.pairs["alpha_y"]
        per_alpha = ay.b / ay.a + self.ridge
        if self.bounded:
            gx = self.pairs["gamma_xi"]
            per_alpha += gx.b / gx.a
        return PositiveEquations(1.0 / per_alpha, self.scores - t - 1.0 + self._xi - ay.b)

    def rest(self, part: PositiveEquations, goal: Goals) -> np.ndarray:
        """Return what moves alpha apart from the scores and the threshold."""
        e = goal["alpha_y"] / self.alpha - part.residual
        if self.bounded:
            e -= goal["gamma_xi"] / self.pairs["gamma_xi"].a
        return e

    def step(
        self, part: PositiveEquations, goal: Goals, e: np.ndarray, dt: float, ds: np.ndarray
    ) -> Steps:
        """Return the changes, given those of the threshold and of the scores."""
        da = part.E * (dt - ds + e)
        steps, dxi = {}, self.ridge * da
        if self.bounded:
            gx = self.pairs["gamma_xi"]
            dxi = (goal["gamma_xi"] + gx.b * da) / gx.a
            steps["gamma_xi"] = PairStep(-da, dxi)
        return {"alpha_y": PairStep(da, ds - dt + dxi + part.residual), **steps}
