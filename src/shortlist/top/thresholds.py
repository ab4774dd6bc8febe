r"""Thresholds: how the scores of some rows become the number to beat.

A threshold is a convex function that moves with the scores,
:math:`T(s) = \max_{\sum p = 1, p \ge 0} p \cdot s - \psi(p)`. Its maximiser :math:`p`
tells which rows define the top, and :math:`\psi`, homogeneous in the dual weights
:math:`\beta`, is all that the dual needs to know.

A new threshold is one class: :class:`Threshold` lists every question that problems and
solvers ask, and what its rows look like in the interior point is a
:class:`~shortlist.top.ranked_side.RankedSide`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .._losses import Loss
from ..rows.rounding import UNIT, gamma
from .quantile_side import HingeQuantileSide, SquareQuantileSide
from .ranked_side import RankedSide
from .top_mean_side import top_mean_side

if TYPE_CHECKING:
    from .sweeps import Candidates

# Scores that differ by this much, relative to the largest, differ by rounding only.
TIE = 1e-9
# Weighted sum of a power of the scores' excess over a level.
Excess = Callable[[float, int], float]


class Threshold(ABC):
    r"""What problems and solvers ask of a threshold.

    Attributes
    ----------
    shift : float
        Constant by which the dual prefers every unit of :math:`\alpha`: a constant of
        :math:`\psi`.
    price : float
        Factor of the norm in :math:`\psi`, 0 where there is none.
    near_weight : float
        Weight of the rows that usually define it: a start for solvers.
    moment : {"weight", "first", "second"}
        Which moment of the scores above a level tells that the threshold lies above it.
    target : float
        As soon as that moment reaches this.
    """

    @property
    @abstractmethod
    def moment(self) -> str: ...

    @property
    @abstractmethod
    def shift(self) -> float: ...

    @property
    @abstractmethod
    def price(self) -> float: ...

    @property
    @abstractmethod
    def near_weight(self) -> float: ...

    @property
    @abstractmethod
    def target(self) -> float: ...

    @abstractmethod
    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold of these scores."""

    @abstractmethod
    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        """Bound the rounding error of the threshold `t` of `count` scores in a range."""

    @abstractmethod
    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Return psi of feasible dual weights."""

    @abstractmethod
    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Smallest m with ``beta <= m * weight`` that the sum of `beta` allows."""

    @abstractmethod
    def form(self, weight: np.ndarray) -> str:
        r"""Name the shape of the dual over rows of these weights, for compiled pair steps.

        ``"open"`` (:math:`\psi = 0`), ``"tied"`` (0, with the caps
        :math:`\beta_j \le \omega_j m`, :math:`m = \sum\beta / k`), ``"norm"`` or
        ``"priced"`` (the surrogate quantiles).
        """

    @abstractmethod
    def restricted(self, share: float) -> Self:
        """Return the same threshold for a random share of the rows."""

    @abstractmethod
    def scaled(self, length: float) -> Self:
        """Return T' with ``T(length * s) = length * T'(s)``."""

    @abstractmethod
    def interior(self, working: Candidates, capped: bool) -> RankedSide:
        """Return its rows as the interior point sees them."""

    @abstractmethod
    def first_rows(self, few: int, many: int, capped: bool) -> tuple[int, float]:
        """Return how many of the highest rows a solver starts with, and their least weight."""

    def caps(self, weight: np.ndarray) -> np.ndarray | None:
        """Largest share of each row, None where there is none."""
        return None

    def projectable(self) -> bool:
        """Whether caps are all there is, so that dual points can be projected."""
        return False

    def kept(self, capped: bool) -> float | None:
        """Weight of the highest scores that determine it, None if all may."""
        return None

    def counting(self, scores: np.ndarray, t: float) -> np.ndarray:
        """Tell which scores may have a part in the threshold `t`."""
        return np.ones(len(scores), dtype=bool)

    @abstractmethod
    def lowest_counted(self, scores: np.ndarray, weight: np.ndarray, t: float) -> float:
        """Return a level below which no score has a part in the threshold `t`."""

    def shares(self, scores: np.ndarray, weight: np.ndarray, t: float) -> np.ndarray | None:
        """Maximiser p of ``p . s - psi(p)``, None where the scores leave it open."""
        return None


@dataclass(frozen=True)
class TopMean(Threshold):
    r"""Mean of the `k` highest scores, rows counted by their weight.

    .. math:: T(s) = \max \{ p \cdot s : 0 \le p_j \le \omega_j / k, \; \textstyle\sum p = 1 \}

    Attributes
    ----------
    k : float
        How many rows, counted by weight.
    """

    k: float
    shift: ClassVar[float] = 0.0
    price: ClassVar[float] = 0.0
    moment: ClassVar[str] = "weight"

    @property
    def near_weight(self) -> float:
        return 2.0 * self.k

    @property
    def target(self) -> float:
        return self.k

    def form(self, weight: np.ndarray) -> str:
        return "open" if self.caps(weight) is None else "tied"

    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        return 0.0

    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        return float(beta.sum()) / self.k

    def restricted(self, share: float) -> TopMean:
        return TopMean(self.k * share)

    def scaled(self, length: float) -> TopMean:
        return self

    def interior(self, working: Candidates, capped: bool) -> RankedSide:
        return top_mean_side(working, self.k, capped)

    def first_rows(self, few: int, many: int, capped: bool) -> tuple[int, float]:
        return few, 2.0 * self.k if capped else 0.0

    def projectable(self) -> bool:
        return True

    def lowest_counted(self, scores: np.ndarray, weight: np.ndarray, t: float) -> float:
        order = np.argsort(-scores, kind="stable")
        # Rounding of the sum of weights must not leave out the last row.
        last = int(np.searchsorted(np.cumsum(weight[order]), self.k * (1.0 + 1e-9)))
        return float(scores[order[min(last, len(order) - 1)]])

    def kept(self, capped: bool) -> float:
        return self.k if capped else 0.0

    def caps(self, weight: np.ndarray) -> np.ndarray | None:
        """Largest share of each row, None for the plain maximum.

        Caps that cannot bind because every weight is large are kept: a row of weight 2
        must be treated as the row twice.
        """
        return None if self.k <= min(1.0, float(weight.min())) else weight / self.k

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        if self.caps(weight) is None:
            return float(scores.max())
        if np.ptp(weight) == 0.0 and (count := self.k / weight[0]) == int(count):
            count = int(count)
            return float(np.partition(scores, len(scores) - count)[-count:].mean())
        order = np.argsort(-scores, kind="stable")
        share = np.clip(self.k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
        return float(share @ scores[order]) / float(share.sum())

    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        # Both the sums and the shares at their end are off by the roundings of a sum.
        return 3.0 * gamma(count) * max(abs(lowest), abs(highest))


@dataclass(frozen=True)
class SurrogateQuantile(Threshold):
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
        return 1.0 / self.slope

    @property
    def price(self) -> float:
        return self.mass ** (1.0 / self.loss.power) / self.slope

    @property
    def near_weight(self) -> float:
        return self.mass

    @property
    def moment(self) -> str:
        return "first" if self.loss.power == 1 else "second"

    @property
    def target(self) -> float:
        return self.mass / self.slope**self.loss.power

    def form(self, weight: np.ndarray) -> str:
        return "norm" if self.loss.power == 2 else "priced"

    def scaled(self, length: float) -> SurrogateQuantile:
        return SurrogateQuantile(self.loss, self.slope * length, self.mass)

    def interior(self, working: Candidates, capped: bool) -> RankedSide:
        side = SquareQuantileSide if self.loss.power == 2 else HingeQuantileSide
        return side(working, self.target, self.shift)

    def first_rows(self, few: int, many: int, capped: bool) -> tuple[int, float]:
        return max(few, many), 0.0  # a quantile counts many rows

    def counting(self, scores: np.ndarray, t: float) -> np.ndarray:
        return scores > t - self.shift

    def lowest_counted(self, scores: np.ndarray, weight: np.ndarray, t: float) -> float:
        return t - self.shift

    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        if self.loss.power == 2:
            norm = math.sqrt(float((beta / weight) @ beta))
        else:
            norm = float((beta / weight).max())
        return self.price * norm - self.shift * float(beta.sum())

    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        return float((beta / weight).max())

    def restricted(self, share: float) -> SurrogateQuantile:
        return SurrogateQuantile(self.loss, self.slope, self.mass * share)

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold by Newton's method.

        On ``u = t - 1/slope`` the equation is a norm of ``[s - u]_+``, convex and falling:
        Newton's method from below only ever drops rows, and ends where those that are
        left all count. `u` may lie below every score.
        """
        power, target = self.loss.power, self.target
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
        missed = abs(excess(u, self.loss.power) - self.target) / self.target + gamma(count)
        # A few roundings of the scores' distances from u move it as far as they are.
        return room + (missed / (1.0 - missed) * farthest if missed < 0.5 else math.inf)

    def shares(self, scores: np.ndarray, weight: np.ndarray, t: float) -> np.ndarray:
        above = scores - t + self.shift
        part = weight * (np.maximum(above, 0.0) if self.loss.power == 2 else above >= 0.0)
        return part / float(part.sum())


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
