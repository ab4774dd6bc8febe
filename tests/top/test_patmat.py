"""PatMat as an estimator: its thresholds, errors and warnings."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contract import checks
from drawing import draws
from kernel_data import random_data
from oracles.patmat import quantile_by_bisection
from shortlist import CollapsedWarning, PatMat
from shortlist._losses import LOSSES
from shortlist.top.surrogate_quantile import SurrogateQuantile
from shortlist.top.sweeps import empirical_cut


@checks(
    PatMat(),
    PatMat(0.5, quantile="all", loss="hinge"),
    PatMat(kernel="rbf", cutoff="surrogate", tau=0.3),
    PatMat(0.2, kernel="laplacian", loss="hinge"),
)
def test_estimator(estimator, check):
    check(estimator)


scores_of = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3)), min_size=1, max_size=12
)


@given(
    scores=scores_of,
    power=st.sampled_from(["hinge", "squared_hinge"]),
    theta=st.floats(0.05, 20.0),
    share=st.floats(1e-3, 3.0),
    seed=st.integers(0, 99),
)
def test_surrogate_solves_its_equation(scores, power, theta, share, seed):
    scores = np.array(scores)
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, len(scores))
    loss, mass = LOSSES[power], share * weight.sum()
    t = SurrogateQuantile(loss, theta, mass).value(scores, weight)
    slow = quantile_by_bisection(scores, weight, power=loss.power, theta=theta, mass=mass)
    assert t == pytest.approx(slow, rel=1e-7, abs=1e-6)


@given(
    scores=scores_of,
    power=st.sampled_from(["hinge", "squared_hinge"]),
    theta=st.sampled_from([0.4, 1.5]),
    seed=st.integers(0, 99),
)
def test_penalty_is_the_conjugate(scores, power, theta, seed):
    """p.s - psi(p) <= T(s) for every p, so that the dual bounds the primal; = at the best p."""
    rng = np.random.default_rng(seed)
    scores, weight = np.array(scores), rng.uniform(0.1, 3.0, len(scores))
    threshold = SurrogateQuantile(LOSSES[power], theta, 0.3 * weight.sum())
    t = threshold.value(scores, weight)
    if power == "squared_hinge":
        best = threshold.shares(scores, weight, t)
        assert best @ scores - threshold.penalty(best, weight) == pytest.approx(
            t, rel=1e-7, abs=1e-6
        )
    for _ in range(5):
        p = rng.dirichlet(np.full(len(scores), 0.5))
        assert p @ scores - threshold.penalty(p, weight) <= t + 1e-7 * (1 + abs(t))


@example(scores=[0.0] * 6 + [-1.0, 1000.0, 1e-06, -4.8e-16], tau=0.75, seed=0)
@given(scores=scores_of, tau=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_empirical_cut(scores, tau, seed):
    scores = np.array(scores)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(scores))
    mass = tau * weight.sum()
    cut = empirical_cut(scores, weight, mass, scores.max() + 1.0)
    assert weight[scores > cut].sum() <= mass * (1 + 1e-9)
    # The next rows, and what is tied with them, one with the next: these are too many.
    left = np.sort(scores[scores <= cut])[::-1]
    apart = np.flatnonzero(-np.diff(left) > (1 + 1e-6) * 1e-9 * np.abs(scores).max())
    lowest = left[apart[0]] if len(apart) else left[-1]
    assert weight[scores >= lowest].sum() > mass * (1 - 1e-9)


@draws(20)
@given(
    tau=st.floats(0.02, 0.6),
    quantile=st.sampled_from(["negatives", "all"]),
    seed=st.integers(0, 50),
)
def test_rate_holds_on_the_training_rows(tau, quantile, seed):
    X, y = random_data(seed=seed)
    for options in ({}, {"kernel": "rbf"}):
        model = PatMat(tau, quantile=quantile, **options).fit(X, y)
        rows = slice(None) if quantile == "all" else ~y
        assert model.predict(X)[rows].mean() <= tau + 1e-12
        assert model.quantile_ <= model.threshold_ + 1e-9


def test_cutoff_moves_the_decision_only():
    X, y = random_data()
    a = PatMat(0.3, kernel="rbf").fit(X, y)
    b = PatMat(0.3, kernel="rbf", cutoff="surrogate").fit(X, y)
    shift = a.decision_function(X) - b.decision_function(X)
    np.testing.assert_allclose(shift, b.threshold_ - a.quantile_, rtol=1e-9)
    assert a.predict(X)[~y].sum() == int(0.3 * (~y).sum())
    assert b.predict(X)[~y].sum() <= a.predict(X)[~y].sum()


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 1.5, "a", True, np.nan])
def test_tau_outside_the_open_interval(tau):
    X, y = random_data()
    with pytest.raises(ValueError, match="tau must be a finite number greater than 0 and less"):
        PatMat(tau).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theta": 0}, "theta must be"),
        ({"quantile": "positives"}, "quantile must be one of 'negatives', 'all'"),
        ({"cutoff": "best"}, "cutoff must be one of"),
        ({"cache_size": 0}, "cache_size must be"),
        ({"kernel": "gauss"}, "kernel must be a callable or one of"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must be"),
        ({"kernel": "rbf", "solver": "newton"}, "Choose one of 'auto', 'smo', 'coordinate'"),
        ({"kernel": "rbf", "loss": "hinge", "solver": "coordinate"}, "jams at their corners"),
    ],
)
def test_errors_name_the_argument(options, message):
    X, y = random_data()
    with pytest.raises(ValueError, match=message):
        PatMat(**options).fit(X, y)


def test_collapse_is_said():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    for options in ({}, {"kernel": "rbf"}):
        with pytest.warns(CollapsedWarning, match="A larger tau or C"):
            PatMat(0.2, **options).fit(X, y)
