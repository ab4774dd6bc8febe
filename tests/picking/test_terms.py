"""What the list is for: read from columns or arrays, checked, and applied."""

import numpy as np
import pandas as pd
import pytest

from shortlist import pick
from shortlist.picking.forecast.probability import calibrate
from shortlist.picking.terms.terms import read_order

from .made import Column, rows, slow_share

SAID = dict.fromkeys(
    ("value", "cost", "one_per", "limits", "exclude", "time", "delay", "base_rate", "fill")
)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)

    def table(n):
        score = rng.normal(size=n)
        frame = pd.DataFrame(
            {
                "a": score + 0.3 * rng.normal(size=n),
                "b": rng.normal(size=n),
                "amount": rng.lognormal(3, 1, n).round(2),
                "customer": rng.integers(0, n // 2, n),
                "region": rng.choice(["north", "south", "west"], n),
                "booked": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="h"),
                "done": rng.random(n) < 0.1,
            }
        )
        return frame, rng.random(n) < 1 / (1 + np.exp(-3 * score + 2))

    return *table(400), *table(200)


@pytest.fixture(scope="module", autouse=True)
def few_replays():
    """Each is an integer programme under limits; tests of replays are elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shortlist.picking.terms.replay._FEW_REPLAYS", 15)
        yield


@pytest.fixture(scope="module")
def plain(tables):
    return found(tables)


def found(tables, k=20, **said):
    H, y, C, _ = tables
    return pick(H, y, C, k, models=["PatMat"], effort="quick", **{"cv": 3, **said})


def read(tables, **said):
    H, _, C, _ = tables
    return read_order(H, C, None, **(SAID | said))


def test_ids_and_times_are_no_features_and_values_are(tables):
    X, pool, terms = read(tables, value="amount", one_per="customer", time="booked", delay="1d")
    assert list(X.columns) == list(pool.whole().columns) == ["a", "b", "amount", "region", "done"]
    assert terms.delay == 86_400
    assert terms.window == 199 * 3600
    assert terms.history.value.sum() == pytest.approx(tables[0]["amount"].sum())
    assert not terms.fill


def test_pairs_of_arrays_say_the_same(tables):
    H, _, C, _ = tables
    by_name = read(tables, value="amount", limits={"region": {"north": (1, 4)}})[2]
    pair = (H["region"].to_numpy(), C["region"].to_numpy())
    by_pair = read(
        tables,
        value=(H["amount"].to_numpy(), C["amount"].to_numpy()),
        limits=[(pair, {"north": (1, 4)})],
    )[2]
    assert np.array_equal(by_name.history.value, by_pair.history.value)
    assert np.array_equal(by_name.bounds[0].least, by_pair.bounds[0].least)
    assert np.array_equal(by_name.candidates.groups[0], by_pair.candidates.groups[0])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"value": "amuont"}, "value='amuont' is no column of X. It has 'a'"),
        ({"value": "region"}, "value must hold numbers"),
        ({"cost": (np.ones(3), np.ones(200))}, r"one entry per row of X, shape \(400,\)"),
        ({"limits": {"region": {"nrth": 3}}}, "region has no group 'nrth'; it has 'north'"),
        ({"limits": {"region": {"north": (5, 2)}}}, "0 <= least <= most"),
        ({"limits": {"region": -1}}, "at most a whole number"),
        ({"delay": "7d"}, "delay='7d' needs time"),
        ({"time": "region"}, "which is no time"),
        ({"base_rate": 1.5}, "base_rate must be"),
        ({"exclude": [900]}, "exclude must be row numbers"),
        ({"exclude": [-1]}, "exclude must be row numbers"),
        ({"exclude": np.ones(200, dtype=bool)}, "exclude leaves no candidate"),
        ({"exclude": "region"}, "true for rows to leave out and false for others, got '"),
        ({"exclude": "dun"}, "exclude='dun' is no column of the candidates"),
        ({"fill": "no"}, "fill must be True, False or None, got fill='no'"),
        ({"limits": {"region": 2.5}}, "at most a whole number"),
        ({"time": (np.arange(400), ["2024-01-01"] * 200)}, "of one kind"),
        ({"one_per": ([None] * 400, np.arange(200))}, "one_per is missing in row 0 of X, and 400"),
        ({"cost": np.nan}, "cost must be a finite number, got cost=nan"),
    ],
)
def test_mistakes_are_named(tables, said, words):
    with pytest.raises(ValueError, match=words):
        read(tables, **said)


def test_missing_values_are_named(tables):
    H, y, C, _ = tables
    H = H.assign(amount=H["amount"].where(H.index != 7))
    with pytest.raises(ValueError, match="value is nan in row 7 of X"):
        read((H, y, C, None), value="amount")


def test_all_terms_together_are_kept(tables):
    C = tables[2]
    result = found(
        tables,
        value="amount",
        cost=2.0,
        one_per="customer",
        limits={"region": {"north": (2, 5), "south": 6}},
        exclude="done",
    )
    chosen = C.iloc[result.selected]
    assert chosen["customer"].is_unique
    assert not chosen["done"].any()
    assert 2 <= (chosen["region"] == "north").sum() <= 5
    assert (chosen["region"] == "south").sum() <= 6
    gain = result.probability * C["amount"].to_numpy() - 2.0
    assert (np.diff(gain[result.selected]) <= 1e-12).all()
    assert result.expected_gain.low <= result.expected_gain.value <= result.expected_gain.high
    assert "This list is worth" in result.verdict
    assert "The limits cost" in result.verdict
    shorter = result.at(8)
    assert len(shorter.selected) <= 8
    assert len(result.to_frame(C)) == len(result.selected)


def test_rows_that_cost_more_than_they_bring_are_left_out(tables):
    result = found(tables, value=1.0, cost=0.8)
    assert (result.probability[result.selected] > 0.8).all()
    assert len(found(tables, value=1.0, cost=0.8, fill=True).selected) == 20
    if len(result.selected) < 20:
        assert "no other row is expected to bring" in result.verdict


def test_the_forecast_stays_inside_a_short_list(tables):
    """Few rows are worth so much: what is promised is what these can bring."""
    C = tables[2]
    for cost in (30.0, 1e4):
        result = found(tables, value="amount", cost=cost)
        amounts = C["amount"].to_numpy()[result.selected]
        hits, gain = result.expected_hits, result.expected_gain
        assert 0 <= hits.low <= hits.value <= hits.high <= len(amounts)
        assert -cost * len(amounts) <= gain.low <= gain.value <= gain.high
        assert gain.high <= (amounts - cost).sum() + 1e-9
    assert len(result.selected) == 0
    assert (gain.value, gain.low, gain.high) == (0.0, 0.0, 0.0)


def test_a_fraction_of_the_budget_counts_entities(tables):
    C = tables[2]
    assert read(tables, one_per="customer")[2].budget(0.1) == np.ceil(0.1 * C["customer"].nunique())
    assert read(tables)[2].budget(0.1) == 20
    assert read(tables, one_per="customer")[2].budget(20) == 20


def test_impossible_limits_are_named_before_anything_is_learned(tables):
    def too_late(done, total, message):
        raise AssertionError(message)

    limits = {"region": {"north": (8, 10)}, "customer": 0}
    with pytest.raises(ValueError, match="give up at least 8 and at most 10 of region=north"):
        found(tables, limits=limits, progress=too_late)


def test_limits_that_take_nothing_away_cost_nothing(tables):
    result = found(tables, limits={"region": 20})
    assert "The limits cost nothing." in result.verdict
    assert result.expected_gain.limits_cost == 0.0


def test_value_finds_more_money_than_hits(tables, plain):
    _, _, C, y = tables
    money = y * C["amount"].to_numpy()
    by_value = found(tables, value="amount")
    assert money[by_value.selected].sum() > money[plain.selected].sum()
    assert by_value.expected_gain.value > by_value.expected_gain.most_hits


def test_excluded_rows_by_number_mask_and_id(tables, plain):
    C = tables[2]
    first = plain.selected
    assert not set(found(tables, exclude=first[:5]).selected) & set(first[:5])
    mask = np.isin(np.arange(200), first[:5])
    assert np.array_equal(read(tables, exclude=mask)[2].candidates.allowed, ~mask)
    handled = C["customer"].iloc[first[:5]].tolist()
    left = found(tables, exclude={"customer": handled})
    assert not set(C["customer"].iloc[left.selected]) & set(handled)


@pytest.mark.parametrize(
    ("exclude", "left_out"),
    [
        ([], []),
        ({7, 3}, [3, 7]),
        ((3, 7), [3, 7]),
        ({"done_today": [1.0]}, [3, 7]),
        ("done_today", [3, 7]),
        ((np.zeros(400, dtype=bool), np.isin(np.arange(200), [3, 7])), [3, 7]),
    ],
    ids=["none", "set", "two rows", "values", "column", "pair"],
)
def test_exclude_in_many_spellings(tables, exclude, left_out):
    """A column that says what is handled need not be in the history."""
    H, _, C, _ = tables
    C = C.assign(done_today=np.isin(np.arange(200), [3, 7]).astype(int))
    X, _, terms = read((H, None, C, None), exclude=exclude)
    assert np.flatnonzero(~terms.candidates.allowed).tolist() == left_out
    assert list(X.columns) == list(H.columns)


def test_handled_entities_may_be_written_as_floats(tables):
    customers = tables[2]["customer"]
    handled = customers.unique()[:3].astype(float)
    allowed = read(tables, one_per="customer", exclude=handled)[2].candidates.allowed
    assert np.array_equal(allowed, ~customers.isin(handled).to_numpy())


def test_a_base_rate_lowers_probabilities_and_forecast(tables, plain):
    rare = found(tables, base_rate=0.02)
    assert rare.probability.mean() < 0.3 * plain.probability.mean()
    assert rare.expected_hits.value < plain.expected_hits.value
    assert "2.0 % of the candidates are taken to be positive, as you said" in rare.verdict
    assert "as in the history" in plain.verdict
    assert np.array_equal(np.argsort(-rare.probability)[:20], np.argsort(-plain.probability)[:20])


def test_folds_in_time(tables):
    result = found(tables, time="booked", delay="12h")
    assert "windows of" in result.settings["cv"]
    rows = result.held_out_rows
    assert rows.row[rows.fold == rows.fold.max()].max() == 399
    with pytest.raises(ValueError, match="time leaves no window to test"):
        found(tables, time="booked", delay="600d")


def test_only_new_entities(tables):
    result = found(tables, time="booked", one_per="customer", only_new=True)
    rows, customer = result.held_out_rows, tables[0]["customer"].to_numpy()
    for number in np.unique(rows.fold):
        tested = rows.row[rows.fold == number]
        assert not set(customer[tested]) & set(customer[: tested.min()])
    with pytest.raises(ValueError, match="only_new tests what was not known"):
        found(tables, only_new=True)


def test_numbers_in_time_say_where_they_are_heading(tables):
    H, _, C, _ = tables
    result = pick(
        H.drop(columns="amount"),
        H["amount"],
        C.drop(columns="amount"),
        20,
        goal="sum",
        models=["RankSVM"],
        effort="quick",
        time="booked",
    )
    assert len(result.windows) >= 1
    assert result.windows[0].begin < result.windows[-1].end
    assert result.expected_gain.low <= result.expected_gain.value <= result.expected_gain.high


class Shifted(Column):
    """Scores of every fit are moved by an amount of their own."""

    def fit(self, X, y, sample_weight=None):
        self.move_ = float(np.random.default_rng(int(1e6 * abs(X[0, 0]))).normal(scale=4))
        return super().fit(X, y)

    def decision_function(self, X):
        return super().decision_function(X) + self.move_


def test_rows_of_different_folds_are_compared_by_their_places():
    """Each fold has a model of its own; the candidates have one for all."""
    (X, y), (C, _) = (rows(n, n, strength=2.5) for n in (600, 200))
    group = (np.zeros(600), np.zeros(200))
    result = pick(
        X, y, C, 20, models={"logistic regression": Shifted()}, limits=[(group, 20)]
    )  # fmt: skip
    held = result.held_out_rows
    by_fold = [
        slow_share(held.positive[some], held.log_odds[some], held.weight[some], 0.1)
        for some in (held.fold == number for number in range(5))
    ]
    together = slow_share(held.positive, held.log_odds, held.weight, 0.1)
    assert abs(result.expected_hits.value - 200 * np.mean(by_fold)) < 1.5
    assert 200 * together < 200 * np.mean(by_fold) - 3


def test_calibration_is_monotone_and_right_at_the_top():
    rng = np.random.default_rng(1)
    z = rng.normal(scale=2, size=4000)
    hit = rng.random(4000) < 1 / (1 + np.exp(-(0.5 * z + 0.5 * np.minimum(z, 0) - 1)))
    curve = calibrate(z, hit, np.ones(4000))
    grid = curve(np.linspace(-10, 10, 50))
    assert (np.diff(grid) >= 0).all()
    top = z > np.quantile(z, 0.95)
    assert abs(curve(z)[top].mean() - hit[top].mean()) < 0.08
