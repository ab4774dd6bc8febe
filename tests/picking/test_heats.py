"""Long histories: a heat chooses who races, few folds are visited, each in two halves."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from shortlist import pick
from shortlist.picking.race.heats import FAMILIES, ROWS, run_heat
from shortlist.picking.race.history import check_history, make_folds, thinned
from shortlist.picking.race.models import LONG, Model
from shortlist.picking.race.race import Race, run_race

from .made import Column, rows

SLOW = pytest.mark.slow
QUICK = {"k": 30, "effort": "quick"}
HISTORY, LABELS = rows(1200, 5, d=6)
NEW, TRUTH = rows(300, 6, d=6)


def brief(y, groups=None, cv=5, repeats=1, fewest=2):
    history = check_history(np.arange(2.0 * len(y)).reshape(-1, 2), y, None, groups, None)
    return make_folds(history, cv, repeats, 0, fewest=fewest)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("repeats", [1, pytest.param(2, marks=SLOW)])
@pytest.mark.parametrize(("visited", "parts"), [(1, 4), (2, 2), (3, 2)])
def test_few_folds_are_visited_in_parts(grouped, repeats, visited, parts):
    y = np.random.default_rng(0).random(2600) < 0.4
    groups = np.repeat(np.arange(650), 4) if grouped else None
    folds = brief(y, groups, repeats=repeats, fewest=visited)
    assert folds.rounds() == [
        [parts * r + part for part in range(parts)] for r in range(visited * repeats)
    ]
    assert folds.first == visited * parts
    assert folds.text.startswith(f"{visited} of 5 folds of a ")
    for round_ in folds.rounds():
        train = folds.splits[round_[0]][0]
        tests = [folds.splits[fold][1] for fold in round_]
        # Together they are all rows, each once.
        np.testing.assert_array_equal(np.sort(np.concatenate([train, *tests])), np.arange(2600))
        assert sum(map(len, tests)) == pytest.approx(520, abs=20)
        if grouped:
            sides = [set(groups[rows_]) for rows_ in (train, *tests)]
            assert sum(map(len, sides)) == len(set.union(*sides))
    once = np.concatenate([test for _, test in folds.splits[: folds.first]])
    assert len(np.unique(once)) == len(once)


def test_rare_positives_need_more_folds():
    for positives, visited in ((1000, 2), (250, 2), (200, 3), (130, 4), (101, 5), (40, 5)):
        y = np.arange(3000) < positives
        folds = brief(y)
        assert len(folds.rounds()) == visited
        held_out = np.concatenate([test for _, test in folds.splits])
        assert y[held_out].sum() >= min(100, positives)
    # All folds are visited: one test part each, as on a short history.
    assert len(brief(np.arange(3000) < 101).splits) == 5


def test_folds_of_ones_own_are_visited_as_they_are():
    y = np.random.default_rng(0).random(1000) < 0.2
    splits = [(np.arange(500), np.arange(500, 750)), (np.arange(750), np.arange(750, 1000))]
    folds = brief(y, cv=splits, repeats=None)
    assert folds.rounds() == [[0], [1]]


def test_a_sample_keeps_rare_rows():
    positive = np.arange(10_000) < 120
    every = np.arange(10_000)
    few = thinned(positive, every, 1000, 0, 100)
    assert positive[few].sum() == 100
    assert (~positive[few]).sum() == round(1000 * 9880 / 10_000)
    assert len(np.unique(few)) == len(few)
    assert (
        thinned(positive, every, 1000, 0, 2)[:12].tolist()
        == sorted(thinned(positive, every, 1000, 0, 2))[:12]
    )
    np.testing.assert_array_equal(thinned(positive, every, 10_000, 0, 2), every)


@pytest.fixture(autouse=True)
def short_heat(monkeypatch):
    """Let a heat learn from 300 rows and leave one family."""
    monkeypatch.setitem(ROWS, "quick", 300)
    monkeypatch.setitem(FAMILIES, "quick", 1)


class Counted(Column):
    """Count the rows of each fit."""

    fits: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.fits.append(len(X))
        return super().fit(X, y)


def race_of(families, *, weight=None):
    """Race columns: a family each for a list of columns, the first is the yardstick."""
    history = check_history(HISTORY, LABELS, weight, None, None)
    folds = make_folds(history, 5, 1, 0, fewest=2)
    models = [
        Model(f"{family} {column}", family, Counted(column), Counted(column), family == "a")
        for family, columns in families.items()
        for column in columns
    ]
    return Race(models, history, folds, FunctionTransformer(), 0.1, np.array([0.1, 0.5, 1.0]))


def names(race):
    return [model.name for model in race.models]


def test_halves_of_a_fold_are_tested_by_one_fit():
    Counted.fits.clear()
    race = race_of({"a": [1], "b": [0]})
    run_race(race, None, None)
    assert len(Counted.fits) == 2 * len(race.folds.rounds())
    for (i, fold), run in race.runs.items():
        test = race.folds.splits[fold][1]
        np.testing.assert_array_equal(run.scores, HISTORY[test, race.models[i].estimator.column])
        share = race.history.shares(test, run.scores, race.rates)
        np.testing.assert_array_equal(run.share, share)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_heat_lets_the_best_through_and_the_yardstick(weighted):
    weight = np.random.default_rng(0).integers(1, 4, 1200).astype(float) if weighted else None
    race = race_of({"a": [1], "b": [2, 0], "c": [3], "d": [4]}, weight=weight)
    Counted.fits.clear()
    left, gone = run_heat(race, "quick", 0)
    assert names(left) == ["a 1", "b 0"]
    assert set(gone) == {"c", "d"}
    # A fifth of 300 rows are positive, and a hundred are wanted.
    n_rows = Counted.fits[0]
    assert 300 < n_rows <= 400
    assert Counted.fits == [n_rows] * 5
    assert f"heat on {n_rows} rows" in gone["c"]
    assert not race.runs
    assert not left.runs
    again, _ = run_heat(race, "quick", 0)
    assert names(again) == names(left)


def test_of_equal_settings_the_first_races():
    left, gone = run_heat(race_of({"a": [1], "b": [0, 0], "c": [2]}), "quick", 0)
    assert names(left) == ["a 1", "b 0"]
    assert set(gone) == {"c"}


def test_a_model_that_fails_in_the_heat_is_named():
    class Broken(Column):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no luck")

    race = race_of({"a": [1], "b": [0]})
    race.models.append(Model("broken", "broken", Broken(), Broken()))
    left, gone = run_heat(race, "quick", 0)
    assert "broken" not in names(left)
    assert gone["broken"] == "RuntimeError: no luck"


def test_without_both_classes_there_is_no_heat():
    race = race_of({"a": [1], "b": [0]})
    test = np.flatnonzero(~LABELS)[:200]
    train = np.setdiff1d(np.arange(1200), test)
    race = replace(race, folds=replace(race.folds, splits=[(train, test)], first=1))
    left, gone = run_heat(race, "quick", 0)
    assert left is race
    assert not gone


@pytest.fixture
def long(monkeypatch):
    """Call a history of more than 500 rows long."""
    monkeypatch.setitem(LONG, "quick", 500)
    monkeypatch.setattr("shortlist.picking.race.models._HURRIED_TREES", 10)
    monkeypatch.setattr("shortlist.picking.race.models._FINAL_TREES", {"quick": 20})


SAID = {
    "plain": {},
    "groups": {"groups": np.repeat(np.arange(300), 4)},
    "weights": {"sample_weight": np.repeat([1.0, 2.0, 3.0], 400)},
    "time": {"time": (np.arange(1200.0), 1200.0 + np.arange(300.0))},
    "value": {"value": (np.ones(1200), np.linspace(1, 2, 300)), "cost": 0.1},
    "one per": {"one_per": (np.repeat(np.arange(300), 4), np.repeat(np.arange(100), 3))},
    "precision": {"k": None, "precision": 0.5},
}


USUAL = ("plain", "groups", "time", "precision")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "said", [each if each in USUAL else pytest.param(each, marks=SLOW) for each in SAID]
)
def test_the_same_rule_with_everything_that_may_be_said(long, said):
    found = pick(HISTORY, LABELS, NEW, **QUICK | SAID[said])
    models = found.settings["models"]
    assert models[0] == "logistic regression"
    assert len(models) <= 2
    assert len({name.partition("(")[0] for name in models}) == len(models)
    assert TRUTH[found.selected].mean() > 2 * TRUTH.mean()
    if said in ("plain", "weights", "value"):
        # 260 positives: half of them are held out to reach a hundred.
        assert found.settings["cv"].startswith("2 of 5 folds")
    expected = found.expected
    assert expected.low <= expected.value <= expected.high


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "said", [each if each == "plain" else pytest.param(each, marks=SLOW) for each in SAID]
)
def test_the_same_call_gives_the_same_scores(long, said):
    found, again = (pick(HISTORY, LABELS, NEW, **QUICK | SAID[said]) for _ in range(2))
    np.testing.assert_array_equal(found.scores, again.scores)


@pytest.mark.filterwarnings("ignore")
def test_the_same_rule_for_sums(long):
    number = np.where(LABELS, 10.0, 1.0) + HISTORY[:, 1]
    found = pick(HISTORY, number, NEW, 30, goal="sum", effort="quick")
    assert found.settings["models"][0] == "ridge"
    assert len(found.settings["models"]) <= 2
    assert TRUTH[found.selected].mean() > 2 * TRUTH.mean()


def test_models_that_were_asked_for_are_all_raced(long):
    asked = {"weak": Column(3), "strong": Column(0)}
    found = pick(HISTORY, LABELS, NEW, 30, models=asked, effort="quick")
    assert found.settings["models"] == ["logistic regression", "weak", "strong"]
    found = pick(HISTORY, LABELS, NEW, 30, models=["PatMat", "extra trees"], effort="quick")
    assert sum("trees" in name for name in found.settings["models"]) == 2
