"""Clusters of look-alikes and the limits on them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from shortlist import pick
from shortlist.picking.terms.clusters import cluster_rows

RNG = np.random.default_rng(0)
CENTRES = 30.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]])
PLACE = RNG.integers(0, 6, 400)
X = CENTRES[PLACE] + RNG.normal(size=(400, 3))
Y = RNG.random(400) < np.array([0.9, 0.2, 0.2, 0.1, 0.1, 0.1])[PLACE]
MODELS = {"logistic regression": LogisticRegression()}


def test_clusters_are_those_of_the_features_and_shared_with_the_history():
    past, now = cluster_rows(X[:250], None, X[250:], 6, None, 0)
    for found, place in ((past, PLACE[:250]), (now, PLACE[250:])):
        assert len({(a, b) for a, b in zip(found, place, strict=True)}) == 6


@pytest.mark.parametrize("kind", ["sparse", "bits", "frame", "missing"])
def test_rows_of_any_kind(kind):
    rows = X.copy()
    if kind == "missing":
        rows[::7, 0] = np.nan
    elif kind == "bits":
        rows = (RNG.random((400, 60)) < 0.1).astype(float)
    elif kind == "sparse":
        rows = sparse.csr_matrix(np.where(X > 2, X, 0.0))
    elif kind == "frame":
        rows = pd.DataFrame({"a": X[:, 0], "b": np.array(list("abcdef"))[PLACE]})
    cut = rows.iloc if kind == "frame" else rows
    past, now = cluster_rows(cut[:250], None, cut[250:], 5, None, 0)
    assert (past.shape, now.shape) == ((250,), (150,))
    assert 1 < len(set(now)) <= 5


def test_a_list_takes_a_few_of_each_and_says_the_price():
    free = pick(X[:250], Y[:250], X[250:], 12, models=MODELS)
    found = pick(X[:250], Y[:250], X[250:], 12, models=MODELS, clusters=6, limits={"cluster": 3})
    _, now = cluster_rows(X[:250], Y[:250], X[250:], 6, None, 0)
    assert np.bincount(now[found.selected]).max() <= 3 < np.bincount(now[free.selected]).max()
    assert found.expected_hits.value < free.expected_hits.value
    chance = found.probability
    cost = chance[free.selected].sum() - chance[found.selected].sum()
    assert found.expected_gain.limits_cost == pytest.approx(cost)
    assert "The limits cost" in found.verdict


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"clusters": 5}, "clusters limits nothing by itself"),
        ({"clusters": 1, "limits": {"cluster": 2}}, "clusters must be"),
        ({"clusters": 500, "limits": {"cluster": 2}}, "more than the 150 candidates"),
        ({"clusters": 5, "limits": {"cluster": {"a": 2}}}, "clusters have no names"),
    ],
)
def test_mistakes_are_named(said, words):
    with pytest.raises(ValueError, match=words):
        pick(X[:250], Y[:250], X[250:], 12, models=MODELS, **said)


def test_candidates_that_stream_have_no_clusters():
    with pytest.raises(ValueError, match="needs all candidates at once"):
        pick(
            X[:250],
            Y[:250],
            lambda: iter([X[250:]]),
            12,
            models=MODELS,
            clusters=5,
            limits=[("cluster", 2)],
        )
