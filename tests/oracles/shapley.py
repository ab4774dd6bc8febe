"""Shapley values by their definition: every subset of the columns, every background row."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np


def shapley_values(score, row, background):
    """What each column adds to the score of a row, against the mean of the background."""
    d = len(row)

    def worth(subset):
        mixed = np.array(background, dtype=float, copy=True)
        mixed[:, list(subset)] = np.asarray(row)[list(subset)]
        return float(np.mean(score(mixed)))

    known = {}
    values = np.zeros(d)
    for j in range(d):
        rest = [other for other in range(d) if other != j]
        for size in range(d):
            share = factorial(size) * factorial(d - size - 1) / factorial(d)
            for subset in combinations(rest, size):
                with_j = tuple(sorted((*subset, j)))
                for key in (subset, with_j):
                    if key not in known:
                        known[key] = worth(key)
                values[j] += share * (known[with_j] - known[subset])
    return values
