"""What an estimator's parameters stand for: its threshold, its cutoffs, its advice.

An estimator hands over one of these, and the fit asks it everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import top_count
from .._losses import Loss
from .solution import KernelSolution, Solution
from .thresholds import SurrogateQuantile, Threshold, TopMean

# Added to the threshold, relative to the largest score: the negatives that define it
# stay on its lower side however their scores are summed up.
_ON_THRESHOLD = 1e-10


@dataclass(frozen=True)
class Cutoffs:
    """Scores at which a fitted model cuts, counted from the rows' centre.

    Attributes
    ----------
    offset : float
        What ``decision_function`` subtracts.
    attributes : dict
        Fitted attributes by name.
    """

    offset: float
    attributes: dict[str, float]


@dataclass(frozen=True)
class Rule(ABC):
    """Which rows make the threshold, and how.

    Attributes
    ----------
    everything : bool
        Whether all rows rank, instead of the negatives.
    """

    everything: bool

    @abstractmethod
    def threshold(self, positive_weight: float, negative_weight: float) -> Threshold:
        """Return the threshold, given the weight of either class."""

    @abstractmethod
    def cutoffs(self, solution: Solution | KernelSolution, problem: Any) -> Cutoffs:
        """Read the cutoffs off a solution."""

    @abstractmethod
    def advice(self, row: int) -> str:
        """Explain a zero model; `row` weighs most among those of the threshold."""

    def _total(self, positive_weight: float, negative_weight: float) -> float:
        return negative_weight + (positive_weight if self.everything else 0.0)


@dataclass(frozen=True)
class HighestRows(Rule):
    """The mean of the `k` highest rows."""

    k: int | float

    def threshold(self, positive_weight: float, negative_weight: float) -> TopMean:
        """Return the mean of the highest."""
        what = "rows" if self.everything else "negatives"
        total = self._total(positive_weight, negative_weight)
        return TopMean(top_count(self.k, np.array([total]), what))

    def cutoffs(self, solution: Solution | KernelSolution, problem: Any) -> Cutoffs:
        """Cut just above the threshold."""
        t = solution.threshold + _ON_THRESHOLD * solution.score_scale
        return Cutoffs(t, {"threshold_": t})

    def advice(self, row: int) -> str:
        """Name the row that is too high."""
        rows, row_name = ("rows", "row") if self.everything else ("negatives", "negative")
        return (
            f"With k={self.k!r} the positives' mean lies among the highest {rows}. "
            f"The {row_name} that weighs most is row {row}: is it mislabelled? A larger k "
            f"(for example k=0.05, a fraction of the {rows}) or PatMat is robust to "
            "such rows."
        )


@dataclass(frozen=True)
class TopRate(Rule):
    """The surrogate of the top `tau` quantile."""

    tau: float
    theta: float
    loss: Loss
    C: float
    cut_at_quantile: bool

    def threshold(self, positive_weight: float, negative_weight: float) -> SurrogateQuantile:
        """Return the surrogate."""
        total = self._total(positive_weight, negative_weight)
        return SurrogateQuantile(self.loss, float(self.theta), float(self.tau) * total)

    def cutoffs(self, solution: Solution | KernelSolution, problem: Any) -> Cutoffs:
        """Cut at the surrogate, or at the exact quantile of the training rows."""
        t = quantile = float(solution.threshold)
        scores = solution.ranked_scores(problem)
        # No row of the zero model fits: all are tied.
        if scores is not None:
            quantile = scores.cut(problem.threshold.mass, t)
        offset = quantile if self.cut_at_quantile else t
        return Cutoffs(offset, {"threshold_": t, "quantile_": quantile})

    def advice(self, row: int) -> str:
        """Name what may help."""
        return (
            f"No direction pays at tau={self.tau!r}, C={self.C!r}: the row that weighs most "
            f"against the positives is row {row}. A larger tau or C, a smaller theta, "
            "scaled features or a kernel may help."
        )
