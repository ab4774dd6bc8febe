"""What a fitted kernel model keeps, how it scores, and warm starts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from contract import checks
from kernel_data import random_data
from shortlist import CollapsedWarning, PatMat, TopPush
from shortlist.rows.gaussian import GaussianEntries
from shortlist.top import classifier as module


@checks(
    TopPush(kernel="rbf"),
    TopPush(0.3, kernel="rbf", loss="hinge"),
    TopPush(kernel="precomputed"),
)
def test_estimator(estimator, check):
    check(estimator)


def test_only_support_vectors_are_kept(monkeypatch):
    X, y = random_data(n=120)
    model = PatMat(0.1, kernel="rbf", gamma=0.3).fit(X, y)
    assert 0 < len(model.support_) < len(y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert not hasattr(model, "coef_")
    expected = rbf_kernel(X, X[model.support_], gamma=0.3) @ model.dual_coef_[0]
    whole = model.decision_function(X)
    np.testing.assert_allclose(whole, expected - model.quantile_, atol=1e-10)
    monkeypatch.setattr(module, "_SLICE_BYTES", 8 * 7 * len(model.support_))
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    assert len(pickle.dumps(model)) < 200 * len(model.support_) + 20_000


def test_storage_does_not_matter():
    X, y = random_data(n=80)
    X[np.abs(X) < 0.5] = 0.0
    labels = np.where(y, "yes", "no")
    # A relative gap of 1e-11 leaves scores to about 1e-6: its root.
    reference = TopPush(kernel="rbf", tol=1e-11).fit(X, labels)
    scores = reference.decision_function(X)
    frames = [
        (sparse.csr_array(X), sparse.csr_array(X), 1e-6),
        (pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X, columns=list("abcd")), 1e-6),
        (np.asfortranarray(X), X, 1e-6),
        (X.astype(np.float32), X.astype(np.float32), 1e-3),
    ]
    for train, test, tol in frames:
        model = TopPush(kernel="rbf", tol=1e-11).fit(train, labels)
        np.testing.assert_allclose(model.decision_function(test), scores, atol=tol)
        assert set(model.predict(test)) <= {"yes", "no"}


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_weight_is_multiplicity(loss):
    X, y = random_data(n=60)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), weight)
    for model in (TopPush(3, kernel="rbf", loss=loss), PatMat(0.2, kernel="rbf", loss=loss)):
        model.set_params(tol=1e-9, gamma=0.3)
        a = model.fit(X, y, weight).decision_function(X)
        b = model.fit(X[repeated], y[repeated]).decision_function(X)
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_linear_kernel_by_pairs_has_a_coef():
    X, y = random_data()
    newton = PatMat(0.3, tol=1e-9).fit(X, y)
    pairs = PatMat(0.3, tol=1e-9, solver="smo").fit(X, y)
    np.testing.assert_allclose(pairs.coef_, newton.coef_, atol=1e-4)
    np.testing.assert_allclose(pairs.decision_function(X), newton.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (TopPush(5), "C", np.geomspace(0.5, 4.0, 8)),
        (PatMat(), "tau", np.linspace(0.05, 0.3, 8)),
        (PatMat(loss="hinge"), "C", np.geomspace(0.5, 4.0, 8)),
        (TopPush(), "k", [2, 3, 4, 6, 8, 10, 12, 15]),
    ],
)
def test_warm_path(model, name, values, monkeypatch):
    """Same optima as separate fits, for less than half of the kernel entries."""
    X, y = random_data(n=300)
    X = np.hstack([X, np.zeros((len(X), 100))])  # rows of few columns are not kept
    entries = 0
    plain = GaussianEntries.fill

    def counting(kernel, rows, columns, *where):
        nonlocal entries
        entries += len(rows) * len(columns)
        plain(kernel, rows, columns, *where)

    monkeypatch.setattr(GaussianEntries, "fill", counting)
    cost, primal = {}, {}
    for warm in (False, True):
        model.set_params(warm_start=warm, kernel="rbf", gamma=0.3, tol=1e-5)
        entries, primal[warm] = 0, []
        for value in values:
            model.set_params(**{name: value}).fit(X, y)
            primal[warm].append(model.certificate_.primal)
        cost[warm] = entries
    np.testing.assert_allclose(primal[True], primal[False], rtol=3e-5)
    assert cost[True] < 0.5 * cost[False]


def test_warm_start_forgets_other_rows():
    X, y = random_data()
    model = TopPush(kernel="rbf", warm_start=True, tol=1e-8).fit(X, y)
    first = model.certificate_.primal
    model.fit(X[:40], y[:40])
    assert model.certificate_.primal == pytest.approx(
        TopPush(kernel="rbf", tol=1e-8).fit(X[:40], y[:40]).certificate_.primal, rel=1e-7
    )
    assert model.fit(X, y).certificate_.primal == pytest.approx(first, rel=1e-7)
    assert "_cache" not in pickle.loads(pickle.dumps(model)).__dict__


def test_limits_warn_with_the_gap():
    X, y = random_data(n=200)
    for model in (
        TopPush(kernel="rbf", max_iter=3),
        PatMat(kernel="rbf", solver="coordinate", max_iter=3),
    ):
        with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
            model.fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
    X, y = random_data(n=4000)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        TopPush(kernel="rbf", time_limit=1e-9, cache_size=50).fit(X, y)


def test_collapse_is_said():
    X = np.array([[0.0], [1.0], [-1.0], [0.0]])
    y = np.array([1, 0, 0, 0])
    with pytest.warns(CollapsedWarning, match="row 3: is it mislabelled"):
        model = TopPush(kernel="rbf").fit(X, y)
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.predict(X), 0)


def test_grid_search_over_a_precomputed_kernel():
    X, y = random_data(n=90)
    search = GridSearchCV(PatMat(0.2, kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3)
    search.fit(rbf_kernel(X), y)
    assert search.best_score_ > 0.5
