"""A softened maximum as the threshold: ``TopPush(smoothing=…)``, one file and its oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oracles.top import soft_maximum, soft_push_optimum
from shortlist import TopPush
from shortlist.blocks import Blocks
from shortlist.top.soft_maximum import SoftMaximum
from shortlist.top.sweeps import ArrayScores

pytestmark = pytest.mark.filterwarnings("ignore")


def data_of(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.arange(n) < n // 4).astype(int)
    X[y == 1] += 0.8
    return X, y, rng.integers(0, 3, n).astype(float)


@given(st.data())
def test_value_and_its_error(data):
    n = data.draw(st.integers(1, 12))
    scores = data.draw(hnp.arrays(np.float64, n, elements=st.floats(-100, 100)))
    weight = data.draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.25, 1.0, 2.0, 3.5])))
    smoothing = data.draw(st.sampled_from([1e-4, 0.1, 1.0, 30.0, 1e5]))
    threshold = SoftMaximum(smoothing, float(weight.sum()))
    t = threshold.value(scores, weight)
    exact = soft_maximum(scores, weight, smoothing)
    error = ArrayScores(scores, weight, threshold).threshold_error(t)
    assert abs(t - exact) <= error <= 1e-9 * (1.0 + np.abs(scores).max() + threshold.shift)
    # A threshold moves with the scores, lies between their mean and their maximum, and a
    # wrong one is noticed.
    assert threshold.value(scores + 5.0, weight) == pytest.approx(t + 5.0, abs=1e-9 + error)
    assert weight @ scores / weight.sum() - error <= t + 1e-9 <= scores.max() + error + 2e-9
    assert ArrayScores(scores, weight, threshold).threshold_error(t + 0.01) >= 0.009


@pytest.mark.parametrize("rows", ["negatives", "all"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("smoothing", [0.01, 1.0, 100.0])
def test_against_the_oracle(smoothing, loss, rows):
    X, y, weight = data_of()
    model = TopPush(smoothing=smoothing, rows=rows, loss=loss, C=0.3, tol=1e-5)
    model.fit(X, y, sample_weight=weight)
    optimum = soft_push_optimum(X, y, smoothing=smoothing, C=0.3, loss=loss, weight=weight,
                                rows=rows)  # fmt: skip
    c = model.certificate_
    assert c.status == "converged"
    assert c.dual <= optimum * (1 + 1e-6)
    assert c.primal >= optimum * (1 - 1e-6)
    ranked = (weight > 0) & ((y == 0) | (rows == "all"))
    scores = X[ranked] @ model.coef_[0]
    expected = soft_maximum(scores, weight[ranked], smoothing)
    assert model.threshold_ == pytest.approx(float(expected), abs=1e-8)


def test_blocks_and_a_working_set_that_grows():
    X, y, _ = data_of(2, n=4000)
    model = TopPush(smoothing=30.0).fit(X, y)
    again = TopPush(smoothing=30.0).fit(Blocks(X, y, block_bytes=10_000))
    assert model.certificate_.status == again.certificate_.status == "converged"
    assert model.certificate_.primal == pytest.approx(again.certificate_.primal, rel=2e-4)


def test_it_lies_between_the_highest_row_and_the_mean():
    X, y, _ = data_of(3)
    hard = TopPush(tol=1e-7).fit(X, y).certificate_.primal
    nearly = TopPush(smoothing=1e-7, tol=1e-7).fit(X, y).certificate_.primal
    mean = TopPush(k=int((y == 0).sum()), tol=1e-7).fit(X, y).certificate_.primal
    flat = TopPush(smoothing=1e7, tol=1e-7).fit(X, y).certificate_.primal
    assert nearly == pytest.approx(hard, rel=1e-4)
    assert flat == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"kernel": "rbf"}, "kernel='rbf'.*SoftMaximum is for linear scores"),
        ({"solver": "smo"}, "solver='smo'.*SoftMaximum is for linear scores"),
        ({"k": 3}, "smoothing=1.0 softens the maximum, k=1, got k=3"),
        ({"rows": "positives"}, "rows='positives'"),
        ({"smoothing": -1.0}, "smoothing=-1.0"),
    ],
)
def test_errors_name_the_argument(params, said):
    X, y, _ = data_of()
    with pytest.raises(ValueError, match=said):
        TopPush(**{"smoothing": 1.0, **params}).fit(X, y)
