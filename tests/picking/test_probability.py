"""Probabilities: monotone, consistent with the forecast, and available from any classifier."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV

from drawing import draws
from picking.made import quick, rows
from shortlist import PatMat, TopPush, pick
from shortlist.datasets import load_tumours
from shortlist.picking.forecast.comparison import agreed, forecast_budgets, forecast_hits
from shortlist.picking.forecast.outlook import Evidence, Outlook
from shortlist.picking.forecast.probability import calibrate, shift_towards, shifted
from shortlist.picking.race.combining import HeldOut
from shortlist.picking.terms.plan import make_plan
from shortlist.picking.terms.terms import read_order


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


SAID = ("value", "cost", "one_per", "limits", "exclude", "time", "delay", "base_rate", "fill")
PEOPLE = (np.arange(400) // 2, np.arange(200) // 2)
REGION = tuple(who % 3 for who in PEOPLE)
AMOUNT = tuple(np.random.default_rng(n).lognormal(3.0, 1.0, n) for n in (400, 200))
TERMS = {
    "base rate": {"base_rate": 0.05},
    "entities": {"one_per": PEOPLE},
    "limits": {"limits": [(REGION, {1: (0, 6)})]},
    "exclusion": {"exclude": np.arange(30)},
    "time": {"time": (np.arange(400), np.arange(400, 600))},
    "value": {"value": AMOUNT},
    "cost": {"cost": 0.4},
    "value and cost": {"value": AMOUNT, "cost": 15.0},
    "cost, filled": {"value": AMOUNT, "cost": 15.0, "fill": True},
    "too dear": {"value": AMOUNT, "cost": 1e6},
    "value and base rate": {"value": AMOUNT, "base_rate": 0.05},
    "value and time": {"value": AMOUNT, "cost": 5.0, "time": (np.arange(400), np.arange(400, 600))},
    "all": {
        "value": AMOUNT,
        "cost": 12.0,
        "one_per": PEOPLE,
        "limits": [(REGION, {0: (5, 9), 1: (0, 6)})],
        "exclude": np.arange(30),
    },
}


def check_one_number(here):
    """The probabilities that are shown sum to the hits and to the worth that are promised."""
    terms, chosen = here.plan.terms, here.selected
    side, shown, gain = terms.candidates, here.probability, here.gain
    assert shown.shape == side.value.shape
    assert ((shown >= 0) & (shown <= 1)).all()
    order = np.argsort(here.plan.probability, kind="stable")
    assert (np.diff(shown[order]) >= 0).all()
    assert shown[chosen].sum() == pytest.approx(here.expected_hits.value, abs=1e-9)
    assert here.expected_hits.low <= here.expected_hits.value <= here.expected_hits.high
    worth = here.expected_gain
    np.testing.assert_allclose(gain, shown * side.value - side.cost)
    assert gain[chosen].sum() == pytest.approx(worth.value, rel=1e-9, abs=1e-9)
    assert worth.low <= worth.value <= worth.high
    assert worth.most_hits <= worth.value + 1e-9 * abs(worth.value)
    # What is shown is also why a row is there: the best first, and none that costs more than it
    # brings, but for those that a limit asks for.
    assert (np.diff(gain[chosen]) <= 0).all()
    if not terms.fill:
        asked = sum(int(limit.least.sum()) for limit in terms.bounds)
        assert (gain[chosen] <= 0).sum() <= asked
        if terms.history.entity is None and not terms.bounds and len(chosen) < here.k:
            left = np.setdiff1d(np.flatnonzero(side.allowed), chosen)
            assert (gain[left] <= 0).all()


# What others hold among more.
PARTS = {"limits", "exclusion", "time", "value", "cost", "value and base rate"}


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param(said, id=name, marks=[pytest.mark.slow] if name in PARTS else [])
        for name, said in TERMS.items()
    ],
)
def test_there_is_one_number_for_each_row_under_any_terms(terms):
    X, y = rows(400, 0)
    new, _ = rows(200, 1)
    found = pick(X, y, new, 30, models=quick(), cv=3, repeats=1, **terms)
    for k in (30, 1, 170):
        try:
            here = found.at(k)
        except ValueError:  # limits ask for more rows than that
            assert k < 5
            assert "limits" in terms
        else:
            check_one_number(here)
            frame = here.to_frame()
            assert (frame["probability"] == here.probability[here.selected]).all()
            assert "value" not in terms or (frame["gain"] == here.gain[here.selected]).all()


@draws(30)
@given(st.data())
def test_there_is_one_number_for_each_row_of_random_lists(data):
    """A race is not run: its log odds are drawn, as far from the truth as they like."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n, m = data.draw(st.sampled_from([(60, 30), (200, 20), (40, 120)]))
    true = rng.normal(scale=data.draw(st.sampled_from([0.1, 2.0, 20.0])), size=n + m)
    hit = rng.random(n + m) < expit(true)
    hit[:2] = [True, False]
    z = data.draw(st.sampled_from([1.0, 0.2, -1.0])) * true + data.draw(st.sampled_from([0, 3, -9]))
    split = lambda values: (values[:n], values[n:])  # noqa: E731
    said = {
        "value": split(rng.lognormal(0.0, data.draw(st.sampled_from([0.1, 2.0])), n + m)),
        "cost": data.draw(st.sampled_from([0.2, 1.0, 50.0])),
        "one_per": split(rng.integers(0, (n + m) // 2, n + m)),
        "limits": [(split(rng.integers(0, 3, n + m)), data.draw(st.integers(1, 9)))],
        "exclude": np.arange(data.draw(st.integers(1, m // 2))),
        "base_rate": 0.1,
        "fill": data.draw(st.booleans()),
    }
    kept = {name: what for name, what in said.items() if data.draw(st.booleans(), label=name)}
    terms = read_order(z[:n, None], z[n:, None], None, **dict.fromkeys(SAID) | kept)[2]
    fold = np.arange(n) % 5
    held = HeldOut(np.arange(n), fold, hit[:n], np.ones(n), z[:n], 5, 1.0 * hit[:n])
    plan = make_plan(terms, held, z[n:], 0)
    k = data.draw(st.integers(1, plan.terms.candidates.longest))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shortlist.picking.terms.replay._REPLAYS", 20)
        patch.setattr("shortlist.picking.terms.replay._FEW_REPLAYS", 5)
        listed = plan.at(k)
    shown = shifted(plan.probability, listed["shift"])
    gain = terms.candidates.gain(shown)
    check_one_number(SimpleNamespace(plan=plan, k=k, probability=shown, gain=gain, **listed))


def test_a_list_of_sure_hits_does_not_make_all_candidates_sure():
    X, y = load_tumours()
    found = pick(X[:300], y[:300], X[300:], 40, models=["PatMat"], exclude=[0, 1])
    assert found.expected_hits.value > 39.5
    assert abs(found.probability.mean() - y[300:].mean()) < 0.1


def test_what_the_past_says_of_a_list_counts_where_only_the_order_chose():
    sure = np.full(100, 0.9)
    for hits in (-2.0, 0.0, 20.0, 60.0, 100.0, 103.0):
        total = shifted(sure, shift_towards(sure, hits)).sum()
        assert abs(total - np.clip(hits, 0.0, 100.0)) <= 0.5
    one = np.array([0.2])
    assert 0.2 < shifted(one, shift_towards(one, 1.0))[0] < 0.7


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
