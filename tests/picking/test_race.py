"""Every model meets every fold; long histories race on a sample; failures; intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from shortlist import pick
from shortlist.picking.race.combining import combine
from shortlist.picking.race.history import HEAD, check_history, make_folds
from shortlist.picking.race.models import LONG, Model, Task, contestants
from shortlist.picking.race.race import Race, run_race
from shortlist.stacking.heads import fit_head

from .made import Column, rows, slow_share

HISTORY, LABELS = rows(300, 5, d=6)


def race_of(models, *, weight=None, rate=0.1, repeats=2, X=HISTORY, y=LABELS):
    history = check_history(X, y, weight, None, None)
    folds = make_folds(history, 5, repeats, 0)
    rates = np.unique(np.append(np.linspace(0.01, 1, 50), rate))
    race = Race(models, history, folds, FunctionTransformer(), rate, rates)
    run_race(race, None, None)
    return race


def columns(*numbers):
    first, *others = (Model(f"column {j}", "column", Column(j), Column(j)) for j in numbers)
    return [Model("logistic regression", first.family, first.estimator, first.final), *others]


class Broken(Column):
    """Fails where the training part lacks a certain row."""

    def fit(self, X, y, sample_weight=None):
        if HISTORY[0, 0] not in np.asarray(X)[:, 0]:
            raise RuntimeError("no luck")
        return super().fit(X, y)


def test_a_model_that_fails_on_one_fold_is_out_of_all():
    broken = Model("broken", "broken", Broken(), Broken())
    race = race_of([*columns(0, 1), broken])
    assert race.finishers() == [0, 1]
    assert race.failed == {2: "RuntimeError: no luck"}
    assert combine(race, 0).members == [0, 1]


def test_the_forecast_of_a_fold_does_not_see_its_rows():
    weight = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    race = race_of(columns(1, 0, 2, 3), weight=weight, rate=0.13)
    found = combine(race, 7)
    splits = race.folds.splits
    for fold, (_, test) in enumerate(splits):
        rows_ = np.concatenate([t[~np.isin(t, test)] for _, t in splits])
        head = fit_head(
            HISTORY[rows_][:, [1, 0, 2, 3]],
            LABELS[rows_],
            weight[rows_],
            head=HEAD,
            budget=0.13,
            seed=7,
        )
        logits = HISTORY[test][:, [1, 0, 2, 3]] * head.slopes + head.intercepts
        slow = head.slope * (logits @ head.weights) + head.intercept
        mine = found.held_out.fold == fold
        # The order of the rows differs, and with it the rounding.
        np.testing.assert_allclose(found.held_out.log_odds[mine], slow, atol=1e-6)
        share = slow_share(LABELS[test], slow, weight[test], 0.13)
        at = np.searchsorted(race.rates, 0.13)
        assert found.share[fold, at] == pytest.approx(share)


def test_changing_the_labels_of_a_fold_changes_its_forecast_only_through_training():
    # The members learn nothing, so the cross-fitted scores of a fold know none of its labels.
    race = race_of(columns(0, 1, 2), repeats=1)
    test = race.folds.splits[2][1]
    before = combine(race, 0).held_out
    race.history.positive[test] = ~race.history.positive[test]
    after = combine(race, 0).held_out
    mine = before.fold == 2
    np.testing.assert_array_equal(before.log_odds[mine], after.log_odds[mine])
    assert not np.array_equal(before.log_odds[~mine], after.log_odds[~mine])


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_a_race_on_a_long_history_is_short(effort):
    long = Task(0.05, LONG[effort] + 1, False, None, effort, 0)
    models, left_out = contestants("auto", long)
    assert "extra trees take its place" in left_out["random forest"]
    forest = next(model.estimator for model in models if model.family == "extra trees")
    others, kept = contestants("auto", replace(long, n_rows=LONG[effort]))
    assert "random forest" not in kept
    other = next(model.estimator for model in others if model.family == "extra trees")
    assert forest.n_estimators < other.n_estimators
    # Whoever asks for it gets it, and more effort has it.
    assert "random forest" not in contestants(["random forest"], long)[1]
    assert "random forest" not in contestants("auto", replace(long, effort="thorough"))[1]


def test_trees_see_as_many_rows_in_a_fold_as_in_the_whole_history():
    models, _ = contestants("auto", Task(0.05, 50_000, False, None, "normal", 0))
    forest = next(model for model in models if model.family == "extra trees")
    for n_rows in (20_000, 50_000):
        for final in (False, True):
            sized = forest.for_rows(n_rows, final)
            assert sized.bootstrap
            assert sized.max_samples * n_rows == pytest.approx(10_000)
    assert forest.for_rows(10_000).max_samples is None
    assert models[0].for_rows(50_000) is models[0].estimator


@pytest.mark.parametrize("grouped", [False, True])
def test_long_histories_race_on_a_sample(monkeypatch, grouped):
    monkeypatch.setattr("shortlist.picking.job.RACE_ROWS", 150)
    groups = np.repeat(np.arange(60), 5) if grouped else None
    seen = []

    class Spy(Column):
        def fit(self, X, y, sample_weight=None):
            seen.append(len(X))
            return super().fit(X, y)

    found = pick(HISTORY, LABELS, HISTORY, 30, models={"logistic regression": Spy()}, groups=groups)
    assert seen[:5] == [120] * 5 if not grouped else sum(seen[:5]) == 600
    # The final fit sees every row.
    assert seen[5] == 300
    assert "of 150 rows; the final models learn from all 300" in found.settings["cv"]
    assert found.outlook.mass == 150
    assert found.n_history == 300


@pytest.mark.filterwarnings("ignore:The list is not better")
@pytest.mark.filterwarnings("ignore:k=")
def test_a_fold_without_positives_is_no_obstacle():
    y = np.zeros(300, bool)
    y[[3, 100, 200]] = True
    folds = [
        (np.arange(100, 300), np.arange(100)),
        (np.r_[0:100, 101:300], np.arange(150, 200)),
        (np.arange(200), np.arange(200, 300)),
    ]
    found = pick(HISTORY, y, HISTORY, 30, models={"a": Column(0), "b": Column(1)}, cv=folds)
    assert np.isfinite(found.scores).all()
    assert found.expected_hits.low <= found.expected_hits.value <= found.expected_hits.high


@pytest.mark.filterwarnings("ignore:The list is not better")
@pytest.mark.slow
def test_interval_covers_about_as_often_as_it_says():
    # Made data, where new candidates can be drawn at will: 60 histories of 250 rows.
    inside, bias = [], []
    models = {"logistic regression": Column(1)} | {f"column {j}": Column(j) for j in (0, 2, 3)}
    for seed in range(60):
        X, y = rows(250, 1000 + seed, strength=1.2)
        new, truth = rows(250, 5000 + seed, strength=1.2)
        found = pick(X, y, new, 40, models=models, features=FunctionTransformer())
        hits = truth[found.selected].sum()
        inside.append(found.expected_hits.low <= hits <= found.expected_hits.high)
        bias.append(found.expected_hits.value - hits)
    # Nominal 90 %; whole numbers make it a little more. Three standard errors either way.
    assert 0.78 <= np.mean(inside) <= 0.99
    # Columns of noise compete with the one that tells, and the forecast is not flattered; the
    # weights of the folds come from fewer rows, so it may be a little low.
    error = np.std(bias) / np.sqrt(len(bias))
    assert -1.0 - 3 * error < np.mean(bias) < 3 * error
