"""When the baseline is kept, and what the choice costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer

from shortlist import pick
from shortlist.picking.choice import choose, paired

from .made import Column

EVEN = np.ones(5)


def test_a_steady_gain_wins_and_an_unsteady_one_does_not():
    base = np.array([0.10, 0.12, 0.11, 0.09, 0.10])
    steady = base + np.array([0.05, 0.06, 0.05, 0.04, 0.05])
    unsteady = base + np.array([0.30, -0.10, 0.20, -0.12, 0.10])
    assert unsteady.mean() > steady.mean()
    assert choose(np.array([base, unsteady, steady]), EVEN, 0.25, 1e6) == 2
    assert choose(np.array([base, unsteady]), EVEN, 0.25, 1e6) == 0


def test_few_hits_that_agree_on_every_fold_may_be_chance():
    # One hit more in every fold of 100 rows, five in all: as likely as five coin flips.
    base = np.zeros(5)
    assert choose(np.array([base, base + 0.002]), EVEN, 0.25, 500.0) == 0
    assert choose(np.array([base, base + 0.02]), EVEN, 0.25, 500.0) == 1


def test_undefined_folds_have_no_say():
    base = np.array([0.1, np.nan, 0.1, 0.1])
    better = np.array([0.2, 0.0, 0.21, 0.19])
    assert choose(np.array([base, better]), np.ones(4), 0.25, None) == 1


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8), st.integers(0, 100))
def test_choice_is_the_slow_one(first, seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([[first], rng.normal(0.3, 0.3, (4, len(first)))])
    weight = rng.integers(1, 5, len(first)).astype(float)
    beyond = {}
    for i in range(1, 5):
        mean, needed = paired(values[i] - values[0], weight, 0.25, 1e4)
        if mean > needed:
            beyond[i] = mean
    slow = max(beyond, key=beyond.get) if beyond else 0
    assert choose(values, weight, 0.25, 1e4) == slow


def test_a_better_model_is_chosen_and_the_verdict_says_so():
    rng = np.random.default_rng(0)
    radius = rng.uniform(0, 2, 900)
    angle = rng.uniform(0, 2 * np.pi, 900)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), radius])
    y = rng.random(900) < np.where(radius < 0.7, 0.8, 0.05)
    found = pick(X[:600, :2], y[:600], X[600:, :2], 60, models=["PatMat rbf"], random_state=1)
    assert found.winner.startswith("PatMat rbf")
    winner, baseline = found.comparison.winner, found.comparison.baseline
    assert winner.difference > winner.difference_error > 0
    assert winner.hits - baseline.hits == pytest.approx(winner.difference)
    assert f"{winner.hits:.0f} of 60, logistic regression {baseline.hits:.0f}" in found.verdict
    assert y[600:][found.selected].mean() > 0.5
    assert found.certificate.status == "converged"


@pytest.mark.filterwarnings("ignore:The list is not better")
def test_the_choice_among_models_that_know_nothing_is_not_believed():
    # Forty columns of noise. The best of them looks good on the folds, by luck.
    rng = np.random.default_rng(3)
    models = {"logistic regression": Column(0)} | {f"column {j}": Column(j) for j in range(1, 40)}
    claims, promises, chosen = [], [], 0
    for _ in range(12):
        X, y, new = rng.normal(size=(200, 40)), rng.random(200) < 0.3, rng.normal(size=(300, 40))
        found = pick(X, y, new, 60, models=models, features=FunctionTransformer(), repeats=1)
        claims.append(max(entry.hits for entry in found.comparison) / 60)
        promises.append(found.comparison.winner.hits / 60)
        chosen += found.winner != found.baseline
        assert found.expected_hits.value <= found.comparison.winner.hits + 1e-9
    assert np.mean(claims) > 0.4
    assert np.mean(promises) < 0.38
