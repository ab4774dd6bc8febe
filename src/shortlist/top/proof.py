r"""Proved values of linear top-of-the-list problems: objectives with their rounding bounds.

**Primal.** Scores are off by at most :math:`\delta` (:mod:`shortlist.rows.rounding`). A
threshold moves with the scores and grows with them, so it is off by at most
:math:`\delta` too, beside its own rounding :math:`\varepsilon`; every violation
:math:`t - s_i` is off by :math:`2\delta + \varepsilon`, and the loss by its slope times that.

**Dual.** The point that was evaluated misses the feasible set by rounding, or by a little
more: sums that differ by a share a, caps exceeded by a share b. Then a feasible point lies
within :math:`(a + 6b) \sum\alpha` of it in the sum of absolute differences: divide the shares
by 1 + b, cut them at their caps, and give what is missing to rows with room. Its model
differs by at most that times the length of the longest row, and so its value is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.rounding import Reach, gamma, half_square_error, sum_error
from .problem import TopObjective
from .sweeps import SweptProblem


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
    ridge = 0.5 * objective.loss.ridge * float((alpha / objective.c) @ alpha)
    quadratic = half_square_error(length, error)
    quadratic += gamma(count + len(model)) * (ridge + 0.5 * length * length)
    s = ray.scale
    return Bound(ray.value, s * linear + s * s * quadratic)
