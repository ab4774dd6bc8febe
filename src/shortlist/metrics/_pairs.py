"""Counting ordered pairs in O(n log n), without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._sample import FloatArray


def count_pairs(
    target: NDArray[Any],
    score: NDArray[Any],
    group: NDArray[np.intp] | None,
    weight: FloatArray | None,
) -> tuple[float, float]:
    """Return the weight of correctly ordered pairs (ties half) and of all pairs.

    Two different target ranks part at one bit: they agree above it, and the
    smaller has 0 and the larger 1 there. So one pass per bit, from the highest,
    counts every pair once: inside each run of rows that agree so far, by rising
    score, the zeros before each one. A stable split by the bit then prepares the
    next pass. That is log2(number of distinct targets) passes of O(n).
    """
    if group is None:
        group = np.zeros(len(score), dtype=np.intp)
        order = np.argsort(score)
    else:
        order = np.lexsort((score, group))
    rank = np.unique(target, return_inverse=True)[1][order]
    score = score[order]
    segment = group[order]
    mass = np.ones(len(order)) if weight is None else weight[order]
    correct = pairs = 0.0
    for bit in reversed(range(int(rank.max()).bit_length())):
        upper = (rank >> bit) & 1 == 1
        lower_mass = np.where(upper, 0.0, mass)
        upper_mass = mass - lower_mass

        edge = _starts(segment)
        tie = np.flatnonzero(_changes(segment) | _changes(score))
        per_segment = np.add.reduceat(lower_mass, edge)
        pairs += float(per_segment @ np.add.reduceat(upper_mass, edge))

        lower_before = np.cumsum(lower_mass) - lower_mass
        segment_of_tie = np.searchsorted(edge, tie, side="right") - 1
        before = lower_before[tie] - lower_before[edge][segment_of_tie]
        level = np.add.reduceat(lower_mass, tie)
        correct += float(np.add.reduceat(upper_mass, tie) @ (before + 0.5 * level))

        if bit:
            split = _stable_split(upper, edge)
            rank, score, mass = rank[split], score[split], mass[split]
            segment = 2 * segment[split] + upper[split]
            segment = np.cumsum(_changes(segment)) - 1
    return correct, pairs


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the first row and every row whose value differs from the one before."""
    changed = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _starts(values: NDArray[Any]) -> NDArray[np.intp]:
    return np.flatnonzero(_changes(values))


def _stable_split(upper: NDArray[np.bool_], edge: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the order that puts the lower rows of each segment before its upper rows."""
    n = len(upper)
    lower = ~upper
    size = np.diff(edge, append=n)
    start = np.repeat(edge, size)
    lower_before: NDArray[np.intp] = np.cumsum(lower) - lower
    lower_before -= lower_before[start]
    lower_in_segment = np.repeat(np.add.reduceat(lower, edge, dtype=np.intp), size)
    upper_before = np.arange(n) - start - lower_before
    order = np.empty(n, dtype=np.intp)
    place = start + np.where(lower, lower_before, lower_in_segment + upper_before)
    order[place] = np.arange(n)
    return order
