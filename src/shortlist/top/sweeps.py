"""One pass over all rows: what a working-set solver asks for, and what it is told.

A solver sees the rows of the threshold only through these records, so it does not matter
where they are: in memory, on disk or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from .._losses import Loss
from ..rows.operators import Rows
from ..rows.rounding import Reach
from .thresholds import Threshold

# Scores that differ by this much, relative to the largest, differ by rounding only.
TIE = 1e-9
_CELLS_PER_ROW = 4
_LEAST_CELLS = 256


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
class RankedRows:
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

    def threshold_error(self, t: float, length: float = 1.0) -> float:
        """Bound the rounding error of :meth:`threshold`, which gave `t`."""

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut, see :func:`empirical_cut`."""


@dataclass(frozen=True)
class Sweep:
    """What one pass over all rows tells about a model.

    Attributes
    ----------
    positive_scores : ndarray
        Scores of the rows with a loss.
    scores : Scores
        Those of the rows of the threshold.
    ranked_rows : callable
        Returns the rows that were wanted.
    """

    positive_scores: np.ndarray
    scores: Scores
    ranked_rows: Callable[[], RankedRows]


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
    zero_error: float
    reach: Reach
    centre: np.ndarray | None

    def mean_difference(self) -> np.ndarray:
        """Mean of the positives minus mean of the rows of the threshold."""

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""

    def row_number(self, position: int) -> int:
        """Return the number of a row among the training rows."""

    def primal_at(self, w: np.ndarray, positive_scores: np.ndarray, t: float) -> float:
        """Primal value of `w` for a known threshold."""

    def dual_along_ray(self, alpha: np.ndarray, squared_norm: float, penalty: float) -> Any:
        """Maximise the dual along the ray of a feasible point, given its psi."""


@dataclass(frozen=True)
class ArrayScores:
    """Scores in an array."""

    values: np.ndarray
    weight: np.ndarray
    definition: Threshold
    _known: dict[Threshold, float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())

    @property
    def largest(self) -> float:
        """Largest absolute score."""
        return max(-self._ends[0], self._ends[1])

    def threshold(self, length: float = 1.0) -> float:
        """Return the threshold of the scores times `length`."""
        definition = self.definition.scaled(length)
        if definition not in self._known:
            self._known[definition] = definition.value(self.values, self.weight)
        return length * self._known[definition]

    def threshold_error(self, t: float, length: float = 1.0) -> float:
        """Bound the rounding error of the threshold `t`."""
        values = length * self.values if length != 1.0 else self.values
        lowest, highest = (length * end for end in self._ends)
        excess = partial(weighted_excess, values, self.weight)
        return self.definition.error(t, len(values), lowest, highest, excess)

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut."""
        return empirical_cut(self.values, self.weight, mass, highest)


@dataclass(frozen=True)
class ScaledScores:
    """Scores of a pass, for a model `length` times as long as the one it scored."""

    scores: Scores
    length: float = 1.0

    @property
    def largest(self) -> float:
        """Largest absolute score."""
        return self.length * self.scores.largest

    def threshold_error(self, t: float) -> float:
        """Bound the rounding error of their threshold `t`."""
        return self.scores.threshold_error(t, self.length)

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut."""
        return self.length * self.scores.cut(mass, highest / self.length)


def weighted_excess(
    scores: np.ndarray, weight: np.ndarray | None, level: float, power: int
) -> float:
    """Weighted sum of a power of what the scores exceed a level by."""
    above = np.maximum(scores - level, 0.0)
    terms = above if power == 1 else above * above
    return float(terms.sum() if weight is None else weight @ terms)


def highest(scores: np.ndarray, weight: np.ndarray | None, wanted: Wanted) -> np.ndarray:
    """Return the indices of the highest scores that meet the count and weight wanted.

    Without `weight` every row weighs one.
    """
    count = most = wanted.count
    if wanted.weight > 0.0 and len(scores):
        # As many as could be needed if all were as light as the lightest.
        lightest = 1.0 if weight is None else float(weight.min())
        most = max(count, int(wanted.weight / lightest) + 2)
    index = contenders(scores, most)
    if most < len(index):
        index = np.sort(index[np.argpartition(-scores[index], most - 1)[:most]])
    if wanted.weight <= 0.0:
        return index
    order = index[np.argsort(-scores[index], kind="stable")]
    weights = np.ones(len(order)) if weight is None else weight[order]
    enough = 1 + int(np.searchsorted(np.cumsum(weights), wanted.weight))
    return order[: max(count, enough)]


def empirical_cut(
    scores: np.ndarray, weight: np.ndarray, mass: float, highest: float, tie: float | None = None
) -> float:
    """Return a cut with at most weight `mass` above it, and no more rows could be.

    Tied rows stay together: scores that differ by rounding only, or by `tie`. Returns
    `highest` where not even the top row fits.
    """
    # Whatever they weigh, no more rows than these fit.
    index = contenders(scores, int(mass / float(weight.min())) + 2)
    order = index[np.argsort(-scores[index], kind="stable")]
    s, above = scores[order], np.cumsum(weight[order])
    # The tolerance keeps 0.1 * 30 at 3, not at 2 through rounding.
    fits = int(np.searchsorted(above, mass * (1.0 + 1e-12), side="right"))
    if tie is None:
        tie = TIE * max(float(scores.max()), -float(scores.min()))
    while 0 < fits < len(s) and s[fits - 1] - s[fits] <= tie:
        fits -= 1
    if fits == 0:
        return max(highest, float(s[0]) + tie)
    return 0.5 * float(s[fits - 1] + s[fits])


def contenders(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of some rows, in order, with the `count` highest among them.

    No row that is left out scores as high as one of these `count`. Deal the rows into more
    cells than that. The cell that comes `count`-th by its highest score has that many rows at
    or above its own: no row below is needed. One look over the scores, and hardly any memory.
    """
    n_cells = max(_CELLS_PER_ROW * count, _LEAST_CELLS)
    n_dealt = len(scores) - len(scores) % n_cells
    if n_dealt >= 4 * n_cells:
        tops = np.partition(scores[:n_dealt].reshape(-1, n_cells).max(axis=0), n_cells - count)
        index = np.flatnonzero(scores >= tops[n_cells - count])
        if len(index) >= count:
            return index
    return np.arange(len(scores))
