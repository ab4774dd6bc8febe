"""Small ugly rankings: ties, constants, one positive, two rows, huge and tiny scales."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

UGLY = [-1e300, -1.0, -1e-300, 0.0, 1e-300, 0.5, 0.5 + 1e-15, 1.0, 1e300]


@st.composite
def rankings(draw, max_rows: int = 6, both: bool = True, min_rows: int = 2):
    """Labels and scores; with ``both`` at least one row of each class."""
    n = draw(st.integers(min_rows, max_rows))
    pool = draw(st.sampled_from([UGLY, [0.0, 1.0], [3.0], list(range(12)), [-2, 0, 5]]))
    score = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
    label = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    if both and len(set(label)) == 1:
        label[draw(st.integers(0, n - 1))] ^= 1
    return np.array(label), np.array(score)


@st.composite
def weighted(draw, max_rows: int = 40):
    """Labels, scores and whole weights, some zero, both classes with weight."""
    y, score = draw(rankings(max_rows=max_rows))
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        if not weight[rows].any():
            weight[rows[0]] = 1
    return y, score, weight


ties = st.sampled_from(["expected", "optimistic", "pessimistic"])
fractions = st.sampled_from([0.01, 0.05, 0.07, 0.1, 0.25, 0.29, 0.5, 0.57, 0.75, 0.9, 0.99])
lengths = st.one_of(st.integers(1, 9), fractions)
rates = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.29, 1 / 4, 0.5, 0.7, 0.75, 0.9, 1.0])
