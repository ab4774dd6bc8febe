"""The dual restricted to some rows, solved by pair steps on their own kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from .kernel_problem import DualPoint, alpha_bound
from .problem import TopTerms

FORMS = {"open": 0, "norm": 1, "tied": 2, "priced": 3}
# Row operations of one call of the compiled loop: some hundredths of a second.
_SLICE = 10_000_000


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
    violation : float
        Of the last pair that was looked at.
    """

    beta_square: float = 0.0
    level: float = 0.0
    total: float = 0.0
    beta_norm: float = 0.0
    beta_score: float = 0.0
    factor: float = 1.0
    violation: float = np.inf

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
        return np.array([*numbers, self.factor, self.violation])


@dataclass(frozen=True)
class Working:
    """Rows of a restricted problem: positions, their variables, their matrix."""

    positions: np.ndarray
    alpha: np.ndarray  # which alpha (numbers among the positives), first rows
    beta: np.ndarray  # which beta, last rows
    gram: np.ndarray

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
    eps: float,
    most: int,
    *,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Steps:
    """Take pair steps until none violates optimality by more than `eps`.

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
    eps : float
        Violation that is let be.
    most : int
        Limit of the steps.
    seed : int
        Where it is not zero, pairs are random and `most` of them are taken.
    stop : callable
        Asked every few hundredths of a second whether to leave off.
    """
    alpha, beta = point.alpha[work.alpha], point.beta[work.beta]
    f, f_beta, numbers = scores.copy(), beta_scores.copy(), state.array()
    ridge, threshold = terms.loss.ridge / terms.c, terms.threshold
    form = threshold.form(terms.ranked_weight)
    at_a_time = max(1, _SLICE // (1 + len(work.positions)))
    upper, count, factor = alpha_bound(terms), 0, state.factor
    while count < most:
        wanted = min(at_a_time, most - count)
        taken = _core.pair_steps(
            work.gram,
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
            eps,
            wanted,
            *([seed + count] if seed else []),
        )
        count += taken
        factor *= float(numbers[5])
        if taken < wanted or stop():
            break
    numbers[5] = factor
    return Steps(count, alpha, beta, f, f_beta, PairState(*(float(x) for x in numbers)))


def place(terms: TopTerms, work: Working, guess: DualPoint) -> tuple[np.ndarray, np.ndarray]:
    """Put a guess at the best place of its ray; return its scores and those of beta."""
    n = len(work.positions)
    a, b = work.spread(guess.alpha[work.alpha], guess.beta[work.beta])
    f, f_beta, every = np.zeros(n), np.zeros(n), np.arange(n)
    _core.add_rows(work.gram, every, a - b, f)
    if terms.threshold.form(terms.ranked_weight) in ("tied", "priced"):
        _core.add_rows(work.gram, every, b, f_beta)
    penalty = terms.threshold.penalty(guess.beta, terms.ranked_weight)
    squared_norm = max(float((a - b) @ f), 0.0)
    scale = terms.dual_along_ray(guess.alpha, squared_norm, penalty).scale
    if scale > 0.0 and np.isfinite(scale):
        for values in (guess.alpha, guess.beta, f, f_beta):
            values *= scale
    return f, f_beta
