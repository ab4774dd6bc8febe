"""Variances and intervals against brute force, simulation and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from drawing import draws
from shortlist.picking.forecast import outlook
from shortlist.picking.race.history import shares

from .made import slow_share

levels = st.integers(-2, 2)
weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])
lists = st.lists(st.tuples(st.booleans(), levels, weights), min_size=1, max_size=12)


@given(lists, st.floats(0.001, 1.0))
def test_share_is_the_slow_count(data, rate):
    positive, scores, weight = (np.array(part) for part in zip(*data, strict=True))
    scores, rates = scores.astype(float), np.array([rate, 1.0])
    plain = shares(positive, scores, None, rates)
    slow = [slow_share(positive, scores, np.ones(len(scores)), r) for r in rates]
    np.testing.assert_allclose(plain, slow, atol=1e-12)
    if weight.sum() > 0:
        kept = weight > 0
        found = shares(positive[kept], scores[kept], weight[kept], rates)
        slow = [slow_share(positive, scores, weight, r) for r in rates]
        np.testing.assert_allclose(found, slow, atol=1e-12)


def test_error_over_folds_is_the_published_formula():
    values = np.array([0.2, 0.5, 0.4, 0.9])
    mean, error = outlook.mean_and_error(values, np.full(4, 7.0), 0.25)
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(math.sqrt(np.var(values, ddof=1) * (1 / 4 + 0.25)))
    assert outlook.margin(error, 4, 0.9) == pytest.approx(stats.t.ppf(0.95, 3) * error)


def test_heavy_folds_count_for_more():
    mean, _ = outlook.mean_and_error(np.array([0.0, 1.0]), np.array([3.0, 1.0]), 0.25)
    assert mean == 0.25


def test_a_single_fold_says_nothing_about_noise():
    mean, error = outlook.mean_and_error(np.array([0.3]), np.ones(1), 0.25)
    assert (mean, error) == (0.3, np.inf)
    assert outlook.margin(error, 1, 0.9) == np.inf


def test_variance_of_a_perfect_ranking_is_that_of_the_positives():
    # A list twice as long as there are positives holds all of them: binomial in the whole.
    m, prevalence, rate = 1000, 0.1, 0.2
    found = rate * m * outlook.place_variance(prevalence / rate, 0.0, rate)
    assert found == pytest.approx(m * prevalence * (1 - prevalence))


def test_variance_of_a_noisy_ranking_is_that_of_a_simulation():
    rng = np.random.default_rng(0)
    m, k = 400, 60
    hits = []
    for _ in range(4000):
        y = rng.random(m) < 0.2
        scores = 1.5 * y + rng.normal(size=m)
        hits.append(y[np.argpartition(-scores, k)[:k]].sum())
    y = rng.random(400_000) < 0.2
    scores = 1.5 * y + rng.normal(size=len(y))
    rates = np.linspace(0.01, 1.0, 100)
    share = shares(y, scores, None, rates)
    precision = np.interp(k / m, rates, share) * m / k
    local = outlook.local_precision(rates, share, k / m)
    variance = k * outlook.place_variance(precision, local, k / m)
    assert variance == pytest.approx(np.var(hits), rel=0.06)
    # Without the moving cut it would be the binomial one: too small by more than that.
    assert variance > 1.1 * k * precision * (1 - precision)


def test_local_precision_is_the_slope():
    rates = np.linspace(0.01, 1.0, 100)
    assert outlook.local_precision(rates, 0.3 * rates, 0.5) == pytest.approx(0.3)
    assert outlook.local_precision(rates, np.minimum(rates, 0.2), 0.6) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("k", "precision", "error"), [(20, 0.4, 0.05), (100, 0.9, 0.02), (1, 0.3, 0)]
)
def test_interval_is_that_of_the_beta_binomial(k, precision, error):
    places = 200.0
    centre = (precision * places + 0.5) / (places + 1)
    per_place = centre * (1 - centre)
    total = k * per_place + k**2 * max(error**2, per_place / (places + 1))
    rho = (total / (k * per_place) - 1) / (k - 1) if k > 1 else 0.5
    a, b = centre * (1 / rho - 1), (1 - centre) * (1 / rho - 1)
    slow = stats.betabinom(k, a, b).ppf([0.05, 0.95])
    found = outlook.hit_interval(k, precision, error, places, 0.0, 0.9)
    np.testing.assert_allclose(found, slow)


@draws(200)
@given(
    st.integers(1, 5000),
    st.floats(0, 1),
    st.one_of(st.just(np.inf), st.floats(0, 0.5)),
    st.floats(0.1, 1e6),
    st.floats(0, 1),
)
def test_interval_is_ordered_inside_the_budget_and_grows_with_confidence(
    k, p, error, places, local
):
    variance = outlook.place_variance(p, local, 0.5)
    low, high = outlook.hit_interval(k, p, error, places, variance, 0.9)
    wide_low, wide_high = outlook.hit_interval(k, p, error, places, variance, 0.99)
    assert 0 <= wide_low <= low <= high <= wide_high <= k


def test_interval_does_not_collapse_where_every_place_was_a_hit():
    low, high = outlook.hit_interval(50, 1.0, 0.0, 30.0, 0.0, 0.9)
    assert low < 50 == high
    longer, _ = outlook.hit_interval(50, 1.0, 0.0, 3000.0, 0.0, 0.9)
    assert longer > low


def test_counted_and_continuous_intervals_agree():
    counted = outlook.hit_interval(2000, 0.3, 0.02, 500.0, 0.25, 0.9)
    smooth = outlook.hit_interval(2001, 0.3, 0.02, 500.0, 0.25, 0.9)
    np.testing.assert_allclose(counted, smooth, rtol=0.005)


@given(st.floats(0, 1), st.integers(2, 20), st.floats(-1e-18, 1))
def test_pooled_error_lies_between_what_it_pools(between, folds, within):
    error = outlook.pooled_error(between, folds, within) ** 2
    assert min(between, max(within, 0.0)) - 1e-12 <= error <= max(between, within) + 1e-12
