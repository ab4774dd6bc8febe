r"""Thresholds: how the scores of some rows become the number to beat.

A threshold is a convex function that moves with the scores,
:math:`T(s) = \max_{\sum p = 1, p \ge 0} p \cdot s - \psi(p)`. Its maximiser :math:`p`
tells which rows define the top, and :math:`\psi`, homogeneous in the dual weights
:math:`\beta`, is all that the dual needs to know. ``form`` names its shape for the
pair steps: ``"open"`` (:math:`\psi = 0`), ``"tied"`` (0, with the caps
:math:`\beta_j \le \omega_j m`, :math:`m = \sum\beta / k`), ``"norm"`` and ``"priced"``
(the surrogate quantiles below).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._losses import Loss
from ..rows.rounding import UNIT, gamma

# Scores that differ by this much, relative to the largest, differ by rounding only.
TIE = 1e-9
# Weighted sum of a power of the scores' excess over a level.
Excess = Callable[[float, int], float]


@dataclass(frozen=True)
class TopMean:
    r"""Mean of the `k` highest scores, rows counted by their weight.

    .. math:: T(s) = \max \{ p \cdot s : 0 \le p_j \le \omega_j / k, \; \textstyle\sum p = 1 \}

    Attributes
    ----------
    k : float
        How many negatives, counted by weight.
    """

    k: float
    shift: ClassVar[float] = 0.0
    price: ClassVar[float] = 0.0

    def form(self, weight: np.ndarray) -> str:
        """Shape of the dual penalty over rows of these weights."""
        return "open" if self.caps(weight) is None else "tied"

    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Return psi of feasible dual weights."""
        return 0.0

    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Smallest m with ``beta <= m * weight`` that the sum of `beta` allows."""
        return float(beta.sum()) / self.k

    def restricted(self, share: float) -> TopMean:
        """Return the same threshold for a random share of the rows."""
        return TopMean(self.k * share)

    def caps(self, weight: np.ndarray) -> np.ndarray | None:
        """Largest share of each row, None for the plain maximum.

        Caps that cannot bind because every weight is large are kept: a row of weight 2
        must be treated as the row twice.
        """
        return None if self.k <= min(1.0, float(weight.min())) else weight / self.k

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold of these scores."""
        if self.caps(weight) is None:
            return float(scores.max())
        if np.ptp(weight) == 0.0 and (count := self.k / weight[0]) == int(count):
            count = int(count)
            return float(np.partition(scores, len(scores) - count)[-count:].mean())
        order = np.argsort(-scores, kind="stable")
        share = np.clip(self.k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
        return float(share @ scores[order]) / float(share.sum())

    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        """Bound the rounding error of the threshold `t` of `count` scores in a range.

        Both the sums and the shares at their end are off by the roundings of a sum.
        """
        return 3.0 * gamma(count) * max(abs(lowest), abs(highest))


@dataclass(frozen=True)
class SurrogateQuantile:
    r"""Surrogate of a top quantile: the level that a convex loss may exceed in total.

    The threshold :math:`t` solves

    .. math:: \sum_j \omega_j \, \ell(\theta (s_j - t)) = M,

    with :math:`\ell(z) = [1+z]_+^2` or :math:`[1+z]_+`. Because :math:`\ell(z) \ge 1` for
    :math:`z \ge 0`, at most weight :math:`M` lies above :math:`t`: it is never below the
    true quantile. In the dual, :math:`\psi(\beta) + \sum\beta/\theta` is
    :math:`\frac{\sqrt M}{\theta} (\sum_j \beta_j^2/\omega_j)^{1/2}` for the square and
    :math:`\frac{M}{\theta} \max_j \beta_j / \omega_j` for the hinge.

    Attributes
    ----------
    loss : Loss
        The surrogate.
    slope : float
        :math:`\theta`.
    mass : float
        :math:`M`, the weight that may lie above.
    """

    loss: Loss
    slope: float
    mass: float

    @property
    def shift(self) -> float:
        """Constant by which the dual prefers every unit of alpha: one over the slope."""
        return 1.0 / self.slope

    @property
    def price(self) -> float:
        """Factor of the norm in the dual penalty."""
        return self.mass ** (1.0 / self.loss.power) / self.slope

    def caps(self, weight: np.ndarray) -> None:
        """No row is bounded by a share of the sum."""
        return None

    def form(self, weight: np.ndarray) -> str:
        """Shape of the dual penalty."""
        return "norm" if self.loss.power == 2 else "priced"

    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Return psi of these dual weights."""
        if self.loss.power == 2:
            norm = math.sqrt(float((beta / weight) @ beta))
        else:
            norm = float((beta / weight).max())
        return self.price * norm - self.shift * float(beta.sum())

    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Smallest m with ``beta <= m * weight``."""
        return float((beta / weight).max())

    def restricted(self, share: float) -> SurrogateQuantile:
        """Return the same threshold for a random share of the rows."""
        return SurrogateQuantile(self.loss, self.slope, self.mass * share)

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold of these scores.

        On ``u = t - 1/slope`` the equation is a norm of ``[s - u]_+``, convex and falling:
        Newton's method from below only ever drops rows, and ends where those that are
        left all count. `u` may lie below every score.
        """
        power, target = self.loss.power, self.mass / self.slope**self.loss.power
        # Distances from the top keep their digits where the scores share a large offset.
        highest = int(np.argmax(scores))
        top = float(scores[highest])
        depth, w = top - scores, weight
        d = (target / float(w[highest])) ** (1.0 / power)
        while True:
            counts = depth <= d
            if not counts.all():
                depth, w = depth[counts], w[counts]
            a = float(w.sum())
            mean = float(w @ depth) / a
            if power == 1:
                exact = following = mean + target / a
            else:
                spread = float(w @ (depth - mean) ** 2)
                exact = mean + math.sqrt(max(target - spread, 0.0) / a)
            if exact >= float(depth.max()):
                return top - exact + self.shift
            if power == 2:
                square = a * (d - mean) ** 2 + spread
                following = d - (square - math.sqrt(square * target)) / (a * (d - mean))
            if not following < d:
                return top - d + self.shift
            d = following

    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        r"""Bound the rounding error of the threshold `t` of `count` scores in a range.

        Put into its equation, :math:`u = t - 1/\theta` misses the target by a share r. The
        norm of ``[s - u]_+`` is convex in u and falls at least by its ratio to the largest
        term, so u is off by at most ``r / (1 - r)`` times that term.
        """
        u = t - self.shift
        room = UNIT * 4.0 * (abs(t) + self.shift + abs(highest))
        farthest = max(highest - u, 0.0) + room
        target = self.mass / self.slope**self.loss.power
        missed = abs(excess(u, self.loss.power) - target) / target + gamma(count)
        # A few roundings of the scores' distances from u move it as far as they are.
        return room + (missed / (1.0 - missed) * farthest if missed < 0.5 else math.inf)

    def shares(self, scores: np.ndarray, weight: np.ndarray, t: float) -> np.ndarray:
        """Maximiser p of ``p . s - psi(p)``: a gradient of the threshold."""
        above = scores - t + self.shift
        part = weight * (np.maximum(above, 0.0) if self.loss.power == 2 else above >= 0.0)
        return part / float(part.sum())


Threshold = TopMean | SurrogateQuantile


def empirical_cut(
    scores: np.ndarray, weight: np.ndarray, mass: float, highest: float, tie: float | None = None
) -> float:
    """Return a cut with at most weight `mass` above it, and no more rows could be.

    Tied rows stay together: scores that differ by rounding only, or by `tie`. Returns
    `highest` where not even the top row fits.
    """
    order = np.argsort(-scores, kind="stable")
    s, above = scores[order], np.cumsum(weight[order])
    # The tolerance keeps 0.1 * 30 at 3, not at 2 through rounding.
    fits = int(np.searchsorted(above, mass * (1.0 + 1e-12), side="right"))
    if tie is None:
        tie = TIE * float(np.abs(s).max())
    while 0 < fits < len(s) and s[fits - 1] - s[fits] <= tie:
        fits -= 1
    if fits == 0:
        return max(highest, float(s[0]) + tie)
    return 0.5 * float(s[fits - 1] + s[fits])
