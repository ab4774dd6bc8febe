"""Rows grouped by equal score: the form in which ties are counted fairly.

Random tie-breaking only shuffles rows inside a *rung* of equal scores. So every
metric here is a function of the positive and the negative weight of each rung,
best rung first, and its expectation over tie orders has a closed form per rung.
Neighbouring rungs that hold the same single class may be one rung: no metric
here can tell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._sample import FloatArray, Sample

# Below this many rows a sort is quicker than another round of partial sorting.
_FEW_ROWS = 1000


class Rungs(NamedTuple):
    """Positive and negative weight per rung of tied scores, best rung first."""

    positive: FloatArray
    negative: FloatArray
    whole: bool

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.positive.sum() + self.negative.sum())

    def hits(self, lengths: np.ndarray) -> FloatArray:
        """Return the expected hits of lists: they grow linearly inside a rung."""
        size = self.positive + self.negative
        filled = size > 0
        end = np.concatenate([[0.0], np.cumsum(size[filled])])
        hits = np.concatenate([[0.0], np.cumsum(self.positive[filled])])
        return np.interp(lengths, end, hits)


def descending(score: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows by falling score and where each rung of ties starts."""
    order = np.argsort(score)[::-1]
    ranked = score[order]
    new = np.empty(len(ranked), dtype=bool)
    new[0] = True
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    return order, np.flatnonzero(new)


def rungs_of(sample: Sample) -> Rungs:
    """Sort the rows into rungs: O(n log n)."""
    if sample.weight is None:
        return _unweighted_rungs(sample)
    order, start = descending(sample.score)
    positive = sample.positive[order]
    weight = sample.weight[order]
    hits = np.add.reduceat(np.where(positive, weight, 0.0), start)
    misses = np.add.reduceat(np.where(positive, 0.0, weight), start)
    return Rungs(hits, misses, sample.whole)


def _unweighted_rungs(sample: Sample) -> Rungs:
    """Sort each class on its own: several times faster than sorting row numbers.

    A rung per distinct score of the smaller class, and one for the rows of the
    larger class between two of them.
    """
    classes = [np.sort(sample.score[sample.positive]), np.sort(sample.score[~sample.positive])]
    swapped = len(classes[0]) > len(classes[1])
    few, many = reversed(classes) if swapped else classes
    start = np.flatnonzero(np.concatenate([[True], few[1:] != few[:-1]])[: len(few)])
    anchor = few[start]
    below = np.searchsorted(many, anchor, side="left")
    upto = np.searchsorted(many, anchor, side="right")
    few_counts = np.zeros(2 * len(anchor) + 1)
    few_counts[1::2] = np.diff(start, append=len(few))
    many_counts = np.empty(2 * len(anchor) + 1)
    many_counts[1::2] = upto - below
    many_counts[0::2] = np.append(below, len(many)) - np.concatenate([[0], upto])
    few_counts, many_counts = few_counts[::-1], many_counts[::-1]
    if swapped:
        return Rungs(many_counts, few_counts, True)
    return Rungs(few_counts, many_counts, True)


def rungs_around(sample: Sample, threshold: Any) -> Rungs:
    """Weigh the rows above, at and below one score: O(n), three rungs.

    A metric that only looks at the rung where its cut falls needs no more.
    """
    above = sample.score > threshold
    level = sample.score == threshold
    parts = (above, level, ~(above | level))
    hits = [_mass(part & sample.positive, sample.weight) for part in parts]
    misses = [_mass(part & ~sample.positive, sample.weight) for part in parts]
    return Rungs(np.array(hits), np.array(misses), sample.whole)


def _mass(rows: NDArray[np.bool_], weight: FloatArray | None) -> float:
    return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())


def score_beyond(score: NDArray[Any], mass: float, weight: FloatArray | None = None) -> Any:
    """Return the score of the first row, from the top, at which the weight exceeds ``mass``.

    The lowest score when all rows together do not. O(n) by partial sorting.
    """
    if weight is None:
        index = max(len(score) - int(mass) - 1, 0)
        return np.partition(score, index)[index]
    while len(score) > _FEW_ROWS:
        middle = len(score) // 2
        pivot = np.partition(score, middle)[middle]
        upper = score >= pivot
        upper_mass = float(weight[upper].sum())
        if upper_mass > mass:
            strictly = score > pivot
            if float(weight[strictly].sum()) <= mass:
                return pivot
            score, weight = score[strictly], weight[strictly]
        else:
            if upper.all():
                return pivot
            mass -= upper_mass
            score, weight = score[~upper], weight[~upper]
    order = np.argsort(score)[::-1]
    first = int(np.searchsorted(np.cumsum(weight[order]), mass, side="right"))
    return score[order[min(first, len(order) - 1)]]
