import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oracles.top import top_mean
from shortlist.top.sweeps import empirical_cut
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


@pytest.mark.parametrize("weights", ["ones", "equal", "mixed"])
@pytest.mark.parametrize("k", [3, 40, 700.0, 1999.5])
@pytest.mark.parametrize("values", ["spread", "ties"])
def test_many_rows_have_the_threshold_and_the_cut_of_a_full_sort(weights, k, values):
    # So many that only contenders for the top are sorted.
    rng = np.random.default_rng(5)
    n = 20_011
    scores = rng.normal(size=n) if values == "spread" else rng.integers(0, 30, n) / 4.0
    weight = {
        "ones": np.ones(n),
        "equal": np.full(n, 0.5),
        "mixed": rng.choice([0.25, 1.0, 3.0], n),
    }[weights]
    order = np.argsort(-scores, kind="stable")
    share = np.clip(k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
    mean = float(share @ scores[order]) / float(share.sum())
    assert TopMean(float(k)).value(scores, weight) == pytest.approx(mean, rel=1e-12)
    cut = empirical_cut(scores, weight, float(k), 99.0)
    assert weight[scores > cut].sum() <= k * (1.0 + 1e-12)
    below = scores[scores < cut].max()
    assert cut == 99.0 or weight[scores >= below].sum() > k
