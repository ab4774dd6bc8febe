"""Promises and the ledger: consistent with the forecast, calibrated, and not fooled by looking."""

import numpy as np
import pytest
from scipy.stats import binom

from picking.made import quick, rows
from shortlist import pick
from shortlist.picking.forecast.ledger import LEVEL, Line, judge
from shortlist.picking.forecast.promise import Promise, Promises, promises_of

KEPT = Promise(30, 22.0, 17.0, 27.0, 0.9, 2.4)


@pytest.fixture(scope="module")
def found():
    X, y = rows(400, 0)
    return pick(X, y, rows(200, 1)[0], 30, models=quick())


def test_a_promise_is_the_forecast(found):
    promises = promises_of(found)
    promise = promises.at(30)
    expected = found.expected_hits
    assert promise.value == expected.value
    # It is for other candidates as well, whose scores are not known.
    assert promise.low <= expected.low <= expected.high <= promise.high
    folds = found.outlook.hits(found.outlook.find(found.winner), 30)
    assert promise.high - promise.low == pytest.approx(folds[2] - folds[1], abs=3.0)
    again = Promises.from_plain(promises.to_plain())
    assert again.at(30) == promise
    # Twice as many of twice as many candidates: twice as much, less than twice the width.
    double = promises.at(60, 400)
    assert double.value == pytest.approx(2 * promise.value, rel=0.02)
    assert (
        promise.high - promise.low < double.high - double.low < 2 * (promise.high - promise.low) + 2
    )
    with pytest.raises(ValueError, match="does not fit"):
        Promises.from_plain({**promises.to_plain(), "luck": np.ones(3)})


@pytest.mark.parametrize("k", [1, 5, 30, 400, 5000])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_p_values_agree_with_the_interval(k, share):
    value = share * k
    sd = np.sqrt(k * share * (1 - share)) + 0.03 * k
    low, high = max(0.0, round(value - 1.7 * sd)), min(k, round(value + 1.7 * sd))
    promise = Promise(
        k, value, float(low), float(high), 0.9, float(np.sqrt(k * share * (1 - share)))
    )
    assert promise.p_value(round(value)) > 0.4
    for hits in (0, low, high, k):
        assert 0 <= promise.p_value(hits) <= 1
    if k >= 30 and low - 3 * sd > 0:
        assert promise.p_value(round(low - 3 * sd)) < 0.05


def test_outside_is_rare_and_further_is_rarer():
    inside = [KEPT.p_value(hits) for hits in range(17, 28)]
    assert min(inside) > 0.08
    outside = [KEPT.p_value(hits) for hits in (16, 14, 12, 10)]
    assert outside[0] < 0.12
    assert outside == sorted(outside, reverse=True)


def test_evidence_is_one_on_average():
    # Under the promise the next evidence is expected to be the last one: a fair game.
    before = [Line(KEPT, 20), Line(KEPT, 23)]
    last = judge(before).evidence[-1]
    chance = np.zeros(31)
    likely = np.array([KEPT.likelihoods(hits) for hits in range(31)])
    seen = KEPT.likelihoods(20) * KEPT.likelihoods(23)
    chance = likely @ seen / seen.sum()
    after = [judge([*before, Line(KEPT, hits)]).evidence[-1] for hits in range(31)]
    assert chance.sum() == pytest.approx(1.0)
    assert chance @ after == pytest.approx(last, rel=1e-6)


def test_few_false_alarms_and_quick_notice():
    rng = np.random.default_rng(0)
    promise = Promise(40, 28.0, 22.0, 33.0, 0.9, 3.0)
    false = late = 0
    for _ in range(40):
        precision = 28 / 40
        kept = binom.rvs(40, precision, size=26, random_state=rng)
        false += judge([Line(promise, hits) for hits in kept]).noticed is not None
        fallen = binom.rvs(40, 0.6 * precision, size=8, random_state=rng)
        noticed = judge([Line(promise, hits) for hits in (*kept[:6], *fallen)]).noticed
        late += noticed is None or noticed > 10
    assert false <= 5
    assert late <= 2
    assert LEVEL == 0.05


def test_a_bad_model_is_not_held_against_the_next_one():
    bad = [Line(KEPT, 15, "old") for _ in range(3)]
    shared = judge([*bad, *(Line(KEPT, 16, "old") for _ in range(3))])
    fresh = judge([*bad, *(Line(KEPT, 22, "new") for _ in range(3))])
    assert fresh.evidence[-1] < shared.evidence[-1]
