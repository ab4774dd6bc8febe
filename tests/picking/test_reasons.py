"""Reasons: exact where they can be, within their stated error where not, and in words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oracles.shapley import shapley_values
from picking.made import rows
from shortlist import pick
from shortlist.picking.race.models import Task, as_numbers
from shortlist.picking.reasons.reasons import cell_text, in_words

LINEAR = {"logistic regression": LogisticRegression(), "weak": LogisticRegression(C=1e-3)}


def trees():
    return {
        "trees": ExtraTreesClassifier(20, min_samples_leaf=5, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    }


def distance(found):
    return found.scores[found.selected] - found.scores.mean()


def planted(n, seed, causes=3, d=8):
    """Hits that stand out in one column each."""
    rng = np.random.default_rng(seed)
    X, cause, hit = rng.normal(size=(n, d)), rng.integers(causes, size=n), rng.random(n) < 0.1
    X[hit, cause[hit]] += 4.0
    return X, hit, cause


@pytest.fixture(scope="module")
def mixed():
    X, y = rows(500, 0)
    return pick(X, y, rows(300, 1)[0], 20, models=trees(), cv=3, repeats=1)


RANKED = Task(0.1, 400, False, None, "normal", 0).ranked


@pytest.mark.parametrize(
    ("models", "features"),
    [(LINEAR, None), ({name: RANKED(model) for name, model in LINEAR.items()}, as_numbers())],
    ids=["numbers", "ranks"],
)
def test_a_linear_combination_is_explained_exactly(models, features):
    X, y = rows(400, 0, d=5)
    X[::7, 1] = np.nan
    candidates = rows(150, 1, d=5)[0]
    candidates[::5, 1] = np.nan
    found = pick(X, y, candidates, 15, models=models, features=features, cv=3, repeats=1)
    told = found.explained
    assert np.abs(told.value.sum(axis=1) - distance(found)).max() < 1e-9
    assert not told.error.any()
    for place in (0, 7):
        exact = shapley_values(
            found.model.decision_function, candidates[found.selected[place]], candidates
        )
        assert np.abs(told.value[place] - exact).max() < 1e-9


def test_sampled_values_keep_their_stated_error(mixed):
    told, candidates = mixed.explained, rows(300, 1)[0]
    assert np.abs(told.value.sum(axis=1) - distance(mixed)).max() < 1e-9
    exact = np.array(
        [
            shapley_values(mixed.model.decision_function, candidates[row], candidates)
            for row in mixed.selected[:10]
        ]
    )
    wrong = np.abs(told.value[:10] - exact)
    assert (wrong <= told.error[:10] + 1e-12).mean() >= 0.9
    assert wrong.max() < 0.3 * np.abs(exact).max()
    assert told.error.any()


def test_the_same_seed_gives_the_same_reasons(mixed):
    X, y = rows(500, 0)
    again = pick(X, y, rows(300, 1)[0], 20, models=trees(), cv=3, repeats=1)
    assert np.array_equal(again.explained.value, mixed.explained.value)


def test_planted_causes_come_first():
    X, y, _ = planted(1500, 0)
    candidates, hit, cause = planted(1500, 1)
    found = pick(X, y, candidates, 60, models=trees(), cv=3, repeats=1)
    told = found.reasons(1)
    first = told["column"].str[1:].astype(int).to_numpy()
    real = hit[found.selected]
    assert real.sum() > 40
    assert (first[real] == cause[found.selected][real]).mean() >= 0.95


def test_the_frame(mixed):
    told = mixed.reasons(2)
    assert list(told.columns[:6]) == ["row", "rank", "reason", "column", "value", "contribution"]
    assert len(told) == 40
    assert told["row"].iloc[::2].tolist() == mixed.selected.tolist()
    candidates = rows(300, 1)[0]
    one = told.iloc[6]
    assert one["value"] == candidates[one["row"], int(one["column"][1:])]
    sizes = told["contribution"].abs().to_numpy().reshape(-1, 2)
    assert (sizes[:, 0] >= sizes[:, 1]).all()
    with pytest.raises(ValueError, match="n=0"):
        mixed.reasons(0)


def shops(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "amount": rng.gamma(2.0, 20.0, n),
            "country": rng.choice(["FR", "DE", "PT"], n, p=[0.7, 0.2, 0.1]),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    hit = rng.random(n) < np.where(frame["country"] == "PT", 0.8, 0.05)
    return frame, hit


def test_an_encoded_category_is_one_reason():
    frame, hit = shops(600, 0)
    candidates, _ = shops(300, 1)
    found = pick(frame, hit, candidates, 15, models=trees(), cv=3, repeats=1)
    told = found.reasons(3)
    assert set(told["column"]) <= {"amount", "country", "when"}
    first = told[told["reason"] == 1]
    assert (first["column"] == "country").all()
    assert set(first["value"]) == {"PT"}
    assert set(first["usual"]) == {"FR"}
    assert np.abs(found.explained.value.sum(axis=1) - distance(found)).max() < 1e-9


def test_features_that_mix_columns_are_explained_by_the_columns():
    X, y = rows(300, 0)
    candidates = rows(120, 1)[0]
    features = make_pipeline(StandardScaler(), PCA(2))
    found = pick(X, y, candidates, 6, models=LINEAR, features=features, cv=3, repeats=1)
    told = found.explained
    assert told.value.shape == (6, 4)
    assert np.abs(told.value.sum(axis=1) - distance(found)).max() < 1e-9
    exact = shapley_values(found.model.decision_function, candidates[found.selected[0]], candidates)
    assert (np.abs(told.value[0] - exact) <= told.error[0] + 1e-9).mean() >= 0.75


@pytest.mark.parametrize("models", [LINEAR, trees()], ids=["linear", "trees"])
def test_sparse_and_dense_rows_give_the_same_sums(models):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 12)) * (rng.random((400, 12)) < 0.3)
    y = X[:, 0] + 0.3 * rng.normal(size=400) > 0.4
    if "boosting" in models:
        models = {"trees": models["trees"]}
    parts = sparse.csr_matrix(X[:250]), y[:250], sparse.csr_matrix(X[250:])
    found = pick(*parts, 10, models=models, cv=3, repeats=1)
    told = found.explained
    assert np.abs(told.value.sum(axis=1) - distance(found)).max() < 1e-9
    assert (np.abs(told.value).argmax(axis=1) == 0).mean() > 0.7


def test_candidates_that_stream_are_explained_alike():
    X, y = rows(300, 0)
    candidates = rows(100, 1)[0]
    whole = pick(X, y, candidates, 8, models=LINEAR, cv=3, repeats=1)
    streamed = pick(
        X, y, lambda: iter(np.array_split(candidates, 3)), 8, models=LINEAR, cv=3, repeats=1
    )
    assert np.allclose(whole.explained.value, streamed.explained.value, atol=1e-12)
    same = ["row", "rank", "reason", "column", "value"]
    assert whole.reasons()[same].equals(streamed.reasons()[same])


def test_another_budget_explains_its_own_rows(mixed):
    longer = mixed.at(30)
    assert len(longer.explained.rows) == 30
    assert len(mixed.explained.rows) == 20


def test_the_list_rests_on_the_column_that_tells():
    X, y = rows(400, 0)
    frame = pd.DataFrame(X, columns=["tells", "b", "c", "d"])
    found = pick(frame, y, frame[:100], 10, models=LINEAR, cv=3, repeats=1)
    worth = found.importance()
    assert list(worth.columns) == ["column", "hits_lost", "low", "high"]
    assert worth["column"][0] == "tells"
    assert worth["low"][0] > 0
    assert set(worth["column"]) == set(frame.columns)
    assert (worth["low"] <= worth["hits_lost"]).all()
    assert (worth["hits_lost"][1:].abs() < 0.5 * worth["hits_lost"][0]).all()
    sparsely = pick(
        sparse.csr_matrix(X), y, sparse.csr_matrix(X[:100]), 10, models=LINEAR, cv=3, repeats=1
    )
    assert sparsely.importance()["column"][0] == "x0"


def test_words():
    assert in_words("amount", 4310, 35, 1.94) == "amount 4,310 (usually 35): +1.9"
    assert in_words("x", np.nan, 1.0, -0.2) == "x is missing (usually 1): -0.20"
    assert in_words("x", "a", "a", 0.5) == "x a: +0.50"
    assert cell_text(np.datetime64("2024-05-01T00:00:00")) == "2024-05-01"
    assert cell_text(True) == "yes"
    assert len(cell_text("long " * 30)) == 40
