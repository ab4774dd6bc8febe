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
:math:`\mu` times the row's share of its class's weight, so that a row of weight 2 and
the row twice take the same steps, and many positives do not drown few negatives.
Mehrotra's predictor and corrector share one factor of
:math:`I + X_+^T E X_+ + X_-^T D X_-`.

Reference: S. J. Wright, Primal-Dual Interior-Point Methods, SIAM 1997. Growing the
set of negatives from well-centred, inexact iterates follows J. Gondzio,
P. González-Brevis and P. Munari, "New developments in the primal-dual column
generation technique", EJOR 224 (2013).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..rows.operators import Rows
from .central_path import bent, boxed, crossing, recalled
from .newton_system import NewtonSystem
from .proof import NO_BOUND, Bound, dual_bound
from .slacks import Pair
from .sweeps import Candidates, Start, SweptProblem
from .thresholds import Threshold, TopMean

_SHORTEN = 0.99
# A start from a good model: the mu that are tried, as shares of the primal value.
_TRIED = (1.0, 0.03, 1e-3)


def _all_count(threshold: Threshold, working: Candidates) -> bool:
    """Tell whether the top is all there is."""
    total = float(working.weight.sum())
    return isinstance(threshold, TopMean) and total <= threshold.k * (1.0 + 1e-12)


class InteriorPoint:
    """The iterate, its step, and its dual point.

    Parameters
    ----------
    problem : SweptProblem
        The whole problem.
    w : ndarray
        Where to start.
    positive_scores : ndarray
        Scores of the positives at `w`.
    working : Candidates
        Negatives to start with, and their scores at `w`.
    """

    def __init__(
        self,
        problem: SweptProblem,
        w: np.ndarray,
        positive_scores: np.ndarray,
        working: Candidates,
    ) -> None:
        self.problem = problem
        self.w = w
        self.working = working.position
        self._c = problem.c
        self._ridge = problem.loss.ridge / self._c
        self._bounded = problem.loss.bounded
        self._capped = problem.capped
        if problem.capped and _all_count(problem.threshold, working):
            # Caps that add up to one leave no interior: the threshold is the plain mean.
            share = working.weight / float(working.weight.sum())
            working = replace(
                working,
                scores=np.array([share @ working.scores]),
                weight=np.array([working.weight.sum()]),
                rows=working.rows.merged(share),
            )
            self._capped = False
        self._positives: Rows = problem.positives
        self._positive_scores = positive_scores
        self._scores = working.scores
        self._weight = working.weight
        self._negatives: Rows = working.rows
        self._load_negatives()
        self._known: tuple[np.ndarray, np.ndarray] | None = None
        self._start()

    def _add(self, new: Candidates) -> None:
        self.working = np.concatenate([self.working, new.position])
        self._scores = np.concatenate([self._scores, new.scores])
        self._weight = np.concatenate([self._weight, new.weight])
        self._negatives = self._negatives.stack(new.rows)
        if self._known is not None:
            alpha, share = self._known
            self._known = alpha, np.concatenate([share, np.zeros(len(new.scores))])
        self._load_negatives()

    def _load_negatives(self) -> None:
        self._even = self._weight / float(self._weight.sum())
        self._cap = self._caps(self._weight)
        self._system = NewtonSystem(self._positives, self._negatives)
        if self._capped:
            self._mean = self._negatives.combine(self._even)

    def _caps(self, weight: np.ndarray) -> np.ndarray:
        if not self._capped:
            return np.empty(0)
        assert isinstance(self.problem.threshold, TopMean)
        return weight / self.problem.threshold.k

    def _start(self) -> None:
        problem, c = self.problem, self._c
        t = problem.threshold.value(self._scores, self._weight)
        violation = 1.0 + t - self._positive_scores
        xi = np.maximum(violation, 0.3)
        alpha = 0.5 * c if self._bounded else 2.0 * c * xi
        y = np.maximum(xi - violation, 0.3)
        even = problem.positive_weight / float(problem.positive_weight.sum())
        self._alpha_y = Pair(alpha, y, even)
        self._pairs = [self._alpha_y]
        if self._bounded:
            self._gamma_xi = Pair(c - alpha, xi, even)
            self._pairs.append(self._gamma_xi)
        self._t = self._q = t
        self._total = float(alpha.sum())
        self._start_negatives()

    def _start_negatives(self) -> None:
        problem, t, total = self.problem, self._t, self._total
        beta = total * self._even
        # Scores cannot exceed this by much, nor need they exceed the margin of 1.
        length = float(self._even @ self._negatives.squared_norms())
        length = max(length, float(self._alpha_y.weight @ self._positives.squared_norms()))
        reach = 2.0 * problem.value_at_zero * length
        slack = 3.0 * min(1.0, max(reach, 1e-100))
        if self._capped:
            zeta = np.maximum(self._scores - t, 0.0) + slack
            z = t + zeta - self._scores
            eta = np.maximum(self._cap * total - beta, 1e-3 * self._cap * total)
            self._eta_zeta = Pair(eta, zeta, self._even)
        else:
            z = t - self._scores + slack
        self._beta_z = Pair(beta, z, self._even)
        self._pairs.append(self._beta_z)
        if self._capped:
            self._pairs.append(self._eta_zeta)

    @property
    def _settled_share(self) -> float:
        """How much of a good model's gap lies in the products, not in the model."""
        return 1.0

    def settle(self, last: Start) -> Bound:
        """Start anew from the model, which is taken to be good; return its dual value.

        The multipliers follow from its scores and from mu; where the scores leave them
        open, from the last solution if it is of as many rows. The gap that the best of a
        few such dual points leaves gives mu.
        """
        if len(last.alpha) == len(self._c) and len(self.working) == len(self._scores):
            self._known = last.alpha, last.shares(self.working)
        primal, best = self.primal(), NO_BOUND
        for share in _TRIED:
            self.centre(share * primal)
            dual = self.dual()
            if dual.lower < best.lower:
                break
            best = dual
        share = self._settled_share / len(self._pairs)
        self.centre(max(share * (primal - best.value), 1e-12 * primal))
        return best

    def solution(self, w: np.ndarray) -> Start:
        """Return what a later fit may start from, with the model `w`."""
        if len(self.working) != len(self._scores):
            return Start(w)
        order = np.argsort(self.working)
        share = self._beta_z.a[order] / float(self._beta_z.a.sum())
        return Start(w, self._alpha_y.a / self._c, self.working[order], share)

    def loosen(self, factor: float) -> None:
        """Start anew from the model with larger products."""
        self.centre(factor * self._mu())

    def centre(self, mu: float) -> None:
        """Set all multipliers and slacks so that every product is mu times its weight."""
        self._t = self.problem.threshold.value(self._scores, self._weight)
        self._centre_positives(mu)
        self._centre_negatives(mu)

    def _centre_positives(self, mu: float) -> None:
        ay, c = self._alpha_y, self._c
        margin, target = self._positive_scores - self._t - 1.0, mu * ay.weight
        if self._bounded:
            ay.a, self._gamma_xi.a = boxed(margin, c, target)
            if self._known is not None:
                typical = mu / float(c.sum())
                ay.a, self._gamma_xi.a = recalled(self._known[0] * c, margin, c, target, typical)
            self._gamma_xi.b = target / self._gamma_xi.a
        else:
            ay.a = bent(margin, self._ridge, target)
        ay.b = target / ay.a
        self._total = float(ay.a.sum())

    def _centre_negatives(self, mu: float) -> None:
        bz, s, total, target = self._beta_z, self._scores, self._total, mu * self._even
        high, room = float(s.max()), mu / total
        if self._capped:
            cap = total * self._cap
            # Here every multiplier is close enough to its cap, there to zero.
            low = float(s.min()) - mu / (float(cap.sum()) - total)
            self._q = crossing(
                lambda q: boxed(q - s, cap, target)[0].sum() - total, low, high + room
            )
            bz.a, self._eta_zeta.a = self._boxed_negatives(cap, mu)
            self._eta_zeta.b = target / self._eta_zeta.a
            self._t = self._q + float(self._cap @ self._eta_zeta.b)
        elif self._known is not None:
            self._t = self._q = high
            bz.a = np.maximum(self._known[1] * total, target / (high - s + room))
        else:
            gap = crossing(
                lambda d: (target / (high - s + d)).sum() - total,
                room * float(self._even[np.argmax(s)]),
                room,
            )
            self._t = self._q = high + gap
            bz.a = target / (high - s + gap)
        bz.b = target / bz.a

    def _boxed_negatives(self, cap: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
        margin, target = self._q - self._scores, mu * self._even
        if self._known is None:
            return boxed(margin, cap, target)
        share, total = self._known[1], self._total
        return recalled(share * total, margin, cap, target, mu / total)

    @property
    def cut(self) -> float:
        """Score above which a negative outside the working set violates."""
        return self._q

    @property
    def slack(self) -> float:
        """Typical slack of a negative: its value if all multipliers were equal."""
        return self._mu() / self._total

    @property
    def beta(self) -> np.ndarray:
        """Multipliers of the negatives in the working set."""
        return self._beta_z.a

    def _mu(self) -> float:
        return sum(pair.product() for pair in self._pairs) / len(self._pairs)

    def extend(self, new: Candidates) -> None:
        """Add negatives to the working set."""
        mu, scores, weight = self._mu(), new.scores, new.weight
        even = weight / (float(self._weight.sum()) + float(weight.sum()))
        excess = max(float((scores - self._q).max()), 1e-12 * max(1.0, abs(self._q)))
        if self._capped:
            cap = self._caps(weight)
            most = 0.5 * cap * self._total
            zeta = np.maximum(scores - self._q, 0.0) + mu * even / (2.0 * most)
            z = self._q + zeta - scores + 0.1 * excess
        else:
            most = 0.1 * self._total * weight / float(weight.sum())
            z = np.maximum(self._q - scores, 0.0) + 0.1 * excess
        beta = np.minimum(mu * even / z, most)
        self._add(new)
        if self._capped:
            self._grow(self._eta_zeta, cap * self._total - beta, zeta)
        self._grow(self._beta_z, beta, z)

    def _grow(self, pair: Pair, a: np.ndarray, b: np.ndarray) -> None:
        pair.a = np.concatenate([pair.a, a])
        pair.b = np.concatenate([pair.b, b])
        pair.weight = self._even

    def primal(self) -> float:
        """Primal value of the restricted problem at the current model."""
        t = self.problem.threshold.value(self._scores, self._weight)
        return self.problem.primal_at(self.w, self._positive_scores, t)

    def dual(self) -> Bound:
        """Best dual value along the ray of the current multipliers, made feasible."""
        alpha, beta = self._alpha_y.a, self._beta_z.a
        self._from_alpha = self._positives.combine(alpha)
        self._from_beta = self._negatives.combine(beta)
        total = float(alpha.sum())
        rescale = total / float(beta.sum())
        beta, model = rescale * beta, rescale * self._from_beta
        if self._capped:
            # Pull the shares towards the weights' own, which respect every cap.
            shares = beta / total
            over = shares > self._cap
            if over.any():
                keep = float(((self._cap - self._even)[over] / (shares - self._even)[over]).min())
                keep = max(0.0, keep)
                centre = total * self._mean
                model = centre + keep * (model - centre)
                beta = total * (self._even + keep * (shares - self._even))
        return self._bound(alpha, beta, self._from_alpha - model)

    def _bound(self, alpha: np.ndarray, beta: np.ndarray, model: np.ndarray) -> Bound:
        cap = self._cap if self._capped else None
        problem = self.problem
        return dual_bound(problem, problem.reach, alpha, beta, model, self._weight, cap)

    def step(self) -> float:
        """Take one predictor-corrector step; `dual` must have been called before.

        Returns the step length.
        """
        pairs, ay = self._pairs, self._alpha_y
        mu = self._mu()
        scores, t = self._positive_scores, self._t

        self._E = ay.b / ay.a + self._ridge
        if self._bounded:
            xi = self._gamma_xi.b
            self._E += xi / self._gamma_xi.a
        else:
            xi = self._ridge * ay.a
        self._E = 1.0 / self._E
        self._ry = scores - t - 1.0 + xi - ay.b
        self._rw = self._from_alpha - self._from_beta - self.w
        self._linearise()
        self._solve_system = self._system.factor(self._E, self._D)
        self._border()

        self._direction([pair.target(0.0, 0.0) for pair in pairs])
        length = min(1.0, min(pair.length() for pair in pairs))
        predicted = sum(pair.product(length) for pair in pairs) / len(pairs)
        centring = min(max((predicted / mu) ** 3, 1e-8), 1.0)
        second_order = 1.0 if length >= 0.1 else length * length
        self._direction([pair.target(centring * mu, second_order) for pair in pairs])
        length = min(1.0, _SHORTEN * min(pair.length() for pair in pairs))
        self._move(length)
        return length

    def _linearise(self) -> None:
        """Residuals and weights D of the negatives' equations."""
        bz, q = self._beta_z, self._q
        if self._capped:
            ez = self._eta_zeta
            self._D = 1.0 / (bz.b / bz.a + ez.b / ez.a)
            self._h = ez.b * self._cap / ez.a
            self._rz = q + ez.b - self._scores - bz.b
            self._re = self._cap * self._total - bz.a - ez.a
            self._rt = q + float(self._cap @ ez.b) - self._t
        else:
            self._D = bz.a / bz.b
            self._rz = q - self._scores - bz.b

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
        e = self._positive_rest(goal)
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
            dt = float(self._g @ base) - float(Ee.sum()) + float(Df.sum()) - alpha_sum + beta_sum
            dt /= self._sum_E + self._sum_D - float(self._g @ self._response)
            dq, dS = dt, 0.0
            dw = base + self._response * dt
        ds_positive = self._positives.scores(dw)
        ds_negative = self._negatives.scores(dw)
        self._step_positives(goal, e, dt, ds_positive)
        if self._capped:
            bz.da = self._D * (ds_negative - dq + self._h * dS + f)
            ez.da = self._cap * dS - bz.da + self._re
            ez.db = (zeta_goal - ez.b * ez.da) / ez.a
            bz.db = dq + ez.db - ds_negative + self._rz
        else:
            bz.da = self._D * (ds_negative - dt + f)
            bz.db = dt - ds_negative + self._rz
        self._step = (dw, dt, dq, dS, ds_positive, ds_negative)

    def _positive_rest(self, goal: dict[int, np.ndarray]) -> np.ndarray:
        """Return what moves alpha apart from the scores and the threshold."""
        ay = self._alpha_y
        e = goal[id(ay)] / ay.a - self._ry
        if self._bounded:
            e -= goal[id(self._gamma_xi)] / self._gamma_xi.a
        return e

    def _step_positives(
        self, goal: dict[int, np.ndarray], e: np.ndarray, dt: float, ds: np.ndarray
    ) -> None:
        ay = self._alpha_y
        ay.da = self._E * (dt - ds + e)
        if self._bounded:
            gx = self._gamma_xi
            gx.da = -ay.da
            gx.db = (goal[id(gx)] - gx.b * gx.da) / gx.a
            dxi = gx.db
        else:
            dxi = self._ridge * ay.da
        ay.db = ds - dt + dxi + self._ry

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
