r"""The mean of the highest scores: recipe, threshold, and its rows in the interior point.

.. math:: z_j = q + \zeta_j - w \cdot x_j \ge 0, \qquad
          t = q + \sum_j \pi_j \zeta_j, \; \zeta \ge 0

with the caps :math:`\pi_j = \omega_j / k` and :math:`(\pi_j S - \beta_j) \zeta_j = 0`. Without
caps, :math:`\zeta = 0` and :math:`t = q`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._checks import check_choice, top_count
from ..rows.rounding import gamma
from .sides import (
    Goals,
    Product,
    ProductStep,
    RankedEquations,
    RankedSide,
    Rest,
    SideStep,
    Sums,
    boxed,
    boxed_or_recalled,
    crossing,
    rest_of,
    row_step,
    shift_of,
    weights_of,
)
from .sweeps import contenders
from .thresholds import Cutoffs, Excess, RankedScores, Recipe, Threshold

if TYPE_CHECKING:
    from .kernel_problem import KernelSolution
    from .problem import Solution
    from .sweeps import RankedRows

# Added to the threshold, relative to the largest score: the negatives that define it
# stay on its lower side however their scores are summed up.
_ON_THRESHOLD = 1e-10


@dataclass(frozen=True)
class HighestRows(Recipe):
    """The mean of the `k` highest rows."""

    k: int | float

    @classmethod
    def of(cls, estimator: Any) -> HighestRows:
        """Return what `k` and `rows` stand for."""
        check_choice("rows", estimator.rows, ("negatives", "all"))
        return cls(estimator.rows == "all", estimator.k)

    def threshold(self, weight: float) -> TopMean:
        """Return the mean of the highest."""
        what = "rows" if self.everything else "negatives"
        return TopMean(top_count(self.k, np.array([weight]), what))

    def cutoffs(
        self, solution: Solution | KernelSolution, scores: RankedScores | None, threshold: Any
    ) -> Cutoffs:
        """Cut just above the threshold."""
        t = solution.threshold + _ON_THRESHOLD * solution.score_scale
        return Cutoffs(t, {"threshold_": t})

    def advice(self, row: int) -> str:
        """Name the row that is too high."""
        rows, row_name = ("rows", "row") if self.everything else ("negatives", "negative")
        return (
            f"With k={self.k!r} the positives' mean lies among the highest {rows}. "
            f"The {row_name} that weighs most is row {row}: is it mislabelled? A larger k "
            f"(for example k=0.05, a fraction of the {rows}) or PatMat is robust to "
            "such rows."
        )


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

    def interior(self, working: RankedRows, capped: bool) -> RankedSide:
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
        lightest = float(weight.min())
        if self.k <= min(1.0, lightest):
            return float(scores.max())
        rows = self.k / lightest
        count = min(int(rows), len(scores))
        if rows == int(rows) and lightest == float(weight.max()):
            top = scores[contenders(scores, count)]
            return float(np.partition(top, len(top) - count)[len(top) - count :].mean())
        index = contenders(scores, count + 2)
        order = index[np.argsort(-scores[index], kind="stable")]
        share = np.clip(self.k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
        return float(share @ scores[order]) / float(share.sum())

    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        # Both the sums and the shares at their end are off by the roundings of a sum.
        return 3.0 * gamma(count) * max(abs(lowest), abs(highest))


class HighestSide(RankedSide):
    """The plain maximum. The border is the threshold."""

    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        self.q = t
        self.products = {"beta_z": Product(total * self.even, t - self.scores + slack(), self.even)}

    def centre(self, t: float, total: float, mu: float) -> float:
        s, target = self.scores, mu * self.even
        high, room = float(s.max()), mu / total
        if self.known is not None:
            self.q = high
            beta = np.maximum(self.known * total, target / (high - s + room))
        else:
            gap = crossing(
                lambda d: (target / (high - s + d)).sum() - total,
                room * float(self.even[np.argmax(s)]),
                room,
            )
            self.q = high + gap
            beta = target / (high - s + gap)
        self.products["beta_z"] = self.products["beta_z"].centred(beta, mu)
        return self.q

    def extend(self, new: RankedRows, total: float, mu: float) -> None:
        z = np.maximum(self.q - new.scores, 0.0) + 0.1 * self._excess(new)
        most = 0.1 * total * new.weight / float(new.weight.sum())
        beta = np.minimum(mu * self.add(new) / z, most)
        self._grow("beta_z", beta, z)

    def linearise(self, t: float, total: float) -> RankedEquations:
        bz = self.products["beta_z"]
        D, sum_D, residual = weights_of(bz, self.scores, self.q)
        return RankedEquations(D, residual, (D,), np.array([[sum_D]]))

    def rest(self, part: RankedEquations, goal: Goals) -> Rest:
        return rest_of(goal, "beta_z", part.residual, part.D)

    def right(self, part: RankedEquations, rest: Rest, sums: Sums, goal: Goals) -> np.ndarray:
        beta = float(self.beta.sum()) + rest.sum_Df
        return np.array([beta - sums.moved_alpha - sums.alpha])

    def step(
        self, part: RankedEquations, rest: Rest, border: np.ndarray, ds: np.ndarray, goal: Goals
    ) -> SideStep:
        dt = float(border[0])
        change, _ = row_step(ds, -1.0, dt, part.D, rest.f, part.residual)
        return SideStep(dt, dt, None, {"beta_z": change})


@dataclass(frozen=True)
class _Caps:
    """Response of the slacks to multipliers and total, and residuals of the caps and of t."""

    per_beta: np.ndarray
    h: np.ndarray
    residual: np.ndarray
    threshold_residual: float


class TopMeanSide(RankedSide):
    """The mean of the k highest. The border is the threshold, q and the total S."""

    joined = False
    signs = np.array([-1.0, 1.0, 1.0])

    def __init__(self, working: RankedRows, k: float) -> None:
        self._k = k
        super().__init__(working)

    @property
    def cap(self) -> np.ndarray:
        return self.weight / self._k

    def feasible(
        self, beta: np.ndarray, model: np.ndarray, total: float
    ) -> tuple[np.ndarray, np.ndarray]:
        # Pull the shares towards the weights' own, which respect every cap.
        cap, even, shares = self.cap, self.even, beta / total
        over = shares > cap
        if not over.any():
            return beta, model
        keep = max(0.0, float(((cap - even)[over] / (shares - even)[over]).min()))
        centre = total * self.rows.combine(even)
        return total * (even + keep * (shares - even)), centre + keep * (model - centre)

    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        self.q = t
        beta, most = total * self.even, total * self.cap
        zeta = np.maximum(self.scores - t, 0.0) + slack()
        self.products = {
            "beta_z": Product(beta, t + zeta - self.scores, self.even),
            "eta_zeta": Product(np.maximum(most - beta, 1e-3 * most), zeta, self.even),
        }

    def centre(self, t: float, total: float, mu: float) -> float:
        s, target, most = self.scores, mu * self.even, total * self.cap
        # Here every multiplier is close enough to its cap, there to zero.
        low = float(s.min()) - mu / (float(most.sum()) - total)
        self.q = crossing(
            lambda q: boxed(q - s, most, target)[0].sum() - total,
            low,
            float(s.max()) + mu / total,
        )
        beta, eta = boxed_or_recalled(self, most, total, mu)
        self.products["beta_z"] = self.products["beta_z"].centred(beta, mu)
        self.products["eta_zeta"] = self.products["eta_zeta"].centred(eta, mu)
        return self.q + float(self.cap @ self.products["eta_zeta"].b)

    def extend(self, new: RankedRows, total: float, mu: float) -> None:
        cap, excess = new.weight / self._k, self._excess(new)
        most, above = 0.5 * cap * total, np.maximum(new.scores - self.q, 0.0)
        even = self.add(new)
        zeta = above + mu * even / (2.0 * most)
        z = self.q + zeta - new.scores + 0.1 * excess
        beta = np.minimum(mu * even / z, most)
        self._grow("eta_zeta", cap * total - beta, zeta)
        self._grow("beta_z", beta, z)

    def linearise(self, t: float, total: float) -> RankedEquations:
        bz, ez, cap = self.products["beta_z"], self.products["eta_zeta"], self.cap
        per_beta = ez.b / ez.a
        D, sum_D, residual = weights_of(bz, self.scores, self.q, per_beta, ez.b)
        h = per_beta * cap
        Dh = D * h
        sum_Dh = float(Dh.sum())
        # Rows: balance of alpha, balance of beta, definition of t.
        corner = np.array(
            [
                [0.0, 0.0, -1.0],
                [0.0, -sum_D, sum_Dh - 1.0],
                [1.0, sum_Dh - 1.0, float(cap @ h) - float(Dh @ h)],
            ]
        )
        left = cap * total - bz.a - ez.a
        own = _Caps(per_beta, h, left, self.q + float(cap @ ez.b) - t)
        return RankedEquations(D, residual, (D, -Dh), corner, own)

    def rest(self, part: RankedEquations, goal: Goals) -> Rest:
        shift = shift_of(goal, "eta_zeta", part.own.residual)
        return rest_of(goal, "beta_z", part.residual, part.D, shift)

    def right(self, part: RankedEquations, rest: Rest, sums: Sums, goal: Goals) -> np.ndarray:
        own: _Caps = part.own
        moved_t = float(self.cap @ rest.shift) + own.threshold_residual
        return np.array(
            [
                sums.target - sums.moved_alpha - sums.alpha,
                sums.target - rest.sum_Df - float(self.beta.sum()),
                moved_t + float(own.h @ rest.Df),
            ]
        )

    def step(
        self, part: RankedEquations, rest: Rest, border: np.ndarray, ds: np.ndarray, goal: Goals
    ) -> SideStep:
        dt, dq, dS = (float(change) for change in border)
        own: _Caps = part.own
        equations = (part.D, rest.f, part.residual)
        change, d_zeta = row_step(ds, -1.0, dq, *equations, own.h, dS, rest.shift, own.per_beta)
        d_eta = self.cap * dS - change.da + own.residual
        return SideStep(dt, dq, dS, {"beta_z": change, "eta_zeta": ProductStep(d_eta, d_zeta)})


def top_mean_side(working: RankedRows, k: float, capped: bool) -> RankedSide:
    """Return the side for the mean of the `k` highest."""
    if not capped:
        return HighestSide(working)
    if float(working.weight.sum()) > k * (1.0 + 1e-12):
        return TopMeanSide(working, k)
    # Caps that add up to one leave no interior: the threshold is the plain mean.
    share = working.weight / float(working.weight.sum())
    merged = replace(
        working,
        scores=np.array([share @ working.scores]),
        weight=np.array([working.weight.sum()]),
        rows=working.rows.merged(share),
    )
    return HighestSide(merged)
