r"""Primal-dual interior point for a surrogate quantile, restricted to some rows.

The threshold :math:`t` of :class:`~shortlist.top.thresholds.SurrogateQuantile` is
the least with slacks :math:`\zeta` of bounded sum: with :math:`u = t - 1/\theta` and
:math:`p = 1, 2` the power of the surrogate,

.. math:: z_j = u + \zeta_j - w \cdot x_j \ge 0, \qquad
          v = M / \theta^p - \sum_j \omega_j \zeta_j^p \ge 0.

The multiplier of the second constraint is the level :math:`m`, and stationarity in
:math:`\zeta` gives the slack or its multiplier: :math:`\omega_j m = \beta_j + \eta_j` with
:math:`\eta_j \zeta_j = 0` for the hinge, :math:`2 \omega_j m \zeta_j = \beta_j` for the
square. Leaving rows out loosens the constraint, so the restricted problem is a
relaxation here too. What concerns the positives, and the reference, is in
:mod:`shortlist.top.interior_point`; the border of the Newton system is
:math:`(t, m)`.
"""

from __future__ import annotations

import numpy as np

from .central_path import bent
from .interior_point import InteriorPoint
from .slacks import Pair
from .sweeps import Candidates
from .thresholds import SurrogateQuantile


class QuantileInteriorPoint(InteriorPoint):
    """The iterate, its step, and its dual point."""

    def _start_negatives(self) -> None:
        threshold = self.problem.threshold
        assert isinstance(threshold, SurrogateQuantile)
        self._threshold = threshold
        self._square = threshold.loss.power == 2
        self._budget = threshold.mass / threshold.slope**threshold.loss.power
        self._q = self._t - threshold.shift
        weight = self._weight
        typical = (self._budget / float(weight.sum())) ** (1.0 / threshold.loss.power)
        zeta = np.maximum(self._scores - self._q, 0.0) + typical
        if self._square:
            # Multipliers that belong to the slacks: a start from the last model keeps its gain.
            m = self._total / (2.0 * float(weight @ zeta))
            beta = 2.0 * weight * m * zeta
        else:
            m = 2.0 * self._total / float(weight.sum())
            beta = self._total * self._even
            self._eta_zeta = Pair(weight * m - beta, zeta, self._even)
        self._beta_z = Pair(beta, self._q + zeta - self._scores, self._even)
        self._pairs.append(self._beta_z)
        if not self._square:
            self._pairs.append(self._eta_zeta)
        # The slacks of the square are curved in the level: it may not fall far at once.
        reach = 0.8 if self._square else 1.0
        self._level = Pair(np.array([m]), np.array([0.5 * self._budget]), np.ones(1), reach)
        self._pairs.append(self._level)

    @property
    def _settled_share(self) -> float:
        # The multipliers of the square are functions of the model.
        return 0.1 if self._square else 1.0

    def _centre_negatives(self, mu: float) -> None:
        bz, weight, target = self._beta_z, self._weight, mu * self._even
        self._q = self._t - self._threshold.shift
        margin = self._q - self._scores
        above = np.maximum(-margin, 0.0) if self._square else (margin < 0.0).astype(float)
        m = self._total / (self._threshold.loss.power * float(weight @ above))
        if self._square:
            bz.a = bent(margin, 0.5 / (weight * m), target)
        else:
            bz.a, self._eta_zeta.a = self._boxed_negatives(m * weight, mu)
            self._eta_zeta.b = target / self._eta_zeta.a
        bz.b = target / bz.a
        self._level.a, self._level.b = np.array([m]), np.array([mu / m])

    @property
    def _zeta(self) -> np.ndarray:
        if not self._square:
            return self._eta_zeta.b
        return self._beta_z.a / (2.0 * self._weight * self._level.a)

    def extend(self, new: Candidates) -> None:
        """Add rows to the working set."""
        mu, scores, weight = self._mu(), new.scores, new.weight
        even = weight / (float(self._weight.sum()) + float(weight.sum()))
        excess = max(float((scores - self._q).max()), 1e-12 * max(1.0, abs(self._q)))
        m = float(self._level.a[0])
        most = 0.5 * weight * m
        if self._square:
            most = np.minimum(most, 0.1 * self._total * weight / float(weight.sum()))
            zeta = np.zeros(len(scores))
        else:
            zeta = mu * even / (2.0 * most)
        zeta += np.maximum(scores - self._q, 0.0)
        z = self._q + zeta - scores + 0.1 * excess
        beta = np.minimum(mu * even / z, most)
        self._add(new)
        self._grow(self._beta_z, beta, z)
        if not self._square:
            self._grow(self._eta_zeta, weight * m - beta, zeta)

    def _linearise(self) -> None:
        bz, m = self._beta_z, float(self._level.a[0])
        zeta = self._zeta
        if self._square:
            by_beta = 1.0 / (2.0 * self._weight * m)
            self._h = zeta / m
            self._per_zeta = 2.0 * self._weight * zeta
            self._re = np.zeros(len(zeta))
            spent = float(self._weight @ zeta**2)
        else:
            eta = self._eta_zeta.a
            by_beta = zeta / eta
            self._h = self._weight * by_beta
            self._per_zeta = self._weight
            self._re = self._weight * m - bz.a - eta
            spent = float(self._weight @ zeta)
        self._by_beta = by_beta
        self._D = 1.0 / (bz.b / bz.a + by_beta)
        self._rz = self._q + zeta - self._scores - bz.b
        self._rv = self._budget - spent - float(self._level.b[0])

    def _border(self) -> None:
        """Eliminate the model: what t and m do to it."""
        Dh = self._D * self._h
        g_t = self._positives.combine(self._E) + self._negatives.combine(self._D)
        self._g = np.column_stack([g_t, -self._negatives.combine(Dh)])
        self._response = self._solve_system(self._g)
        sum_Dh = float(Dh.sum())
        slack = float(self._level.b[0] / self._level.a[0])
        # Rows: balance of alpha and beta, budget of the slacks.
        corner = float(Dh @ self._h) - float(self._per_zeta @ self._h) - slack
        self._bordered = np.array(
            [[float(self._E.sum()) + float(self._D.sum()), -sum_Dh], [-sum_Dh, corner]]
        )
        self._bordered -= self._g.T @ self._response

    def _direction(self, targets: list[np.ndarray]) -> None:
        ay, bz, level = self._alpha_y, self._beta_z, self._level
        goal = dict(zip(map(id, self._pairs), targets, strict=True))
        e = self._positive_rest(goal)
        Ee = self._E * e
        shift = np.zeros(len(bz.a))
        if not self._square:
            ez = self._eta_zeta
            shift = (goal[id(ez)] - ez.b * self._re) / ez.a
        f = goal[id(bz)] / bz.a - self._rz - shift
        Df = self._D * f
        base = self._solve_system(
            self._positives.combine(Ee) - self._negatives.combine(Df) + self._rw
        )
        level_goal = float(goal[id(level)][0] / level.a[0])
        right = self._g.T @ base + np.array(
            [
                float(bz.a.sum()) - float(ay.a.sum()) - float(Ee.sum()) + float(Df.sum()),
                self._rv - float(self._per_zeta @ shift) - float(self._h @ Df) - level_goal,
            ]
        )
        dt, dm = np.linalg.solve(self._bordered, right)
        dw = base + self._response @ np.array([dt, dm])
        ds_positive = self._positives.scores(dw)
        ds_negative = self._negatives.scores(dw)
        self._step_positives(goal, e, dt, ds_positive)
        bz.da = self._D * (ds_negative - dt + self._h * dm + f)
        dzeta = shift - self._h * dm + self._by_beta * bz.da
        bz.db = dt + dzeta - ds_negative + self._rz
        if not self._square:
            ez.da = self._weight * dm - bz.da + self._re
            ez.db = dzeta
        level.da = np.array([dm])
        level.db = np.array([level_goal - float(level.b[0] / level.a[0]) * dm])
        self._step = (dw, dt, dt, 0.0, ds_positive, ds_negative)
