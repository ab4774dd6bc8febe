import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oracles.top import top_mean
from shortlist.top.top_mean import TopMean


@given(st.data())
def test_top_mean_counts_by_weight(data):
    n = data.draw(st.integers(1, 12))
    scores = data.draw(hnp.arrays(np.float64, n, elements=st.integers(-5, 5).map(float)))
    weight = data.draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.25, 1.0, 2.0, 3.5])))
    k = data.draw(st.floats(0.1, float(weight.sum())))
    expected = top_mean(scores, weight, k)
    assert abs(TopMean(k).value(scores, weight) - expected) <= 1e-9


@given(st.integers(1, 30), st.data())
def test_unit_weights(n, data):
    scores = data.draw(hnp.arrays(np.float64, n, elements=st.floats(-1e6, 1e6)))
    k = data.draw(st.integers(1, n))
    expected = np.sort(scores)[::-1][:k].mean()
    got = TopMean(k).value(scores, np.ones(n))
    assert abs(got - expected) <= 1e-9 * max(1.0, np.abs(scores).max())
