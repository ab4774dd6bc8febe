"""The mean of the highest of all rows as the threshold: ``TopPush(rows="all")``."""

import numpy as np
import pytest

from oracles.patmat import features_of
from oracles.top import top_push_optimum
from shortlist import TopPush
from shortlist.blocks import Blocks

pytestmark = pytest.mark.filterwarnings("ignore")


def data_of(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.arange(n) < n // 4).astype(int)
    X[y == 1] += 0.8
    return X, y, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("solver", ["newton", "accelerated"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("k", [1, 7, 30])
def test_against_the_oracle(k, loss, solver):
    X, y, weight = data_of()
    model = TopPush(k, rows="all", loss=loss, C=0.3, solver=solver, tol=1e-5)
    model.fit(X, y, sample_weight=weight)
    optimum = top_push_optimum(X, y, k=k, C=0.3, loss=loss, weight=weight, rows="all")
    c = model.certificate_
    assert c.status == "converged"
    assert c.dual <= optimum * (1 + 1e-6)
    assert c.primal >= optimum * (1 - 1e-6)
    scores = X @ model.coef_[0]
    order = np.argsort(-scores)
    share = np.clip(k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
    assert model.threshold_ == pytest.approx(share @ scores[order] / k, abs=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernel(loss):
    X, y, _ = data_of(1)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = TopPush(0.2, rows="all", loss=loss, kernel="precomputed", tol=1e-5).fit(K, y)
    optimum = top_push_optimum(features_of(K), y, k=12, C=1.0, loss=loss, rows="all")
    assert model.certificate_.status == "converged"
    assert model.certificate_.primal == pytest.approx(optimum, rel=3e-5)


def test_blocks_and_fractions():
    X, y, _ = data_of(2, n=400)
    model = TopPush(0.1, rows="all").fit(X, y)
    again = TopPush(40, rows="all").fit(Blocks(X, y, block_bytes=1000))
    assert model.certificate_.primal == pytest.approx(again.certificate_.primal, rel=2e-4)


def test_rows_are_named():
    X, y, _ = data_of()
    with pytest.raises(ValueError, match="rows='positives'"):
        TopPush(rows="positives").fit(X, y)
    with pytest.raises(ValueError, match="60 rows"):
        TopPush(61, rows="all").fit(X, y)


@pytest.mark.parametrize("random_state", [3, None, np.random.RandomState(0), np.int64(5)])
def test_random_state_as_in_scikit_learn(random_state):
    X, y, _ = data_of()
    model = TopPush(kernel="rbf", random_state=random_state).fit(X, y)
    assert model.certificate_.status == "converged"


def test_random_state_must_be_one():
    X, y, _ = data_of()
    with pytest.raises(ValueError, match="cannot be used to seed"):
        TopPush(kernel="rbf", random_state="seed").fit(X, y)
