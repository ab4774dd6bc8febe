r"""From held-out scores of several members to one score, in log odds.

Three steps, none of which looks at the batch it scores, so that a row's score is its own:

1. *Calibrate*: one logistic regression a member turns its score :math:`s_j` into log odds
   :math:`\ell_j = a_j s_j + b_j`, with :math:`a_j \ge 0`.
2. *Weigh*: :math:`c = \sum_j w_j \ell_j`, with the weights of a head.
3. *Calibrate* the sum in the same way, because the mean of log odds is too timid.

Heads. ``"greedy"``: selection with replacement. Start from nothing; twenty times add the
member that raises the average precision of the sum most, and go back to the best round; a
member's weight is how often it was added. Done on twenty random parts of the rows, and
averaged: what was taken by luck in one part is outvoted. ``"logistic"``: the weights of the
least logistic loss, shrunk towards equal ones,

.. math:: \min_{w \ge 0,\, b} \sum_i \log\bigl(1 + e^{-y_i (w \cdot \ell_i + b)}\bigr)
          + \lambda \|w - a \mathbf{1} / M\|^2

with the slope a that calibrates the mean of the M members. ``"mixed"``: the mean of these two.
The first looks at the order only, the second at the odds, and they err differently.
``"patmat"``: the convex problem of :class:`shortlist.PatMat` on the log odds, in coordinates
that shrink towards their mean,

.. math:: z = (B \bar\ell,\ \ell_1 - \bar\ell,\ \dots,\ \ell_M - \bar\ell)

where a large B makes the plain mean nearly free and every departure from it cost. ``"both"``:
the mean of the greedy and the Pat&Mat weights. ``"mean"``: equal weights. The logistic and the
Pat&Mat problem are convex; a certificate says how close to its optimum a head is.

No weight is negative. Members that are alike would get large ones of opposite signs from
a convex problem, by luck; those that Pat&Mat has below zero leave, and it is solved again for
the others. Crumbs are dropped, because every member of weight is fitted once more.

References
----------
R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, "Ensemble selection from libraries of
models", ICML 2004.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier

from .._scores import margins_of, positive_scores
from ..certificate import Certificate, Status
from ..rows.rounding import gamma
from ..top.estimators import PatMat

HEADS = ("mixed", "greedy", "logistic", "patmat", "both", "mean")

ROUNDS = 20
BAGS = 20
PART = 0.6
# More rows than these do not change which member is best.
_BAG_ROWS = 10_000
# Probabilities of 0 and 1 are finite log odds, and no two different ones tie.
SOFT = 0.002
# Log odds per standard deviation of a score that tells nothing.
_LEAST_SLOPE = 1e-3
# How much cheaper the plain mean is than a departure from it, and the price of the loss.
_MEAN = 10.0
_HEAD_C = 0.1
# Part of the list that Pat&Mat looks at: shorter ones are noise, longer ones are no top.
_HEAD_TAU = (0.1, 0.5)
# Price of a departure from equal weights in the logistic head; of one from the intercept,
# next to nothing: that it costs at all makes every dual point feasible.
_PRICE = 3.0
_FREE = 1e-6
# Relative gap that the logistic head must prove, and its Newton steps at most.
_GAP = 1e-6
_STEPS = 100
# Members that weigh less are not worth their fit to all rows.
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class Head:
    """A fitted combiner.

    Attributes
    ----------
    slopes, intercepts : ndarray of shape (n_members,)
        Calibration of each member.
    weights : ndarray of shape (n_members,)
        Weight of each member's log odds: not negative, with the sum one.
    slope, intercept : float
        Calibration of the sum.
    certificate : Certificate or None
        Of the convex problem of the head, if it has one.
    """

    slopes: np.ndarray
    intercepts: np.ndarray
    weights: np.ndarray
    slope: float
    intercept: float
    certificate: Certificate | None = None

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Combine the members' scores, of shape (n_rows, n_members)."""
        used = self.weights != 0.0
        calibrated = scores[:, used] * self.slopes[used] + self.intercepts[used]
        return self.slope * (calibrated @ self.weights[used]) + self.intercept


def member_scores(estimator: Any, X: Any, pos_label: Any) -> np.ndarray:
    """Scores of a fitted member; probabilities as softened log odds."""
    scores = positive_scores(estimator, X, pos_label)
    if is_classifier(estimator) and margins_of(estimator) is None:
        soft = (scores + SOFT) / (1.0 + 2.0 * SOFT)
        return np.asarray(np.log(soft) - np.log1p(-soft))
    return scores


def fit_head(
    scores: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray | None,
    *,
    head: str,
    budget: float,
    seed: int,
) -> Head:
    """Fit a combiner to held-out scores of shape (n_rows, n_members)."""
    slopes, intercepts = np.empty(scores.shape[1]), np.empty(scores.shape[1])
    for j, column in enumerate(scores.T):
        slopes[j], intercepts[j] = calibrate(column, positive, weight)
    calibrated = scores * slopes + intercepts
    parts, certificate = [], None
    if head == "mean":
        parts.append(np.full(scores.shape[1], 1.0 / scores.shape[1]))
    if head in ("greedy", "mixed", "both"):
        parts.append(greedy_weights(calibrated, positive, weight, seed))
    if head in ("logistic", "mixed"):
        found, certificate = logistic_weights(calibrated, positive, weight)
        parts.append(found)
    if head in ("patmat", "both"):
        found, certificate = patmat_weights(calibrated, positive, weight, budget)
        parts.append(found)
    weights = settled(np.mean(parts, axis=0))
    slope, intercept = calibrate(calibrated @ weights, positive, weight)
    return Head(slopes, intercepts, weights, slope, intercept, certificate)


def settled(weights: np.ndarray) -> np.ndarray:
    """Drop weights of next to nothing; the others sum to one.

    Of many members all may weigh little: what counts is then half of an equal share.
    """
    least = min(_LEAST, 0.5 / len(weights))
    kept = np.where(weights < least, 0.0, weights)
    return np.asarray(kept / kept.sum())


def calibrate(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """Slope and intercept that turn scores into log odds.

    The slope is positive wherever the scores differ: a member that ranks no better than
    chance says next to nothing, but still ranks.
    """
    share = float(np.average(positive, weights=weight))
    centre = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - centre) ** 2, weights=weight)))
    prior = float(np.log(share) - np.log1p(-share))
    if not spread > 1e-12 * max(1.0, abs(centre)):
        return 0.0, prior
    steep, level = _logistic((scores - centre) / spread, positive, weight, prior)
    if steep < _LEAST_SLOPE:
        return _LEAST_SLOPE / spread, prior - _LEAST_SLOPE / spread * centre
    return steep / spread, level - steep / spread * centre


def _logistic(
    x: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, prior: float
) -> tuple[float, float]:
    """Slope and intercept of a logistic regression on one column, by Newton's method.

    The slope has the penalty 1/2 of scikit-learn's ``C=1``, so that it is finite where the
    classes are apart. Two unknowns: scikit-learn's solver takes fifty times as long.
    """
    mass = np.ones(len(x)) if weight is None else weight

    def loss(a: float, b: float) -> float:
        odds = a * x + b
        return float(0.5 * a * a + mass @ (np.logaddexp(0.0, odds) - positive * odds))

    a, b = 0.0, prior
    value = loss(a, b)
    for _ in range(100):
        share = expit(a * x + b)
        rest = mass * (share - positive)
        slope_a, slope_b = float(rest @ x) + a, float(rest.sum())
        bend = mass * share * (1.0 - share)
        aa, ab, bb = float(bend @ (x * x)) + 1.0, float(bend @ x), float(bend.sum()) + 1e-9
        size = aa * bb - ab * ab
        step_a = (bb * slope_a - ab * slope_b) / size
        step_b = (aa * slope_b - ab * slope_a) / size
        fall = slope_a * step_a + slope_b * step_b
        if fall < 1e-12 * max(1.0, value):
            break
        part = 1.0
        while loss(a - part * step_a, b - part * step_b) > value - 1e-4 * part * fall:
            part *= 0.5
            if part < 1e-6:
                return a, b
        a, b = a - part * step_a, b - part * step_b
        value = loss(a, b)
    return a, b


def average_precisions(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    """Average precision of each row of `scores`; tied columns stand in front together.

    It is the mean over the positives of the precision of all that score as much or more.
    """
    if weight is not None:
        return np.array([_weighted_precision(s, positive, weight) for s in scores])
    every, hits = np.sort(scores, axis=1), np.sort(scores[:, positive], axis=1)
    # Where the equals of each hit begin: from there on, all score as much or more.
    fresh = np.ones(hits.shape, dtype=bool)
    np.not_equal(hits[:, 1:], hits[:, :-1], out=fresh[:, 1:])
    first = np.maximum.accumulate(np.where(fresh, np.arange(hits.shape[1]), 0), axis=1)
    below = np.array([row.searchsorted(sought) for row, sought in zip(every, hits, strict=True)])
    return np.asarray(np.mean((hits.shape[1] - first) / (every.shape[1] - below), axis=1))


def _weighted_precision(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(scores, kind="stable")
    first = np.searchsorted(scores[order], scores[order])
    mass = weight[order]
    hit = mass * positive[order]
    # Weight from a place to the end.
    behind, hits_behind = np.cumsum(mass[::-1])[::-1], np.cumsum(hit[::-1])[::-1]
    return float(np.sum(hit * hits_behind[first] / behind[first]) / hits_behind[0])


def greedy_selection(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, rounds: int
) -> np.ndarray:
    """Weights of a selection with replacement, by average precision.

    Of equal members the first is taken, and of all rounds the best is kept, the first of
    equals: a member that says nothing adds nothing.
    """
    columns = np.ascontiguousarray(scores.T)
    total, chosen = np.zeros(len(scores)), np.zeros(len(columns))
    kept, most = chosen, -np.inf
    for _ in range(rounds):
        reached = average_precisions(total + columns, positive, weight)
        best = int(np.argmax(reached))
        total = total + columns[best]
        chosen[best] += 1.0
        if reached[best] > most:
            kept, most = chosen / chosen.sum(), reached[best]
    return kept


def greedy_weights(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, seed: int
) -> np.ndarray:
    """Weights of the greedy head: the mean over selections on random parts of the rows."""
    if scores.shape[1] == 1:
        return np.ones(1)
    rng = np.random.default_rng(seed)
    size = min(_BAG_ROWS, max(2, round(PART * len(scores))))
    found = []
    for _ in range(BAGS):
        rows = rng.permutation(len(scores))[:size]
        if not positive[rows].any():
            rows = np.append(rows, rng.choice(np.flatnonzero(positive)))
        part = None if weight is None else weight[rows]
        found.append(greedy_selection(scores[rows], positive[rows], part, ROUNDS))
    return np.asarray(np.mean(found, axis=0))


def logistic_weights(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, Certificate]:
    """Weights of the logistic head, none negative, with the sum one; and its certificate."""
    n = scores.shape[1]
    slope, intercept = calibrate(scores.mean(axis=1), positive, weight)
    problem = _Logistic(
        np.column_stack([scores, np.ones(len(scores))]),
        positive.astype(np.float64),
        np.ones(len(scores)) if weight is None else weight,
        np.append(np.full(n, slope / n), intercept),
        np.append(np.full(n, _PRICE), _FREE),
    )
    point, certificate = problem.solve()
    size = point[:-1].sum()
    if not size > 1e-12:
        return np.full(n, 1.0 / n), certificate
    return point[:-1] / size, certificate


@dataclass(frozen=True, eq=False)
class _Logistic:
    r"""Logistic loss of non-negative weights and a free intercept, drawn to a centre.

    .. math:: F(v) = \sum_i m_i \bigl(\log(1 + e^{x_i v}) - t_i x_i v\bigr)
              + \sum_j c_j (v_j - p_j)^2

    with :math:`v_j \ge 0` for all but the last, the intercept.
    """

    rows: np.ndarray
    target: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    price: np.ndarray

    def value(self, point: np.ndarray) -> float:
        """Return the objective."""
        odds = self.rows @ point
        loss = np.logaddexp(0.0, odds) - self.target * odds
        return float(self.mass @ loss + self.price @ (point - self.centre) ** 2)

    def bound(self, point: np.ndarray) -> tuple[float, float]:
        """Return a lower bound of the optimum, and how much it was lowered for rounding.

        The slopes of the losses are a dual point. Their conjugates are the entropies of the
        shares, and the penalty is least where the pull of the slopes has moved the centre.
        """
        odds = self.rows @ point
        share = expit(odds)
        slopes = self.mass * (share - self.target)
        entropy = share * np.logaddexp(0.0, -odds) + (1.0 - share) * np.logaddexp(0.0, odds)
        pull = slopes @ self.rows
        best = self.centre - 0.5 * pull / self.price
        best[:-1] = np.maximum(best[:-1], 0.0)
        dual = self.mass @ entropy + pull @ best + self.price @ (best - self.centre) ** 2
        # Every term and product is off by a few roundings of its size.
        reach = 1.0 + np.abs(self.rows) @ (np.abs(point) + np.abs(best))
        size = self.mass @ reach + self.price @ (np.abs(best) + np.abs(self.centre)) ** 2
        rounding = 4.0 * gamma(len(odds) + len(point)) * float(size)
        return float(dual) - rounding, rounding

    def solve(self) -> tuple[np.ndarray, Certificate]:
        """Minimise by Newton steps in the coordinates that are not held at zero."""
        point = self.centre.copy()
        value = self.value(point)
        passes = 0
        while passes < _STEPS:
            passes += 1
            share = expit(self.rows @ point)
            slope = (self.mass * (share - self.target)) @ self.rows
            slope += 2.0 * self.price * (point - self.centre)
            free = (point > 0.0) | (slope < 0.0)
            free[-1] = True
            some = self.rows[:, free]
            bend = (some * (self.mass * share * (1.0 - share))[:, None]).T @ some
            bend[np.diag_indices(len(bend))] += 2.0 * self.price[free]
            step = np.zeros(len(point))
            step[free] = np.linalg.solve(bend, slope[free])
            part, moved, reached = 1.0, point, value
            while part > 1e-9:
                moved = point - part * step
                moved[:-1] = np.maximum(moved[:-1], 0.0)
                reached = self.value(moved)
                if reached <= value + 1e-4 * float(slope @ (moved - point)):
                    break
                part *= 0.5
            if not reached < value:
                break
            fall, point, value = value - reached, moved, reached
            if fall <= 1e-13 * value:
                break
        dual, rounding = self.bound(point)
        status: Status = "converged" if value - dual <= _GAP * value else "max_iter"
        return point, Certificate(value, dual, status, _GAP, passes, rounding)


def patmat_weights(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, budget: float
) -> tuple[np.ndarray, Certificate]:
    """Weights of the Pat&Mat head, none negative, with the sum one; and its certificate.

    Members of negative weight leave, and the problem is solved again for the others: the
    certificate is that of the last one, to which the weights belong.
    """
    left = np.arange(scores.shape[1])
    while True:
        found, certificate = _patmat(scores[:, left], positive, weight, budget)
        if (found >= 0.0).all():
            break
        left = left[found > 0.0]
    weights = np.zeros(scores.shape[1])
    weights[left] = found
    return weights, certificate


def _patmat(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray | None, budget: float
) -> tuple[np.ndarray, Certificate]:
    """Solve the problem of the Pat&Mat head; weights of any sign, with the sum one."""
    mean = scores.mean(axis=1)
    Z = np.column_stack([_MEAN * mean, scores - mean[:, None]])
    # The price is per row: as much for the departures on a long history as on a short one.
    model = PatMat(float(np.clip(budget, *_HEAD_TAU)), C=_HEAD_C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(Z, positive.astype(int), sample_weight=weight)
    raw = np.ravel(model.coef_)
    weights = raw[1:] + (_MEAN * raw[0] - raw[1:].sum()) / scores.shape[1]
    size = weights.sum()
    if not size > 1e-12:
        return np.full(scores.shape[1], 1.0 / scores.shape[1]), model.certificate_
    return weights / size, model.certificate_
