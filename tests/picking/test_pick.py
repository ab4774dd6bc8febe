"""The whole call: what it returns, and that it is what a slow count says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shortlist
from drawing import draws
from shortlist import pick
from shortlist.datasets import load_tumours

from .made import Column, quick, rows, slow_share

HISTORY, LABELS = rows(200, 0)
NEW, TRUTH = rows(90, 1)


@pytest.fixture(scope="module")
def found():
    return pick(HISTORY, LABELS, NEW, 15, models=quick())


def test_the_list_is_the_best_of_the_scores(found):
    assert found.k == len(found.selected) == 15
    np.testing.assert_array_equal(found.selected, np.argsort(-found.scores, kind="stable")[:15])
    np.testing.assert_allclose(found.scores, found.model.decision_function(NEW))
    assert TRUTH[found.selected].mean() > 2 * TRUTH.mean()
    assert (found.n_candidates, found.n_history, found.n_positive) == (90, 200, LABELS.sum())


def on_folds(found, name):
    """Hits that the folds alone promise a list of this length."""
    return found.outlook.hits(found.outlook.find(name), found.k)[0]


def test_expected_hits_are_the_slow_count_over_the_folds(found):
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(HISTORY, LABELS)
    shares, weight = [], []
    for train, test in folds:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        scores = model.fit(HISTORY[train], LABELS[train]).decision_function(HISTORY[test])
        shares.append(slow_share(LABELS[test], scores, np.ones(len(test)), 15 / 90))
        weight.append(len(test))
    slow = 90 * np.average(shares, weights=weight)
    assert on_folds(found, found.baseline) == pytest.approx(slow)
    # The comparison is in the unit of the forecast: the same ratio.
    ratio = slow / on_folds(found, found.winner)
    base, best = found.comparison.baseline.hits, found.comparison.winner.hits
    assert base / best == pytest.approx(ratio)


def test_intervals_and_forecast_fit_together(found):
    line, expected = found.forecast, found.expected_hits
    assert line.budgets[0] == 1
    assert line.budgets[-1] == 90
    assert np.all(np.diff(line.budgets) > 0)
    at = np.searchsorted(line.budgets, 15)
    assert line.budgets[at] == 15
    assert line.hits[at] == expected.value
    # Hits are whole numbers.
    assert abs(line.low[at] - expected.low) <= 0.5
    assert abs(line.high[at] - expected.high) <= 0.5
    assert expected.confidence == 0.9
    assert np.all((line.low <= line.hits + 1e-9) & (line.hits <= line.high + 1e-9))
    assert np.all(np.diff(line.hits) >= -1e-9)
    # The sum of the probabilities of the list.
    np.testing.assert_allclose(
        line.hits, np.cumsum(np.sort(found.probability)[::-1])[line.budgets - 1]
    )
    # Whoever takes everything finds every positive, whatever the model.
    assert line.hits[-1] == pytest.approx(90 * LABELS.mean(), rel=0.25)
    np.testing.assert_allclose(line.precision, line.hits / line.budgets)


def test_comparison_is_paired_and_sorted(found):
    entries = list(found.comparison)
    assert {entry.name for entry in entries} == {"combination", "logistic regression", *quick()}
    assert [entry.is_winner for entry in entries] == [True, False, False, False]
    assert [e.hits for e in entries[1:]] == sorted((e.hits for e in entries[1:]), reverse=True)
    assert sum(entry.weight for entry in entries[1:]) == pytest.approx(1.0)
    total = found.probability[found.selected].sum()
    assert found.expected_hits.value == pytest.approx(total)
    baseline = found.comparison.baseline
    for entry in entries:
        assert entry.difference == pytest.approx(entry.hits - baseline.hits)
    frame = found.comparison.to_frame()
    assert list(frame["name"]) == [entry.name for entry in entries]
    lines = str(found.comparison).splitlines()
    assert lines[0].split()[0] == "model"
    assert len({len(line) for line in lines[: 1 + len(entries)]}) == 1


def test_another_budget_without_a_fit(found):
    wide = found.at(40)
    fresh = pick(HISTORY, LABELS, NEW, 40, models={})
    assert wide.k == len(wide.selected) == 40
    assert wide.model is found.model
    assert on_folds(wide, wide.baseline) == pytest.approx(on_folds(fresh, fresh.baseline))
    assert "weighed for a budget of 15" in wide.verdict
    assert found.at(15).verdict == found.verdict
    assert found.at(0.5).k == 45
    with pytest.raises(ValueError, match=r"k=91 is more than the 90 candidates"):
        found.at(91)


def test_list_as_a_frame(found):
    frame = found.to_frame(NEW)
    assert list(frame.columns) == ["rank", "row", "score", "probability", "x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(frame["row"], found.selected)
    np.testing.assert_array_equal(frame["x0"], NEW[found.selected, 0])
    assert list(found.to_frame()) == ["rank", "row", "score", "probability"]
    pd = pytest.importorskip("pandas")
    named = pd.DataFrame(NEW, columns=["score", "b", "c", "d"], index=np.arange(90) + 500)
    clash = found.to_frame(named)
    assert list(clash)[:5] == [
        "list_rank",
        "list_row",
        "list_score",
        "list_probability",
        "score",
    ]
    np.testing.assert_array_equal(clash["score"], NEW[found.selected, 0])


def test_plot_draws_forecast_interval_and_budget(found):
    pytest.importorskip("matplotlib").use("Agg")
    ax = found.plot()
    labels = ax.get_legend_handles_labels()[1]
    assert found.winner in labels
    assert "90 % interval" in labels
    assert "k = 15" in labels
    assert found.plot(ax) is ax


def test_it_can_be_stored_and_read(found):
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.selected, found.selected)
    assert again.at(30).verdict == found.at(30).verdict
    assert "15 of 90 candidates" in repr(found)
    assert found.verdict in str(found)


def test_held_out_rows_are_each_there_once(found):
    labels, scores, weight = found.held_out
    assert len(labels) == len(scores) == 200
    assert labels.sum() == LABELS.sum()
    assert weight.sum() == 200
    rows = found.held_out_rows
    np.testing.assert_array_equal(np.sort(rows.row), np.arange(200))
    np.testing.assert_array_equal(rows.positive, LABELS[rows.row])
    assert rows.first == 5
    # As many hits at the budget, fold by fold, as the forecast says.
    shares = [
        slow_share(*(part[rows.fold == fold] for part in (rows.positive, rows.log_odds)),
                   np.ones(40), 15 / 90)
        for fold in range(5)
    ]  # fmt: skip
    assert on_folds(found, found.winner) == pytest.approx(90 * np.mean(shares))
    # Log odds: their probabilities add up to the positives, about.
    assert (1 / (1 + np.exp(-scores))).sum() == pytest.approx(LABELS.sum(), rel=0.15)


def test_settings_repeat_the_call(found):
    again = pick(HISTORY, LABELS, NEW, 15, models=quick(), random_state=found.settings["seed"])
    np.testing.assert_array_equal(again.scores, found.scores)
    assert again.verdict == found.verdict
    assert found.settings["versions"]["shortlist"] == shortlist.__version__
    weights = found.model[-1].weights_
    assert found.settings["n_fits"] == 15 + sum(weight != 0 for weight in weights.values())
    drawn = pick(HISTORY, LABELS, NEW, 15, models={}, random_state=np.random.RandomState(5))
    same = pick(HISTORY, LABELS, NEW, 15, models={}, random_state=drawn.settings["seed"])
    assert same.expected_hits == drawn.expected_hits


def test_jobs_do_not_change_the_result(found):
    again = pick(HISTORY, LABELS, NEW, 15, models=quick(), n_jobs=2)
    np.testing.assert_array_equal(again.selected, found.selected)
    assert again.expected_hits == found.expected_hits


def test_progress_is_told():
    calls = []
    pick(HISTORY, LABELS, NEW, 15, models=quick(), progress=lambda *call: calls.append(call))
    done, total, messages = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert set(total) == {15}
    assert done[-1] == 15
    assert "fold 5 of 5" in messages[-1]


def test_nothing_that_was_passed_changes():
    X, y, new, weight = HISTORY.copy(), LABELS.copy(), NEW.copy(), np.full(200, 2.0)
    X[3, 1] = np.nan
    models = quick()
    kept = X.copy()
    pick(X, y, new, 15, models=models, sample_weight=weight)
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_array_equal(y, LABELS)
    np.testing.assert_array_equal(new, NEW)
    np.testing.assert_array_equal(weight, 2.0)
    assert not hasattr(models["weak"], "coef_")


def test_default_models_all_take_part():
    X, y = load_tumours()
    found = pick(X[:200], y[:200], X[200:], 0.1, effort="quick")
    families = {entry.family for entry in found.comparison}
    boosting = {"LightGBM", "gradient boosting"}
    assert families - boosting == {
        "combination",
        "logistic regression",
        "extra trees",
        "random forest",
        "PatMat rbf",
        "SVC rbf",
    }
    assert len(families & boosting) == 1
    assert set(found.comparison.left_out) <= boosting | {"PatMat of sets"}
    assert y[200:][found.selected].mean() > 0.95
    assert "a combination of" in found.verdict
    assert "logistic regression" in found.verdict
    stack = found.model[-1]
    assert sum(stack.weights_.values()) == pytest.approx(1.0)
    assert len(stack.estimators_) == sum(weight != 0 for weight in stack.weights_.values())


def test_time_order_learns_from_the_past_only():
    found = pick(HISTORY, LABELS, NEW, 15, models=quick(), cv=TimeSeriesSplit(4))
    labels, _, _ = found.held_out
    assert len(labels) == 160
    np.testing.assert_array_equal(labels, LABELS[40:])
    assert "TimeSeriesSplit" in found.settings["cv"]


def test_groups_stay_together():
    groups = np.repeat(np.arange(40), 5)
    seen = []

    class Spy(Column):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(np.asarray(X)[:, 0]))
            return super().fit(X, y)

        def decision_function(self, X):
            parts = set(np.asarray(X)[:, 0])
            assert len(parts) > 20 or not parts & seen[-1]
            return np.asarray(X)[:, 1]

    from sklearn.preprocessing import FunctionTransformer

    X = np.column_stack([groups, HISTORY[:, 0]])
    new = np.column_stack([np.arange(90) + 1000, NEW[:, 0]])
    models = {"logistic regression": Spy()}
    found = pick(X, LABELS, new, 15, models=models, groups=groups, features=FunctionTransformer())
    assert len(seen) == 6
    assert "grouped" in found.settings["cv"]


def test_weight_zero_is_a_row_gone():
    weight = np.ones(200)
    weight[::7] = 0.0
    kept = weight > 0
    weighted = pick(HISTORY, LABELS, NEW, 15, models=quick(), sample_weight=weight)
    without = pick(HISTORY[kept], LABELS[kept], NEW, 15, models=quick())
    assert weighted.n_history == kept.sum()
    np.testing.assert_allclose(weighted.scores, without.scores, atol=1e-6)
    assert weighted.expected_hits.value == pytest.approx(without.expected_hits.value)


def test_equal_weights_change_the_size_of_the_history_only():
    models = {"logistic regression": Column(0), "second": Column(1)}
    plain = pick(HISTORY, LABELS, NEW, 15, models=models)
    double = pick(HISTORY, LABELS, NEW, 15, models=models, sample_weight=np.full(200, 2))
    np.testing.assert_array_equal(plain.selected, double.selected)
    assert double.n_positive == 2 * plain.n_positive
    assert on_folds(double, double.baseline) == pytest.approx(on_folds(plain, plain.baseline))


@pytest.mark.parametrize("scoring", ["average_precision", "precision_at_20%", make_scorer(
    roc_auc_score, response_method="decision_function")])  # fmt: skip
def test_another_scoring_decides(scoring):
    models = {"logistic regression": Column(2), "good": Column(0)}
    found = pick(HISTORY, LABELS, NEW, 15, models=models, scoring=scoring)
    assert found.winner == "good"
    weighted = pick(
        HISTORY, LABELS, NEW, 15, models=models, scoring=scoring, sample_weight=np.ones(200)
    )
    assert weighted.winner == "good"
    assert str(scoring) in found.settings["scoring"]


@draws(10)
@given(
    st.integers(0, 10_000),
    st.integers(12, 60),
    st.integers(1, 40),
    st.sampled_from(["plain", "ties", "constant", "huge", "tiny", "missing", "sparse"]),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_problem_gives_a_valid_list(seed, n, m, kind):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    y = rng.random(n) < rng.uniform(0.05, 0.95)
    y[:2], y[2:4] = True, False
    if kind == "ties":
        X, new = X.round(), new.round()
    elif kind == "constant":
        X[:, 1] = new[:, 1] = 7.0
    elif kind in ("huge", "tiny"):
        X, new = (part * (1e150 if kind == "huge" else 1e-150) for part in (X, new))
    elif kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
        new[rng.random(new.shape) < 0.2] = np.nan
    elif kind == "sparse":
        X, new = sparse.csr_array(X), sparse.csr_array(new)
    k = int(rng.integers(1, m + 1))
    found = pick(X, y, new, k, models=quick(), repeats=1)
    assert len(set(found.selected.tolist())) == k
    last = found.scores[found.selected].min()
    others = np.delete(found.scores, found.selected)
    assert np.all(others <= last)
    e = found.expected_hits
    assert 0 <= e.low <= e.value + 0.5
    assert e.value - 0.5 <= e.high <= k
