"""The combiner against slow references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from drawing import draws
from shortlist.stacking.heads import (
    _logistic,
    average_precisions,
    calibrate,
    fit_head,
    greedy_selection,
    greedy_weights,
    member_scores,
    patmat_weights,
)


def members(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    positive[:2] = [True, False]
    scores = rng.normal(size=(n, d)) + np.linspace(0.3, 1.5, d) * positive[:, None]
    return scores, positive, rng.integers(1, 4, n).astype(float)


@given(st.integers(0, 500), st.booleans())
@draws(40)
def test_average_precision_is_that_of_scikit_learn(seed, weighted):
    scores, positive, weight = members(seed)
    weight = weight if weighted else None
    # Ties as they come from the votes of few trees.
    scores[:, 0] = np.round(scores[:, 0])
    fast = average_precisions(scores.T.copy(), positive, weight)
    slow = [average_precision_score(positive, s, sample_weight=weight) for s in scores.T]
    np.testing.assert_allclose(fast, slow)


@given(st.integers(0, 500), st.booleans())
@draws(15)
def test_greedy_is_the_slow_one(seed, weighted):
    scores, positive, weight = members(seed, n=30)
    weight = weight if weighted else None
    chosen, reached = [], []
    for _ in range(6):
        tried = [
            average_precision_score(
                positive, scores[:, [*chosen, j]].sum(axis=1), sample_weight=weight
            )
            for j in range(3)
        ]
        chosen.append(int(np.argmax(np.round(tried, 12))))
        reached.append(max(tried))
    best = chosen[: 1 + int(np.argmax(np.round(reached, 12)))]
    slow = np.bincount(best, minlength=3) / len(best)
    np.testing.assert_allclose(greedy_selection(scores, positive, weight, 6), slow)


def test_two_rounds_are_close_to_the_best_pair():
    # Greedy need not find the best multiset; over many cases it comes close, and never
    # falls below the best single member.
    lost = []
    for seed in range(30):
        scores, positive, _ = members(seed)
        weights = greedy_selection(scores, positive, None, 2)
        pairs = itertools.combinations_with_replacement(range(3), 2)
        added = [scores[:, list(pair)].sum(axis=1) for pair in pairs]
        (reached,) = average_precisions((scores @ weights)[None], positive, None)
        best = average_precisions(np.array(added), positive, None).max()
        alone = average_precisions(scores.T.copy(), positive, None).max()
        assert alone - 1e-12 <= reached <= best + 1e-12
        lost.append(best - reached)
    assert np.mean(lost) < 0.01


def test_a_member_that_says_nothing_gets_no_weight():
    scores, positive, _ = members(1)
    scores[:, 0] = 0.0
    assert greedy_weights(scores, positive, None, 0)[0] == 0.0


def test_greedy_weights_are_a_mean_that_repeats():
    scores, positive, weight = members(3)
    first = greedy_weights(scores, positive, weight, 5)
    np.testing.assert_array_equal(first, greedy_weights(scores, positive, weight, 5))
    assert first.sum() == pytest.approx(1.0)
    assert (first >= 0).all()
    np.testing.assert_array_equal(greedy_weights(scores[:, :1], positive, None, 0), [1.0])
    # With a single positive some part holds none of it: it is put in.
    lone = np.arange(60) == 17
    assert greedy_weights(scores, lone, None, 0).sum() == pytest.approx(1.0)


def test_calibration_is_a_logistic_regression_of_the_score():
    scores, positive, weight = members(4, n=4000)
    slope, intercept = calibrate(7.0 + 3.0 * scores[:, 2], positive, weight)
    free = LogisticRegression(C=np.inf).fit(
        7.0 + 3.0 * scores[:, 2:], positive, sample_weight=weight
    )
    assert slope == pytest.approx(free.coef_[0, 0], rel=0.01)
    assert intercept == pytest.approx(free.intercept_[0], rel=0.01)


@given(st.integers(0, 500), st.floats(-3.0, 8.0), st.booleans())
@draws(40)
def test_newton_finds_the_regression_of_scikit_learn(seed, apart, weighted):
    scores, positive, weight = members(seed)
    weight = weight if weighted else None
    column = scores[:, 0] + apart * positive
    column = (column - column.mean()) / column.std()
    prior = float(np.log(positive.mean() / (1.0 - positive.mean())))
    slope, intercept = _logistic(column, positive, weight, prior)
    other = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    other.fit(column[:, None], positive, sample_weight=weight)
    assert slope == pytest.approx(other.coef_[0, 0], abs=1e-4)
    assert intercept == pytest.approx(other.intercept_[0], abs=1e-4)


def test_calibration_never_turns_a_score_around():
    scores, positive, _ = members(4)
    slope, intercept = calibrate(-scores[:, 2], positive, None)
    assert 0.0 < slope < 0.01
    prior = np.log(positive.mean() / (1 - positive.mean()))
    assert np.mean(slope * -scores[:, 2] + intercept) == pytest.approx(prior)
    assert calibrate(np.ones(60), positive, None) == (0.0, pytest.approx(prior))


@pytest.mark.parametrize("head", ["greedy", "patmat", "both", "mean"])
def test_heads_rank_well_and_a_row_stands_for_itself(head):
    scores, positive, _ = members(5, n=2000)
    fitted = fit_head(scores, positive, None, head=head, budget=0.05, seed=0)
    assert fitted.weights.sum() == pytest.approx(1.0)
    combined = fitted.log_odds(scores)
    best = max(average_precision_score(positive, s) for s in scores.T)
    assert average_precision_score(positive, combined) > best
    np.testing.assert_allclose(fitted.log_odds(scores[7:8]), combined[7:8])
    assert np.mean(1 / (1 + np.exp(-combined))) == pytest.approx(positive.mean(), abs=0.01)
    proven = head in ("patmat", "both")
    assert (fitted.certificate is not None) == proven
    assert not proven or fitted.certificate.relative_gap <= 1e-4


def test_patmat_weights_shrink_towards_the_mean():
    scores, positive, _ = members(6, n=2000)
    same = np.column_stack([scores[:, 2]] * 3)
    weights, _ = patmat_weights(same, positive, None, 0.05)
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-6)
    nothing, _ = patmat_weights(np.zeros((2000, 3)), positive, None, 0.05)
    np.testing.assert_allclose(nothing, 1 / 3)


def test_probabilities_become_log_odds_without_ties():
    class Sure(LogisticRegression):
        decision_function = property()

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    X = np.array([[0.0], [1e-6], [0.5], [1.0]])
    model = Sure()
    model.classes_ = np.array([0, 1])
    scores = member_scores(model, X, 1)
    assert (np.diff(scores) > 0).all()
    assert np.isfinite(scores).all()
    assert scores[2] == pytest.approx(0.0)
