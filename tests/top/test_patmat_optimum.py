"""PatMat against cvxpy: every rate, quantile, loss and kind of kernel."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from drawing import draws
from kernel_data import DATA
from oracles.patmat import features_of, patmat_optimum
from shortlist import PatMat


@cache
def optimum(name, kernel, tau, quantile, loss):
    X, y = DATA[name]()
    features = X if kernel == "linear" else features_of(rbf_kernel(X, gamma=0.1))
    return patmat_optimum(features, y, tau=tau, quantile=quantile, loss=loss)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("quantile", ["negatives", "all"])
@pytest.mark.parametrize(
    "tau",
    [
        0.01,
        pytest.param(0.05, marks=pytest.mark.slow),
        0.1,
        pytest.param(0.5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", DATA)
def test_optimum(name, tau, quantile, loss):
    X, y = DATA[name]()
    K = rbf_kernel(X, gamma=0.1)
    fits = [("linear", X, {}), ("linear", X, {"solver": "smo"})]
    fits += [("rbf", X, {"kernel": "rbf", "gamma": 0.1}), ("rbf", K, {"kernel": "precomputed"})]
    for kernel, rows, options in fits:
        model = PatMat(tau, quantile=quantile, loss=loss, tol=1e-7, **options).fit(rows, y)
        certificate = model.certificate_
        expected = optimum(name, kernel, tau, quantile, loss)
        assert certificate.status == "converged"
        assert certificate.primal == pytest.approx(expected, rel=1e-6)
        assert certificate.dual <= expected * (1 + 1e-7)


@pytest.mark.filterwarnings("ignore::shortlist.CollapsedWarning")
@draws(60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 25),
    tau=st.floats(0.005, 0.95),
    theta=st.sampled_from([0.2, 1.0, 5.0]),
    C=st.sampled_from([1e-3, 1.0, 100.0]),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    quantile=st.sampled_from(["negatives", "all"]),
    loss=st.sampled_from(["squared_hinge", "hinge"]),
    ties=st.booleans(),
    weighted=st.booleans(),
)
@example(450, 20, 0.5, 1.0, 100.0, 1.0, "all", "hinge", False, True)  # a row's second variable
@example(737, 13, 0.7646340530930351, 1.0, 100.0, 1.0, "all", "hinge", True, True)  # full caps
def test_ugly_problems(seed, n, tau, theta, C, scale, quantile, loss, ties, weighted):
    """Newton and pair steps agree, each with a closed gap, on duplicates, constants, weights."""
    # Pair steps are of first order: entries of 1e3 with C = 100 are for Newton alone.
    scale = 1.0 if C == 100.0 else scale
    rng = np.random.default_rng(seed)
    X = scale * (rng.integers(-1, 2, (n, 3)) if ties else rng.standard_normal((n, 3)))
    X[:, 2] = scale
    y = rng.random(n) < 0.4
    y[0], y[-1] = True, False
    weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
    values = []
    for solver in ("newton", "smo"):
        model = PatMat(tau, quantile=quantile, theta=theta, C=C, loss=loss, solver=solver, tol=1e-5)
        model.fit(X, y, weight)
        assert model.certificate_.status == "converged", solver
        values.append(model.certificate_.primal)
    assert values[0] == pytest.approx(values[1], rel=2e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_weights_and_slope_against_cvxpy(loss):
    X, y = DATA["random"]()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    expected = patmat_optimum(X, y, tau=0.2, theta=2.0, C=3.0, loss=loss, weight=weight)
    for solver in ("newton", "smo"):
        model = PatMat(0.2, theta=2.0, C=3.0, loss=loss, solver=solver, tol=1e-8)
        model.fit(X, y, weight)
        assert model.certificate_.primal == pytest.approx(expected, rel=1e-6)
