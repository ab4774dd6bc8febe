r"""Losses of one positive row, as functions of its margin violation.

With :math:`z = t - s` (threshold minus score) and a weight :math:`c > 0` both
losses have the dual form

.. math:: \max_{\alpha \ge 0} \; \alpha (1 + z) - \frac{r}{2c} \alpha^2
          \quad (\alpha \le c \text{ if bounded}),

so two numbers describe a loss to every solver: ``ridge`` (:math:`r`) and
``bounded``.

There are two, by design. With this conjugate, which is quadratic or none, every restricted
problem is a quadratic programme: the interior point and the pair steps solve for a row's
dual variable in closed form, and values on a ray have an exact maximum. The surrogate
quantiles are made of the same losses, and are a norm of what exceeds the threshold only for
a power. A third loss would need, beside its value, slope and error bound here: a slack of
its own in :mod:`shortlist.top.sides`, a step in the compiled pair loops, and its
conjugate in the dual objective. A Huberised squared hinge is the case ``ridge > 0`` and
``bounded`` at once, and the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows.rounding import UNIT, sum_error


@dataclass(frozen=True)
class Loss:
    """A hinge-type loss.

    Attributes
    ----------
    name : str
        Public name.
    power : int
        The loss is ``max(0, 1 + z) ** power``.
    ridge : float
        Curvature of the conjugate, per unit of weight.
    bounded : bool
        Whether the dual variable of a row is bounded by its weight.
    """

    name: str
    power: int
    ridge: float
    bounded: bool

    def total(self, z: np.ndarray, weight: np.ndarray) -> float:
        """Weighted sum of the loss over the violations `z`."""
        violation = np.maximum(z + 1.0, 0.0)
        return float(weight @ violation**self.power)

    def total_error(self, z: np.ndarray, weight: np.ndarray, error: float) -> float:
        """Bound the error of :meth:`total` where every violation is off by `error`."""
        violation = np.maximum(z + 1.0, 0.0)
        error = error + 2.0 * UNIT * (1.0 + float(np.abs(z).max(initial=0.0)))
        # The loss grows by at most its slope at the far end of the error.
        steepest = self.power * (violation + error) ** (self.power - 1)
        return error * float(weight @ steepest) + sum_error(weight * violation**self.power)

    def slopes(self, z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weighted derivative at the violations `z`: the dual variables of a model."""
        violation = np.maximum(z + 1.0, 0.0)
        return weight * (2.0 * violation if self.power == 2 else violation > 0.0)

    def dual_bound(self, weight: np.ndarray) -> np.ndarray | None:
        """Upper bound of the dual variables, None where there is none."""
        return weight if self.bounded else None


HINGE = Loss("hinge", power=1, ridge=0.0, bounded=True)
SQUARED_HINGE = Loss("squared_hinge", power=2, ridge=0.5, bounded=False)

LOSSES = {loss.name: loss for loss in (SQUARED_HINGE, HINGE)}
