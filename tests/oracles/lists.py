"""Slow, obvious reference for lists under terms: all lists."""

from itertools import combinations

import numpy as np


def all_lists(rows, k):
    """Return every list of up to `k` of the rows."""
    return [
        np.array(chosen, dtype=int)
        for size in range(min(k, len(rows)) + 1)
        for chosen in combinations(rows, size)
    ]


def value_of(gain, chosen, fill):
    """Return what lists are compared by: where the budget is filled, their lengths go first."""
    return (len(chosen) if fill else 0, round(float(gain[chosen].sum()), 9))
