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

import numpy as np

from .._core import ActiveSet
from ..rows.operators import Rows

_EPS = float(np.finfo(np.float64).eps)


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
    ) -> None:
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

    def split_scores(self, w: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the training rows and of the candidates."""
        scores = self.rows.scores(w) + b
        return scores[self.training], scores[self.candidates]

    def objective(self, w: np.ndarray, training_scores: np.ndarray) -> float:
        """Value of a model, given the scores of the training rows."""
        loss = np.maximum(1.0 - self.sign * training_scores, 0.0)
        return 0.5 * float(w @ w) + float(self.c @ loss)

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

    def lowered(self, w: np.ndarray, b: float, allowed: np.ndarray) -> tuple[float, float]:
        """Lower `b` until rounding lifts no other candidate above zero.

        Returns the intercept and the objective of the model.
        """
        training, candidates = self.split_scores(w, b)
        sums = 8.0 + np.sqrt(self.rows.n_features)
        rounding = sums * _EPS * (self._reach() * float(np.sqrt(w @ w)) + abs(b))
        outside = candidates[~allowed]
        drop = float(outside.max()) + rounding if len(outside) else 0.0
        if drop > 0.0:
            b -= drop
            training = training - drop
        return b, self.objective(w, training)

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

    def _reach(self) -> float:
        return float(np.sqrt(self.rows.squared_norms()[self.candidates].max()))
