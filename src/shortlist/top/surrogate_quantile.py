r"""A surrogate of a top quantile: recipe, threshold, and its rows in the interior point.

The threshold :math:`t` of :class:`SurrogateQuantile` is the least with slacks :math:`\zeta` of
bounded sum: with :math:`q = t - 1/\theta` and :math:`p = 1, 2` the power of the surrogate,

.. math:: z_j = q + \zeta_j - w \cdot x_j \ge 0, \qquad
          v = M / \theta^p - \sum_j \omega_j \zeta_j^p \ge 0.

The multiplier of the second constraint is the level :math:`m`, and stationarity in
:math:`\zeta` gives the slack or its multiplier: :math:`\omega_j m = \beta_j + \eta_j` with
:math:`\eta_j \zeta_j = 0` for the hinge, :math:`2 \omega_j m \zeta_j = \beta_j` for the
square. Leaving rows out loosens the constraint, so the restricted problem is a
relaxation here too. The border is :math:`(t, m)`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._checks import check_choice, check_number
from .._losses import LOSSES, Loss
from ..rows.rounding import UNIT, gamma
from .sides import (
    Goals,
    Product,
    ProductStep,
    RankedEquations,
    RankedSide,
    Rest,
    SideStep,
    Steps,
    Sums,
    bent,
    boxed_or_recalled,
    rest_of,
    row_step,
    shift_of,
    weights_of,
)
from .thresholds import Cutoffs, Excess, RankedScores, Recipe, Threshold

if TYPE_CHECKING:
    from .kernel_problem import KernelSolution
    from .problem import Solution
    from .sweeps import RankedRows


@dataclass(frozen=True)
class TopRate(Recipe):
    """The surrogate of the top `tau` quantile."""

    tau: float
    theta: float
    loss: Loss
    C: float
    cut_at_quantile: bool

    @classmethod
    def of(cls, estimator: Any) -> TopRate:
        """Return what `tau`, `quantile`, `theta` and `cutoff` stand for."""
        check_number("tau", estimator.tau, above=0.0, below=1.0)
        check_number("theta", estimator.theta, above=0.0)
        check_choice("quantile", estimator.quantile, ("negatives", "all"))
        check_choice("cutoff", estimator.cutoff, ("quantile", "surrogate"))
        return cls(
            estimator.quantile == "all",
            estimator.tau,
            estimator.theta,
            LOSSES[estimator.loss],
            estimator.C,
            estimator.cutoff == "quantile",
        )

    def threshold(self, weight: float) -> SurrogateQuantile:
        """Return the surrogate."""
        return SurrogateQuantile(self.loss, float(self.theta), float(self.tau) * weight)

    def cutoffs(
        self, solution: Solution | KernelSolution, scores: RankedScores | None, threshold: Any
    ) -> Cutoffs:
        """Cut at the surrogate, or at the exact quantile of the training rows."""
        t = quantile = float(solution.threshold)
        # No row of the zero model fits: all are tied.
        if scores is not None:
            quantile = scores.cut(threshold.mass, t)
        offset = quantile if self.cut_at_quantile else t
        return Cutoffs(offset, {"threshold_": t, "quantile_": quantile})

    def advice(self, row: int) -> str:
        """Name what may help."""
        return (
            f"No direction pays at tau={self.tau!r}, C={self.C!r}: the row that weighs most "
            f"against the positives is row {row}. A larger tau or C, a smaller theta, "
            "scaled features or a kernel may help."
        )


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

    def interior(self, working: RankedRows, capped: bool) -> RankedSide:
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


@dataclass(frozen=True)
class _Slacks:
    """How the slacks answer to beta and to the level, what they cost, and residuals."""

    per_beta: np.ndarray
    h: np.ndarray
    cost: np.ndarray
    budget_residual: float
    residual: np.ndarray | None = None


class QuantileSide(RankedSide):
    """What both powers share: the budget of the slacks, and its level.

    Parameters
    ----------
    working : RankedRows
        The rows to start with.
    budget : float
        Largest sum of the slacks' powers.
    shift : float
        How far q lies below the threshold.
    """

    signs = np.array([-1.0, -1.0])

    def __init__(self, working: RankedRows, budget: float, shift: float) -> None:
        super().__init__(working)
        self._budget = budget
        self._shift = shift

    @property
    def _m(self) -> float:
        return float(self.products["level"].a[0])

    def _level(self, m: float, slack: float) -> Product:
        return Product(np.array([m]), np.array([slack]), np.ones(1))

    def extend(self, new: RankedRows, total: float, mu: float) -> None:
        excess, above = self._excess(new), np.maximum(new.scores - self.q, 0.0)
        most = 0.5 * new.weight * self._m
        even = self.add(new)
        zeta, most = self._new_slacks(new, above, most, even, total, mu)
        z = self.q + zeta - new.scores + 0.1 * excess
        beta = np.minimum(mu * even / z, most)
        self._grow("beta_z", beta, z)
        if "eta_zeta" in self.products:
            self._grow("eta_zeta", new.weight * self._m - beta, zeta)

    @abstractmethod
    def _new_slacks(
        self,
        new: RankedRows,
        above: np.ndarray,
        most: np.ndarray,
        even: np.ndarray,
        total: float,
        mu: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return slacks of new rows, and bounds of their multipliers."""

    @abstractmethod
    def _slacks(self) -> tuple[np.ndarray, _Slacks]:
        """Return the slacks, and how they answer."""

    def linearise(self, t: float, total: float) -> RankedEquations:
        bz, level = self.products["beta_z"], self.products["level"]
        zeta, own = self._slacks()
        D, sum_D, residual = weights_of(bz, self.scores, self.q, own.per_beta, zeta)
        Dh = D * own.h
        sum_Dh, slack = float(Dh.sum()), float(level.b[0] / level.a[0])
        # Rows: balance of alpha and beta, budget of the slacks.
        last = float(Dh @ own.h) - float(own.cost @ own.h) - slack
        corner = np.array([[sum_D, -sum_Dh], [-sum_Dh, last]])
        return RankedEquations(D, residual, (D, -Dh), corner, own)

    def rest(self, part: RankedEquations, goal: Goals) -> Rest:
        own: _Slacks = part.own
        shift = None if own.residual is None else shift_of(goal, "eta_zeta", own.residual)
        return rest_of(goal, "beta_z", part.residual, part.D, shift)

    def right(self, part: RankedEquations, rest: Rest, sums: Sums, goal: Goals) -> np.ndarray:
        own: _Slacks = part.own
        beta, spent = float(self.beta.sum()) + rest.sum_Df, float(own.h @ rest.Df)
        if rest.shift is not None:
            spent += float(own.cost @ rest.shift)
        level_goal = goal.number("level") / self._m
        return np.array(
            [beta - sums.alpha - sums.moved_alpha, own.budget_residual - spent - level_goal]
        )

    def step(
        self, part: RankedEquations, rest: Rest, border: np.ndarray, ds: np.ndarray, goal: Goals
    ) -> SideStep:
        dt, dm = (float(change) for change in border)
        level, own = self.products["level"], part.own
        equations = (part.D, rest.f, part.residual)
        change, d_zeta = row_step(ds, -1.0, dt, *equations, own.h, dm, rest.shift, own.per_beta)
        steps: Steps = {"beta_z": change}
        if own.residual is not None:
            steps["eta_zeta"] = ProductStep(self.weight * dm - change.da + own.residual, d_zeta)
        db = (goal.number("level") - float(level.b[0]) * dm) / self._m
        steps["level"] = ProductStep(np.array([dm]), np.array([db]))
        return SideStep(dt, dt, None, steps)


class SquareQuantileSide(QuantileSide):
    """The squared surrogate: slacks are functions of the multipliers and of the level."""

    settled_share = 0.1  # its multipliers are functions of the model

    def _level(self, m: float, slack: float) -> Product:
        # The slacks are curved in the level: it may not fall far at once.
        return Product(np.array([m]), np.array([slack]), np.ones(1), 0.8)

    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        self.q = t - self._shift
        typical = np.sqrt(self._budget / float(self.weight.sum()))
        zeta = np.maximum(self.scores - self.q, 0.0) + typical
        # Multipliers that belong to the slacks: a start from the last model keeps its gain.
        m = total / (2.0 * float(self.weight @ zeta))
        beta = 2.0 * self.weight * m * zeta
        self.products = {
            "beta_z": Product(beta, self.q + zeta - self.scores, self.even),
            "level": self._level(m, 0.5 * self._budget),
        }

    def centre(self, t: float, total: float, mu: float) -> float:
        self.q = t - self._shift
        margin = self.q - self.scores
        m = total / (2.0 * float(self.weight @ np.maximum(-margin, 0.0)))
        beta = bent(margin, 0.5 / (self.weight * m), mu * self.even)
        self.products["beta_z"] = self.products["beta_z"].centred(beta, mu)
        self.products["level"] = self._level(m, mu / m)
        return t

    def _new_slacks(
        self,
        new: RankedRows,
        above: np.ndarray,
        most: np.ndarray,
        even: np.ndarray,
        total: float,
        mu: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        return above, np.minimum(most, 0.1 * total * new.weight / float(new.weight.sum()))

    def _slacks(self) -> tuple[np.ndarray, _Slacks]:
        per_beta = 1.0 / (2.0 * self.weight * self._m)
        zeta = self.beta / (2.0 * self.weight * self.products["level"].a)
        left = self._budget - float(self.weight @ zeta**2) - float(self.products["level"].b[0])
        return zeta, _Slacks(per_beta, zeta / self._m, 2.0 * self.weight * zeta, left)


class HingeQuantileSide(QuantileSide):
    """The hinge surrogate: slacks have multipliers of their own."""

    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        self.q = t - self._shift
        all_weight = float(self.weight.sum())
        zeta = np.maximum(self.scores - self.q, 0.0) + self._budget / all_weight
        m, beta = 2.0 * total / all_weight, total * self.even
        self.products = {
            "beta_z": Product(beta, self.q + zeta - self.scores, self.even),
            "eta_zeta": Product(self.weight * m - beta, zeta, self.even),
            "level": self._level(m, 0.5 * self._budget),
        }

    def centre(self, t: float, total: float, mu: float) -> float:
        self.q = t - self._shift
        m = total / float(self.weight @ (self.scores > self.q))
        beta, eta = boxed_or_recalled(self, m * self.weight, total, mu)
        self.products["beta_z"] = self.products["beta_z"].centred(beta, mu)
        self.products["eta_zeta"] = self.products["eta_zeta"].centred(eta, mu)
        self.products["level"] = self._level(m, mu / m)
        return t

    def _new_slacks(
        self,
        new: RankedRows,
        above: np.ndarray,
        most: np.ndarray,
        even: np.ndarray,
        total: float,
        mu: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        return above + mu * even / (2.0 * most), most

    def _slacks(self) -> tuple[np.ndarray, _Slacks]:
        ez, m = self.products["eta_zeta"], self._m
        per_beta = ez.b / ez.a
        left = self._budget - float(self.weight @ ez.b) - float(self.products["level"].b[0])
        residual = self.weight * m - self.beta - ez.a
        return ez.b, _Slacks(per_beta, self.weight * per_beta, self.weight, left, residual)
