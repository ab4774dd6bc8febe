"""One pass over all rows: what a working-set solver asks for, and what it is told.

A solver sees the rows of the threshold only through these records, so it does not matter
where they are: in memory, on disk or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .losses import Loss
from .operators import Rows
from .thresholds import Threshold, empirical_cut


@dataclass(frozen=True)
class Wanted:
    """Rows of the threshold that a pass should bring back: the highest.

    Attributes
    ----------
    count : int
        How many, if there are as many.
    weight : float
        More than `count` until they weigh this much.
    cut : float
        Only rows that score above.
    known : ndarray of int
        Positions that are not wanted again.
    """

    count: int
    weight: float = 0.0
    cut: float = -np.inf
    known: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))


@dataclass(frozen=True)
class Candidates:
    """Some rows of the threshold.

    Attributes
    ----------
    position : ndarray of int
        Their names within the problem.
    scores, weight : ndarray
        One per row.
    rows : Rows
        The rows.
    """

    position: np.ndarray
    scores: np.ndarray
    weight: np.ndarray
    rows: Rows


@dataclass(frozen=True)
class Start:
    """A solution to start from: the last one, of these rows or of others like them.

    Attributes
    ----------
    w : ndarray
        The model.
    alpha : ndarray
        Multiplier of each row with a loss, in units of its C.
    position : ndarray of int
        Rows of the threshold with a multiplier, ascending.
    share : ndarray
        Their shares of the sum.
    """

    w: np.ndarray
    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))
    position: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    share: np.ndarray = field(default_factory=lambda: np.empty(0))

    def shares(self, position: np.ndarray) -> np.ndarray:
        """Return the share of each of these rows, 0 where it had none."""
        place = np.searchsorted(self.position, position)
        place[place == len(self.position)] = 0
        return np.where(self.position[place] == position, self.share[place], 0.0)


class Scores(Protocol):
    """Scores of all rows of the threshold under one model, wherever they are."""

    @property
    def largest(self) -> float:
        """Largest absolute score."""

    def threshold(self, length: float = 1.0) -> float:
        """Return the threshold of the scores times `length`."""

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut, see :func:`~shortlist.problems.thresholds.empirical_cut`."""


@dataclass(frozen=True)
class Sweep:
    """What one pass over all rows tells about a model.

    Attributes
    ----------
    positive_scores : ndarray
        Scores of the rows with a loss.
    scores : Scores
        Those of the rows of the threshold.
    candidates : callable
        Returns the rows that were wanted.
    """

    positive_scores: np.ndarray
    scores: Scores
    candidates: Callable[[], Candidates]


class SweptProblem(Protocol):
    """What the working-set solver needs of a problem.

    `start_passes` counts the passes of :meth:`mean_difference` and of all that went
    before it.
    """

    n_features: int
    positives: Rows
    positive_weight: np.ndarray
    c: np.ndarray
    loss: Loss
    threshold: Threshold
    capped: bool
    start_passes: int
    start: Start | None
    value_at_zero: float
    threshold_at_zero: float

    def mean_difference(self) -> np.ndarray:
        """Mean of the positives minus mean of the rows of the threshold."""

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""

    def row_number(self, position: int) -> int:
        """Return the number of a candidate among the training rows."""

    def primal_at(self, w: np.ndarray, positive_scores: np.ndarray, t: float) -> float:
        """Primal value of `w` for a known threshold."""

    def dual_ray(self, alpha: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> Any:
        """Maximise the dual along the ray of a feasible point whose model is `w`."""


@dataclass(frozen=True)
class ArrayScores:
    """Scores in an array."""

    values: np.ndarray
    weight: np.ndarray
    rule: Threshold

    @property
    def largest(self) -> float:
        """Largest absolute score."""
        return float(np.abs(self.values).max())

    def threshold(self, length: float = 1.0) -> float:
        """Return the threshold of the scores times `length`."""
        return self.rule.value(length * self.values if length != 1.0 else self.values, self.weight)

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut."""
        return empirical_cut(self.values, self.weight, mass, highest)


def highest(scores: np.ndarray, weight: np.ndarray, wanted: Wanted) -> np.ndarray:
    """Return the indices of the highest scores that meet the count and weight wanted."""
    count = wanted.count
    if wanted.weight > 0.0:
        index = np.arange(len(scores))
        # As many as could be needed if all were as light as the lightest.
        most = max(count, int(wanted.weight / weight.min()) + 2) if len(scores) else 0
        if most < len(scores):
            index = np.sort(np.argpartition(-scores, most - 1)[:most])
        order = index[np.argsort(-scores[index], kind="stable")]
        enough = 1 + int(np.searchsorted(np.cumsum(weight[order]), wanted.weight))
        return order[: max(count, enough)]
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(-scores, count - 1)[:count]
