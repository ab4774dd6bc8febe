r"""A softened maximum of the scores: recipe, threshold, and its rows in the interior point.

.. math:: z_j = q + u_j - w \cdot x_j \ge 0, \qquad
          t = q + \frac{1}{2\sigma} \sum_j \omega_j u_j^2 + \frac{\sigma}{2 \Omega}

Stationarity ties the slacks to the multipliers: with :math:`S = \sum\beta`,
:math:`u_j = \sigma \beta_j / (S \omega_j)`. The border is the threshold, q and S.

References: P. Maccheroni, M. Marinacci, A. Rustichini and M. Taboga, "Portfolio selection with
monotone mean-variance preferences", Mathematical Finance 19 (2009); A. Martins and R. Astudillo,
"From softmax to sparsemax", ICML 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from .._checks import check_choice
from ..rows.rounding import gamma
from .sides import (
    Goals,
    Product,
    RankedEquations,
    RankedSide,
    Rest,
    SideStep,
    Sums,
    bent,
    crossing,
    rest_of,
    row_step,
    weights_of,
)
from .thresholds import Cutoffs, Excess, RankedScores, Recipe, Threshold

if TYPE_CHECKING:
    from .kernel_problem import KernelSolution
    from .problem import Solution
    from .sweeps import RankedRows


@dataclass(frozen=True)
class SoftHighest(Recipe):
    """The softened maximum of the highest rows."""

    smoothing: float

    @classmethod
    def of(cls, estimator: Any) -> SoftHighest:
        """Return what `smoothing` and `rows` stand for."""
        check_choice("rows", estimator.rows, ("negatives", "all"))
        if estimator.k != 1:
            raise ValueError(
                f"smoothing={estimator.smoothing!r} softens the maximum, k=1, got "
                f"k={estimator.k!r}: choose one of them."
            )
        return cls(estimator.rows == "all", float(estimator.smoothing))

    def threshold(self, weight: float) -> SoftMaximum:
        """Return the softened maximum."""
        return SoftMaximum(self.smoothing, weight)

    def cutoffs(
        self, solution: Solution | KernelSolution, scores: RankedScores | None, threshold: Any
    ) -> Cutoffs:
        """Cut at the threshold."""
        return Cutoffs(solution.threshold, {"threshold_": solution.threshold})

    def advice(self, row: int) -> str:
        """Name the row that is too high."""
        return (
            f"With smoothing={self.smoothing!r} the positives' mean lies among the highest rows, "
            f"of which row {row} weighs most: is it mislabelled? A larger smoothing is more "
            "robust to such rows."
        )


@dataclass(frozen=True)
class SoftMaximum(Threshold):
    r"""Maximum of the scores, softened by a quadratic.

    .. math:: T(s) = \max_{p \ge 0, \sum p = 1} p \cdot s - \frac{\sigma}{2} \Bigl( \sum_j
              \frac{p_j^2}{\omega_j} - \frac1\Omega \Bigr) = \min_q \; q + \frac{1}{2\sigma}
              \sum_j \omega_j [s_j - q]_+^2 + \frac{\sigma}{2\Omega}

    with :math:`\Omega = \sum\omega`: the maximum for small :math:`\sigma`, the mean for large.
    The minimiser :math:`q` solves :math:`\sum_j \omega_j [s_j - q]_+ = \sigma`; each row above it
    counts by how far.

    Attributes
    ----------
    smoothing : float
        :math:`\sigma`.
    weight : float
        :math:`\Omega`, the weight of all rows.
    """

    smoothing: float
    weight: float
    moment: ClassVar[str] = "first"

    @property
    def shift(self) -> float:
        """What the quadratic costs at least."""
        return 0.5 * self.smoothing / self.weight

    @property
    def target(self) -> float:
        """The first moment above q."""
        return self.smoothing

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold by Newton's method on q."""
        # Distances from the top keep their digits where the scores share a large offset.
        highest = int(np.argmax(scores))
        top = float(scores[highest])
        depth, w = top - scores, weight
        d = self.smoothing / float(w[highest])
        while True:
            # Newton's method from below only ever drops rows.
            counts = depth < d
            depth, w = depth[counts], w[counts]
            following = (float(w @ depth) + self.smoothing) / float(w.sum())
            if not following < d or depth.max() < following:
                break
            d = following
        d = min(d, following)
        above = np.maximum(d - depth, 0.0)
        return top - d + 0.5 * float(w @ (above * above)) / self.smoothing + self.shift

    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        r"""Bound the rounding error of the threshold `t` of `count` scores in a range.

        Any q encloses the threshold. With the first and second moment a and b of the scores
        above it, and without the constant :math:`\sigma / 2\Omega`, the minimum says
        :math:`T \le q + b / 2\sigma`, and the shares in proportion to what exceeds q say
        :math:`T \ge q + (b / a)(1 - \sigma / 2a)`.
        """
        t, sigma, high = t - self.shift, self.smoothing, highest
        # The best q lies about as far below t as the highest score lies above it.
        low = min(2.0 * t - high, high)
        width = max(high - low, sigma / self.weight, 4.0 * float(np.spacing(abs(high))))
        while excess(low, 1) < sigma:
            low, width = low - width, 2.0 * width
        q = float(brentq(lambda level: excess(level, 1) - sigma, low, high, rtol=1e-12))
        first, second = excess(q, 1), excess(q, 2)
        upper = q + 0.5 * second / sigma
        lower = q + second / first * (1.0 - 0.5 * sigma / first)
        size = max(abs(lowest), abs(highest), abs(q)) + self.shift + second / first
        return max(upper - t, t - lower, 0.0) + 8.0 * gamma(count) * size

    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Return the quadratic, homogeneous in the dual weights."""
        total = float(beta.sum())
        return 0.5 * self.smoothing * float((beta / weight) @ beta) / total - self.shift * total

    def scaled(self, length: float) -> SoftMaximum:
        """Return the one for scores that are shorter by `length`."""
        return SoftMaximum(self.smoothing / length, self.weight)

    def interior(self, working: RankedRows, capped: bool) -> RankedSide:
        """Return its side."""
        return SoftMaximumSide(working, self.smoothing, self.shift)

    def first_rows(self, few: int, many: int, capped: bool) -> tuple[int, float]:
        """Start with few: the others lie below q."""
        return few, 0.0

    def counting(self, scores: np.ndarray, t: float) -> np.ndarray:
        """Tell which scores may lie above q."""
        t -= self.shift
        return scores > t - (float(scores.max()) - t)


@dataclass(frozen=True)
class _Softened:
    """How the slacks answer to beta and to S, and the residual of t."""

    per_beta: np.ndarray
    h: np.ndarray
    threshold_residual: float


class SoftMaximumSide(RankedSide):
    """The softened maximum. The border is the threshold, q and the total S."""

    joined = False
    signs = np.array([-1.0, 1.0, 1.0])

    def __init__(self, working: RankedRows, smoothing: float, shift: float) -> None:
        super().__init__(working)
        self._smoothing = smoothing
        self._shift = shift

    def _per_beta(self, total: float) -> np.ndarray:
        """How fast the slacks grow with their multipliers."""
        return self._smoothing / (total * self.weight)

    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        """Share the total evenly."""
        self.q = t
        beta = total * self.even
        z = np.maximum(t - self.scores + self._per_beta(total) * beta, 0.0) + slack()
        self.products = {"beta_z": Product(beta, z, self.even)}

    def centre(self, t: float, total: float, mu: float) -> float:
        """Find the q at which the multipliers add up to the total."""
        s, target, per_beta = self.scores, mu * self.even, self._per_beta(total)
        self.q = crossing(
            lambda q: bent(q - s, per_beta, target).sum() - total,
            float(s.min()),
            float(s.max()) + mu / total,
        )
        beta = bent(self.q - s, per_beta, target)
        self.products["beta_z"] = self.products["beta_z"].centred(beta, mu)
        return self.q + 0.5 * float((per_beta * beta) @ beta) / total + self._shift

    def extend(self, new: RankedRows, total: float, mu: float) -> None:
        """Take rows in, with multipliers that go with q."""
        target = mu * self.add(new)
        per_beta = self._smoothing / (total * new.weight)
        most = 0.5 * total * new.weight / float(new.weight.sum())
        beta = np.minimum(bent(self.q - new.scores, per_beta, target), most)
        self._grow("beta_z", beta, target / beta)

    def linearise(self, t: float, total: float) -> RankedEquations:
        """Return what the Newton system needs."""
        bz = self.products["beta_z"]
        per_beta = self._per_beta(total)
        D, sum_D, residual = weights_of(bz, self.scores, self.q, per_beta)
        h = per_beta * bz.a / total
        Dh = D * h
        sum_Dh = float(Dh.sum())
        # Rows: balance of alpha, balance of beta, definition of t.
        corner = np.array(
            [
                [0.0, 0.0, -1.0],
                [0.0, -sum_D, sum_Dh - 1.0],
                [1.0, sum_Dh - 1.0, float(bz.a @ h) / total - float(Dh @ h)],
            ]
        )
        own = _Softened(per_beta, h, self.q + 0.5 * float(bz.a @ h) + self._shift - t)
        return RankedEquations(D, residual, (D, -Dh), corner, own)

    def rest(self, part: RankedEquations, goal: Goals) -> Rest:
        """Return what the goals ask of the rows."""
        return rest_of(goal, "beta_z", part.residual, part.D)

    def right(self, part: RankedEquations, rest: Rest, sums: Sums, goal: Goals) -> np.ndarray:
        """Return the right-hand sides of the border's equations."""
        own: _Softened = part.own
        return np.array(
            [
                sums.target - sums.moved_alpha - sums.alpha,
                sums.target - rest.sum_Df - float(self.beta.sum()),
                own.threshold_residual + float(own.h @ rest.Df),
            ]
        )

    def step(
        self, part: RankedEquations, rest: Rest, border: np.ndarray, ds: np.ndarray, goal: Goals
    ) -> SideStep:
        """Return the changes, given those of the border and of the scores."""
        dt, dq, dS = (float(change) for change in border)
        own: _Softened = part.own
        equations = (part.D, rest.f, part.residual)
        change, _ = row_step(ds, -1.0, dq, *equations, own.h, dS, per=own.per_beta)
        return SideStep(dt, dq, dS, {"beta_z": change})
