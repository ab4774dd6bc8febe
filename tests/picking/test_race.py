"""Who leaves early, the sample for the first look, and the replayed choice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from shortlist import pick
from shortlist.picking import race as race_module
from shortlist.picking.choice import choose, choose_model
from shortlist.picking.history import check_history, make_folds
from shortlist.picking.models import Model, Task, contestants
from shortlist.picking.race import Race, fit_model, run_race

from .made import Column, rows, slow_share

HISTORY, LABELS = rows(300, 5, d=6)


def race_of(models, *, weight=None, rate=0.1, repeats=2, X=HISTORY, y=LABELS):
    history = check_history(X, y, weight, None, None)
    folds = make_folds(history, 5, repeats, 0)
    rates = np.unique(np.append(np.linspace(0.01, 1, 50), rate))
    return Race(models, history, folds, FunctionTransformer(), rate, rates)


def columns(*numbers):
    models = [Model("logistic regression", "logistic regression", Column(5))]
    return models + [Model(f"column {j}", "column", Column(j)) for j in numbers]


def test_the_good_member_of_a_family_outlives_the_others():
    race = race_of(columns(1, 2, 0, 3))
    run_race(race, None, None)
    folds = [len(race.met(i)) for i in range(5)]
    assert folds[0] == folds[3] == 10
    assert sorted(folds[i] for i in (1, 2, 4)) == [2, 2, 5]
    assert race.finishers() == [0, 3]


def test_of_equals_the_first_stays():
    race = race_of(columns(0, 0, 0))
    run_race(race, None, None)
    assert race.finishers() == [0, 1]


def test_better_half_of_many_challengers_runs_on():
    models = [Model("logistic regression", "logistic regression", Column(5))]
    models += [Model(f"own {j}", f"own {j}", Column(j % 6)) for j in range(8)]
    race = race_of(models)
    run_race(race, None, None)
    assert len(race.finishers()) == 5
    assert {0, 1, 7} <= set(race.finishers())


def test_long_histories_are_looked_at_in_a_sample(monkeypatch):
    seen = []

    class Sized(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(y), int(y.sum()), self.C))
            return super().fit(X, y)

    monkeypatch.setattr(race_module, "_SAMPLE_ROWS", 60)
    monkeypatch.setattr(race_module, "_SAMPLE_RARER", 5)
    models = [Model("logistic regression", "logistic regression", LogisticRegression())]
    models += [Model(f"C={C}", "sized", Sized(C=C)) for C in (0.1, 1.0)]
    calls = []
    race = race_of(models, repeats=1)
    run_race(race, None, lambda *call: calls.append(call))
    first = seen[:2]
    # A quarter of 240 rows, of either class; each row counts for four.
    assert [size for size, _, _ in first] == [60, 60]
    assert first[0][1] == pytest.approx(LABELS.sum() / 5, abs=1)
    assert [C for _, _, C in first] == pytest.approx([0.4, 4.0])
    assert len({C for _, _, C in seen[2:]}) == 1
    assert all(size == 240 for size, _, _ in seen[2:])
    assert calls[-1][0] == calls[-1][1] == 3 + 2 * 5
    assert "first look at 60 rows" in calls[0][2]


def test_replayed_choice_is_the_slow_one():
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    models = [Model("logistic regression", "a", Column(1))]
    models += [Model(f"m{j}", f"m{j}", Column(j)) for j in (0, 2, 3)]
    race = race_of(models, weight=weight, rate=0.13)
    run_race(race, None, None)
    alive, splits = race.finishers(), race.folds.splits
    every = range(len(splits))

    def share(i, fold, kept):
        test = splits[fold][1]
        mask = np.isin(test, kept)
        scores = HISTORY[test[mask], models[i].estimator.column]
        return slow_share(LABELS[test[mask]], scores, weight[test[mask]], 0.13)

    total = weight.sum()
    honest, claimed, sizes = [], [], []
    full = np.array([[share(i, f, np.arange(300)) for f in every] for i in alive])
    masses = np.array([weight[test].sum() for _, test in splits])
    chosen = choose(full, masses, race.folds.ratio, total)
    for fold in every:
        kept = np.setdiff1d(np.arange(300), splits[fold][1])
        left = [f for f in every if np.isin(splits[f][1], kept).any()]
        values = np.array([[share(i, f, kept) for f in left] for i in alive])
        mass = np.array([weight[np.intersect1d(splits[f][1], kept)].sum() for f in left])
        honest.append(full[choose(values, mass, race.folds.ratio, total), fold])
        claimed.append(full[chosen, fold])
        sizes.append(masses[fold])
    chance = 0.13 * weight[LABELS].sum() / total
    slow = (np.average(honest, weights=sizes) - chance) / (
        np.average(claimed, weights=sizes) - chance
    )
    picked, kept_part = choose_model(race)
    assert picked == alive[chosen]
    assert kept_part == pytest.approx(np.clip(slow, 0, 1))


def test_strengthened_models_keep_their_loss_per_row():
    # Half of the rows at twice the weight: the same optimum where the halves are equal.
    X, y = np.tile(HISTORY[:100], (2, 1)), np.tile(LABELS[:100], 2).astype(int)
    models, _ = contestants(["TopPush", "LinearSVC"], Task(0.1, 200, 100, False, False, 0))
    for model in (models[1], models[-1]):
        whole, _ = fit_model(model, X, y, None, None, 1)
        half, _ = fit_model(model.strengthened(2.0), X[:100], y[:100], None, None, 1)
        assert model.strengthened(1.0) is model
        if "k=1," not in model.name:
            np.testing.assert_allclose(half.coef_, whole.coef_, atol=1e-2)


@pytest.mark.filterwarnings("ignore:The list is not better")
def test_interval_covers_about_as_often_as_it_says():
    # Made data, where new candidates can be drawn at will: 120 histories of 250 rows.
    inside, bias = [], []
    for seed in range(120):
        X, y = rows(250, 1000 + seed, strength=1.2)
        new, truth = rows(250, 5000 + seed, strength=1.2)
        found = pick(X, y, new, 40, models={"first": Column(0)}, repeats=1)
        hits = truth[found.selected].sum()
        inside.append(found.expected_hits.low <= hits <= found.expected_hits.high)
        bias.append(found.expected_hits.value - hits)
    # Nominal 90 %; whole numbers make it a little more. Three standard errors either way.
    assert 0.82 <= np.mean(inside) <= 0.99
    assert abs(np.mean(bias)) < 3 * np.std(bias) / np.sqrt(len(bias))
