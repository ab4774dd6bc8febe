"""Probabilities: monotone, consistent with the forecast, and available from any classifier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV

from drawing import draws
from picking.made import quick, rows
from shortlist import PatMat, TopPush, pick
from shortlist.picking.forecast.comparison import agreed, forecast_budgets, forecast_hits
from shortlist.picking.forecast.outlook import Evidence, Outlook
from shortlist.picking.forecast.probability import calibrate


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


@draws(40)
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


@pytest.mark.slow
def test_intervals_are_narrower_where_the_probabilities_are_known_and_still_hold():
    """Candidates are drawn anew for each list; half of the hits' luck is in their scores."""
    held, blind, widths = 0, 0, []
    n, m, k = 1000, 500, 50
    lists = 300
    for seed in range(lists):
        rng = np.random.default_rng(seed)
        chance = np.sort(rng.beta(0.3, 1.2, m))[::-1]
        past = np.sort(rng.beta(0.3, 1.2, (5, n // 5)))[:, ::-1]
        hit = rng.random(past.shape) < past
        budgets = forecast_budgets(m, k)
        share = np.array([np.interp(budgets / m * n / 5, np.arange(n // 5 + 1), [0, *c])
                          for c in hit.cumsum(axis=1)]) / (n / 5)  # fmt: skip
        view = Outlook(
            (Evidence("one", "one", share, 1.0, 0.0),), budgets / m, m, n, 0.2, np.full(5, n / 5),
            0.25, 5,
        )  # fmt: skip
        forecast, expected = forecast_hits(view, "one", k)
        made, told = agreed(forecast, expected, k, chance, n)
        actual = (rng.random(k) < chance[:k]).sum()
        held += told.low <= actual <= told.high
        blind += told.high - told.low < expected.high - expected.low
        widths.append((told.high - told.low) / (expected.high - expected.low))
        assert (made.low <= made.hits).all()
        assert (made.hits <= made.high).all()
    # The probabilities are the true ones here, so that what the history leaves open is spare.
    assert 0.9 <= held / lists <= 0.995
    assert blind / lists > 0.5
    assert np.mean(widths) < 0.97
