"""Drift: noticed, named, weighed for where it can be and refused where it cannot."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from scipy.stats import chi2_contingency, norm
from sklearn.linear_model import LogisticRegression

from picking.made import rows
from shortlist import pick
from shortlist.picking.drift import telling
from shortlist.picking.drift.changes import _shares, changed_columns
from shortlist.picking.drift.drift import LEVEL, _drawn_past, find_drift, no_drift
from shortlist.picking.drift.telling import Codes, area_of, told_apart
from shortlist.picking.forecast.comparison import forecast_budgets, forecast_hits
from shortlist.picking.forecast.outlook import Evidence, Outlook
from shortlist.picking.race.history import check_history
from shortlist.picking.reasons.subject import Shown

MODELS = {"logistic regression": LogisticRegression()}


def table(n, rng):
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "other": rng.normal(size=n),
            "city": rng.choice(["Lyon", "Porto", "Graz"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.loc[rng.random(n) < 0.1, "other"] = np.nan
    return frame


def judged(history, candidates, seed=0):
    known = check_history(history, np.arange(history.shape[0]) % 2 == 0, None, None, None)
    names = list(getattr(history, "columns", range(history.shape[1])))
    return find_drift(known, Shown(known.X, names, lambda: candidates), seed)


def notes(n, rng, words=120):
    """Texts that are all different, of words of which the first are frequent."""
    chance = 1 / np.arange(1, words + 1) ** 0.8
    drawn = rng.choice(words, (n, 12), p=chance / chance.sum())
    return [" ".join(f"{'klmnprst'[w % 8]}o{w}" for w in row) for row in drawn]


def moved(n, centre, seed):
    """Hits depend on the row only; candidates may come from another part of the space."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 0] += centre
    return X, rng.random(n) < expit(1.6 * X[:, 0] + 1.2 * X[:, 1] - 1.5)


@pytest.fixture(scope="module", autouse=True)
def fewer_trees(request):
    """A third is enough to tell these tables apart; the slow tests count alarms of all."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not slow":
            patch.setattr(telling, "_TREES", telling._TREES // 3)
        yield


@pytest.fixture
def both():
    rng = np.random.default_rng(0)
    return table(600, rng), table(400, rng), rng


@pytest.mark.slow
def test_no_alarm_without_drift():
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        alarms += judged(table(200, rng), table(120, rng), seed).found
    # At most 5 % of cases; of 20, four or more have a chance below 2 %.
    assert alarms <= 3


def test_the_area_of_a_random_order():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [40, 25])
    drawn = np.array([area_of(rng.integers(0, 9, 65).astype(float), label) for _ in range(2000)])
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert drawn[:, 1].mean() == pytest.approx(drawn[:, 0].var(), rel=0.1)


@pytest.mark.slow
def test_areas_of_blocks_are_no_wider_than_they_should_be(monkeypatch):
    """With folds that take turns their spread would be 1.4: what they learn from overlaps."""
    monkeypatch.setattr(telling, "_classifier", lambda M, seed: LogisticRegression())
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [60, 40])
    p_values = [told_apart(rng.normal(size=(100, 3)), label, seed)[0] for seed in range(300)]
    z = norm.isf(p_values)
    assert z.mean() == pytest.approx(0.0, abs=0.15)
    assert z.std() == pytest.approx(1.0, abs=0.1)


def test_texts_from_one_place_are_no_drift():
    """Features that only the history had a say in would tell them apart nearly always."""
    alarms = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tables = [pd.DataFrame({"note": notes(n, rng), "x": rng.normal(size=n)}) for n in (200, 99)]
        alarms += judged(*tables, seed).found
    assert alarms <= 1


def test_a_word_that_is_new_is_named():
    rng = np.random.default_rng(0)
    old, new = (pd.DataFrame({"note": notes(n, rng), "x": rng.normal(size=n)}) for n in (300, 200))
    new.loc[rng.random(200) < 0.5, "note"] += " refund"
    (text,) = judged(old, new).columns
    assert text.startswith("note: 'refund' in 5")
    assert text.endswith("of the candidates, 0 % of the history")


def test_dates_move_on_without_an_alarm():
    rng = np.random.default_rng(0)
    days = np.datetime64("2026-01-01") + rng.integers(0, 60, 500).astype("m8[D]")
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=500)})
    later = frame.assign(day=frame["day"] + np.timedelta64(80, "D"))
    written = [each.assign(day=each["day"].astype(str)) for each in (frame, later.iloc[:200])]
    assert not judged(*written).found
    frame.loc[:30, "day"] = pd.NaT
    assert not judged(frame[31:], later.iloc[:200]).found
    (text,) = judged(frame[:200], later.iloc[:200]).columns
    assert text.startswith("day: missing in 0 % of the candidates")


def test_nothing_but_dates_is_no_drift():
    days = np.datetime64("2026-01-01") + np.arange(90).astype("m8[D]")
    frame = pd.DataFrame({"day": days})
    assert judged(frame[:50], frame[50:]).p_value == 1.0


def test_a_thinned_history_is_compared_as_it_was():
    rng = np.random.default_rng(0)
    y, hit = rng.random(1000) < 0.5, rng.random(800) < 0.1
    X, new = rng.normal(size=(1000, 3)), rng.normal(size=(800, 3))
    X[y, 0] += 1.5
    new[hit, 0] += 1.5
    assert not pick(X, y, new, 40, models=MODELS, base_rate=0.1).drift.found
    assert pick(X, y, new, 40, models=MODELS).drift.found
    drawn = _drawn_past(check_history(X, y, None, None, None), 0, 0.1)
    assert y[drawn].mean() == pytest.approx(0.1, abs=0.03)
    weight = np.where(y, 1.0, 9.0)
    drawn = _drawn_past(check_history(X, y, weight, None, None), 0, None)
    assert y[drawn].mean() == pytest.approx(0.1, abs=0.03)


def test_codes_do_not_know_the_tables(both):
    history, candidates, _ = both
    history["city"] = history["city"].where(history["other"] < 1, "Oslo")
    there, back = Codes.of(history, candidates), Codes.of(candidates, history)
    made = there.make(candidates)
    np.testing.assert_array_equal(made, back.make(candidates))
    assert np.isnan(made[:, 1]).sum() == candidates["other"].isna().sum()
    assert len(np.unique(made[:, 2])) == candidates["city"].nunique()


def test_shares_are_compared_as_in_a_table_of_four_cells():
    rng = np.random.default_rng(0)
    before, after = rng.integers(1, 40, 50), rng.integers(1, 30, 50)
    made = [change.p_value for change in _shares(before, after, (90, 50), "x")]
    slow = [
        chi2_contingency([[a, 90 - a], [b, 50 - b]])[1] for a, b in zip(before, after, strict=True)
    ]
    np.testing.assert_allclose(made, slow, rtol=1e-9)


def test_wide_tables_with_gaps_and_sparse_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 520))
    X[rng.random(X.shape) < 0.05] = np.nan
    new = X[:100].copy()
    new[:, 7] += 3.0
    assert judged(X[100:], new).columns[0].startswith("7: ")
    thin = sparse.random(400, 900, density=0.02, random_state=0, format="csr")
    assert not judged(thin[:250], thin[250:]).found
    thinner = sparse.random(300, 900, density=0.003, random_state=0, format="csr")
    assert changed_columns(thinner[:200], thinner[200:], list(range(900)), LEVEL) == (1.0, [])
    assert not judged(thinner[:200], thinner[200:]).found
    moved = thin[250:].tolil()
    moved[:30, 5] = 1.0
    (text,) = judged(thin[:250], moved.tocsr()).columns
    assert text.startswith("5: not zero in 2")


def test_a_column_that_is_nearly_always_missing(both):
    history, candidates, _ = both
    history.loc[3:, "other"] = np.nan
    candidates["other"] = np.nan
    candidates["size"] += 1.0
    assert judged(history, candidates).columns[0].startswith("size: usually")


def test_a_moved_column_is_named(both):
    history, candidates, _ = both
    candidates["size"] += 0.8
    found = judged(history, candidates)
    assert found.found
    assert found.columns[0].startswith("size: usually")
    assert "size: usually" in " ".join(found.sentences())


def test_a_wider_column_is_named(both):
    history, candidates, _ = both
    candidates["size"] *= 2.2
    assert judged(history, candidates).columns[0].startswith("size: spread 2")


def test_values_never_seen_are_counted(both):
    history, candidates, rng = both
    candidates.loc[rng.random(400) < 0.6, "city"] = "Oslo"
    (text, *_) = judged(history, candidates).columns
    assert text.startswith("city: ")
    assert text.endswith("% of the candidates have values never seen")


def test_gaps_are_named(both):
    history, candidates, rng = both
    candidates.loc[rng.random(400) < 0.4, "other"] = np.nan
    assert judged(history, candidates).columns[0].startswith("other: missing in 4")


def test_columns_that_go_together_differently(both):
    history, candidates, rng = both
    candidates["other"] = candidates["size"] + 0.3 * rng.normal(size=400)
    candidates["other"] *= 1 / np.sqrt(1.09)
    candidates.loc[rng.random(400) < 0.1, "other"] = np.nan
    found = judged(history, candidates)
    assert found.found
    assert found.columns == []
    assert "how they go together" in found.sentences()[0]


def test_names_that_are_all_different_are_no_drift():
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"name": [f"a{i}" for i in range(300)], "x": rng.normal(size=300)})
    new = pd.DataFrame({"name": [f"b{i}" for i in range(300)], "x": rng.normal(size=300)})
    smallest, columns = changed_columns(old, new, ["name", "x"], LEVEL)
    assert smallest > LEVEL
    assert columns == []


def test_the_forecast_follows_the_candidates():
    off, weighed = [], []
    for seed in range(4):
        X, y = moved(900, 0.0, seed)
        candidates, hit = moved(500, -0.8, 50 + seed)
        found = pick(X, y, candidates, 50, models=MODELS, random_state=seed)
        assert found.drift.found
        assert found.drift.weight is not None
        assert 30 < found.drift.effective < 900
        assert "rests on" in found.verdict
        actual = hit[found.selected].sum()
        weighed.append(found.expected_hits.low <= actual <= found.expected_hits.high)
        off.append(found.comparison.winner.hits - actual)
    assert sum(weighed) >= 3
    # The folds, weighted: not the many hits that the history would promise.
    assert np.mean(off) < 8


def test_far_away_there_is_no_forecast():
    X, y = moved(600, 0.0, 0)
    candidates, _ = moved(300, -6.0, 1)
    found = pick(X, y, candidates, 30, models=MODELS)
    assert found.drift.refused is not None
    assert "No forecast:" in found.verdict
    assert (found.expected_hits.low, found.expected_hits.high) == (0.0, 30.0)
    assert found.at(10).expected_hits.high == 10.0


def test_one_row_of_each_customer_is_compared():
    """Customers come again and are like themselves: their rows would be told apart."""
    rng = np.random.default_rng(0)
    people = rng.normal(size=(130, 3))
    who = (rng.integers(0, 80, 600), rng.integers(50, 130, 300))
    X, new = (people[each] + 0.01 * rng.normal(size=(len(each), 3)) for each in who)
    y = rng.random(600) < expit(X[:, 0])
    assert not pick(X, y, new, 20, models=MODELS, one_per=who).drift.found
    moved = pick(X, y, new + np.array([0.0, 1.0, 0.0]), 20, models=MODELS, one_per=who)
    assert moved.drift.columns[0].startswith("x1: usually")
    assert len(moved.drift.weight) == 600
    assert pick(X, y, new, 20, models=MODELS).drift.found


def test_weights_reach_lists_of_one_row_per_entity():
    """Customers of another kind come: what their rows weigh is what they weigh."""
    rng = np.random.default_rng(0)
    who = (rng.integers(0, 400, 900), rng.integers(0, 300, 600))
    people, others = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
    others[:, 0] += 1.0
    X = people[who[0]] + 0.2 * rng.normal(size=(900, 2))
    new = others[who[1]] + 0.2 * rng.normal(size=(600, 2))
    y = rng.random(900) < expit(2 * X[:, 0] - 2)
    hit = rng.random(600) < expit(2 * new[:, 0] - 2)
    found = pick(X, y, new, 100, models=MODELS, one_per=who)
    assert found.drift.weight is not None
    expected = found.expected_hits
    assert expected.low <= hit[found.selected].sum() <= expected.high
    usual = pick(X, y, new - [1.0, 0.0], 100, models=MODELS, one_per=who)
    assert expected.low > usual.expected_hits.value


def test_a_refused_forecast_promises_no_sum():
    X, y = moved(600, 0.0, 0)
    candidates, _ = moved(300, -6.0, 1)
    value = (np.full(600, 3.0), np.full(300, 3.0))
    found = pick(X, y, candidates, 30, models=MODELS, value=value, cost=0.5, fill=True)
    assert found.drift.refused is not None
    assert "If nothing had changed, this list would be worth" in found.verdict
    assert found.expected_gain.low == pytest.approx(-15.0)
    assert found.expected_gain.high == pytest.approx(75.0)
    told = found.drift.to_dict()
    assert told["found"]
    assert told["refused"] == found.drift.refused
    assert no_drift(3.0).to_dict()["p_value"] is None


def test_groups_and_few_rows_are_not_tested():
    X, y = rows(200, 0)
    grouped = pick(X, y, rows(80, 1)[0] + 5, 8, models=MODELS, groups=np.arange(200) // 4)
    assert not grouped.drift.found
    assert np.isnan(grouped.drift.p_value)
    few = pick(X, y, rows(8, 1)[0], 2, models=MODELS)
    assert not few.drift.found
    assert no_drift(3.0).sentences() == []


@pytest.mark.parametrize("factor", [0.6, 1.4])
def test_the_interval_is_longer_where_weights_moved_the_forecast_to(factor):
    budgets = forecast_budgets(500, 50)
    share = np.tile(np.minimum(budgets / 500, 0.1) * 0.5, (5, 1))

    def seen(share, plain=None):
        one = Evidence("one", "one", share, 1.0, 0.0)
        return Outlook((one,), budgets / 500, 500, 1000.0, 0.2, np.full(5, 200.0), 0.25, 5, plain)

    plain, moved = seen(share), seen(factor * share)
    blind, told = (
        forecast_hits(view, "one", 50)[1] for view in (moved, replace(moved, plain=plain))
    )
    way = factor * 25.0 - 25.0
    assert told.value == blind.value
    assert told.low == pytest.approx(blind.low + 0.5 * min(way, 0.0))
    assert told.high == pytest.approx(blind.high + 0.5 * max(way, 0.0))
