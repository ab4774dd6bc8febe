"""Lazy predict: the same values as in memory, computed where the rows are."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import shortlist
from shortlist.dask._lazy import LazyClassifier, lazily


class Lazy(LazyClassifier, shortlist.TopPush):
    pass


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    y = np.where(X[:, 0] + 0.4 * random.normal(size=120) > 1.0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def model(rows):
    return Lazy(k=4).fit(*rows)


def arrays(X):
    dense = da.from_array(X, chunks=(50, 2))
    yield dense
    yield dense.astype(np.float32)
    yield dense.map_blocks(sparse.csr_matrix)
    yield dense.map_blocks(sparse.csc_array)
    yield da.concatenate([dense[:50], dense[:0], dense[50:]])


def test_arrays_give_lazy_arrays_with_the_values_of_memory(rows, model):
    X, _ = rows
    for lazy in arrays(X):
        scores, labels = model.decision_function(lazy), model.predict(lazy)
        assert isinstance(scores, da.Array)
        assert scores.shape == labels.shape == (len(X),)
        assert scores.dtype == np.float64
        assert labels.dtype == model.classes_.dtype
        np.testing.assert_allclose(scores.compute(), model.decision_function(X), rtol=1e-5)
        assert (labels.compute() == model.predict(X)).mean() > 0.99


def test_chunks_of_unknown_length(rows, model):
    X, _ = rows
    lazy = da.from_array(X, chunks=(17, 5))
    kept = lazy[lazy[:, 1] > 0.0]
    np.testing.assert_allclose(
        model.decision_function(kept).compute(), model.decision_function(X[X[:, 1] > 0.0])
    )


def test_frames_give_series_with_their_index(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) * 3)
    model = Lazy(k=4).fit(frame, y)
    lazy = dd.from_pandas(frame, npartitions=4)
    scores = model.decision_function(lazy)
    assert scores.divisions == lazy.divisions
    pd.testing.assert_series_equal(
        scores.compute(), pd.Series(model.decision_function(frame), index=frame.index)
    )
    assert (model.predict(lazy).compute() == model.predict(frame)).all()
    assigned = lazy.assign(score=scores).compute()
    np.testing.assert_allclose(assigned["score"], model.decision_function(frame))


def test_rows_of_memory_stay_in_memory(rows, model):
    X, _ = rows
    assert isinstance(model.predict(X), np.ndarray)
    assert isinstance(model.decision_function(sparse.csr_array(X)), np.ndarray)


def test_accuracy_is_that_of_memory(rows, model):
    X, y = rows
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    lazy, labels = da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50)
    assert model.score(lazy, labels) == pytest.approx(model.score(X, y))
    weighted = model.score(lazy, labels, da.from_array(weight, chunks=50))
    assert weighted == pytest.approx(model.score(X, y, weight))
    assert weighted != model.score(X, y)


def test_features_are_checked_before_anything_is_computed(rows, model):
    X, y = rows
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(da.from_array(X[:, :4]))
    with pytest.raises(ValueError, match="two-dimensional"):
        model.predict(da.from_array(X[:, 0]))
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = Lazy(k=4).fit(frame, y)
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        named.predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=2))


def test_any_estimator_can_be_applied(rows):
    from sklearn.linear_model import LogisticRegression

    X, y = rows
    model = LogisticRegression().fit(X, y == "yes")
    lazy = lazily(model, "decision_function", da.from_array(X, chunks=(50, 5)), float)
    np.testing.assert_allclose(lazy.compute(), model.decision_function(X))
