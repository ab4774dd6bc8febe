"""One level of a kernel solver: a dual point over some rows, its scores, what it has reached."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .kernel_problem import DualPoint, Evaluation, alpha_bound, evaluate, sparse_start
from .problem import TopTerms
from .waiting import LEAST, AddRows, Waiting
from .working_set import PairState, Violation, beta_slopes, fill_caps

_NOTHING = Evaluation(np.inf, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Best:
    """The best primal value of a level, and where it was; the best dual value."""

    evaluation: Evaluation = _NOTHING
    point: DualPoint | None = None
    scores: np.ndarray | None = None
    dual: float = 0.0

    @property
    def gap(self) -> float:
        """Best primal value less the best dual value."""
        return self.evaluation.primal - self.dual

    def goal(self, tol: float) -> float:
        """Return the gap to be left by the next round.

        The optimum is known to lie above the dual value: far from it, that says more about
        what a good model is worth than the primal value does.
        """
        if not self.dual > 0.0:
            return 0.1 * self.gap
        return max(
            0.05 * min(self.gap, self.dual), 0.7 * tol * min(self.evaluation.primal, self.dual)
        )


@dataclass
class Progress:
    """Whether rounds still help."""

    reference: float = np.inf
    count: int = 0
    steps: int = 0

    def stalls(self, gap: float) -> bool:
        """Take note of a gap; whether it has not fallen by a tenth for some rounds."""
        self.count += 1
        if gap < 0.9 * self.reference:
            self.count, self.reference = 0, gap
        return self.count > 0


class Level:
    """The problem over the first rows of a layout, and where the solver is.

    Parameters
    ----------
    terms : TopTerms
        The problem over these rows.
    length : int
        How many they are.
    point : DualPoint
        Its arrays are views: what moves here moves in the whole.
    add_rows : callable
        Adds kernel rows to scores.

    Attributes
    ----------
    form : str
        Shape of the dual, see :meth:`~shortlist.top.thresholds.Threshold.form`.
    scores, beta_scores : ndarray
        Scores of all rows at the point, and the part of them that beta makes. Scores of rows
        that wait are older.
    waiting : Waiting or None
        Rows whose scores may be older, once there were any.
    best : Best
        What the level has reached.
    """

    def __init__(self, terms: TopTerms, length: int, point: DualPoint, add_rows: AddRows) -> None:
        self.terms = terms
        self.length = length
        self.point = point
        self.form = terms.threshold.form(terms.ranked_weight)
        self.scores = np.zeros(length)
        self.beta_scores = np.zeros(length)
        self.waiting: Waiting | None = None
        self.best = Best()
        self._add_rows = add_rows

    @property
    def capped(self) -> bool:
        """Whether caps couple all beta: then their part of the scores is kept apart."""
        return self.form in ("tied", "priced")

    @property
    def finite(self) -> bool:
        """Whether there is a model to go on from."""
        total, beta = float(self.point.alpha.sum()), self.point.beta
        return bool(total > 0.0 and beta.any() and np.isfinite(self.scores).all())

    @property
    def primal(self) -> float:
        """Best primal value; the zero model always counts."""
        return min(self.best.evaluation.primal, self.terms.value_at_zero)

    @property
    def relative_gap(self) -> float:
        """Relative gap of the best values."""
        primal = self.primal
        return (primal - self.best.dual) / primal if primal > 0.0 else 0.0

    def violation(self, gap: float, total: float) -> Violation:
        r"""Violations of pairs at which `gap` is left, where alpha sums up to `total`.

        At a model with the threshold t the gap is
        :math:`\sum_i v_i^2 c_i / 2r + \sum_j \beta_j (t - s_j)`, v what alpha violates, r the
        ridge: of the squared hinge it grows with the square of the first.
        """
        per_unit = gap / total
        if self.form == "norm":
            # The norm makes the dual smooth in beta, too.
            return Violation(2.0 * math.sqrt(per_unit))
        if self.form == "open" and not self.terms.loss.bounded:
            ridge, c = self.terms.loss.ridge, float(self.terms.c.sum())
            return Violation(0.5 * per_unit, math.sqrt(ridge * gap / c), gap)
        return Violation(per_unit, gap=gap if self.form == "open" else 0.0)

    def evaluate(self) -> Evaluation:
        """Evaluate both objectives at the point."""
        return evaluate(self.terms, self.point, self.scores)

    def record(self) -> None:
        """Take note of the point, where it is better."""
        now, best = self.evaluate(), self.best
        dual = max(best.dual, now.dual)
        if now.primal < best.evaluation.primal:
            self.best = Best(now, self.point.copy(), self.scores.copy(), dual)
        else:
            self.best = Best(best.evaluation, best.point, best.scores, dual)

    def put(self, point: DualPoint) -> None:
        """Go to a point; its scores are the caller's."""
        self.point.alpha[:], self.point.beta[:] = point.alpha, point.beta

    def start(self, last: DualPoint | None) -> None:
        """Start from the last fit, or from the positives and the rows nearest to them."""
        if last is not None:
            self.put(last)
            if self.point.alpha.any() and self.point.beta.any():
                self.repair()
                return
            self.point.beta[:] = 0.0
        self.point.alpha[:] = self.terms.c
        self.rescore()
        self.put(sparse_start(self.terms, self.scores[self.terms.ranked]))
        self.repair()

    def proposed(self, now: Evaluation) -> DualPoint | None:
        """Return the dual point that the scores propose; None for the zero model.

        At the optimum the scores determine alpha and beta.
        """
        terms = self.terms
        alpha = terms.loss.slopes(now.threshold - self.scores[terms.positive], terms.c)
        total = float(alpha.sum())
        if not total > 0.0:
            return None
        ranked = self.scores[terms.ranked]
        beta = terms.threshold.shares(ranked, terms.ranked_weight, now.threshold)
        if beta is None:
            beta = self.point.beta.copy()
        beta *= total / float(beta.sum())
        if terms.cap is not None:
            fill_caps(beta, terms.cap * total, self._ranking())
        return DualPoint(alpha, beta)

    def repair(self) -> None:
        """Make the point feasible and put it at the best place of its ray."""
        terms, point = self.terms, self.point
        np.minimum(point.alpha, alpha_bound(terms), out=point.alpha)
        total = float(point.alpha.sum())
        point.beta[:] *= total / float(point.beta.sum())
        self.rescore()
        if terms.cap is not None:
            fill_caps(point.beta, terms.cap * total, self._ranking())
            self.rescore()
        scale = self.evaluate().scale
        if scale > 0.0 and np.isfinite(scale):
            for values in (point.alpha, point.beta, self.scores, self.beta_scores):
                values *= scale

    def _ranking(self) -> np.ndarray:
        return np.argsort(-self.scores[self.terms.ranked], kind="stable")

    def rescore(self) -> None:
        """Compute the scores of all rows from nothing."""
        self.waiting = None
        self.scores = np.zeros(self.length)
        self.beta_scores = np.zeros(self.length)
        c = self.point.coefficients(self.terms, self.length)
        b = np.zeros(self.length)
        b[self.terms.ranked] = self.point.beta
        nonzero = np.flatnonzero((c != 0.0) | (b != 0.0))
        self.add(nonzero, c[nonzero], b[nonzero])

    def add(
        self, positions: np.ndarray, c: np.ndarray, b: np.ndarray, only: np.ndarray | None = None
    ) -> None:
        """Add changes of coefficients, and of beta alone, to the scores: `only` these, if given."""
        outputs, values = [self.scores], [c]
        if self.capped:
            outputs.append(self.beta_scores)
            values.append(b)
        self._add_rows(outputs, positions, values, only)

    @property
    def can_wait(self) -> bool:
        """Whether rows may be let wait: of few rows all are followed."""
        return self.length > LEAST and not self.capped

    def follow(self, positions: np.ndarray, c: np.ndarray, outside: np.ndarray) -> None:
        """Add changes of coefficients to the scores of rows `outside`; far ones wait.

        The scores of all others are at the point already.
        """
        low = np.zeros(self.length, dtype=bool)
        low[self.terms.ranked] = True
        low[self.terms.positive] = False
        beta = self.point.beta
        slope, total = float(beta_slopes(self.terms, beta, self.scores) @ beta), float(beta.sum())
        joins = -slope / total if total > 0.0 else -np.inf
        if self.waiting is None:
            self.waiting = Waiting(self.length, self._add_rows)
        self.waiting.move(positions, c, outside, low, joins, self.scores)

    def catch_up(self) -> None:
        """Bring the scores of all rows up to date."""
        if self.waiting is not None:
            self.waiting.catch_up(self.scores)

    def waits(self, rows: np.ndarray) -> bool:
        """Whether any of these rows waits."""
        return self.waiting is not None and bool(self.waiting.rows[rows].any())

    def adopt(self, scores: np.ndarray) -> None:
        """Take over scores of all rows."""
        self.waiting = None
        self.scores[:] = scores

    def scale_beta(self, factor: float) -> None:
        """Multiply every beta, and bring the scores up to date."""
        self.point.beta[:] *= factor
        self.scores -= (factor - 1.0) * self.beta_scores
        self.beta_scores *= factor

    def pair_state(self) -> PairState:
        """Return what pair steps know at the point."""
        ranked = self.terms.ranked
        scores, beta_scores = self.scores[ranked], self.beta_scores[ranked]
        return PairState.of(self.terms, self.form, self.point, scores, beta_scores)
