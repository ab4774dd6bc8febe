r"""The top of a two-class list: problem, dual, and values that are proved.

.. math:: P(w) = \tfrac12 \|w\|^2 + \sum_{i \in pos} c_i \, \ell(t - w \cdot x_i),
          \qquad t = T(\{ w \cdot x_j : j \in neg \})

.. math:: D(\alpha, \beta) = \textstyle\sum\alpha - \sum \frac{r}{2 c_i}\alpha_i^2
          - \tfrac12 \| \sum\alpha_i x_i - \sum\beta_j x_j \|^2 - \psi(\beta),
          \qquad \sum\alpha = \sum\beta, \; 0 \le \beta_j \le \pi_j \sum\beta

Both sums run over the positives (:math:`\alpha`) and over the rows of the threshold
(:math:`\beta`: the negatives, or every row); :math:`\psi` belongs to the threshold.

**Proof of a primal value.** Scores are off by at most :math:`\delta`
(:mod:`shortlist.rows.rounding`). A threshold moves with the scores and grows with them, so it
is off by at most :math:`\delta` too, beside its own rounding :math:`\varepsilon`; every
violation :math:`t - s_i` is off by :math:`2\delta + \varepsilon`, and the loss by its slope
times that.

**Proof of a dual value.** The point that was evaluated misses the feasible set by rounding,
or by a little more: sums that differ by a share a, caps exceeded by a share b. Then a
feasible point lies within :math:`(a + 6b) \sum\alpha` of it in the sum of absolute
differences: divide the shares by 1 + b, cut them at their caps, and give what is missing to
rows with room. Its model differs by at most that times the length of the longest row, and so
its value is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._losses import Loss
from ..rows.operators import Rows, as_rows
from ..rows.rounding import Reach, gamma, half_square_error, sum_error
from .sweeps import (
    ArrayScores,
    RankedRows,
    ScaledScores,
    Start,
    Sweep,
    SweptProblem,
    Wanted,
    highest,
)
from .thresholds import Threshold


@dataclass(frozen=True)
class RayMaximum:
    """Best dual value along the ray through a feasible point, and where it is.

    `ridge` is what the loss takes off at the point itself.
    """

    value: float
    scale: float
    ridge: float = 0.0


@dataclass(frozen=True)
class Solution:
    """A model with its threshold.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    threshold : float
        Threshold of the negatives' scores under `w`, counted from the rows' centre.
    score_scale : float
        Largest absolute score of a negative.
    top_ranked : int
        Row with the largest dual weight among the negatives, -1 if unknown.
    scores : ScaledScores or None
        Scores of the rows of the threshold; None for the zero model or if not kept.
    start : Start or None
        What a later fit may start from, beside the model.
    """

    w: np.ndarray
    threshold: float
    score_scale: float = 0.0
    top_ranked: int = -1
    scores: ScaledScores | None = None
    start: Start | None = None

    def ranked_scores(self, problem: Any) -> ScaledScores | None:
        """Return the scores of the rows of the threshold, where they are known."""
        return self.scores


class TopObjective:
    """Loss x threshold: both objectives, given scores.

    Parameters
    ----------
    positive_weight : ndarray
        Multiplicity of every row with a loss.
    C : float
        Weight of the loss against the norm.
    loss : Loss
        Loss of the positives.
    threshold : Threshold
        Threshold over the rows that rank.
    total_weight : float
        Weight of all these rows.
    n_ranked : int
        How many they are.

    Attributes
    ----------
    threshold_at_zero, zero_error : float
        Threshold of the zero model, and the bound of its rounding error.
    """

    def __init__(
        self,
        positive_weight: np.ndarray,
        C: float,
        loss: Loss,
        threshold: Threshold,
        total_weight: float,
        n_ranked: int,
    ) -> None:
        self.positive_weight = positive_weight
        self.c = C * positive_weight
        self.loss = loss
        self.threshold = threshold
        zeros = ArrayScores(np.zeros(1), np.array([total_weight]), threshold)
        self.threshold_at_zero = t = zeros.threshold()
        self.zero_error = zeros.threshold_error(t) + gamma(n_ranked) * (abs(t) + threshold.shift)

    @cached_property
    def value_at_zero(self) -> float:
        """Primal value of the zero model."""
        return self.loss.total(np.full(len(self.c), self.threshold_at_zero), self.c)

    def primal_at(self, w: np.ndarray, positive_scores: np.ndarray, t: float) -> float:
        """Primal value of `w` for a known threshold."""
        return 0.5 * float(w @ w) + self.loss.total(t - positive_scores, self.c)

    def dual_along_ray(self, alpha: np.ndarray, squared_norm: float, penalty: float) -> RayMaximum:
        """Maximise the dual along the ray of a feasible point, given its psi."""
        linear = float(alpha.sum()) - penalty
        per_c = alpha / self.c
        ridge = 0.5 * self.loss.ridge * float(per_c @ alpha)
        quadratic = ridge + 0.5 * squared_norm
        # Without any alpha there is no ray, whatever rounding has left of beta.
        if linear <= 0.0 or not alpha.any():
            return RayMaximum(0.0, 0.0, ridge)
        scale = linear / (2.0 * quadratic) if quadratic > 0.0 else np.inf
        if self.loss.bounded:
            scale = min(scale, 1.0 / float(per_c.max()))
        return RayMaximum(scale * linear - scale * scale * quadratic, scale, ridge)


@dataclass(frozen=True)
class Bound:
    """An objective value, and how far rounding may have moved it."""

    value: float
    error: float

    @property
    def lower(self) -> float:
        """The least that the exact value can be."""
        return self.value - self.error


NO_BOUND = Bound(0.0, 0.0)  # the dual point zero is feasible


def primal_error(
    objective: TopObjective | SweptProblem,
    reach: Reach,
    w: np.ndarray,
    positive_scores: np.ndarray,
    t: float,
    threshold_error: float,
) -> float:
    """Bound the rounding error of the primal value of `w`."""
    error = 2.0 * reach.score_error(w) + threshold_error
    squared = 0.5 * gamma(len(w)) * float(w @ w)
    return squared + objective.loss.total_error(t - positive_scores, objective.c, error)


def dual_bound(
    objective: TopObjective | SweptProblem,
    reach: Reach,
    alpha: np.ndarray,
    beta: np.ndarray,
    model: np.ndarray,
    weight: np.ndarray,
    cap: Any = None,
) -> Bound:
    """Return the best dual value along the ray of a point that is feasible up to rounding.

    Parameters
    ----------
    objective : TopObjective or SweptProblem
        The problem.
    reach : Reach
        Of the rows.
    alpha, beta : ndarray
        The point. Their sums should agree, and every `beta` be at most its cap.
    model : ndarray
        Its model, summed up in float64 from the rows.
    weight : ndarray
        Multiplicities of the rows of `beta`.
    cap : ndarray or None
        Largest shares of these rows.
    """
    total, other = float(alpha.sum()), float(beta.sum())
    if not (np.isfinite(total) and total > 0.0 and alpha.min() >= 0.0 and beta.min() >= 0.0):
        return NO_BOUND
    exceeded = 0.0 if cap is None else max(0.0, float((beta / cap).max()) / total - 1.0)
    count = len(alpha) + len(beta)
    infeasible = abs(total - other) / total + 6.0 * exceeded + 6.0 * gamma(count)
    length = float(np.linalg.norm(model))
    error = reach.model_error(total + other, count) + infeasible * total * reach.length
    penalty = objective.threshold.penalty(beta, weight)
    ray = objective.dual_along_ray(alpha, length * length, penalty)
    if not np.isfinite(ray.value):
        return NO_BOUND
    # The penalty is a difference of two terms; its norm moves with the point.
    terms = abs(penalty) + 2.0 * objective.threshold.shift * total
    linear = 2.0 * sum_error(alpha) + (gamma(count) + infeasible) * terms
    quadratic = half_square_error(length, error)
    quadratic += gamma(count + len(model)) * (ray.ridge + 0.5 * length * length)
    s = ray.scale
    return Bound(ray.value, s * linear + s * s * quadratic)


class TopTerms(TopObjective):
    """The objective over rows that are all at hand, however their scores come about.

    Parameters
    ----------
    positive : ndarray of int
        Rows with a loss.
    ranked : ndarray of int
        Rows of the threshold: the negatives, or every row. Rows of weight zero are
        in neither.
    weight : ndarray
        Multiplicity of every row.
    C, loss, threshold
        As in :class:`TopObjective`.
    """

    def __init__(
        self,
        positive: np.ndarray,
        ranked: np.ndarray,
        weight: np.ndarray,
        C: float,
        loss: Loss,
        threshold: Threshold,
    ) -> None:
        self.positive = positive
        self.ranked = ranked
        self.ranked_weight = weight[ranked]
        total = float(self.ranked_weight.sum())
        super().__init__(weight[positive], C, loss, threshold, total, len(ranked))
        self.cap = threshold.caps(self.ranked_weight)


class TopProblem(TopTerms):
    """The terms with linear scores.

    Parameters
    ----------
    X : ndarray or csr matrix
        All training rows, both classes.
    positive, ranked, weight, C, loss, threshold
        As in :class:`TopTerms`.
    reach : Reach or None
        That of all rows, where it is known.

    Attributes
    ----------
    centre : ndarray or None
        What is subtracted from rows far from the origin. Neither objective depends on it,
        scores and thresholds do.
    reach : Reach
        How far the rows reach from the centre.
    start : Start or None
        A solution to start from, where there is one.
    """

    def __init__(
        self,
        X: Any,
        positive: np.ndarray,
        ranked: np.ndarray,
        weight: np.ndarray,
        C: float,
        loss: Loss,
        threshold: Threshold,
        reach: Reach | None = None,
    ) -> None:
        super().__init__(positive, ranked, weight, C, loss, threshold)
        reach = Reach.of(X) if reach is None else reach
        self.centre = reach.centre()
        self.reach = reach.shifted(self.centre)
        self.rows = as_rows(X, self.centre)
        self.n_features = self.rows.n_features
        self.capped = self.cap is not None
        self.start_passes = 1
        self.start: Start | None = None

    @cached_property
    def positives(self) -> Rows:
        """The rows with a loss."""
        return self.rows.take(self.positive)

    @property
    def offers(self) -> frozenset[str]:
        """Capabilities that solvers ask for."""
        offers = {"working set of linear rows"}
        if self.threshold.projectable():
            offers.add("dual projection")
        return frozenset(offers)

    def split_scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score every row once; return the scores of the positives and of the ranked rows."""
        scores = self.rows.scores(w)
        return scores[self.positive], scores[self.ranked]

    def signed_sum(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return the model of a dual point, sum of alpha x minus sum of beta x."""
        v = np.zeros(self.rows.n_rows)
        v[self.positive] = alpha
        v[self.ranked] -= beta
        return self.rows.combine(v)

    def primal(
        self, w: np.ndarray, positive_scores: np.ndarray, ranked_scores: np.ndarray
    ) -> tuple[float, float]:
        """Return the primal value of `w` and its threshold, given all scores."""
        t = self.threshold.value(ranked_scores, self.ranked_weight)
        return self.primal_at(w, positive_scores, t), t

    def mean_difference(self) -> np.ndarray:
        """Mean of the positives minus mean of the rows of the threshold."""
        return self.signed_sum(
            self.positive_weight / self.positive_weight.sum(),
            self.ranked_weight / self.ranked_weight.sum(),
        )

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""
        positive_scores, scores = self.split_scores(w)

        def ranked_rows() -> RankedRows:
            new = scores > wanted.cut
            new[wanted.known] = False
            position = np.flatnonzero(new)
            weight = self.ranked_weight[position]
            position = position[highest(scores[position], weight, wanted)]
            rows = self.rows.take(self.ranked[position])
            return RankedRows(position, scores[position], self.ranked_weight[position], rows)

        whole = ArrayScores(scores, self.ranked_weight, self.threshold)
        return Sweep(positive_scores, whole, ranked_rows)

    def row_number(self, position: int) -> int:
        """Return the number of a row among the training rows."""
        return int(self.ranked[position])
