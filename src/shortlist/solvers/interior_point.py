r"""Primal-dual interior point for the problem restricted to some negatives.

With slacks the restricted problem is a convex quadratic programme,

.. math::

    \min \tfrac12\|w\|^2 + \sum c_i \ell_i \quad\text{s.t.}\quad
    y_i = w \cdot x_i - t - 1 + \xi_i \ge 0, \qquad z_j = q + \zeta_j - w \cdot x_j \ge 0,
    \quad t = q + \sum_j \pi_j \zeta_j,\; \zeta \ge 0,

(without caps :math:`\zeta = 0` and :math:`t = q`). Its multipliers are the dual
variables: :math:`\alpha_i y_i = 0`, :math:`\beta_j z_j = 0`,
:math:`(\pi_j S - \beta_j)\zeta_j = 0` and, for the hinge,
:math:`(c_i - \alpha_i)\xi_i = 0`. Each product is driven along the central path
:math:`\mu` times the weight of its row, so that a row of weight 2 and the row
twice take the same steps. Mehrotra's predictor and corrector share one factor of
:math:`I + X_+^T E X_+ + X_-^T D X_-`.

Reference: S. J. Wright, Primal-Dual Interior-Point Methods, SIAM 1997. Growing the
set of negatives from well-centred, inexact iterates follows J. Gondzio,
P. González-Brevis and P. Munari, "New developments in the primal-dual column
generation technique", EJOR 224 (2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from ..problems.operators import Rows
from ..problems.top import TopProblem
from .newton_system import NewtonSystem

_SHORTEN = 0.99


@dataclass
class _Pair:
    """Two non-negative vectors whose product goes to zero, with their steps."""

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    da: np.ndarray | None = None
    db: np.ndarray | None = None

    def length(self) -> float:
        """Longest step that keeps both sides non-negative."""
        worst = min(float((self.da / self.a).min()), float((self.db / self.b).min()))
        return np.inf if worst >= 0.0 else -1.0 / worst

    def product(self, step: float = 0.0) -> float:
        if step == 0.0:
            return float(self.a @ self.b)
        return float((self.a + step * self.da) @ (self.b + step * self.db))

    def move(self, step: float) -> None:
        self.a = self.a + step * self.da
        self.b = self.b + step * self.db

    def target(self, mu: float, second_order: float) -> np.ndarray:
        out = mu * self.weight - self.a * self.b
        if second_order:
            out -= second_order * (self.da * self.db)
        return out


class InteriorPoint:
    """The iterate, its step, and its dual point.

    Parameters
    ----------
    problem : TopProblem
        The whole problem. Choose negatives with :meth:`extend`, a starting point
        with :meth:`centre`, then call :meth:`dual` and :meth:`step` in turn.
    """

    def __init__(self, problem: TopProblem) -> None:
        self.problem = problem
        self.working = np.empty(0, dtype=np.intp)
        self._c = problem.c
        self._ridge = problem.loss.ridge / self._c
        self._bounded = problem.loss.bounded
        self._capped = problem.cap is not None
        self._positives: Rows = problem.rows.take(problem.positive)

    def extend(self, new: np.ndarray) -> None:
        """Add negatives (positions among the negatives) to the working set."""
        problem = self.problem
        self.working = np.concatenate([self.working, new])
        self._negatives: Rows = problem.rows.take(problem.negative[self.working])
        self._weight = problem.negative_weight[self.working]
        self._cap = problem.cap[self.working] if self._capped else None
        self._system = NewtonSystem(self._positives, self._negatives)
        if self._capped:
            self._weighted_sum = self._negatives.combine(self._weight)

    def centre(
        self, w: np.ndarray, positive_scores: np.ndarray, scores: np.ndarray, gap: float
    ) -> None:
        """Start afresh at `w`, as if on the central path where the duality gap is `gap`.

        Slacks and multipliers are chosen feasible and with equal products; all that
        is left to the steps is that the multipliers do not yet add up to `w`.
        """
        problem = self.problem
        self.w = w
        self._positive_scores = positive_scores
        self._scores = scores
        n_pairs = 1 + self._capped
        pair_weight = n_pairs * float(self._weight.sum())
        pair_weight += (1 + self._bounded) * float(problem.positive_weight.sum())
        mu = gap / pair_weight
        t = problem.threshold.value(scores, self._weight)
        total = float(self._central_alpha(t, mu)[0].sum())
        beta_mu = mu * self._weight
        if self._capped:
            half = beta_mu / (self._cap * total)

            def central_beta(q: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
                # beta z = eta zeta = mu with beta + eta = cap S and z = q + zeta - s
                room = q - scores
                zeta = half - 0.5 * room + np.sqrt(half * half + 0.25 * room * room)
                z = np.maximum(room + zeta, beta_mu / (self._cap * total))
                return beta_mu / z, z, zeta

            q = _root(lambda q: float(central_beta(q)[0].sum()) - total, float(scores.max()), mu)
            beta, z, zeta = central_beta(q)
            t = q + float(self._cap @ zeta)
            self._eta_zeta = _Pair(beta_mu / zeta, zeta, self._weight)
        else:
            q = t = _pole_root(scores, beta_mu, total)
            z = t - scores
            beta = beta_mu / z
        alpha, y, xi = self._central_alpha(t, mu)
        self._t, self._q, self._total = t, q, total
        self._alpha_y = _Pair(alpha, y, problem.positive_weight)
        self._beta_z = _Pair(beta, z, self._weight)
        self._pairs = [self._alpha_y, self._beta_z]
        if self._bounded:
            self._gamma_xi = _Pair(self._c - alpha, xi, problem.positive_weight)
            self._pairs.append(self._gamma_xi)
        if self._capped:
            self._pairs.append(self._eta_zeta)

    def _central_alpha(self, t: float, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Multiplier, slack and loss of every positive at threshold `t`."""
        violation = 1.0 + t - self._positive_scores
        mu_i = mu * self.problem.positive_weight
        if self._bounded:
            # alpha y = (c - alpha) xi = mu with xi - y = violation
            half = mu_i / self._c
            y = half - 0.5 * violation + np.sqrt(half * half + 0.25 * violation * violation)
            xi = np.maximum(violation + y, half)
            y = np.maximum(y, half)
            return self._c * (xi / (xi + y)), y, xi
        # alpha = xi / ridge and xi y / ridge = mu with xi - y = violation
        root = np.sqrt(violation * violation + 4.0 * mu_i * self._ridge)
        xi = 0.5 * (np.abs(violation) + root)
        y = mu_i * self._ridge / xi
        xi, y = np.where(violation >= 0.0, (xi, y), (y, xi))
        return xi / self._ridge, y, xi

    @property
    def cut(self) -> float:
        """Score above which a negative outside the working set violates."""
        return self._q

    @property
    def beta(self) -> np.ndarray:
        """Multipliers of the negatives in the working set."""
        return self._beta_z.a

    def _mu(self) -> float:
        weight = sum(float(pair.weight.sum()) for pair in self._pairs)
        return sum(pair.product() for pair in self._pairs) / weight

    def primal(self) -> float:
        """Primal value of the restricted problem at the current model."""
        t = self.problem.threshold.value(self._scores, self._weight)
        return self.problem.primal_at(self.w, self._positive_scores, t)

    def dual(self) -> float:
        """Best dual value along the ray of the current multipliers, made feasible."""
        alpha, beta = self._alpha_y.a, self._beta_z.a
        self._from_alpha = self._positives.combine(alpha)
        self._from_beta = self._negatives.combine(beta)
        total = float(alpha.sum())
        rescale = total / float(beta.sum())
        model = rescale * self._from_beta
        if self._capped:
            # Pull the shares towards the weights' own, which respect every cap.
            shares = beta * (rescale / total)
            even = self._weight / float(self._weight.sum())
            over = shares > self._cap
            if over.any():
                keep = float(((self._cap - even)[over] / (shares - even)[over]).min())
                keep = max(0.0, keep)
                centre = self._weighted_sum * (total / float(self._weight.sum()))
                model = centre + keep * (model - centre)
        return self.problem.dual_ray(alpha, self._from_alpha - model).value

    def step(self) -> float:
        """Take one predictor-corrector step; `dual` must have been called before.

        Returns the step length.
        """
        pairs, ay, bz = self._pairs, self._alpha_y, self._beta_z
        mu = self._mu()
        scores, t, q = self._positive_scores, self._t, self._q

        self._E = ay.b / ay.a + self._ridge
        if self._bounded:
            xi = self._gamma_xi.b
            self._E += xi / self._gamma_xi.a
        else:
            xi = self._ridge * ay.a
        self._E = 1.0 / self._E
        self._ry = scores - t - 1.0 + xi - ay.b
        self._rw = self._from_alpha - self._from_beta - self.w
        if self._capped:
            ez = self._eta_zeta
            self._D = 1.0 / (bz.b / bz.a + ez.b / ez.a)
            self._h = ez.b * self._cap / ez.a
            self._rz = q + ez.b - self._scores - bz.b
            self._re = self._cap * self._total - bz.a - ez.a
            self._rt = q + float(self._cap @ ez.b) - t
        else:
            self._D = bz.a / bz.b
            self._rz = q - self._scores - bz.b
        self._solve_system = self._system.factor(self._E, self._D)
        self._border()

        self._direction([pair.target(0.0, 0.0) for pair in pairs])
        length = min(1.0, min(pair.length() for pair in pairs))
        weight = sum(float(pair.weight.sum()) for pair in pairs)
        predicted = sum(pair.product(length) for pair in pairs) / weight
        centring = min(max((predicted / mu) ** 3, 1e-8), 1.0)
        second_order = 1.0 if length >= 0.1 else length * length
        self._direction([pair.target(centring * mu, second_order) for pair in pairs])
        length = min(1.0, _SHORTEN * min(pair.length() for pair in pairs))
        self._move(length)
        return length

    def _border(self) -> None:
        """Eliminate the model: what t, q and the total S do to it."""
        gE = self._positives.combine(self._E)
        gD = self._negatives.combine(self._D)
        self._sum_E, self._sum_D = float(self._E.sum()), float(self._D.sum())
        if not self._capped:
            self._g = gE + gD
            self._response = self._solve_system(self._g)
            return
        Dh = self._D * self._h
        gH = self._negatives.combine(Dh)
        self._g = np.column_stack([gE, gD, -gH])
        self._response = self._solve_system(self._g)
        # Rows: balance of alpha, balance of beta, definition of t.
        sum_Dh = float(Dh.sum())
        self._bordered = np.array(
            [
                [self._sum_E, 0.0, -1.0],
                [0.0, -self._sum_D, sum_Dh - 1.0],
                [1.0, sum_Dh - 1.0, float(self._cap @ self._h) - float(Dh @ self._h)],
            ]
        )
        signs = np.array([-1.0, 1.0, 1.0])
        self._bordered += signs[:, None] * (self._g.T @ self._response)

    def _direction(self, targets: list[np.ndarray]) -> None:
        """Solve the Newton system for these targets of the complementarity products."""
        ay, bz = self._alpha_y, self._beta_z
        goal = dict(zip(map(id, self._pairs), targets, strict=True))
        e = goal[id(ay)] / ay.a - self._ry
        if self._bounded:
            e -= goal[id(self._gamma_xi)] / self._gamma_xi.a
        Ee = self._E * e
        f = goal[id(bz)] / bz.a - self._rz
        alpha_sum, beta_sum = float(ay.a.sum()), float(bz.a.sum())
        if self._capped:
            ez = self._eta_zeta
            zeta_goal = goal[id(ez)]
            shift = (zeta_goal - ez.b * self._re) / ez.a
            f -= shift
        Df = self._D * f
        base = self._solve_system(
            self._positives.combine(Ee) - self._negatives.combine(Df) + self._rw
        )
        if self._capped:
            gb = self._g.T @ base
            right = np.array(
                [
                    gb[0] - float(Ee.sum()) - alpha_sum + self._total,
                    -gb[1] - float(Df.sum()) - beta_sum + self._total,
                    -gb[2] + float(self._cap @ shift) + self._rt + float(self._h @ Df),
                ]
            )
            dt, dq, dS = np.linalg.solve(self._bordered, right)
            dw = base + self._response @ np.array([dt, dq, dS])
        else:
            dt = (float(self._g @ base) - float(Ee.sum()) + float(Df.sum()) - alpha_sum + beta_sum)
            dt /= self._sum_E + self._sum_D - float(self._g @ self._response)
            dq, dS = dt, 0.0
            dw = base + self._response * dt
        ds_positive = self._positives.scores(dw)
        ds_negative = self._negatives.scores(dw)
        ay.da = self._E * (dt - ds_positive + e)
        if self._bounded:
            gx = self._gamma_xi
            gx.da = -ay.da
            gx.db = (goal[id(gx)] - gx.b * gx.da) / gx.a
            dxi = gx.db
        else:
            dxi = self._ridge * ay.da
        ay.db = ds_positive - dt + dxi + self._ry
        if self._capped:
            bz.da = self._D * (ds_negative - dq + self._h * dS + f)
            ez.da = self._cap * dS - bz.da + self._re
            ez.db = (zeta_goal - ez.b * ez.da) / ez.a
            bz.db = dq + ez.db - ds_negative + self._rz
        else:
            bz.da = self._D * (ds_negative - dt + f)
            bz.db = dt - ds_negative + self._rz
        self._step = (dw, dt, dq, dS, ds_positive, ds_negative)

    def _move(self, length: float) -> None:
        dw, dt, dq, dS, ds_positive, ds_negative = self._step
        for pair in self._pairs:
            pair.move(length)
        self.w = self.w + length * dw
        self._t += length * dt
        self._q += length * dq
        self._positive_scores = self._positive_scores + length * ds_positive
        self._scores = self._scores + length * ds_negative
        self._total = self._total + length * dS if self._capped else float(self._alpha_y.a.sum())


def _pole_root(poles: np.ndarray, weights: np.ndarray, total: float) -> float:
    """Return the t right of all poles where the sum of weights / (t - poles) is `total`."""
    highest = float(poles.max())
    # Between the root of the highest pole alone and that of all poles placed there;
    # Newton on the reciprocal, which is concave, climbs to the root from the left.
    t = highest + float(weights[poles == highest].sum()) / total
    for _ in range(50):
        part = weights / (t - poles)
        value = float(part.sum())
        slope = float((part / (t - poles)).sum())
        move = value * (value / total - 1.0) / slope
        t += move
        if abs(move) <= 1e-9 * (t - highest):
            break
    return t


def _root(f, start: float, width: float) -> float:  # noqa: ANN001
    """Root of a decreasing function."""
    low = high = start
    width = max(width, 1e-12 * max(1.0, abs(start)))
    while f(low) < 0.0:
        low, width = low - width, 4.0 * width
    while f(high) > 0.0:
        high, width = high + width, 4.0 * width
    return float(optimize.brentq(f, low, high, xtol=1e-14 * max(1.0, abs(start)), rtol=1e-12))
