"""The first k of all partitions against the first k of memory."""

import pickle
import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import shortlist
from shortlist.dask import BudgetClassifier, RankSVM

pytestmark = pytest.mark.usefixtures("local")


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(150, 3)), 1)
    y = np.where(X[:, 0] + 0.4 * random.normal(size=150) > 0.8, "bad", "good")
    return X, y, LogisticRegression().fit(X, y)


def lazy_rows(X, y, step=40):
    return da.from_array(X, chunks=(step, 2)), da.from_array(y, chunks=step)


@pytest.mark.parametrize("pos_label", [None, "bad"])
@pytest.mark.parametrize("budget", [{"k": 1}, {"k": 17}, {"k": 500}, {"fraction": 0.21}])
@pytest.mark.filterwarnings("ignore:.*rows were left out")
def test_labels_are_those_of_one_batch_in_memory(rows, budget, pos_label):
    X, y, scorer = rows
    frozen = FrozenEstimator(scorer)
    here = shortlist.BudgetClassifier(frozen, **budget, pos_label=pos_label).fit(X, y)
    there = BudgetClassifier(frozen, **budget, pos_label=pos_label).fit(*lazy_rows(X, y))
    np.testing.assert_array_equal(there.classes_, here.classes_)
    want = here.predict(X)
    dense, _ = lazy_rows(X, y)
    empty = da.concatenate([dense[:40], dense[:0], dense[40:]])
    for lazy in (dense, empty, dense.map_blocks(sparse.csr_matrix), dense.rechunk((7, 3))):
        labels = there.predict(lazy)
        assert isinstance(labels, da.Array)
        assert labels.shape == (150,)
        np.testing.assert_array_equal(labels.compute(), want)
    np.testing.assert_array_equal(there.predict(X), want)
    unknown = dense[dense[:, 0] > -9.0]
    np.testing.assert_array_equal(there.predict(unknown).compute(), want)
    np.testing.assert_allclose(
        there.decision_function(dense).compute(), here.decision_function(X), rtol=1e-12
    )
    assert there.score(*lazy_rows(X, y)) == pytest.approx(here.score(X, y))


@pytest.mark.filterwarnings("ignore:.*rows were left out")
def test_frames_keep_their_index(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(150) * 2)
    scorer = FrozenEstimator(LogisticRegression().fit(frame, y))
    lazy = dd.from_pandas(frame, npartitions=4)
    target = dd.from_pandas(pd.Series(y, index=frame.index), npartitions=4)
    model = BudgetClassifier(scorer, k=9, pos_label="bad").fit(lazy, target)
    assert model.feature_names_in_.tolist() == list("abc")
    labels = model.predict(lazy)
    assert labels.divisions == lazy.divisions
    computed = labels.compute()
    assert computed.index.tolist() == frame.index.tolist()
    assert (computed == "bad").sum() == 9
    np.testing.assert_array_equal(computed, model.predict(frame))


def test_a_tie_at_the_cut_is_reported_when_labels_are_computed():
    X = da.zeros((30, 1), chunks=(7, 1))
    y = np.arange(30) % 2
    scorer = FrozenEstimator(LogisticRegression().fit(np.zeros((30, 1)), y))
    labels = BudgetClassifier(scorer, k=4).fit(X, da.from_array(y, chunks=7)).predict(X)
    with pytest.warns(UserWarning, match="26 rows were left out .* of the 4 taken"):
        np.testing.assert_array_equal(labels.compute(), np.arange(30) < 4)


def test_scorers_of_the_package_are_fitted_where_the_rows_are(rows):
    X, y, _ = rows
    qid = np.arange(150) // 40
    here = shortlist.BudgetClassifier(shortlist.RankSVM(tol=1e-7), k=10, pos_label="bad")
    here.fit(X, y, qid=qid)
    there = BudgetClassifier(RankSVM(tol=1e-7), k=10, pos_label="bad")
    lazy, target = lazy_rows(X, y)
    there.fit(lazy, target, qid=da.from_array(qid, chunks=40))
    np.testing.assert_allclose(there.estimator_.coef_, here.estimator_.coef_, rtol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(there.predict(lazy).compute(), here.predict(X))
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(there)).predict(X), there.predict(X)
        )


def test_a_threshold_of_memory_labels_row_by_row(rows):
    X, y, scorer = rows
    model = BudgetClassifier(FrozenEstimator(scorer), fpr=0.1, pos_label="bad").fit(X, y)
    lazy, _ = lazy_rows(X, y)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))


def test_errors_say_what_to_do(rows):
    X, y, scorer = rows
    lazy, target = lazy_rows(X, y)
    frozen = FrozenEstimator(scorer)
    with pytest.raises(ValueError, match=r"fpr=0.1 learns a threshold .*FrozenEstimator"):
        BudgetClassifier(frozen, fpr=0.1).fit(lazy, target)
    with pytest.raises(ValueError, match="Exactly one of k, fraction"):
        BudgetClassifier(frozen).fit(lazy, target)
    with pytest.raises(ValueError, match="Only binary classification"):
        BudgetClassifier(frozen, k=3).fit(lazy, da.arange(150, chunks=40))
    with pytest.raises(ValueError, match=r"confidence=0.9 has no meaning with k"):
        BudgetClassifier(frozen, k=3, confidence=0.9).fit(lazy, target)
    with pytest.raises(ValueError, match="expecting 3 features"):
        BudgetClassifier(frozen, k=3).fit(lazy, target).predict(lazy[:, :2])
