"""Which rows a kernel solver works on, and the dual restricted to them.

Samples to start from, rows to take in, their kernel matrix; and pair steps on that matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..rows.threads import team_size
from .gram import Computed, Held
from .kernel_problem import DualPoint, KernelTopProblem, alpha_bound
from .problem import TopTerms
from .simplex import best_on_simplex

_SAMPLE = 1500
_GROWTH = 4
_JOIN = 500
FORMS = {"open": 0, "norm": 1, "tied": 2, "priced": 3}
# How many rows of the threshold, squared, are worth one pair step among them; and the most
# steps among them before they are solved for, which bounds their matrix, too.
_STEPS_WORTH = 200
_PATIENCE = 25_000
# Row operations of one call of the compiled loop, a tenth of a second; where somebody asks
# whether to leave off, some hundredths.
_SLICE, _SHORT_SLICE = 100_000_000, 30_000_000


@dataclass(frozen=True)
class Chosen:
    """Variables of a restricted problem: alpha numbers, beta numbers, ascending.

    Attributes
    ----------
    alpha, beta : ndarray of int
        The variables.
    crowded : bool
        Whether some that matter had to be left out.
    """

    alpha: np.ndarray
    beta: np.ndarray
    crowded: bool


def choose(
    terms: TopTerms, point: DualPoint, held: DualPoint, scores: np.ndarray, most: int
) -> Chosen:
    """Choose the variables in the model and those that violate optimality.

    Parameters
    ----------
    terms : TopTerms
        The problem.
    point : DualPoint
        Where the restricted problem starts.
    held : DualPoint
        The point whose scores are known; its variables take part.
    scores : ndarray
        Scores of all rows.
    most : int
        Rows whose square matrix the memory allows.
    """
    alpha, beta, threshold = point.alpha, point.beta, terms.threshold
    form, upper = threshold.form(terms.ranked_weight), alpha_bound(terms)
    ridge = terms.loss.ridge / terms.c
    slope_a = 1.0 + threshold.shift - ridge * alpha - scores[terms.positive]
    slope_b = beta_slopes(terms, beta, scores)
    inside = (beta > 0.0) | (held.beta > 0.0)
    # Slope at which a row may join: that of the scale of all beta, and, where only
    # rows of the threshold trade among themselves, that of the least of them.
    total = float(slope_b @ beta)
    if form == "priced":
        total += threshold.price * threshold.level(beta, terms.ranked_weight)
    level_a = level_b = total / float(beta.sum())
    if form == "tied":
        level_b = float(slope_b[inside].max())
    use_a = np.flatnonzero((alpha > 0.0) | (held.alpha > 0.0) | (slope_a > level_a))
    use_b, new_b = np.flatnonzero(inside), np.flatnonzero(~inside & (slope_b < level_b))
    size = len(use_a) + len(use_b)
    joining, room = max(_JOIN, size // 4), most - size
    new_b = largest(new_b, -slope_b[new_b], min(joining, room) if room > _JOIN else joining)
    use_b = np.concatenate([use_b, new_b])
    crowded = len(use_a) + len(use_b) > most
    if crowded:
        quarter = max(1, most // 4)
        use_a = steepest(slope_a, alpha < upper, alpha > 0.0, quarter)
        below = np.ones(len(beta), dtype=bool)
        if form in ("tied", "priced"):
            level = threshold.level(beta, terms.ranked_weight)
            below = beta < terms.ranked_weight * level * (1.0 - 1e-12)
        use_b = steepest(slope_b, inside, below, quarter)
    return Chosen(np.sort(use_a), np.sort(use_b), crowded)


def beta_slopes(terms: TopTerms, beta: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Slopes of the dual along each beta, its sign turned, without what caps cost."""
    slope, threshold = -scores[terms.ranked], terms.threshold
    if threshold.form(terms.ranked_weight) == "norm":
        norm = np.sqrt(float((beta / terms.ranked_weight) @ beta))
        slope += threshold.price / norm * beta / terms.ranked_weight
    return np.asarray(slope)


def fill_caps(beta: np.ndarray, cap: np.ndarray, ranking: np.ndarray) -> None:
    """Cut `beta` at `cap` and put what is cut off first on the rows in use, then by rank."""
    total = float(beta.sum())
    np.minimum(beta, cap, out=beta)
    used = beta > 0.0
    for rows in (ranking[used[ranking]], ranking[~used[ranking]]):
        room = cap[rows] - beta[rows]
        missing = total - float(beta.sum())
        beta[rows] += np.clip(missing - (np.cumsum(room) - room), 0.0, room)


def sample_order(problem: KernelTopProblem) -> tuple[np.ndarray, list[int]]:
    """Order of the rows, and how many of them each level uses."""
    others = problem.ranked[~np.isin(problem.ranked, problem.positive)]
    n = len(problem.positive) + len(others)
    if problem.kernel.precomputed:
        # No entry has to be computed, and in their own order none has to be copied.
        return np.sort(np.concatenate([problem.positive, others])), [n]
    if n <= 2 * _SAMPLE:
        return np.concatenate([problem.positive, others]), [n]
    rng = np.random.default_rng(problem.seed)
    positive = rng.permutation(problem.positive)
    negative = rng.permutation(others)
    sizes = [n]
    while sizes[0] > 2 * _SAMPLE:
        sizes.insert(0, sizes[0] // _GROWTH)
    order, levels, done_p, done_n = [], [], 0, 0
    for size in sizes:
        p = min(len(positive), max(round(len(positive) * size / n), min(200, size // 2)))
        q = min(len(negative), max(round(len(negative) * size / n), min(200, size // 2)))
        order += [positive[done_p:p], negative[done_n:q]]
        done_p, done_n = p, q
        levels.append(p + q)
    return np.concatenate(order), levels


def steepest(slope: np.ndarray, up: np.ndarray, down: np.ndarray, count: int) -> np.ndarray:
    """Steepest variables that can go up and those that can go down, `count` of each."""
    up, down = np.flatnonzero(up), np.flatnonzero(down)
    return np.union1d(largest(up, slope[up], count), largest(down, -slope[down], count))


def largest(index: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` entries of `index` with the largest values."""
    if len(index) <= count:
        return index
    return index[np.argpartition(-values, count - 1)[:count]]


@dataclass(frozen=True)
class PairState:
    """What pair steps know of all variables, those outside the working set included.

    Attributes
    ----------
    beta_square : float
        Sum of ``beta**2 / weight`` (the squared surrogate quantile).
    level : float
        Level of the caps (coupled thresholds, as all that follow).
    total : float
        Sum of beta.
    beta_norm : float
        Squared norm of the part of the model that beta makes.
    beta_score : float
        Scores of the rows of the threshold, weighted by beta.
    factor : float
        By what the beta outside were multiplied.
    unsettled : float
        What beta still violates where settling it took too many steps.
    """

    beta_square: float = 0.0
    level: float = 0.0
    total: float = 0.0
    beta_norm: float = 0.0
    beta_score: float = 0.0
    factor: float = 1.0
    unsettled: float = 0.0

    @classmethod
    def of(
        cls,
        terms: TopTerms,
        form: str,
        point: DualPoint,
        scores: np.ndarray,
        beta_scores: np.ndarray,
    ) -> PairState:
        """State at a point, given the scores of the rows of the threshold."""
        beta, weight = point.beta, terms.ranked_weight
        if form == "norm":
            return cls(beta_square=float((beta / weight) @ beta))
        if form == "open":
            return cls()
        return cls(
            level=terms.threshold.level(beta, weight),
            total=float(beta.sum()),
            beta_norm=float(beta @ beta_scores),
            beta_score=float(beta @ scores),
        )

    def array(self) -> np.ndarray:
        """Return the numbers in the order of the compiled loop."""
        numbers = (self.beta_square, self.level, self.total, self.beta_norm, self.beta_score)
        return np.array([*numbers, self.factor, self.unsettled])


@dataclass(frozen=True)
class Violation:
    """By how much pairs may violate optimality.

    Attributes
    ----------
    threshold : float
        Pairs of rows of the threshold.
    loss : float
        Pairs with a row that has a loss, where the form of the dual is ``"open"``; in all
        other forms the first holds for every pair.
    gap : float
        The gap among the rows at which any violation is let be; zero if none is known.
    """

    threshold: float
    loss: float = 0.0
    gap: float = 0.0

    def sharper(self, factor: float, least: float = 0.0) -> Violation:
        """Return this multiplied by a factor, violations no less than `least`."""
        threshold, loss = (max(factor * value, least) for value in (self.threshold, self.loss))
        return Violation(threshold, loss, factor * self.gap)


@dataclass(frozen=True)
class Working:
    """Rows of a restricted problem: positions, their variables, their matrix."""

    positions: np.ndarray
    alpha: np.ndarray  # which alpha (numbers among the positives), first rows
    beta: np.ndarray  # which beta, last rows
    gram: Held | Computed

    def spread(self, alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of the variables, row by row."""
        a, b = np.zeros(len(self.positions)), np.zeros(len(self.positions))
        a[: len(alpha)] = alpha
        b[len(b) - len(beta) :] = beta
        return a, b


@dataclass(frozen=True)
class Steps:
    """What some pair steps led to.

    Attributes
    ----------
    count : int
        How many there were.
    alpha, beta : ndarray
        New values of the variables of the working set.
    scores, beta_scores : ndarray
        New scores of its rows.
    state : PairState
        The rest.
    """

    count: int
    alpha: np.ndarray
    beta: np.ndarray
    scores: np.ndarray
    beta_scores: np.ndarray
    state: PairState


def pair_steps(
    terms: TopTerms,
    work: Working,
    point: DualPoint,
    scores: np.ndarray,
    beta_scores: np.ndarray,
    state: PairState,
    eps: Violation,
    most: int,
    *,
    seed: int = 0,
    stop: Callable[[], bool] | None = None,
) -> Steps:
    """Take pair steps until none violates optimality by more than `eps` allows.

    Parameters
    ----------
    terms : TopTerms
        The problem.
    work : Working
        Rows that may move.
    point : DualPoint
        Where to start from: all variables.
    scores, beta_scores : ndarray
        Scores of the working rows, and the part of them that beta makes.
    state : PairState
        State at the point.
    eps : Violation
        What is let be.
    most : int
        Limit of the steps.
    seed : int
        Where it is not zero, pairs are random and `most` of them are taken.
    stop : callable or None
        Asked every few hundredths of a second whether to leave off.
    """
    alpha, beta = point.alpha[work.alpha], point.beta[work.beta]
    f, f_beta, numbers = scores.copy(), beta_scores.copy(), state.array()
    ridge, threshold = terms.loss.ridge / terms.c, terms.threshold
    form = threshold.form(terms.ranked_weight)
    upper, count, factor = alpha_bound(terms), 0, state.factor
    work_allowed = _SLICE if stop is None else _SHORT_SLICE
    # Steps among beta that cost about what solving for them does.
    patience = max(2 * len(beta), len(beta) ** 2 // _STEPS_WORTH)
    while count < most:
        if patience > _PATIENCE:
            patience = most
        taken, paused = _core.pair_steps(
            work.gram.rows,
            alpha,
            ridge[work.alpha],
            upper[work.alpha],
            beta,
            terms.ranked_weight[work.beta],
            f,
            f_beta,
            numbers,
            FORMS[form],
            1.0 + threshold.shift,
            threshold.price,
            eps.threshold,
            most - count,
            seed + count if seed else 0,
            eps.loss,
            patience,
            work_allowed if patience == most else max(work_allowed, 2 * patience * len(beta)),
            eps.gap,
            team_size(),
        )
        count += taken
        if numbers[6] > 0.0:
            settle(work, beta, f, eps.threshold)
            patience *= 2  # where rounding leaves them unsettled, steps have to do
            paused = True
        factor *= float(numbers[5])
        if not paused or (stop is not None and stop()):
            break
    numbers[5] = factor
    return Steps(count, alpha, beta, f, f_beta, PairState(*(float(x) for x in numbers)))


def settle(work: Working, beta: np.ndarray, scores: np.ndarray, eps: float) -> None:
    r"""Settle beta among themselves, in place, where pair steps crawl.

    .. math:: \max_\beta\ (K_{ba} \alpha)^\top \beta - \tfrac12 \beta^\top K_{bb} \beta,
              \qquad \beta \ge 0, \quad \mathbf 1^\top \beta \ \text{as it is}
    """
    first = len(work.positions) - len(beta)
    K = work.gram.among(first)
    found = best_on_simplex(K, scores[first:] + K @ beta, beta, 0.25 * eps)
    change = np.zeros(len(work.positions))
    change[first:] = beta - found
    scores += work.gram.times(change)
    beta[:] = found


def place(terms: TopTerms, work: Working, guess: DualPoint) -> tuple[np.ndarray, np.ndarray]:
    """Put a guess at the best place of its ray; return its scores and those of beta."""
    n = len(work.positions)
    a, b = work.spread(guess.alpha[work.alpha], guess.beta[work.beta])
    f, f_beta = work.gram.times(a - b), np.zeros(n)
    if terms.threshold.form(terms.ranked_weight) in ("tied", "priced"):
        f_beta = work.gram.times(b)
    penalty = terms.threshold.penalty(guess.beta, terms.ranked_weight)
    squared_norm = max(float((a - b) @ f), 0.0)
    scale = terms.dual_along_ray(guess.alpha, squared_norm, penalty).scale
    if scale > 0.0 and np.isfinite(scale):
        for values in (guess.alpha, guess.beta, f, f_beta):
            values *= scale
    return f, f_beta
