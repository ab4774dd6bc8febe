"""RankSVM as users meet it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oracles.ranking import objective, optimum
from shortlist import CollapsedWarning, RankSVM
from shortlist.metrics import pairwise_accuracy


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 4))
    y = np.round(X @ [1.0, -1.0, 0.5, 0.0] + random.normal(size=120), 1)
    return X, y, np.repeat(np.arange(12), 10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_published_sum(table, loss):
    X, y, qid = (a[:40] for a in table)
    power = 1 if loss == "hinge" else 2
    model = RankSVM(C=0.5, loss=loss, normalize=False, tol=1e-7).fit(X, y, qid=qid)
    value = objective(X, y, model.coef_[0], C=0.5, power=power, group=qid)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    best = optimum(X, y, C=0.5, power=power, group=qid, normalize=False)
    assert value == pytest.approx(best, rel=1e-6)


def test_scores_order_the_rows_and_score_is_the_metric(table):
    X, y, qid = table
    model = RankSVM().fit(X, y, qid=qid)
    accuracy = model.score(X, y, qid=qid)
    assert accuracy > 0.8
    assert accuracy == pairwise_accuracy(y, model.predict(X), qid=qid)
    assert accuracy != model.score(X, y)


def test_groups_are_not_compared(table):
    X, y, qid = table
    shifted = y + 1000.0 * qid
    np.testing.assert_array_equal(
        RankSVM().fit(X, y, qid=qid).coef_, RankSVM().fit(X, shifted, qid=qid).coef_
    )


def test_a_single_row_group_changes_nothing(table):
    X, y, qid = table
    alone = RankSVM(tol=1e-8).fit(X, y, qid=qid).coef_
    X2, y2, qid2 = np.vstack([X, np.full(4, 9.0)]), np.append(y, 3.0), np.append(qid, 99)
    with_extra = RankSVM(tol=1e-8).fit(X2, y2, qid=qid2).coef_
    np.testing.assert_allclose(with_extra, alone, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_multiplicities(table, kernel):
    X, y, qid = table
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"kernel": kernel, "max_rank_distance": 3, "tol": 1e-8}
    a = RankSVM(**options).fit(X, y, qid=qid, sample_weight=weight)
    b = RankSVM(**options).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-8)
    assert a.n_pairs_ == b.n_pairs_


def test_c_keeps_its_meaning_when_pairs_change():
    random = np.random.default_rng(2)
    X = random.normal(size=(600, 3))
    y = X @ [1.0, 0.5, 0.0] + random.normal(size=600)
    norms = {}
    for normalize in (True, False):
        lengths = [
            np.linalg.norm(
                RankSVM(C=1e-3, normalize=normalize).fit(X, y, qid=np.arange(600) % groups).coef_
            )
            for groups in (1, 30)
        ]
        norms[normalize] = lengths[0] / lengths[1]
    assert norms[True] == pytest.approx(1.0, abs=0.1)
    assert norms[False] > 1.3


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "tanimoto", "minmax", "chi2"])
def test_kernels(table, kernel):
    X, y, qid = table
    X = np.abs(X)
    model = RankSVM(kernel=kernel, tol=1e-5).fit(X, y, qid=qid)
    assert model.certificate_.status == "converged"
    assert model.dual_coef_.shape == (1, len(model.support_))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_precomputed_and_callable_equal_linear(table):
    X, y, qid = table
    weight = np.ones(len(y))
    weight[::7] = 0.0
    fits = {
        kernel: RankSVM(kernel=kernel, tol=1e-8).fit(
            X @ X.T if kernel == "precomputed" else X, y, qid=qid, sample_weight=weight
        )
        for kernel in ("linear", "precomputed", linear_kernel)
    }
    expected = fits["linear"].predict(X)
    for kernel, model in fits.items():
        got = model.predict(X @ X.T if kernel == "precomputed" else X)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, sparse.csr_array, np.asfortranarray])
def test_containers(table, make):
    X, y, qid = table
    if make in (pd.DataFrame, pl.DataFrame):
        columns = list("abcd")
        given = make(X, columns=columns) if make is pd.DataFrame else make(X, schema=columns)
    else:
        given = make(X)
    queries = np.array([f"q{q}" for q in qid])
    model = RankSVM().fit(given, y, qid=queries)
    np.testing.assert_allclose(model.coef_, RankSVM().fit(X, y, qid=qid).coef_, rtol=1e-8)
    if make in (pd.DataFrame, pl.DataFrame):
        assert list(model.feature_names_in_) == columns


def test_float32_rows_are_used_as_they_are(table):
    X, y, qid = table
    narrow = X.astype(np.float32)
    a = RankSVM(tol=1e-6).fit(narrow, y, qid=qid).coef_
    b = RankSVM(tol=1e-6).fit(narrow.astype(np.float64), y, qid=qid).coef_
    np.testing.assert_allclose(a, b, rtol=1e-9)


def test_max_rank_distance_keeps_near_pairs():
    y = np.arange(50.0)
    X = y[:, None]
    assert RankSVM(max_rank_distance=16).fit(X, y).n_pairs_ == sum(50 - k for k in range(1, 17))
    assert RankSVM(max_rank_distance=100).fit(X, y).n_pairs_ == 50 * 49 / 2


@pytest.mark.parametrize("C", [1e-3, 1e-8, 1e-30])
@pytest.mark.parametrize("solver", ["newton", "fw"])
def test_small_c_still_orders(table, C, solver):
    X, y, qid = table
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapsedWarning)
        model = RankSVM(C=C, solver=solver, tol=1e-3).fit(X, y, qid=qid)
    assert model.coef_.any()
    assert model.score(X, y, qid=qid) > 0.7


def test_zero_model_warns():
    X, y = np.array([[1.0], [1.0], [2.0], [2.0]]), [0, 1, 0, 1]
    with pytest.warns(CollapsedWarning, match=r"RankSVM\(C=1.0\) gave the zero model"):
        model = RankSVM().fit(X, y)
    assert model.certificate_.status == "converged"
    assert not model.coef_.any()


def test_stopping_short_warns(table):
    X, y, qid = table
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="relative duality gap"):
        RankSVM(solver="fw", C=100.0, max_iter=2).fit(X, y, qid=qid)


def test_grid_search_routes_the_groups(table):
    X, y, qid = table
    seen = []

    class Watched(RankSVM):
        def fit(self, X, y, qid=None, sample_weight=None):
            seen.append(set(qid))
            return super().fit(X, y, qid=qid, sample_weight=sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = Watched(tol=1e-3).set_fit_request(qid=True).set_score_request(qid=True)
        model = make_pipeline(StandardScaler(), ranker)
        search = GridSearchCV(model, {"watched__C": [0.01, 1.0]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
        # In scikit-learn 1.6 a search does not route to score.
        routes = not sklearn.__version__.startswith("1.6.")
        accuracy = (search if routes else search.best_estimator_).score(X, y, qid=qid)
    assert accuracy > 0.8
    assert {len(groups) for groups in seen[:-1]} == {8}
    assert seen[-1] == set(qid)


def test_nothing_given_is_changed(table):
    X, y, qid = (a.copy() for a in table)
    for array in (X, y, qid):
        array.setflags(write=False)
    RankSVM().fit(X, y, qid=qid, sample_weight=np.ones(len(y)))
    K = X @ X.T
    K.setflags(write=False)
    RankSVM(kernel="precomputed").fit(K, y, qid=qid)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must be a finite number greater than 0"),
        ({"loss": "log"}, "loss must be one of"),
        ({"kernel": "cubic"}, "kernel must be a callable or one of"),
        ({"solver": "smo"}, "solver='smo' cannot be used"),
        ({"solver": "fw", "loss": "squared_hinge"}, "solver='fw' cannot be used"),
        ({"max_rank_distance": 0}, "max_rank_distance must be an integer at least 1"),
        ({"pairwise_features": "exterior_product"}, "pairwise_features must be one of"),
        ({"cache_size": -1}, "cache_size must be"),
    ],
)
def test_bad_parameters_are_named(table, options, message):
    X, y, _ = table
    with pytest.raises(ValueError, match=message):
        clone(RankSVM(**options)).fit(X, y)


def test_bad_data_is_named(table):
    X, y, qid = table
    with pytest.raises(ValueError, match="There is no pair to order"):
        RankSVM().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="There is no pair to order"):
        RankSVM().fit(X, y, qid=np.arange(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RankSVM().fit(X, y, qid=qid[:-1])
    with pytest.raises(ValueError, match="needs a square matrix"):
        RankSVM(kernel="precomputed").fit(X, y)
