r"""A linear SVM that may call only `k` of the given candidates positive.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i c_i [1 - y_i (w \cdot x_i + b)]_+
          \quad\text{s.t.}\quad \sum_j n_j \, [w \cdot \hat x_j + b > 0] \le k

with :math:`n_j` the multiplicity of candidate :math:`j`. The constraint is not convex.
For a fixed set of *allowed* candidates it becomes
:math:`w \cdot \hat x_j + b \le 0` for all others, a convex quadratic programme with the dual

.. math:: \max \sum \alpha_i - \tfrac12 \| \sum \alpha_i y_i x_i - \sum \beta_j \hat x_j \|^2,
          \quad \sum \alpha_i y_i = \sum \beta_j, \; 0 \le \alpha_i \le c_i, \; \beta_j \ge 0.

Reference: L.-P. Liu, T. G. Dietterich, N. Li, Z.-H. Zhou, "Transductive optimization of
top k precision", IJCAI 2016, equation (3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._core import ActiveSet
from ..rows.operators import Rows
from ..rows.rounding import UNIT, Reach, gamma

# Sums of multipliers stay below 2 ** _BITS units of their grid.
_BITS = 51


@dataclass(frozen=True)
class Solution:
    """A separating plane.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    b : float
        Intercept for rows less the centre: what `intercept` amounts to there.
    intercept : float
        Intercept for rows as they were given.
    primal : float
        Its objective.
    error : float
        Bound of the rounding error of `primal`.
    """

    w: np.ndarray
    b: float
    intercept: float
    primal: float
    error: float


class BudgetedSVM:
    """Training rows, candidates and the budget, equal rows merged.

    Merging makes a row of weight 2 and the row twice the same problem to the last
    bit, and the order of the rows irrelevant.

    Parameters
    ----------
    rows : Rows
        Training rows and candidates.
    training : ndarray of int
        Positions of the training rows in `rows`.
    sign : ndarray
        +1 or -1 for every training row.
    c : ndarray
        Weight of the loss of every training row, positive.
    candidates : ndarray of int
        Positions of the candidates in `rows`.
    count : ndarray
        Multiplicity of every candidate, positive.
    k : float
        How many candidates, counted by multiplicity, may be positive.
    centre : ndarray or None
        What was subtracted from the rows; the intercept makes up for it.
    """

    offers = frozenset({"budget of candidates"})

    def __init__(
        self,
        rows: Rows,
        training: np.ndarray,
        sign: np.ndarray,
        c: np.ndarray,
        candidates: np.ndarray,
        count: np.ndarray,
        k: float,
        centre: np.ndarray | None = None,
    ) -> None:
        self.centre = centre
        used = np.unique(np.concatenate([training, candidates]))
        training, candidates = np.searchsorted(used, training), np.searchsorted(used, candidates)
        rows = rows.take(used)
        first, merged = rows.distinct()
        self.rows = rows.take(first)
        # Two classes may share a row: number them apart.
        code, group = np.unique(2 * merged[training] + (sign > 0.0), return_inverse=True)
        self.training = code // 2
        self.sign = np.where(code % 2 == 1, 1.0, -1.0)
        self.c = np.bincount(group, weights=c)
        self.candidates, group = np.unique(merged[candidates], return_inverse=True)
        self.count = np.bincount(group, weights=count)
        self.k = k
        self.n_training, self.n_candidates = len(self.training), len(self.candidates)
        longest = math.sqrt(float(self.rows.squared_norms().max()))
        n_features = self.rows.n_features
        self.reach = Reach(longest * (1.0 + gamma(n_features)), n_features)

    def split_scores(self, w: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the training rows and of the candidates."""
        scores = self.rows.scores(w) + b
        return scores[self.training], scores[self.candidates]

    def objective(self, w: np.ndarray, training_scores: np.ndarray) -> float:
        """Value of a model, given the scores of the training rows."""
        loss = np.maximum(1.0 - self.sign * training_scores, 0.0)
        return 0.5 * float(w @ w) + float(self.c @ loss)

    def score_error(self, w: np.ndarray, b: float) -> float:
        """Bound the rounding error of every score."""
        size = self.reach.length * float(np.sqrt(w @ w))
        return self.reach.score_error(w) + 4.0 * UNIT * (size + abs(b))

    def fits(self, chosen: np.ndarray) -> bool:
        """Whether the chosen candidates (a mask) stay within the budget."""
        return float(self.count[chosen].sum()) <= self.k * (1.0 + 1e-12)

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Mask of the highest candidates that fit the budget, in the order of the scores.

        Candidates too many for what is left are passed over.
        """
        chosen = np.zeros(len(scores), dtype=bool)
        order = np.argsort(-scores, kind="stable")
        room = self.k * (1.0 + 1e-12)
        taken = np.cumsum(self.count[order])
        full = int(np.searchsorted(taken, room, side="right"))
        chosen[order[:full]] = True
        left = room - (taken[full - 1] if full else 0.0)
        for j in order[full:]:
            if left < self.count.min():
                break
            if self.count[j] <= left:
                chosen[j] = True
                left -= self.count[j]
        return chosen

    def lowered(self, w: np.ndarray, b: float, allowed: np.ndarray) -> Solution:
        """Return the model with an intercept so low that no other candidate is above zero.

        Rounding does not lift one either, nor does the intercept that is made public: it is
        a float64 number for rows as they were given, and the objective is the one at it.
        """
        outside = self.split_scores(w, b)[1][~allowed]
        if len(outside):
            b -= max(float(outside.max()) + 2.0 * self.score_error(w, b), 0.0)
        b, intercept = self._public(w, b)
        error = self.score_error(w, b)
        objective = self.objective(w, self.split_scores(w, b)[0])
        several = gamma(self.n_training + self.rows.n_features)
        total = float(self.c.sum())
        return Solution(w, b, intercept, objective, several * objective + total * error)

    def _public(self, w: np.ndarray, b: float) -> tuple[float, float]:
        """Return the largest intercept of given rows that amounts to `b` at most, and to what."""
        if self.centre is None:
            return b, b
        shift = _exact_products(self.centre, w)
        intercept = math.fsum([b, *(-part for part in shift)])
        while math.fsum([intercept, *shift]) > b:
            intercept = math.nextafter(intercept, -math.inf)
        return math.fsum([intercept, *shift]), intercept

    def lower_bound(self, multipliers: np.ndarray) -> float:
        """Bound the optimum from below by multipliers of the training rows: weak duality.

        They are rounded down to a grid on which their sums are exact, and the class with
        the larger sum is cut until the classes balance. Rounding errors of the value are
        subtracted already.
        """
        a = np.minimum(np.maximum(multipliers, 0.0), self.c)
        total = float(a.sum())
        if not 0.0 < total < np.inf:
            return 0.0
        step = 2.0 ** (math.ceil(math.log2(total)) - _BITS)
        a = np.floor(a / step) * step
        excess = float((self.sign * a).sum())
        heavy = np.flatnonzero(self.sign * excess > 0.0)
        for i in heavy[np.argsort(-a[heavy], kind="stable")]:
            cut = min(float(a[i]), abs(excess))
            a[i] -= cut
            excess = math.copysign(abs(excess) - cut, excess)
            if excess == 0.0:
                break
        total = float(a.sum())
        weight = np.zeros(self.rows.n_rows)
        np.add.at(weight, self.training, self.sign * a)
        model = self.rows.combine(weight)
        length = float(np.sqrt(model @ model)) * (1.0 + gamma(self.rows.n_features))
        length += self.reach.model_error(total, self.n_training)
        # Zero is the value of multipliers zero.
        return max(total - 0.5 * length * length * (1.0 + 4.0 * UNIT), 0.0)

    def active_set(self) -> ActiveSet:
        """Return the quadratic programme with every candidate allowed.

        Its rows are the training rows, then the candidates.
        """
        n, m = self.n_training, self.n_candidates
        return ActiveSet(
            *self.rows.arrays(),
            np.concatenate([self.training, self.candidates]).astype(np.int64),
            np.concatenate([self.sign, np.full(m, -1.0)]),
            np.concatenate([np.ones(n), np.zeros(m)]),
            np.concatenate([self.c, np.zeros(m)]),
        )


def _exact_products(a: np.ndarray, b: np.ndarray) -> list[float]:
    """Return numbers that add up to the inner product exactly (T. J. Dekker's products)."""
    parts = []
    for vector in (a, b):
        scaled = 134217729.0 * vector
        high = scaled - (scaled - vector)
        parts.append((high, vector - high))
    (a_high, a_low), (b_high, b_low) = parts
    product = a * b
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return [*product.tolist(), *rest.tolist()]
