"""A few rows that stand for all: many pairs among them."""

from __future__ import annotations

import numpy as np


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
