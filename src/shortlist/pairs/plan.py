"""Which rows are compared: all pairs, listed without forming one; and samples of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..rows.rounding import gamma

_UPPER, _LOWER = 1, 2
# Running sums stay below 2 ** _BITS units of the grid.
_BITS = 51

# Weights of more bits than this, added up, leave too few to the scores.
_MOST_WEIGHT_BITS = 28


@dataclass(frozen=True)
class PairPlan:
    """Which rows are compared: segments of items by rising key.

    A pair is an upper and a lower item of one segment, the upper with the larger
    key. The arrays are those of ``_core``.
    """

    start: np.ndarray
    key: np.ndarray
    role: np.ndarray
    row: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Arguments of the compiled functions."""
        return self.start, self.key, self.role, self.row


def plan_pairs(y: np.ndarray, group: np.ndarray, max_rank_distance: int | None) -> PairPlan:
    """List the rows so that all pairs of one group with different `y` are compared.

    Parameters
    ----------
    y : ndarray
        Targets.
    group : ndarray of int
        Group of every row.
    max_rank_distance : int or None
        Keep pairs at most that many ranks apart. Ranks are dense: equal targets share
        one, and the next target of the group has the next.

    Returns
    -------
    PairPlan
        Segments with at least two different keys; none if there is no pair.
    """
    row = np.lexsort((y, group))
    new_group = _changes(group[row])
    new_rank = _changes(y[row]) | new_group
    group_of = np.cumsum(new_group) - 1
    rank = np.cumsum(new_rank) - 1
    rank -= rank[new_group][group_of]
    both = np.full(len(row), _UPPER | _LOWER, dtype=np.uint8)
    if max_rank_distance is None or max_rank_distance > rank.max():
        return _segments(group_of, rank, both, row)
    # Bands of max_rank_distance ranks: inside a band all pairs count. Between a
    # band and the next those count whose upper offset is at most the lower one.
    band, offset = np.divmod(rank, max_rank_distance)
    segment = np.cumsum(_changes(band) | new_group) - 1
    follows = np.append(~new_group[1:] & (band[1:] == band[:-1] + 1), False)
    has_next = np.zeros(segment[-1] + 1, dtype=bool)
    has_next[segment[follows]] = True
    lower = np.flatnonzero(has_next[segment])
    upper = np.flatnonzero(band > 0)
    n_segments = segment[-1] + 1
    return _segments(
        np.concatenate([segment, n_segments + segment[lower], n_segments + segment[upper] - 1]),
        np.concatenate([offset, -2 * offset[lower], 1 - 2 * offset[upper]]),
        np.concatenate(
            [
                both,
                np.full(len(lower), _LOWER, dtype=np.uint8),
                np.full(len(upper), _UPPER, dtype=np.uint8),
            ]
        ),
        np.concatenate([row, row[lower], row[upper]]),
    )


def listed_pairs(plan: PairPlan) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper and the lower row of every pair of a plan, for plans of few pairs."""
    upper, lower = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last in zip(plan.start[:-1], plan.start[1:], strict=True):
        key, role, row = (part[first:last] for part in (plan.key, plan.role, plan.row))
        above, below = np.flatnonzero(role & _UPPER), np.flatnonzero(role & _LOWER)
        i, j = np.nonzero(key[above][:, None] > key[below])
        upper.append(row[above[i]].astype(np.int64))
        lower.append(row[below[j]].astype(np.int64))
    return np.concatenate(upper), np.concatenate(lower)


def _changes(values: np.ndarray) -> np.ndarray:
    changed = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _segments(segment: np.ndarray, key: np.ndarray, role: np.ndarray, row: np.ndarray) -> PairPlan:
    order = np.lexsort((key, segment))
    start = np.flatnonzero(_changes(segment[order]))
    end = np.append(start[1:], len(order))
    low, high = key[order[start]], key[order[end - 1]]
    keep = np.repeat(low != high, end - start)
    order = order[keep]
    sizes = (end - start)[low != high]
    # Keys are at most twice as large as there are rows, and may be negative.
    small = 2 * len(row) < np.iinfo(np.int32).max
    number = np.int32 if small else np.int64
    return PairPlan(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        key[order].astype(number),
        role[order],
        row[order].astype(number),
    )


@dataclass(frozen=True)
class Grid:
    """How exact the sums over the pairs of a plan can be.

    Attributes
    ----------
    weight : float
        Largest weight of a segment.
    unit : float
        Power of two of which all weights are multiples; zero where that is too fine.
    lost : float
        Error of running sums that are not exact, relative to the sum of all sizes.
    """

    weight: float
    unit: float
    lost: float

    @classmethod
    def of(cls, plan: PairPlan, weight: np.ndarray) -> Grid:
        """Return that of a plan whose rows have these weights."""
        sizes = np.diff(plan.start)
        total = float(np.add.reduceat(weight[plan.row], plan.start[:-1]).max())
        unit = 2.0 ** (math.ceil(math.log2(total)) - _MOST_WEIGHT_BITS)
        even = float(weight.min()) == float(weight.max())
        multiples = (weight[:1] if even else weight) / unit
        if not (multiples == np.rint(multiples)).all():
            unit = 0.0
        else:  # the coarsest that serves
            while (np.rint(0.5 * multiples) * 2.0 == multiples).all():
                multiples *= 0.5
                unit *= 2.0
        # Keys are halved at every second node at least; a node adds up all of its items.
        longest = float(sizes.max())
        levels = 2.0 * math.log2(longest) + 2.0
        return cls(total, unit, levels * gamma(longest))

    @property
    def exact(self) -> bool:
        """Whether sums over pairs can be exact."""
        return self.unit > 0.0

    def step(self, largest: float) -> float:
        """Return the step of a grid for scores, gaps and widths up to `largest`."""
        return 2.0 ** (math.ceil(math.log2(self.weight * largest / self.unit)) - _BITS)


def small_groups(n_rows: int, n_groups: int, count: int) -> bool:
    """Whether `count` rows are best drawn as whole groups: pairs lie inside groups."""
    return n_rows / n_groups <= count / 10


def sample_rows(group: np.ndarray, count: int, whole: bool | None = None) -> np.ndarray:
    """Draw about `count` rows with many pairs among them: whole groups where they are small."""
    n = len(group)
    if n <= count:
        return np.arange(n)
    random = np.random.default_rng(0)
    n_groups = int(group.max()) + 1
    if small_groups(n, n_groups, count) if whole is None else whole:
        chosen = np.zeros(n_groups, dtype=bool)
        chosen[random.permutation(n_groups)[: max(1, round(n_groups * count / n))]] = True
        return np.flatnonzero(chosen[group])
    return np.sort(random.choice(n, size=count, replace=False))


def chances(size: np.ndarray, count: int) -> np.ndarray:
    """Return chances in proportion to `size`, at most one, that add up to `count`."""
    certain = np.zeros(len(size), dtype=bool)
    if np.count_nonzero(size) <= count:
        return (size > 0.0).astype(float)
    while True:
        left = count - np.count_nonzero(certain)
        chance = np.where(certain, 1.0, left * size / float(size[~certain].sum()))
        over = (chance > 1.0) & ~certain
        if not over.any():
            return chance
        certain |= over


def pair_weight(C: float, compared: float, n_pairs: float, normalize: bool) -> float:
    """Weight of one pair: C, or a share of C times the rows that are compared."""
    return C * compared / n_pairs if normalize else C
