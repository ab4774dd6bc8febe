r"""Numeric outcomes: potency, an amount recovered, demand, grades.

The list is then the one with the largest sum of :math:`y`. Models learn :math:`y` itself, or
its order, and are combined by :class:`shortlist.stacking.SumStack`. Everything after that is as
for labels: the expected outcome of a row stands where its probability stood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.utils import check_consistent_length, column_or_1d

from ..._checks import check_weight
from ..._scores import take_rows
from ...stacking.heads import Head
from ...stacking.sums import fit_sum_head
from ..forecast.outlook import CONFIDENCE, Evidence, Outlook, mean_and_error
from .history import History, as_table

# Strata of the folds: every fold gets its share of the rows of large outcome.
_TOP = 0.2


@dataclass(frozen=True)
class Measured(History):
    """A history whose rows brought a number each.

    Attributes
    ----------
    number : ndarray
        What each row brought. `positive` marks the largest fifth, so that every fold gets
        its share of them.
    """

    number: np.ndarray = None  # type: ignore[assignment]

    @cached_property
    def outcome(self) -> np.ndarray:
        """What taking each row brought."""
        return self.number

    @cached_property
    def target(self) -> np.ndarray:
        """Outcomes in standard units: some models have parameters in the unit of `y`."""
        mean = float(np.average(self.number, weights=self.weight))
        spread = float(np.sqrt(np.average((self.number - mean) ** 2, weights=self.weight)))
        return (self.number - mean) / spread

    def shares(self, rows: np.ndarray, scores: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Sum of outcomes per row, when the best of some rows are taken at each rate."""
        weight = None if self.weight is None else self.weight[rows]
        return sums(self.number[rows], scores, weight, rates)

    def head(self, rows: np.ndarray, scores: np.ndarray, budget: float, seed: int) -> Head:
        """Weigh held-out scores."""
        weight = None if self.weight is None else self.weight[rows]
        return fit_sum_head(scores, self.number[rows], weight)


def check_outcomes(X: Any, y: Any, sample_weight: Any, groups: Any, pos_label: Any) -> Measured:
    """Check rows with numeric outcomes; rows of weight zero are gone."""
    X = as_table(X, "X")
    y = column_or_1d(y)
    check_consistent_length(X, y, sample_weight, groups)
    if pos_label is not None:
        raise ValueError(f"pos_label={pos_label!r} is for labels; a sum of y has no use for it.")
    try:
        number = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "y must hold numbers to be summed. For labels leave out goal, or pass y == label."
        ) from error
    wrong = ~np.isfinite(number)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y is {number[row]} in row {row}, and {int(wrong.sum())} rows are like it: every row "
            "needs a number. Leave them out."
        )
    weight = None if sample_weight is None else check_weight(sample_weight, len(y))
    groups = None if groups is None else column_or_1d(groups)
    if weight is not None and not (weight > 0.0).all():
        rows = np.flatnonzero(weight > 0.0)
        X, number, weight = take_rows(X, rows), number[rows], weight[rows]
        groups = None if groups is None else groups[rows]
    if len(number) < 4 or np.ptp(number) == 0.0:
        raise ValueError(
            f"y holds {len(number)} rows of positive weight and {len(np.unique(number))} different "
            "numbers; at least four rows that differ are needed, to learn from and to check."
        )
    return Measured(X, _largest(number), weight, groups, None, number)


def _largest(number: np.ndarray) -> np.ndarray:
    """Mark about a fifth of the rows, the largest; two at least and two not."""
    order = np.argsort(-number, kind="stable")
    marked = np.zeros(len(number), dtype=bool)
    marked[order[: int(np.clip(round(_TOP * len(number)), 2, len(number) - 2))]] = True
    return marked


def sums(
    outcome: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, rates: np.ndarray
) -> np.ndarray:
    """Return the sum of outcomes per row when the list is cut at each of the rates.

    Inside a row, as inside a tie, the sum grows linearly.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.race.outcomes import sums
    >>> sums(np.array([5.0, 1.0, 3.0, 1.0]), np.array([2, 1, 1, 0]), None, np.array([0.25, 0.5]))
    array([1.25, 1.75])
    """
    weight = np.ones(len(outcome)) if weight is None else weight
    order = np.argsort(-scores, kind="stable")
    new = np.flatnonzero(np.diff(scores[order], prepend=np.inf))
    mass = np.add.reduceat(weight[order], new)
    total = np.add.reduceat((weight * outcome)[order], new)
    along = np.append(0.0, np.cumsum(mass)) / mass.sum()
    return np.interp(rates, along, np.append(0.0, np.cumsum(total))) / mass.sum()


@dataclass(frozen=True, eq=False)
class SumOutlook(Outlook):
    """Forecasts of sums from the folds.

    Folds differ by the luck of their rows and of what was learned. Their spread, scaled to
    the rows of a list, is the luck of the candidates; with Nadeau and Bengio's correction it
    is what the history leaves open.
    """

    def hits(self, model: Evidence, k: int) -> tuple[float, float, float]:
        """Return the expected sum of the `k` candidates, and the ends of its interval."""
        weight = self.fold_weight
        by_fold = self._by_fold(model, k) / k
        mean, error = mean_and_error(by_fold, weight, self.ratio)
        if not np.isfinite(error):
            return k * mean, -np.inf, np.inf
        spread = mean_and_error(by_fold, weight, 0.0)[1] ** 2 * len(by_fold)
        per_place = spread * max(1.0, k / self.n_candidates * float(weight.mean()))
        half = float(t.ppf(0.5 + 0.5 * CONFIDENCE, len(by_fold) - 1))
        half *= np.sqrt(k**2 * error**2 + k * per_place)
        return k * mean, k * mean - half, k * mean + half

    def _noise(self, mean: float) -> float:
        return 0.0


@dataclass(frozen=True)
class Line:
    """From predictions to expected outcomes."""

    slope: float
    intercept: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return expected outcomes."""
        return self.slope * np.asarray(scores) + self.intercept
