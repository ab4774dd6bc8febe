"""Intervals and comparisons: right on average, and the fast way is the slow way."""

from __future__ import annotations

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, norm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from shortlist import metrics
from shortlist.metrics import _bootstrap
from shortlist.metrics.intervals import _Problem
from shortlist.metrics.names import MEASURES

BLOCKWISE = {
    "precision_at_k": {"k": 30},
    "recall_at_k": {"k": 0.1, "ties": "pessimistic"},
    "lift_at_k": {"k": 30, "ties": "optimistic"},
    "positives_at_top": {},
    "precision_at_recall": {"recall": 0.3},
    "recall_at_precision": {"precision": 0.4},
    "recall_at_fpr": {"fpr": 0.05},
    "positives_at_quantile": {"tau": 0.05, "quantile": "negatives"},
    "partial_auc": {"max_fpr": 0.2, "min_tpr": 0.1},
    "bedroc": {},
}


def make(n_positive, n_negative, rng, shift=1.0):
    y = np.repeat([1, 0], [n_positive, n_negative])
    return y, rng.normal(size=len(y)) + shift * y


def values(metric, y, scores, n_resamples, seed, weight=None, **params):
    problem = _Problem(metric, y, scores, weight, None, params)
    return problem.bootstrap(n_resamples, seed)


def same_distribution(a, b):
    """Means and spreads agree within five standard errors."""
    error = math.sqrt((a.var() + b.var()) / len(a)) + 1e-12
    assert abs(a.mean() - b.mean()) < 5 * error
    assert a.std() == pytest.approx(b.std(), rel=0.2, abs=1e-9)


def test_every_blockwise_metric_is_tried():
    assert {f.__name__ for f in MEASURES} == set(BLOCKWISE)


@pytest.mark.parametrize("name", BLOCKWISE)
@pytest.mark.parametrize(
    ("digits", "weighted"),
    [
        (0, True),
        pytest.param(None, True, marks=pytest.mark.slow),
        pytest.param(0, False, marks=pytest.mark.slow),
        pytest.param(None, False, marks=pytest.mark.slow),
    ],
)
def test_block_resamples_are_row_resamples(name, digits, weighted):
    rng = np.random.default_rng(5)
    y, score = make(60, 340, rng)
    if digits is not None:
        score = np.round(score, digits)
    weight = rng.integers(0, 3, len(y)) if weighted else None
    function, params = getattr(metrics, name), BLOCKWISE[name]
    fast = values(function, y, [score], 600, 0, weight, **params)

    def opaque(y_true, y_score, **more):
        return function(y_true, y_score, **more)

    # Rows of no weight are no rows: the row-by-row way must not draw them either.
    kept = slice(None) if weight is None else weight > 0
    weight = None if weight is None else weight[kept]
    slow = values(opaque, y[kept], [score[kept]], 600, 1, weight, **params)
    same_distribution(fast[:, 0], slow[:, 0])


@pytest.mark.parametrize("n_negative", [500, 50_000])
def test_rows_out_of_reach_do_not_matter(n_negative):
    rng = np.random.default_rng(6)
    y, score = make(200, n_negative, rng)
    for name in ("precision_at_k", "recall_at_fpr", "positives_at_top"):
        function = getattr(metrics, name)
        params = {"precision_at_k": {"k": 20}, "recall_at_fpr": {"fpr": 0.001}}.get(name, {})
        fast = values(function, y, [score], 1500, 0, **params)
        whole = dataclasses.replace(MEASURES[function], cut=None)
        problem = _Problem(function, y, [score], None, None, params)
        problem.measure = whole
        same_distribution(fast[:, 0], problem.bootstrap(1500, 1)[:, 0])


def test_both_ways_of_drawing_agree(monkeypatch):
    rng = np.random.default_rng(7)
    y, score = make(300, 3000, rng)
    drawn = {}
    for cost in (0, 10**9):
        monkeypatch.setattr(_bootstrap, "_ROWS_PER_BINOMIAL", cost)
        drawn[cost] = values(metrics.partial_auc, y, [score], 1000, 3, max_fpr=0.1)[:, 0]
    assert not np.array_equal(drawn[0], drawn[10**9])
    same_distribution(drawn[0], drawn[10**9])


def population_precision(fraction, prevalence, shift):
    """Precision of the top fraction of an endless list of two normal classes."""

    def excess(t):
        return prevalence * norm.sf(t - shift) + (1 - prevalence) * norm.sf(t) - fraction

    t = brentq(excess, -10, 10)
    return prevalence * norm.sf(t - shift) / fraction


@pytest.mark.parametrize(
    ("method", "k", "confidence", "low", "high"),
    [
        pytest.param("bootstrap", 100, 0.95, 0.92, 0.98, marks=pytest.mark.slow),
        pytest.param("bootstrap", 100, 0.8, 0.74, 0.86, marks=pytest.mark.slow),
        ("wilson", 20, 0.95, 0.9, 0.975),
        ("exact", 20, 0.95, 0.94, 0.995),
    ],
)
def test_coverage_of_precision(method, k, confidence, low, high):
    truth = population_precision(k / 1000, 0.1, 1.5)
    rng = np.random.default_rng(11)
    held, trials = 0, 250
    for _ in range(trials):
        y, score = make(100, 900, rng, shift=1.5)
        found = metrics.interval(
            metrics.precision_at_k,
            y,
            score,
            k=k,
            method=method,
            confidence=confidence,
            n_resamples=200,
            random_state=rng,
        )
        held += found.low <= truth <= found.high
    assert low <= held / trials <= high


@pytest.mark.slow
def test_coverage_of_recall_at_fpr_and_auc():
    rng = np.random.default_rng(12)
    truths = {
        "recall_at_fpr_0.1": norm.sf(norm.isf(0.1) - 1.5),
        "partial_auc": norm.cdf(1.5 / math.sqrt(2)),
    }
    held = dict.fromkeys(truths, 0)
    trials = 150
    for _ in range(trials):
        y, score = make(150, 600, rng, shift=1.5)
        for name, truth in truths.items():
            found = metrics.interval(name, y, score, n_resamples=150, random_state=rng)
            held[name] += found.low <= truth <= found.high
    for name, count in held.items():
        assert 0.9 <= count / trials <= 0.985, name


@pytest.mark.slow
def test_coverage_of_a_difference_and_size_of_its_test():
    rng = np.random.default_rng(13)
    held = false_alarms = found = 0
    trials = 150
    for _ in range(trials):
        y, score = make(100, 900, rng, shift=1.5)
        a, b = score + rng.normal(size=1000), score + rng.normal(size=1000)
        equal = metrics.compare(y, a, b, "recall_at_10%", n_resamples=150, random_state=rng)
        held += equal.low <= 0 <= equal.high
        false_alarms += equal.p_value < 0.05
        better = metrics.compare(y, score, b, "recall_at_10%", n_resamples=150, random_state=rng)
        found += better.p_value < 0.05
    assert 0.92 <= held / trials <= 0.99
    assert false_alarms / trials <= 0.08
    assert found / trials > 0.6


def test_paired_resamples_cancel_what_is_shared():
    rng = np.random.default_rng(14)
    y, score = make(200, 1800, rng)
    nearly = score + 0.01 * rng.normal(size=len(y))
    pair = metrics.compare(y, score, nearly, k=100, random_state=0)
    alone = metrics.interval("precision_at_100", y, score, random_state=0)
    assert pair.high - pair.low < 0.5 * (alone.high - alone.low)


def test_compare_identical_and_opposite_scores():
    rng = np.random.default_rng(15)
    y, score = make(50, 200, rng, shift=2.0)
    same = metrics.compare(y, score, 10 * score + 3, k=20, random_state=0, n_resamples=100)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    worse = metrics.compare(y, -score, score, k=20, random_state=0, n_resamples=100)
    assert worse.high < 0
    assert worse.p_value == pytest.approx(2 / 101)
    assert worse.difference == worse.estimate_a - worse.estimate_b
    assert worse.estimate_b == metrics.precision_at_k(y, score, 20)


def test_seed_repeats_and_kinds_of_seed():
    rng = np.random.default_rng(16)
    y, score = make(50, 200, rng)
    run = partial(metrics.interval, "precision_at_20", y, score, n_resamples=50)
    assert run(random_state=3) == run(random_state=3)
    assert run(random_state=3) != run(random_state=4)
    state = np.random.RandomState
    assert run(random_state=state(1)) == run(random_state=state(1))
    assert run(random_state=np.random.default_rng(3)) == run(random_state=3)
    assert run().estimate == metrics.precision_at_k(y, score, 20)


def test_wilson_and_exact_are_scipys():
    y = np.repeat([1, 0, 1, 0], [30, 10, 20, 140])
    score = -np.arange(200)
    for method in ("wilson", "exact"):
        scipy = binomtest(30, 40).proportion_ci(0.9, method=method)
        found = metrics.interval("precision_at_40", y, score, method=method, confidence=0.9)
        assert (found.low, found.high) == pytest.approx((scipy.low, scipy.high))
        assert found.estimate == 0.75
        lift = metrics.interval("lift_at_40", y, score, method=method, confidence=0.9)
        assert (lift.low, lift.high) == pytest.approx((scipy.low * 4, scipy.high * 4))
        scipy = binomtest(30, 50).proportion_ci(0.9, method=method)
        found = metrics.interval("positives_at_top", y, score, method=method, confidence=0.9)
        assert (found.low, found.high) == pytest.approx((scipy.low, scipy.high))


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_analytic_intervals_stay_open_where_the_bootstrap_closes(method):
    y = np.repeat([1, 0], [20, 80])
    score = -np.arange(100.0)
    flat = metrics.interval("precision_at_10", y, score, random_state=0)
    assert (flat.low, flat.high) == (1, 1)
    found = metrics.interval("precision_at_10", y, score, method=method)
    assert 0.6 < found.low < 0.8
    assert found.high == 1
    nothing = metrics.interval("precision_at_10", y, -score, method=method)
    assert nothing.low == 0
    assert 0.2 < nothing.high < 0.4


def test_any_callable_and_stratified_rows():
    rng = np.random.default_rng(17)
    y, score = make(3, 200, rng)
    found = metrics.interval(roc_auc_score, y, score, n_resamples=200, random_state=0)
    assert found.estimate == roc_auc_score(y, score)
    assert found.low <= found.estimate <= found.high
    text = np.where(y == 1, "hit", "miss")
    params = {"k": 20, "n_resamples": 50, "random_state": 0}
    plain = metrics.interval("precision_at_k", y, score, **params)
    assert metrics.interval("precision_at_k", text, score, pos_label="hit", **params) == plain


def test_groups_are_drawn_whole():
    """Two groups, one right and one wrong: a resample holds 0, 1 or 2 right ones."""
    target = [1, 0, 1, 0]
    score = [2, 1, 1, 2]
    qid = ["a", "a", "b", "b"]
    problem = _Problem("pairwise_accuracy", target, [score], None, qid, {})
    found = problem.bootstrap(300, 0)[:, 0]
    assert set(found) == {0.0, 0.5, 1.0}
    assert 0.4 < np.mean(found == 0.5) < 0.6
    result = metrics.interval("pairwise_accuracy", target, score, qid=qid, random_state=0)
    assert (result.low, result.high) == (0, 1)


def test_graded_targets_are_drawn_by_row():
    rng = np.random.default_rng(18)
    target = rng.normal(size=80)
    score = target + rng.normal(size=80)
    found = metrics.interval("pairwise_accuracy", target, score, n_resamples=200, random_state=0)
    assert found.low < found.estimate < found.high
    pair = metrics.compare(
        target, score, target, "pairwise_accuracy", n_resamples=100, random_state=0
    )
    assert pair.high < 0


def test_undefined_metrics_give_nan():
    with pytest.warns(UndefinedMetricWarning):
        found = metrics.interval("recall_at_2", [0, 0, 0], [1, 2, 3])
    assert math.isnan(found.estimate)
    assert math.isnan(found.low)
    with pytest.warns(UndefinedMetricWarning):
        pair = metrics.compare([0, 0, 0], [1, 2, 3], [3, 2, 1], "recall_at_2")
    assert math.isnan(pair.p_value)


def test_a_class_may_be_missing_where_the_metric_allows_it():
    found = metrics.interval("precision_at_2", [0, 0, 0], [1, 2, 3], n_resamples=10)
    assert (found.estimate, found.low, found.high) == (0, 0, 0)
    found = metrics.interval("positives_at_top", [1, 1, 1], [1, 2, 3], n_resamples=10)
    assert (found.low, found.high) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"confidence": 1.0}, "confidence=1.0"),
        ({"method": "jackknife"}, "method='jackknife' is unknown"),
        ({"n_resamples": 1}, "n_resamples=1"),
        ({"n_resamples": 10.5}, "n_resamples=10.5"),
        ({"metric": "precison_at_5"}, "Did you mean 'precision_at_<k>'"),
        ({"metric": "bedroc", "method": "wilson"}, "bedroc is none"),
        ({"metric": roc_auc_score, "method": "exact"}, "roc_auc_score is none"),
    ],
)
def test_bad_requests(changes, match):
    arguments = {"metric": "precision_at_2", "y_true": [0, 1, 1], "y_score": [1, 2, 3], **changes}
    with pytest.raises(ValueError, match=match):
        metrics.interval(**arguments)


def test_compare_names_the_missing_parameter():
    with pytest.raises(TypeError, match="'k'"):
        metrics.compare([0, 1], [1, 2], [2, 1])
