r"""The structural SVM of a metric: problem, planes and proofs.

.. math:: P(w) = \tfrac12 \|w\|^2 + c \, [R(Xw)]_+, \qquad
          D(\lambda) = \sum_p \lambda_p \Delta_p
          - \tfrac12 \Bigl\| \sum_p \lambda_p X^T d_p \Bigr\|^2,
          \quad \lambda \ge 0, \; \sum_p \lambda_p \le c

with R the largest violation :math:`\Delta_p + d_p \cdot s` of a labelling p
(:mod:`shortlist.rivals.metric`).

**Rounding.** Scores that are off by :math:`\delta` move R by at most its slope times
:math:`\delta`; that the found labelling is only nearly the worst, and the sum of its violation,
add the metric's own bound. A plane's gradient is a sum of rows; its error times its share is
what the dual model may be off by, in length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..certificate import Proof
from ..rows.operators import as_rows
from ..rows.rounding import UNIT, Reach, gamma, half_square_error
from .metric import Metric, Violation
from .planes import Planes


@dataclass(frozen=True)
class MetricSolution:
    """A model, its intercept, and the threshold of its scores; rows less their centre."""

    w: np.ndarray
    threshold: float


class MetricProblem:
    """Metric x rows.

    Parameters
    ----------
    X : ndarray or csr matrix
        Training rows.
    positive, negative : ndarray of int
        Rows of either class.
    c : float
        Weight of the loss.
    metric : Metric
        What to optimise.

    Attributes
    ----------
    centre : ndarray or None
        What is subtracted from rows far from the origin, where the metric allows it.
    size : int
        Numbers in a model: features, and an intercept last where the metric has one.
    """

    offers = frozenset({"most violated labelling"})

    def __init__(
        self, X: Any, positive: np.ndarray, negative: np.ndarray, c: float, metric: Metric
    ) -> None:
        reach = Reach.of(X)
        self.centre = reach.centre() if metric.shift_invariant else None
        self.reach = reach.shifted(self.centre)
        self.rows = as_rows(X, self.centre)
        self.positive, self.negative = positive, negative
        self.c = c
        self.metric = metric
        self.intercept = not metric.shift_invariant
        self.size = self.rows.n_features + self.intercept
        self.slope = float(metric.slope(len(positive), len(negative)))

    def split_scores(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score the rows of either class."""
        scores = self.rows.scores(np.ascontiguousarray(u[: self.rows.n_features]))
        if self.intercept:
            scores = scores + u[-1]
        return scores[self.positive], scores[self.negative]

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> tuple[Violation, float]:
        """Return the worst labelling at these scores, and its violation."""
        found = self.metric.worst(positive, negative)
        value = found.value(positive, negative)
        if not np.isfinite(value):
            raise ValueError(
                f"metric={self.metric!r} found a violation of {value} at finite scores: its "
                "method worst must return finite numbers."
            )
        return found, value

    def objective(self, u: np.ndarray, violation: float) -> float:
        """Primal value of a model, given its largest violation."""
        return 0.5 * float(u @ u) + self.c * max(violation, 0.0)

    def gradient(self, found: Violation) -> tuple[np.ndarray, float]:
        """Return the sum of the rows along a labelling's direction, and its error in length."""
        direction = np.zeros(self.rows.n_rows)
        direction[self.positive] = found.positive
        direction[self.negative] = found.negative
        total = float(np.abs(direction).sum())
        count = len(self.positive) + len(self.negative)
        error = self.reach.model_error(total, count) + 4.0 * UNIT * self.reach.length * total
        gradient = self.rows.combine(direction)
        if self.intercept:
            gradient = np.append(gradient, direction.sum())
            error += gamma(count) * total
        return gradient, error

    def prove(self, u: np.ndarray, planes: Planes) -> Proof:
        """Prove a model against the dual point of the planes' shares."""
        positive, negative = self.split_scores(u)
        _, value = self.worst(positive, negative)
        sizes = len(positive), len(negative)
        largest = max(float(np.abs(positive).max()), float(np.abs(negative).max()))
        off = self.reach.score_error(u[: self.rows.n_features])
        off += 2.0 * UNIT * largest * self.intercept
        primal_error = gamma(len(u)) * float(u @ u)
        primal_error += self.c * self.slope * off
        primal_error += self.c * self.metric.selection_error(*sizes) * (1.0 + largest)
        gain, model, error = planes.point()
        length = float(np.linalg.norm(model))
        many = gamma(planes.count + len(model) + 8)
        dual_error = half_square_error(length, error + many * length) + many * abs(gain)
        dual = gain - 0.5 * length * length
        if not dual - dual_error > 0.0:
            dual, dual_error = 0.0, 0.0  # that of no plane at all
        threshold = float(self.metric.threshold(positive, negative))
        solution = MetricSolution(u, threshold)
        return Proof(solution, self.objective(u, value), dual, primal_error + dual_error)
