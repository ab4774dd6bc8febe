r"""Primal-dual interior point for the problem restricted to some rows of the threshold.

With slacks the restricted problem is a convex quadratic programme,

.. math::

    \min \tfrac12\|w\|^2 + \sum c_i \ell_i \quad\text{s.t.}\quad
    y_i = w \cdot x_i - t - 1 + \xi_i \ge 0, \qquad z_j = q + \zeta_j - w \cdot x_j \ge 0,

where :math:`t`, :math:`q` and :math:`\zeta` are tied together by the threshold
(:mod:`~shortlist.top.top_mean_side`, :mod:`~shortlist.top.quantile_side`). Its multipliers
are the dual variables: :math:`\alpha_i y_i = 0`, :math:`\beta_j z_j = 0`. Each product is
driven along the central path :math:`\mu` times the row's share of its class's weight, so
that a row of weight 2 and the row twice take the same steps, and many positives do not drown
few negatives. Mehrotra's predictor and corrector share one factor of
:math:`I + X_+^T E X_+ + X_-^T D X_-`, bordered by the threshold's few numbers.

Reference: S. J. Wright, Primal-Dual Interior-Point Methods, SIAM 1997. Growing the
set of negatives from well-centred, inexact iterates follows J. Gondzio,
P. González-Brevis and P. Munari, "New developments in the primal-dual column
generation technique", EJOR 224 (2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .newton_system import NewtonSystem, Solve
from .positive_side import PositiveEquations, PositiveSide
from .proof import NO_BOUND, Bound, dual_bound
from .ranked_side import RankedEquations, SideStep, Sums
from .slacks import Goals, Pairs, Steps, goals
from .sweeps import Candidates, Start, SweptProblem

_SHORTEN = 0.99
# A start from a good model: the mu that are tried, as shares of the primal value.
_TRIED = (1.0, 0.03, 1e-3)


@dataclass(frozen=True)
class _Linear:
    """The Newton system at one point: parts, factor, and the border's columns."""

    positive: PositiveEquations
    ranked: RankedEquations
    model_residual: np.ndarray
    solve: Solve
    columns: np.ndarray
    response: np.ndarray
    bordered: np.ndarray


@dataclass(frozen=True)
class _Step:
    """Changes of the model, of both sides' scores, of the threshold and of all pairs."""

    dw: np.ndarray
    ds_positive: np.ndarray
    ds_ranked: np.ndarray
    side: SideStep
    pairs: Steps


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
        Rows of the threshold to start with, and their scores at `w`.
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
        self.positive = PositiveSide(
            problem.positives, positive_scores, problem.c, problem.positive_weight, problem.loss
        )
        self.ranked = problem.threshold.interior(working, problem.capped)
        self._system = NewtonSystem(self.positive.rows, self.ranked.rows)
        self._t = self._threshold()
        self.positive.start(self._t)
        self._total = float(self.positive.alpha.sum())
        self.ranked.start(self._t, self._total, self._start_slack)
        self._sums: tuple[np.ndarray, np.ndarray] | None = None

    def _threshold(self) -> float:
        return self.problem.threshold.value(self.ranked.scores, self.ranked.weight)

    def _start_slack(self) -> float:
        """Scores cannot exceed this by much, nor need they exceed the margin of 1."""
        length = max(
            float(side.even @ side.rows.squared_norms()) for side in (self.ranked, self.positive)
        )
        return 3.0 * min(1.0, max(2.0 * self.problem.value_at_zero * length, 1e-100))

    @property
    def pairs(self) -> Pairs:
        """All products that go to zero."""
        return {**self.positive.pairs, **self.ranked.pairs}

    @property
    def working(self) -> np.ndarray:
        """Names of the rows in the working set."""
        return self.ranked.position

    @property
    def cut(self) -> float:
        """Score above which a row outside the working set violates."""
        return self.ranked.q

    @property
    def slack(self) -> float:
        """Typical slack of a row: its value if all multipliers were equal."""
        return self._mu() / self._total

    @property
    def beta(self) -> np.ndarray:
        """Multipliers of the rows in the working set."""
        return self.ranked.beta

    def _mu(self) -> float:
        pairs = self.pairs
        return sum(pair.product() for pair in pairs.values()) / len(pairs)

    def settle(self, last: Start) -> Bound:
        """Start anew from the model, which is taken to be good; return its dual value.

        The multipliers follow from its scores and from mu; where the scores leave them
        open, from the last solution if it is of as many rows. The gap that the best of a
        few such dual points leaves gives mu.
        """
        if len(last.alpha) == len(self.positive.c) and self.ranked.whole:
            self.positive.known = last.alpha
            self.ranked.known = last.shares(self.working)
        primal, best = self.primal(), NO_BOUND
        for share in _TRIED:
            self.centre(share * primal)
            dual = self.dual()
            if dual.lower < best.lower:
                break
            best = dual
        share = self.ranked.settled_share / len(self.pairs)
        self.centre(max(share * (primal - best.value), 1e-12 * primal))
        return best

    def solution(self, w: np.ndarray) -> Start:
        """Return what a later fit may start from, with the model `w`."""
        if not self.ranked.whole:
            return Start(w)
        order = np.argsort(self.working)
        share = self.beta[order] / float(self.beta.sum())
        return Start(w, self.positive.alpha / self.positive.c, self.working[order], share)

    def loosen(self, factor: float) -> None:
        """Start anew from the model with larger products."""
        self.centre(factor * self._mu())

    def centre(self, mu: float) -> None:
        """Set all multipliers and slacks so that every product is mu times its weight."""
        self._sums = None
        self._t = self._threshold()
        self.positive.centre(self._t, mu)
        self._total = float(self.positive.alpha.sum())
        self._t = self.ranked.centre(self._t, self._total, mu)

    def extend(self, new: Candidates) -> None:
        """Add rows to the working set."""
        self._sums = None
        self.ranked.extend(new, self._total, self._mu())
        self._system = NewtonSystem(self.positive.rows, self.ranked.rows)

    def primal(self) -> float:
        """Primal value of the restricted problem at the current model."""
        return self.problem.primal_at(self.w, self.positive.scores, self._threshold())

    def dual(self) -> Bound:
        """Best dual value along the ray of the current multipliers, made feasible."""
        from_alpha, from_beta = self._combined()
        alpha, total = self.positive.alpha, float(self.positive.alpha.sum())
        rescale = total / float(self.beta.sum())
        beta, model = self.ranked.feasible(rescale * self.beta, rescale * from_beta, total)
        ranked, problem = self.ranked, self.problem
        terms = (alpha, beta, from_alpha - model, ranked.weight, ranked.cap)
        return dual_bound(problem, problem.reach, *terms)

    def _combined(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both sums of rows by their multipliers, computed once at every point."""
        if self._sums is None:
            from_alpha = self.positive.rows.combine(self.positive.alpha)
            self._sums = from_alpha, self.ranked.rows.combine(self.beta)
        return self._sums

    def step(self) -> float:
        """Take one predictor-corrector step; return its length."""
        pairs, mu = self.pairs, self._mu()
        linear = self._linearise()
        step = self._direction(linear, goals(pairs, 0.0))
        length = min(1.0, _longest(pairs, step.pairs))
        predicted = sum(
            pair.product_after(step.pairs[name], length) for name, pair in pairs.items()
        )
        centring = min(max((predicted / len(pairs) / mu) ** 3, 1e-8), 1.0)
        second_order = 1.0 if length >= 0.1 else length * length
        goal = goals(pairs, centring * mu, step.pairs, second_order)
        step = self._direction(linear, goal)
        length = min(1.0, _SHORTEN * _longest(pairs, step.pairs))
        self._move(step, length)
        return length

    def _linearise(self) -> _Linear:
        from_alpha, from_beta = self._combined()
        positive = self.positive.linearise(self._t)
        ranked = self.ranked.linearise(self._t, self._total)
        solve = self._system.factor(positive.E, ranked.D)
        first = self.positive.rows.combine(positive.E)
        others = [self.ranked.rows.combine(column) for column in ranked.border]
        if self.ranked.joined:
            others[0] += first
        else:
            others.insert(0, first)
        columns = np.column_stack(others)
        response = solve(columns)
        bordered = ranked.corner + self.ranked.signs[:, None] * (columns.T @ response)
        bordered[0, 0] += float(positive.E.sum())
        residual = from_alpha - from_beta - self.w
        return _Linear(positive, ranked, residual, solve, columns, response, bordered)

    def _direction(self, linear: _Linear, goal: Goals) -> _Step:
        """Solve the Newton system for these changes of the complementarity products."""
        positive, ranked = self.positive, self.ranked
        e = positive.rest(linear.positive, goal)
        Ee = linear.positive.E * e
        rest = ranked.rest(linear.ranked, goal)
        base = linear.solve(
            positive.rows.combine(Ee) - ranked.rows.combine(rest.Df) + linear.model_residual
        )
        sums = Sums(float(positive.alpha.sum()), float(Ee.sum()), self._total)
        right = ranked.right(linear.ranked, rest, sums, goal)
        right -= ranked.signs * (linear.columns.T @ base)
        border = np.linalg.solve(linear.bordered, right)
        dw = base + linear.response @ border
        ds_positive, ds_ranked = positive.rows.scores(dw), ranked.rows.scores(dw)
        side = ranked.step(linear.ranked, rest, border, ds_ranked, goal)
        steps = positive.step(linear.positive, goal, e, side.dt, ds_positive)
        return _Step(dw, ds_positive, ds_ranked, side, {**steps, **side.pairs})

    def _move(self, step: _Step, length: float) -> None:
        self._sums = None
        for side in (self.positive, self.ranked):
            side.pairs = {
                name: pair.moved(step.pairs[name], length) for name, pair in side.pairs.items()
            }
        self.w = self.w + length * step.dw
        self._t += length * step.side.dt
        self.ranked.q += length * step.side.dq
        self.positive.scores = self.positive.scores + length * step.ds_positive
        self.ranked.scores = self.ranked.scores + length * step.ds_ranked
        if step.side.d_total is None:
            self._total = float(self.positive.alpha.sum())
        else:
            self._total += length * step.side.d_total


def _longest(pairs: Pairs, steps: Steps) -> float:
    return min(pair.length(steps[name]) for name, pair in pairs.items())
