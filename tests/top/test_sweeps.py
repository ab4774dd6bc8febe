"""The highest rows, found in one look, against sorting all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from shortlist.top.sweeps import Wanted, highest


@st.composite
def many_scores(draw):
    n = draw(st.sampled_from([0, 1, 2, 7, 1023, 1024, 1500, 5000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(size=n)
    kind = draw(st.sampled_from(["normal", "ties", "constant", "rising", "falling", "outlier"]))
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "constant":
        scores = np.zeros(n)
    elif kind in ("rising", "falling"):
        scores = np.sort(scores)[:: 1 if kind == "rising" else -1].copy()
    elif kind == "outlier" and n:
        scores[rng.integers(n)] = 1e300
    scores *= draw(st.sampled_from([1.0, 1e-300, -1e5]))
    weight = rng.choice([0.25, 1.0, 3.0], size=n) if draw(st.booleans()) else None
    return scores, weight


@draws(200)
@given(
    many_scores(),
    st.sampled_from([1, 2, 10, 60, 900]),
    st.sampled_from([0.0, 0.5, 1.0, 7.3, 40.0, 1e6]),
)
def test_highest(sample, count, heavy):
    scores, weight = sample
    index = highest(scores, weight, Wanted(count, heavy))
    order = np.sort(scores)[::-1]
    assert len(np.unique(index)) == len(index)
    np.testing.assert_array_equal(np.sort(scores[index])[::-1], order[: len(index)])
    assert len(index) >= min(count, len(scores))
    weights = np.ones(len(scores)) if weight is None else weight
    if len(index) < len(scores):
        assert weights[index].sum() >= heavy * (1 - 1e-12)
        if len(index) > count:
            lighter = weights[index[:-1]].sum() if heavy > 0.0 else np.inf
            assert lighter < heavy
