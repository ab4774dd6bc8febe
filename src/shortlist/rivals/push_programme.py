r"""The infinite push with an absolute-value penalty: a linear programme, a few rows at a time.

.. math:: \min_w \|w\|_1 + \sum_i c_i [1 + t - w \cdot x_i]_+, \qquad t = \max_j w \cdot x_j

.. math:: \max \sum \alpha_i, \quad \Bigl\| \sum \alpha_i x_i - \sum \beta_j x_j \Bigr\|_\infty
          \le 1, \; 0 \le \alpha_i \le c_i, \; \beta \ge 0, \; \sum \alpha = \sum \beta

Few negatives are highest, and positives far above the threshold cost nothing. So the programme
begins with some rows of either class and takes in those that its model violates, until none is
left; memory is that of these rows. The multipliers of the last programme, scaled so that no
column exceeds one, are a dual point of the whole problem.

Reference: A. Rakotomamonjy, "Sparse support vector infinite push", ICML 2012, for the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..certificate import Monitor, Proof
from ..rows.operators import Rows, as_rows
from ..rows.rounding import Reach, gamma, sum_error

# Rows of either class that the first programme has, and that join a later one.
_FIRST, _JOIN = 300, 500
# Violations beyond what the programme itself leaves, relative to the largest score.
_VIOLATED = 1e-9


@dataclass(frozen=True)
class PushSolution:
    """A model, the score of its highest negative and the largest of all; less the centre."""

    w: np.ndarray
    threshold: float
    score_scale: float


class SparsePush:
    """Rows of either class and the weights of the positives.

    Parameters
    ----------
    X : ndarray or csr matrix
        Training rows.
    positive, negative : ndarray of int
        Rows of either class.
    c : ndarray
        Weight of the loss of every positive.
    """

    offers = frozenset({"linear programme"})

    def __init__(self, X: Any, positive: np.ndarray, negative: np.ndarray, c: np.ndarray) -> None:
        reach = Reach.of(X)
        self.centre = reach.centre()
        self.reach = reach.shifted(self.centre)
        rows = as_rows(X, self.centre)
        self.positive, self.negative = rows.take(positive), rows.take(negative)
        self.c = c

    def primal(self, w: np.ndarray, positive: np.ndarray, t: float) -> float:
        """Objective of a model, given its scores."""
        return float(np.abs(w).sum()) + float(self.c @ np.maximum(1.0 + t - positive, 0.0))

    def dual(self, alpha: np.ndarray, beta: np.ndarray) -> tuple[float, float]:
        """Return the value of the scaled dual point, and a bound of its rounding error."""
        alpha, beta = np.clip(alpha, 0.0, self.c), np.maximum(beta, 0.0)
        total, other = float(alpha.sum()), float(beta.sum())
        if not (0.0 < total < np.inf and 0.0 < other < np.inf):
            return 0.0, 0.0
        beta *= total / other
        v = self.positive.combine(alpha) - self.negative.combine(beta)
        count = len(alpha) + len(beta)
        # Every entry is off by no more than the whole is in length; the sums agree but for
        # rounding, and a row makes up for the rest.
        off = self.reach.model_error(2.0 * total, count)
        off += 4.0 * gamma(count) * total * self.reach.length
        value = total / max(1.0, float(np.abs(v).max()) + off)
        return value, 2.0 * sum_error(alpha) + gamma(count) * value

    def prove(self, w: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> Proof:
        """Prove a model against a dual point."""
        positive, negative = self.positive.scores(w), self.negative.scores(w)
        t = float(negative.max())
        largest = max(float(np.abs(positive).max()), float(np.abs(negative).max()))
        violation = np.maximum(1.0 + t - positive, 0.0)
        value, dual_error = self.dual(alpha, beta)
        error = sum_error(np.abs(w)) + sum_error(self.c * (1.0 + violation))
        error += 3.0 * self.reach.score_error(w) * float(self.c.sum())
        solution = PushSolution(w, t, largest)
        return Proof(solution, self.primal(w, positive, t), value, error + dual_error)


class _Part:
    """Some rows of one class, which grow."""

    def __init__(self, rows: Rows, first: np.ndarray) -> None:
        self.rows = rows
        self.index = first

    def join(self, violation: np.ndarray, least: float) -> bool:
        """Take in the rows that violate most; return whether there are any."""
        violation = violation.copy()
        violation[self.index] = -np.inf
        found = np.flatnonzero(violation > least)
        if len(found) > _JOIN:
            found = found[np.argsort(-violation[found], kind="stable")[:_JOIN]]
        self.index = np.concatenate([self.index, found])
        return bool(len(found))

    def matrix(self) -> Any:
        part = self.rows.take(self.index)
        arrays = part.arrays()
        if len(arrays) == 1:
            return part.dense()
        start, column, value, n_features = arrays
        return sparse.csr_array((value, column, start), shape=(part.n_rows, n_features))


def linear_programme(problem: SparsePush, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : SparsePush
        The rows.
    monitor : Monitor
        Tolerance, limits, the record of the fit and the best model that was proved.
    """
    n_features = problem.positive.n_features
    n_negative = problem.negative.n_rows
    difference = problem.positive.combine(problem.c / problem.c.sum())
    difference -= problem.negative.combine(np.full(n_negative, 1.0 / n_negative))
    lowest = np.argsort(problem.positive.scores(difference), kind="stable")[:_FIRST]
    highest = np.argsort(-problem.negative.scores(difference), kind="stable")[:_FIRST]
    positives, negatives = _Part(problem.positive, lowest), _Part(problem.negative, highest)
    zero = np.zeros(n_features)
    best, primal = zero, float(problem.c.sum())
    alpha, beta = np.zeros(len(problem.c)), np.zeros(n_negative)
    dual = 0.0
    while True:
        proof = partial(problem.prove, best, alpha.copy(), beta.copy())
        if monitor.check(primal, dual, proof):
            return
        left = None if monitor.time_limit is None else monitor.time_limit - monitor.seconds
        found = _solve(problem, positives, negatives, left)
        monitor.iteration += 1
        if found is None:
            if not monitor.exhausted():
                monitor.stall()
            return
        w, some_alpha, some_beta = found
        positive, negative = problem.positive.scores(w), problem.negative.scores(w)
        monitor.passes += 2
        t = float(negative.max())
        if (value := problem.primal(w, positive, t)) < primal:
            primal, best = value, w
        alpha[:], beta[:] = 0.0, 0.0
        alpha[positives.index], beta[negatives.index] = some_alpha, some_beta
        dual = max(dual, problem.dual(alpha, beta)[0])
        size = _VIOLATED * (1.0 + float(np.abs(positive).max()) + float(np.abs(negative).max()))
        inside = float(negative[negatives.index].max())
        more = positives.join(1.0 + inside - positive, size)
        more |= negatives.join(negative - inside, size)
        if not more:
            if not monitor.check(primal, dual, partial(problem.prove, best, alpha, beta)):
                monitor.stall()
            return


def _solve(
    problem: SparsePush, positives: _Part, negatives: _Part, seconds: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return model and multipliers of the programme of some rows, None where it failed."""
    P, N = positives.matrix(), negatives.matrix()
    a, b, d = P.shape[0], N.shape[0], P.shape[1]
    c = problem.c[positives.index]
    # Variables: the two signs of the weights, the threshold, the slacks.
    column, none = np.ones((a, 1)), sparse.csr_array((b, a))
    upper = sparse.hstack([-P, P, column, -sparse.identity(a)], format="csr")
    lower = sparse.hstack([N, -N, -np.ones((b, 1)), none], format="csr")
    done = linprog(
        np.concatenate([np.ones(2 * d), [0.0], c]),
        A_ub=sparse.vstack([upper, lower], format="csr"),
        b_ub=np.concatenate([np.full(a, -1.0), np.zeros(b)]),
        bounds=[(0.0, None)] * (2 * d) + [(None, None)] + [(0.0, None)] * a,
        method="highs",
        options={} if seconds is None else {"time_limit": max(seconds, 1e-3)},
    )
    if done.x is None or done.status != 0:
        return None
    multipliers = -done.ineqlin.marginals
    return done.x[:d] - done.x[d : 2 * d], multipliers[:a], multipliers[a:]
