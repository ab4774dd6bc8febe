"""The budget curve against the metric at each k, and its band."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.exceptions import UndefinedMetricWarning

from shortlist import metrics

from .strategies import rankings, weighted


@given(rankings(max_rows=25))
def test_curve_is_the_metric_at_every_k(ranking):
    y, score = ranking
    curve = metrics.budget_curve(y, score)
    np.testing.assert_array_equal(curve.k, np.arange(1, len(y) + 1))
    for name in ("precision", "recall", "lift"):
        slow = [getattr(metrics, f"{name}_at_k")(y, score, int(k)) for k in curve.k]
        np.testing.assert_allclose(getattr(curve, name), slow, atol=1e-12)
    np.testing.assert_allclose(curve.hits, curve.precision * curve.k, atol=1e-12)
    assert np.all(np.diff(curve.hits) >= -1e-12)


@given(weighted(max_rows=25))
def test_weighted_curve_lies_on_the_curve_of_copies(data):
    y, score, weight = data
    curve = metrics.budget_curve(y, score, sample_weight=weight)
    copies = metrics.budget_curve(np.repeat(y, weight), np.repeat(score, weight))
    at = curve.k.astype(int) - 1
    assert curve.k[-1] == weight.sum()
    for name in ("precision", "recall", "lift", "hits"):
        np.testing.assert_allclose(getattr(curve, name), getattr(copies, name)[at], atol=1e-11)


def test_curve_without_positives():
    with pytest.warns(UndefinedMetricWarning, match="budget_curve"):
        curve = metrics.budget_curve([0, 0], [1, 2])
    assert np.isnan(curve.recall).all()
    assert np.isnan(curve.lift).all()
    np.testing.assert_array_equal(curve.precision, [0, 0])


def test_curve_is_frozen():
    curve = metrics.budget_curve([0, 1], [1, 2])
    with pytest.raises(AttributeError):
        curve.k = 3


def make(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.1
    return y, y + rng.normal(size=n)


def test_band_agrees_with_the_interval_at_each_k():
    y, score = make()
    band = metrics.budget_band(y, score, k=[50, 0.1], n_resamples=2000, random_state=0)
    np.testing.assert_array_equal(band.k, [50, 400])
    for i, k in enumerate((50, 0.1)):
        for name in ("precision", "recall"):
            found = metrics.interval(
                f"{name}_at_k", y, score, k=k, n_resamples=2000, random_state=1
            )
            width = found.high - found.low
            low, high = getattr(band, f"{name}_low")[i], getattr(band, f"{name}_high")[i]
            assert low == pytest.approx(found.low, abs=0.1 * width)
            assert high == pytest.approx(found.high, abs=0.1 * width)


def test_band_surrounds_the_curve():
    y, score = make()
    curve = metrics.budget_curve(y, score)
    band = metrics.budget_band(y, score, random_state=0)
    assert 500 < len(band.k) <= 1000
    assert band.k[0] == 1
    assert band.k[-1] == len(y)
    at = band.k - 1
    inside = (band.precision_low <= curve.precision[at]) & (
        curve.precision[at] <= band.precision_high
    )
    assert inside.mean() > 0.95
    assert np.all(band.recall_low <= band.recall_high)
    assert band.recall_low[-1] == 1


def test_small_band_has_every_k_and_a_seed_repeats_it():
    y, score = make(n=60, seed=3)
    band = metrics.budget_band(y, score, random_state=7, n_resamples=50, confidence=0.8)
    np.testing.assert_array_equal(band.k, np.arange(1, 61))
    again = metrics.budget_band(y, score, random_state=7, n_resamples=50, confidence=0.8)
    np.testing.assert_array_equal(band.precision_low, again.precision_low)
    wider = metrics.budget_band(y, score, random_state=7, n_resamples=50, confidence=0.99)
    assert np.all(wider.precision_low <= band.precision_low)
    assert np.any(wider.precision_low < band.precision_low)


def test_band_takes_weights_that_sum_to_one():
    y, score = make(n=300)
    weight = np.full(300, 1 / 300)
    band = metrics.budget_band(y, score, sample_weight=weight, k=[0.1], random_state=0)
    plain = metrics.budget_band(y, score, k=[0.1], random_state=0)
    assert band.precision_low == pytest.approx(plain.precision_low, abs=0.07)
    assert band.k == pytest.approx([0.1])


def test_band_needs_positives_and_a_valid_confidence():
    with pytest.raises(ValueError, match="no positive"):
        metrics.budget_band([0, 0], [1, 2])
    with pytest.raises(ValueError, match="confidence=95"):
        metrics.budget_band([0, 1], [1, 2], confidence=95)
