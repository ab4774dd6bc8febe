"""The combiner against slow references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from drawing import draws
from shortlist.stacking.heads import (
    HEADS,
    _logistic,
    _patmat,
    average_precisions,
    calibrate,
    fit_head,
    greedy_selection,
    greedy_weights,
    logistic_weights,
    member_scores,
    patmat_weights,
    settled,
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


@pytest.mark.parametrize("head", HEADS)
def test_heads_rank_well_and_a_row_stands_for_itself(head):
    scores, positive, _ = members(5, n=2000)
    fitted = fit_head(scores, positive, None, head=head, budget=0.05, seed=0)
    assert fitted.weights.sum() == pytest.approx(1.0)
    assert (fitted.weights >= 0.0).all()
    combined = fitted.log_odds(scores)
    best = max(average_precision_score(positive, s) for s in scores.T)
    assert average_precision_score(positive, combined) > best
    np.testing.assert_allclose(fitted.log_odds(scores[7:8]), combined[7:8])
    assert np.mean(1 / (1 + np.exp(-combined))) == pytest.approx(positive.mean(), abs=0.01)
    proven = head not in ("greedy", "mean")
    assert (fitted.certificate is not None) == proven
    assert not proven or fitted.certificate.relative_gap <= 1e-4


def logistic_objective(scores, positive, weight, price=3.0):
    """The problem of the logistic head, written out; the intercept is last."""
    n = scores.shape[1]
    mass = np.ones(len(positive)) if weight is None else weight
    slope, intercept = calibrate(scores.mean(axis=1), positive, weight)
    sign = np.where(positive, 1.0, -1.0)

    def objective(point):
        loss = mass @ np.logaddexp(0.0, -sign * (scores @ point[:-1] + point[-1]))
        free = 1e-6 * (point[-1] - intercept) ** 2
        return loss + price * np.sum((point[:-1] - slope / n) ** 2) + free

    return objective, np.append(np.full(n, slope / n), intercept)


@given(st.integers(0, 500), st.booleans(), st.floats(0.1, 30.0))
@draws(25)
def test_logistic_weights_are_those_of_a_general_solver(seed, weighted, scale):
    scores, positive, weight = members(seed, d=4)
    # Two that are nearly the same and one that is wrong: weights of either sign, were it allowed.
    scores[:, 1] = scores[:, 2] + 0.1 * scores[:, 1]
    scores[:, 0] = -scale * scores[:, 0]
    weight = weight if weighted else None
    objective, start = logistic_objective(scores, positive, weight)
    bounds = [(0.0, None)] * 4 + [(None, None)]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000}
    slow = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options=options)
    found, proof = logistic_weights(scores, positive, weight)
    assert proof.status == "converged"
    assert proof.primal <= slow.fun * (1.0 + 1e-7)
    assert proof.dual <= slow.fun
    assert proof.relative_gap <= 1e-6
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found, slow.x[:-1] / slow.x[:-1].sum(), atol=1e-4)


@given(st.integers(0, 500), st.floats(-2.0, 6.0))
@draws(25)
def test_no_point_is_below_the_bound_of_the_logistic_head(seed, apart):
    scores, positive, weight = members(seed)
    scores = scores + apart * positive[:, None]
    objective, start = logistic_objective(scores, positive, weight)
    _, proof = logistic_weights(scores, positive, weight)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        point = start + size * rng.normal(size=4)
        point[:-1] = np.maximum(point[:-1], 0.0)
        assert objective(point) >= proof.dual


def test_logistic_weights_count_rows_and_shrink_towards_equal_ones():
    scores, positive, weight = members(3)
    twice = np.repeat(np.arange(60), weight.astype(int))
    weighted, _ = logistic_weights(scores, positive, weight)
    repeated, _ = logistic_weights(scores[twice], positive[twice], None)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    same = np.column_stack([scores[:, 2]] * 3)
    np.testing.assert_allclose(logistic_weights(same, positive, None)[0], 1 / 3)
    nothing, proof = logistic_weights(np.zeros((60, 3)), positive, None)
    np.testing.assert_allclose(nothing, 1 / 3)
    assert proof.status == "converged"


@pytest.mark.parametrize("seed", range(5))
def test_the_mixed_head_is_the_mean_of_its_two(seed):
    scores, positive, weight = members(seed, n=400)
    fitted = fit_head(scores, positive, weight, head="mixed", budget=0.05, seed=9)
    calibrated = scores * fitted.slopes + fitted.intercepts
    greedy = greedy_weights(calibrated, positive, weight, 9)
    logistic, proof = logistic_weights(calibrated, positive, weight)
    np.testing.assert_allclose(fitted.weights, settled(0.5 * greedy + 0.5 * logistic))
    assert fitted.certificate == proof


def test_crumbs_are_dropped_but_never_all():
    np.testing.assert_allclose(
        settled(np.array([0.015, 0.485, 0.5])), [0.0, 0.485 / 0.985, 0.5 / 0.985]
    )
    many = np.full(80, 1 / 80)
    np.testing.assert_allclose(settled(many), many)


@pytest.mark.parametrize("seed", range(6))
def test_patmat_weights_are_of_one_sign(seed):
    # Nearly equal members: without the rule, some weights would be far below zero.
    scores, positive, _ = members(seed, n=300)
    alike = scores[:, 2:] + 0.05 * np.random.default_rng(seed).normal(size=(300, 6))
    raw, _ = _patmat(alike, positive, None, 0.05)
    assert (raw < 0.0).any()
    weights, proof = patmat_weights(alike, positive, None, 0.05)
    assert (weights >= 0.0).all()
    assert weights.sum() == pytest.approx(1.0)
    left = weights > 0.0
    again, same = _patmat(alike[:, left], positive, None, 0.05)
    np.testing.assert_allclose(again, weights[left])
    assert proof.primal == same.primal


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
