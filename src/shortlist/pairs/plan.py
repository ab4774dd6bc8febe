"""Which rows are compared: all pairs, listed without forming one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_UPPER, _LOWER = 1, 2


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
    # Blocks of max_rank_distance ranks: inside a block all pairs count. Between a
    # block and the next those count whose upper offset is at most the lower one.
    block, offset = np.divmod(rank, max_rank_distance)
    segment = np.cumsum(_changes(block) | new_group) - 1
    follows = np.append(~new_group[1:] & (block[1:] == block[:-1] + 1), False)
    has_next = np.zeros(segment[-1] + 1, dtype=bool)
    has_next[segment[follows]] = True
    lower = np.flatnonzero(has_next[segment])
    upper = np.flatnonzero(block > 0)
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
