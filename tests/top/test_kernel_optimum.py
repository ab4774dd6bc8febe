"""Kernel TopPush against cvxpy and the published optima."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from drawing import draws
from kernel_data import DATA, random_data
from oracles.patmat import features_of
from oracles.top import top_push_optimum
from shortlist import PatMat, TopPush


@cache
def optimum(name, kernel, k, loss):
    X, y = DATA[name]()
    features = X if kernel == "linear" else features_of(rbf_kernel(X, gamma=0.1))
    return top_push_optimum(features, y, k=k, C=1.0, loss=loss)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("name", DATA)
def test_optimum(name, k, loss):
    X, y = DATA[name]()
    K = rbf_kernel(X, gamma=0.1)
    fits = [("linear", X, {"solver": "smo"})]
    fits += [("rbf", X, {"kernel": "rbf", "gamma": 0.1}), ("rbf", K, {"kernel": "precomputed"})]
    # Of wide rows kernel rows are kept, of others sums only, of narrow ones nothing.
    for zeros in (36, 60):
        wider = np.hstack([X, np.zeros((len(X), zeros))])
        fits.append(("rbf", wider, {"kernel": "rbf", "gamma": 0.1}))
    for kernel, rows, options in fits:
        model = TopPush(k, loss=loss, tol=1e-7, **options).fit(rows, y)
        expected = optimum(name, kernel, k, loss)
        assert model.certificate_.status == "converged"
        assert model.certificate_.primal == pytest.approx(expected, rel=1e-6)
        assert model.certificate_.dual <= expected * (1 + 1e-7)


@pytest.mark.filterwarnings("ignore::shortlist.CollapsedWarning")
@draws(60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    k=st.sampled_from([1, 2, 0.3, 0.9]),
    C=st.sampled_from([1e-3, 1.0, 100.0]),
    size=st.sampled_from([1e-3, 1.0, 30.0]),
    loss=st.sampled_from(["squared_hinge", "hinge"]),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_ugly_problems(seed, n, k, C, size, loss, ties, weighted):
    """Pair steps and Newton agree, each with a closed gap, on duplicates, constants, weights."""
    # Pair steps are of first order: entries of 1e3 with C = 100 are for Newton alone.
    size = 1.0 if C == 100.0 else size
    rng = np.random.default_rng(seed)
    X = size * (rng.integers(-1, 2, (n, 3)) if ties else rng.standard_normal((n, 3)))
    X[:, 2] = size
    y = rng.random(n) < 0.4
    y[0], y[-1] = True, False
    weight = rng.choice([0.0, 1.0, 3.0], n) if weighted else np.ones(n)
    weight[[0, -1]] = 2.0
    values = []
    for solver in ("newton", "smo"):
        model = TopPush(k, C=C, loss=loss, solver=solver, tol=1e-5).fit(X, y, weight)
        assert model.certificate_.status == "converged", solver
        values.append(model.certificate_.primal)
    assert values[0] == pytest.approx(values[1], rel=2e-5)


@pytest.mark.parametrize(("k", "C", "gamma"), [(20, 10.0, 0.05), (50, 1.0, 0.05)])
def test_binding_caps(k, C, gamma):
    """Where single pairs jam with gaps of several percent, the scale of all beta does not."""
    X, y = load_breast_cancer(return_X_y=True)
    model = TopPush(k, C=C, kernel="rbf", gamma=gamma, tol=1e-6).fit(scale(X), y)
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize(
    "model",
    [pytest.param(TopPush(kernel="rbf"), marks=pytest.mark.slow), PatMat(0.1, kernel="rbf")],
)
def test_sample_first(model):
    """Enough rows for the fit to start on a sample, in float32 and in float64."""
    X, y = random_data(n=4000, d=5)
    primal = []
    for dtype in (np.float32, np.float64):
        fit = model.set_params(tol=1e-6, gamma=0.2).fit(X.astype(dtype), y)
        assert fit.certificate_.status == "converged"
        primal.append(fit.certificate_.primal)
        # The certificate is that of the float64 kernel of the rows given.
        K = rbf_kernel(X.astype(dtype).astype(float), gamma=0.2)
        c = np.zeros(len(y))
        c[fit.support_] = fit.dual_coef_[0]
        s = K @ c
        t = s[~y].max() if isinstance(model, TopPush) else fit.threshold_
        value = 0.5 * c @ s + (np.maximum(0.0, 1.0 + t - s[y]) ** 2).sum()
        assert value == pytest.approx(fit.certificate_.primal, rel=1e-8)
    assert primal[0] == pytest.approx(primal[1], rel=1e-5)


@pytest.mark.parametrize("estimator", [TopPush(), PatMat(0.1), PatMat(0.1, quantile="all")])
def test_coordinate_is_the_same_problem(estimator):
    X, y = random_data()
    slow = estimator.set_params(kernel="rbf", solver="coordinate", tol=1e-5).fit(X, y)
    assert slow.certificate_.status == "converged"
    primal = slow.certificate_.primal
    fast = estimator.set_params(solver="smo").fit(X, y)
    assert primal == pytest.approx(fast.certificate_.primal, rel=2e-5)


def test_coordinate_refuses_where_it_jams():
    X, y = random_data()
    with pytest.raises(ValueError, match=r"jams at their corners.*Choose one of 'auto', 'smo'"):
        TopPush(5, kernel="rbf", solver="coordinate").fit(X, y)
