"""Probabilities: monotone, consistent with the forecast, and available from any classifier."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV

from picking.made import quick, rows
from shortlist import PatMat, TopPush, pick
from shortlist.picking.probability import calibrate


@pytest.fixture(scope="module")
def found():
    X, y = rows(400, 0)
    return pick(X, y, rows(200, 1)[0], 30, models=quick())


@pytest.mark.parametrize("k", [1, 30, 77, 200])
def test_the_list_sums_to_the_forecast(found, k):
    here = found.at(k)
    assert here.probability.shape == (200,)
    assert here.probability[here.selected].sum() == pytest.approx(
        here.expected_hits.value, abs=1e-6
    )


def test_a_higher_score_is_never_less_likely(found):
    order = np.argsort(found.scores)
    assert (np.diff(found.probability[order]) >= 0).all()
    assert ((found.probability > 0) & (found.probability < 1)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.02, 0.98))
def test_any_calibration_is_monotone_and_within_0_and_1(seed, share):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=60) * rng.choice([0.01, 1.0, 30.0])
    hit = rng.random(60) < share
    hit[:2] = [True, False]
    curve = calibrate(z, hit, rng.integers(1, 4, 60).astype(float))
    for made in (curve, curve.at_base_rate(0.05, 0.3)):
        p = made(np.linspace(-80, 80, 500))
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.diff(p) >= -1e-12).all()


def test_calibration_finds_a_bent_curve():
    rng = np.random.default_rng(0)
    z = 2.0 * rng.normal(size=20_000)
    true = 0.9 / (1.0 + np.exp(-1.5 * z + 2.0))
    p = calibrate(z, rng.random(20_000) < true, np.ones(20_000))(z)
    top = np.argsort(-z)[:1000]
    assert abs(p[top].mean() - true[top].mean()) < 0.02


@pytest.mark.parametrize("model", [TopPush(k=5), PatMat(0.1)], ids=["TopPush", "PatMat"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_the_library_s_models_have_probabilities_through_calibration(model, method):
    X, y = rows(600, 0, strength=2.0)
    fresh, hit = rows(600, 1, strength=2.0)
    fitted = CalibratedClassifierCV(model, method=method, cv=3).fit(X, y)
    p = fitted.predict_proba(fresh)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert abs(p[:, 1].mean() - hit.mean()) < 0.06
    assert np.mean((p[:, 1] - hit) ** 2) < hit.mean() * (1 - hit.mean())
