"""Metrics of a list and of a threshold, against all tie orders and repeated rows."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve

from drawing import draws
from shortlist import metrics

from . import oracle
from .strategies import fractions, lengths, rankings, rates, ties, weighted

CLOSE = pytest.approx


@given(rankings(), lengths, ties)
def test_list_metrics_equal_brute_force_over_tie_orders(ranking, k, rule):
    y, score = ranking
    for name in ("precision_at_k", "recall_at_k", "lift_at_k"):
        slow = oracle.over_ties(partial(getattr(oracle, name), k=k), y, score, rule)
        assert getattr(metrics, name)(y, score, k, ties=rule) == CLOSE(slow, abs=1e-12)


@given(rankings(), rates, ties)
def test_recall_at_fpr_equals_brute_force_over_tie_orders(ranking, fpr, rule):
    y, score = ranking
    slow = oracle.over_ties(partial(oracle.recall_at_fpr, fpr=fpr), y, score, rule)
    assert metrics.recall_at_fpr(y, score, fpr, ties=rule) == CLOSE(slow, abs=1e-12)


@given(rankings(), ties)
def test_positives_at_top_equals_brute_force_over_tie_orders(ranking, rule):
    y, score = ranking
    slow = oracle.over_ties(partial(oracle.recall_at_fpr, fpr=0), y, score, rule)
    assert metrics.positives_at_top(y, score, ties=rule) == CLOSE(slow, abs=1e-12)


@given(rankings(max_rows=30), fractions, ties)
def test_positives_at_quantile_is_the_recall_it_says(ranking, tau, rule):
    y, score = ranking
    whole = metrics.positives_at_quantile(y, score, tau, ties=rule)
    assert whole == metrics.recall_at_k(y, score, tau, ties=rule)
    negatives = metrics.positives_at_quantile(y, score, tau, quantile="negatives", ties=rule)
    assert negatives == metrics.recall_at_fpr(y, score, tau, ties=rule)


@given(rankings(max_rows=30), rates)
def test_threshold_metrics_equal_the_best_threshold(ranking, rate):
    y, score = ranking
    cuts = oracle.thresholds(y, score)
    best = max(p for p, r in cuts if r >= rate - 1e-12)
    assert metrics.precision_at_recall(y, score, rate) == CLOSE(best)
    best = max((r for p, r in cuts if p >= rate - 1e-12), default=0.0)
    assert metrics.recall_at_precision(y, score, rate) == CLOSE(best)


def test_precision_at_recall_is_the_usual_recipe():
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.3
    score = np.round(y + rng.normal(size=500), 1)
    precision, recall, _ = precision_recall_curve(y, score)
    for target in (0.1, 0.5, 0.8, 1.0):
        expected = precision[recall >= target].max()
        assert metrics.precision_at_recall(y, score, target) == CLOSE(expected)


@given(weighted(), lengths, fractions, rates, ties)
@draws(200)
def test_a_weight_is_a_number_of_copies(data, k, tau, rate, rule):
    y, score, weight = data
    copies = np.repeat(y, weight), np.repeat(score, weight)
    calls = [
        partial(metrics.precision_at_k, k=k, ties=rule),
        partial(metrics.recall_at_k, k=k, ties=rule),
        partial(metrics.lift_at_k, k=k, ties=rule),
        partial(metrics.positives_at_top, ties=rule),
        partial(metrics.recall_at_fpr, fpr=rate, ties=rule),
        partial(metrics.positives_at_quantile, tau=tau, ties=rule),
        partial(metrics.precision_at_recall, recall=rate),
        partial(metrics.recall_at_precision, precision=rate),
        partial(metrics.partial_auc, max_fpr=max(rate, 0.05), min_tpr=min(rate, 0.9)),
        partial(metrics.bedroc, alpha=5.0, ties=rule),
        metrics.average_precision,
    ]
    for call in calls:
        assert call(y, score, sample_weight=weight) == CLOSE(call(*copies), abs=1e-11), call


def test_weighted_selection_of_many_rows_agrees_with_copies():
    rng = np.random.default_rng(1)
    n = 20_000
    y = rng.random(n) < 0.1
    for score in (y + rng.normal(size=n), rng.integers(0, 50, n), np.zeros(n)):
        weight = rng.integers(0, 4, n)
        copies = np.repeat(y, weight), np.repeat(score, weight)
        for k in (1, 777, 0.01, 0.5, 0.99, 10 * n):
            fast = metrics.precision_at_k(y, score, k, sample_weight=weight)
            assert fast == CLOSE(metrics.precision_at_k(*copies, k))
        for fpr in (0.0, 0.003, 0.4, 1.0):
            fast = metrics.recall_at_fpr(y, score, fpr, sample_weight=weight)
            assert fast == CLOSE(metrics.recall_at_fpr(*copies, fpr))


def test_fractional_weights_are_taken_as_they_are():
    y, score = [1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]
    half = [0.5, 0.5, 0.5, 0.5]
    assert metrics.precision_at_k(y, score, 1, sample_weight=half) == CLOSE(0.5)
    assert metrics.recall_at_k(y, score, 0.375, sample_weight=half) == CLOSE(0.5)
    assert metrics.recall_at_fpr(y, score, 0.5, sample_weight=half) == CLOSE(1.0)


def test_fractional_weights_agree_with_scaled_copies():
    rng = np.random.default_rng(2)
    y = rng.random(3000) < 0.2
    score = np.round(y + rng.normal(size=3000), 1)
    weight = rng.integers(0, 4, 3000) / 10
    plain = metrics.precision_at_recall(y, score, 0.4, sample_weight=10 * weight)
    assert metrics.precision_at_recall(y, score, 0.4, sample_weight=weight) == CLOSE(plain)
    mass = 0.1 * (weight.sum())
    direct = metrics.precision_at_k(y, score, 0.1, sample_weight=weight)
    fine = metrics.precision_at_k(y, score, round(1000 * mass), sample_weight=1000 * weight)
    assert direct == CLOSE(fine, abs=1e-3)


@given(rankings(max_rows=40), ties)
def test_longer_lists_find_more(ranking, rule):
    y, score = ranking
    ks = range(1, len(y) + 3)
    recall = [metrics.recall_at_k(y, score, k, ties=rule) for k in ks]
    assert all(a <= b + 1e-12 for a, b in pairwise(recall))
    assert recall[len(y) - 1] == 1
    grid = np.linspace(0, 1, 12)
    fpr = [metrics.recall_at_fpr(y, score, f, ties=rule) for f in grid]
    assert all(a <= b + 1e-12 for a, b in pairwise(fpr))
    strict = [metrics.precision_at_recall(y, score, r) for r in grid]
    assert all(a >= b for a, b in pairwise(strict))


@given(rankings(max_rows=40), st.integers(1, 40))
def test_swapping_the_classes_swaps_hits_and_misses(ranking, k):
    y, score = ranking
    k = min(k, len(y))
    other = {"expected": "expected", "optimistic": "pessimistic", "pessimistic": "optimistic"}
    for rule, mirror in other.items():
        hits = metrics.precision_at_k(y, score, k, ties=rule)
        misses = metrics.precision_at_k(y, score, k, ties=mirror, pos_label=0)
        assert hits + misses == CLOSE(1.0)
        assert misses == metrics.precision_at_k(1 - y, score, k, ties=mirror)


@given(rankings(max_rows=40), lengths, rates)
def test_expectation_lies_between_the_extremes(ranking, k, rate):
    y, score = ranking
    for call in (
        partial(metrics.precision_at_k, k=k),
        partial(metrics.recall_at_fpr, fpr=rate),
        metrics.positives_at_top,
        metrics.bedroc,
    ):
        low, middle, high = (
            call(y, score, ties=rule) for rule in ("pessimistic", "expected", "optimistic")
        )
        assert low - 1e-12 <= middle <= high + 1e-12


@given(rankings(max_rows=40), lengths, st.randoms(use_true_random=False))
def test_only_the_order_of_the_scores_matters(ranking, k, random):
    y, score = ranking
    rank = np.unique(score, return_inverse=True)[1]
    shuffled = random.sample(range(len(y)), len(y))
    for call in (partial(metrics.precision_at_k, k=k), metrics.positives_at_top, metrics.bedroc):
        assert call(y, score) == CLOSE(call(y, rank))
        assert call(y, score) == CLOSE(call(y[shuffled], score[shuffled]))


@pytest.mark.parametrize(
    ("fraction", "n", "expected"),
    [(0.07, 100, 7), (0.05, 30, 2), (0.29, 100, 29), (0.001, 10, 1), (0.58, 50, 29), (0.1, 25, 3)],
)
def test_a_fraction_rounds_up_to_a_whole_row(fraction, n, expected):
    y = np.zeros(n)
    y[:expected] = 1
    score = -np.arange(n)
    assert metrics.precision_at_k(y, score, fraction) == 1
    y[expected - 1] = 0
    assert metrics.precision_at_k(y, score, fraction) == CLOSE(1 - 1 / expected)


def test_precision_divides_by_k_even_beyond_the_rows():
    y, score = [1, 1, 0], [3, 2, 1]
    assert metrics.precision_at_k(y, score, 10) == 0.2
    assert metrics.recall_at_k(y, score, 10) == 1
    assert metrics.lift_at_k(y, score, 10) == CLOSE(0.2 / (2 / 3))


def test_enrichment_factor_is_lift():
    assert metrics.enrichment_factor is metrics.lift_at_k


def test_large_integer_scores_are_not_rounded():
    big = 2**60
    assert metrics.precision_at_k([0, 1], [big, big + 1], 1) == 1


def test_constant_scores_are_chance():
    y = np.array([1, 0, 0, 0, 1])
    score = np.full(5, 0.3)
    assert metrics.precision_at_k(y, score, 3) == CLOSE(0.4)
    assert metrics.lift_at_k(y, score, 3) == CLOSE(1.0)
    assert metrics.positives_at_top(y, score) == CLOSE(1 / 4)
    assert metrics.recall_at_fpr(y, score, 0.34) == CLOSE(2 / 4)
    assert metrics.precision_at_recall(y, score, 0.5) == CLOSE(0.4)
    assert metrics.partial_auc(y, score, max_fpr=0.2) == CLOSE(0.5)
    assert math.isclose(metrics.pairwise_accuracy(y, score), 0.5)
