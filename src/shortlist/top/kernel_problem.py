r"""The top of a two-class list with kernel scores.

The problem and its dual are those of :mod:`shortlist.top.problem`, with

.. math:: f(x) = \sum_i \alpha_i k(x_i, x) - \sum_j \beta_j k(x_j, x), \qquad
          \|w\|^2 = \sum_i \alpha_i f(x_i) - \sum_j \beta_j f(x_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._losses import Loss
from .._solver import WITHOUT_COUPLING
from ..rows.cache import RowCache
from ..rows.kernels import KernelMatrix
from .problem import TopTerms
from .sweeps import ArrayScores
from .thresholds import Threshold


@dataclass(frozen=True)
class DualPoint:
    """Dual variables of the positives and of the rows of the threshold."""

    alpha: np.ndarray
    beta: np.ndarray

    def coefficients(self, terms: TopTerms, length: int) -> np.ndarray:
        """Alpha minus beta of every one of `length` rows."""
        c = np.zeros(length)
        c[terms.positive] += self.alpha
        c[terms.ranked] -= self.beta
        return c

    def copy(self) -> DualPoint:
        """Return the same point in other memory."""
        return DualPoint(self.alpha.copy(), self.beta.copy())


@dataclass(frozen=True)
class Evaluation:
    """Both sides of the certificate at one dual point.

    Attributes
    ----------
    primal, dual : float
        The objectives; the dual is the best along the ray.
    threshold : float
        Threshold of the scores.
    scale : float
        Where on the ray the dual is best.
    """

    primal: float
    dual: float
    threshold: float
    scale: float


class KernelTopProblem(TopTerms):
    """The terms with kernel scores.

    Parameters
    ----------
    kernel : KernelMatrix
        Entries of the kernel of the training rows.
    positive, ranked, weight, C, loss, threshold
        As in :class:`~shortlist.top.problem.TopTerms`.
    cache_bytes : int
        Memory for kernel entries.
    seed : int
        Of the sample a solver may start from, or of its random steps.
    start : DualPoint or None
        Dual variables of an earlier fit on the same rows.
    cache : RowCache or None
        Kernel rows of that fit; a solver may leave its own here.

    Attributes
    ----------
    indefinite : bool
        Whether the kernel is known not to be positive: then nothing bounds the optimum.
    """

    def __init__(
        self,
        kernel: KernelMatrix,
        positive: np.ndarray,
        ranked: np.ndarray,
        weight: np.ndarray,
        C: float,
        loss: Loss,
        threshold: Threshold,
        *,
        cache_bytes: int,
        seed: int = 0,
        start: DualPoint | None = None,
        cache: RowCache | None = None,
    ) -> None:
        super().__init__(positive, ranked, weight, C, loss, threshold)
        self.cache = cache
        self.kernel = kernel
        self.weight = weight
        self.C = C
        self.cache_bytes = cache_bytes
        self.seed = seed
        self.start = start
        self.indefinite = False

    @property
    def offers(self) -> frozenset[str]:
        """Capabilities that solvers ask for."""
        offers = {"kernel rows"}
        if self.threshold.form(self.ranked_weight) in ("open", "norm"):
            offers.add(WITHOUT_COUPLING)
        return frozenset(offers)


@dataclass
class KernelSolution:
    """A kernel model with its threshold and dual point.

    Attributes
    ----------
    coefficients : ndarray
        One per training row, alpha minus beta.
    scores : ndarray
        One per training row; undefined for rows of weight zero.
    threshold : float
        Threshold of the training scores.
    primal : float
        Its objective.
    score_scale : float
        Largest absolute score of a row of the threshold, raised by the rounding of a
        float32 kernel over that of float64.
    point : DualPoint
        The dual variables.
    top_ranked : int
        Row with the largest dual weight among those of the threshold.
    """

    coefficients: np.ndarray
    scores: np.ndarray
    threshold: float
    primal: float
    score_scale: float
    point: DualPoint
    top_ranked: int

    def ranked_scores(self, problem: KernelTopProblem) -> ArrayScores:
        """Return the scores of the rows of the threshold."""
        return ArrayScores(self.scores[problem.ranked], problem.ranked_weight, problem.threshold)

    @classmethod
    def of(
        cls,
        problem: KernelTopProblem,
        point: DualPoint,
        evaluation: Evaluation,
        scores: np.ndarray | None,
    ) -> KernelSolution:
        """Make the model of a dual point from its scores; without any, the zero model."""
        top = int(problem.ranked[np.argmax(point.beta)])
        n = problem.kernel.n_rows
        t, primal = evaluation.threshold, evaluation.primal
        if scores is None:
            return cls(np.zeros(n), np.zeros(n), t, primal, 0.0, point, top)
        c = point.coefficients(problem, n)
        scale = float(np.abs(scores[problem.ranked]).max())
        if problem.kernel.scores_narrow:
            scale *= 1e5
        return cls(c, scores, t, primal, scale, point, top)


@dataclass(frozen=True)
class Layout:
    """An order of the rows that count, and the variables in the order of their rows.

    So a sample is a prefix of the rows and of either kind of variable.

    Attributes
    ----------
    problem : KernelTopProblem
        The problem.
    order : ndarray of int
        Training row at every position.
    positive, ranked : ndarray of int
        Positions of the rows with a loss and of those of the threshold, ascending.
    by_positive, by_ranked : ndarray of int
        Number, in the problem, of the variable at each place.
    """

    problem: KernelTopProblem
    order: np.ndarray
    positive: np.ndarray
    ranked: np.ndarray
    by_positive: np.ndarray
    by_ranked: np.ndarray

    @classmethod
    def of(cls, problem: KernelTopProblem, order: np.ndarray) -> Layout:
        """Lay the variables out along `order`."""
        place = np.empty(problem.kernel.n_rows, dtype=np.intp)
        place[order] = np.arange(len(order))
        by_positive = np.argsort(place[problem.positive])
        by_ranked = np.argsort(place[problem.ranked])
        positive = place[problem.positive][by_positive]
        ranked = place[problem.ranked][by_ranked]
        return cls(problem, order, positive, ranked, by_positive, by_ranked)

    def terms(self, length: int) -> TopTerms:
        """Terms over the first `length` rows: of the whole problem, or of one like it."""
        problem, weight = self.problem, self.problem.weight[self.order]
        positive = self.positive[self.positive < length]
        ranked = self.ranked[self.ranked < length]
        C, threshold = problem.C, problem.threshold
        if length < len(self.order):
            # As much loss in all as the whole has: the models of all levels are alike.
            C *= float(weight[self.positive].sum() / weight[positive].sum())
            share = float(weight[ranked].sum() / weight[self.ranked].sum())
            threshold = threshold.restricted(share)
        return TopTerms(positive, ranked, weight, C, problem.loss, threshold)

    def placed(self, point: DualPoint) -> DualPoint:
        """Return a point of the problem, along the layout."""
        return DualPoint(point.alpha[self.by_positive], point.beta[self.by_ranked])

    def given(self, point: DualPoint) -> DualPoint:
        """Return a point along the layout, in the order of the problem."""
        alpha, beta = np.empty(len(point.alpha)), np.empty(len(point.beta))
        alpha[self.by_positive], beta[self.by_ranked] = point.alpha, point.beta
        return DualPoint(alpha, beta)


def alpha_bound(terms: TopTerms) -> np.ndarray:
    """Upper bound of every alpha, infinite where there is none."""
    bound = terms.loss.dual_bound(terms.c)
    return np.full(len(terms.c), np.inf) if bound is None else bound


def evaluate(terms: TopTerms, point: DualPoint, scores: np.ndarray) -> Evaluation:
    """Evaluate primal and dual, given the scores of the rows that `terms` counts."""
    positive_scores, ranked_scores = scores[terms.positive], scores[terms.ranked]
    if not np.isfinite(scores).all():
        return Evaluation(np.inf, 0.0, 0.0, 0.0)  # sums beyond float64: no model
    squared_norm = float(point.alpha @ positive_scores) - float(point.beta @ ranked_scores)
    squared_norm = max(squared_norm, 0.0)
    t = terms.threshold.value(ranked_scores, terms.ranked_weight)
    primal = 0.5 * squared_norm + terms.loss.total(t - positive_scores, terms.c)
    penalty = terms.threshold.penalty(point.beta, terms.ranked_weight)
    ray = terms.dual_along_ray(point.alpha, squared_norm, penalty)
    return Evaluation(primal, ray.value, t, ray.scale)


def sparse_start(terms: TopTerms, nearness: np.ndarray) -> DualPoint:
    """Uniform alpha; beta on the rows of the threshold nearest to the positives' mean.

    Few rows define the top, and a start on all of them costs several times the steps;
    beta = 0 is a singular point of the surrogate quantiles.
    """
    order = np.argsort(-nearness, kind="stable")
    reach = np.searchsorted(
        np.cumsum(terms.ranked_weight[order]), max(30.0, terms.threshold.near_weight)
    )
    near = order[: int(reach) + 1]
    alpha, beta = terms.c.copy(), np.zeros(len(terms.ranked))
    weight = terms.ranked_weight[near]
    beta[near] = weight * float(alpha.sum() / weight.sum())
    return DualPoint(alpha, beta)
