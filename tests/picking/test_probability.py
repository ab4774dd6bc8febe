"""Probabilities: monotone, consistent with the forecast, and available from any classifier."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV

from picking.made import quick, rows
from shortlist import PatMat, TopPush, pick
from shortlist.picking.probability import calibrate, shifted_to


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


def test_under_terms_the_list_sums_to_its_forecast():
    X, y = rows(400, 0)
    amounts = np.random.default_rng(0).gamma(2.0, 5.0, 600)
    found = pick(X, y, rows(200, 1)[0], 20, models=quick(), value=(amounts[:400], amounts[400:]))
    total = found.probability[found.selected].sum()
    assert total == pytest.approx(found.expected_hits.value, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    st.floats(0.0, 1.0),
    st.integers(1, 30),
)
def test_shifts_reach_any_sum_and_keep_the_order(values, share, size):
    p = np.array(values)
    chosen = np.arange(min(size, len(p)))
    total = share * len(chosen)
    shifted = shifted_to(p, chosen, total)
    assert shifted[chosen].sum() == pytest.approx(total, abs=1e-5)
    order = np.argsort(p, kind="stable")
    assert (np.diff(shifted[order]) >= -1e-15).all()


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
