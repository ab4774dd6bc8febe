"""TopKSVC as a scikit-learn classifier."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import top_k_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize, scale
from sklearn.svm import LinearSVC

from contract import checks
from shortlist import TopKSVC


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X[:600]), y[:600]


@pytest.fixture(scope="module")
def expected(digits):
    X, y = digits
    return TopKSVC(k=2).fit(X.astype(np.float32).astype(np.float64), y).certificate_.primal


@pytest.fixture(scope="module")
def by_kernel(digits):
    """The same kernel as a matrix, and in rows that are all kept."""
    X, y = digits
    K = rbf_kernel(X, gamma=1 / (64 * X.var()))
    whole = TopKSVC(k=2, kernel="rbf", cache_size=1000).fit(X, y)
    return TopKSVC(k=2, kernel="precomputed").fit(K, y), whole


@checks(
    TopKSVC(k=1),
    TopKSVC(k=1, solver="block", fit_intercept=True, smoothing=0.1),
    TopKSVC(k=1, kernel="rbf", weights="linear"),
    TopKSVC(k=1, kernel="precomputed"),
)
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", ["proximal_newton", "block"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix]
)
def test_storage_does_not_matter(digits, expected, solver, dtype, make):
    X, y = digits
    X = X.astype(np.float32)
    given_rows = make(X.astype(dtype))
    before = given_rows.copy()
    model = TopKSVC(k=2, solver=solver).fit(given_rows, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.primal == pytest.approx(expected, rel=2e-4)
    assert abs(given_rows - before).sum() == 0.0
    assert model.decision_function(given_rows).shape == (600, 10)


def test_linear_kernel_agrees_with_the_linear_model(digits):
    X, y = digits[0][:300], digits[1][:300]
    options = {"k": 3, "tol": 1e-7, "fit_intercept": True}
    linear = TopKSVC(**options).fit(X, y)
    kernel = TopKSVC(kernel=lambda A, B: A @ B.T, **options).fit(X, y)
    given_kernel = TopKSVC(kernel="precomputed", **options).fit(X @ X.T, y)
    scores = linear.decision_function(X)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    assert kernel.decision_function(X) == pytest.approx(scores, abs=2e-2)
    assert given_kernel.decision_function(X @ X.T) == pytest.approx(scores, abs=2e-2)


@pytest.mark.parametrize("cache_size", [1e-3, 1, 200])
def test_kernel_rows_may_be_recomputed(digits, by_kernel, cache_size):
    X, y = digits
    other, whole = by_kernel
    model = TopKSVC(k=2, kernel="rbf", cache_size=cache_size).fit(X, y)
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1.1e-4)
    assert (model.decision_function(X) == whole.decision_function(X)).all()
    assert model.dual_coef_.shape == (10, len(model.support_))
    assert model.dual_coef_.nnz < 0.5 * 10 * len(model.support_)


@pytest.mark.parametrize("solver", ["fw", "away", "pairwise", "block_fw"])
def test_references_solve_kernel_problems(digits, solver):
    X, y = digits[0][:120], digits[1][:120]
    model = TopKSVC(k=2, kernel="rbf", C=0.1, solver=solver, tol=1e-2).fit(X, y)
    assert model.certificate_.status == "converged"
    best = TopKSVC(k=2, kernel="rbf", C=0.1, tol=1e-6).fit(X, y).certificate_.primal
    assert best * (1 - 1e-6) <= model.certificate_.primal <= best * 1.02


def test_labels_and_suggestions():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = TopKSVC(k=2, fit_intercept=True).fit(X, names[y])
    suggestions = model.predict_top_k(X)
    assert suggestions.shape == (150, 2)
    assert (suggestions[:, 0] == model.predict(X)).all()
    scores = model.decision_function(X)
    assert model.top_k_score(X, names[y]) == pytest.approx(top_k_accuracy_score(y, scores, k=2))
    assert model.top_k_score(X, names[y], k=1) == model.score(X, names[y])
    assert model.top_k_score(X, names[y], k=3) == 1.0
    assert model.top_k_score(X, np.full(150, "rose")) == 0.0
    weight = (y == 0).astype(float)
    assert model.top_k_score(X, names[y], 1, sample_weight=weight) == 1.0
    assert sorted(set(model.predict_top_k(X, k=3)[0])) == sorted(names)


def test_frames():
    X, y = load_iris(return_X_y=True)
    names = list("abcd")
    plain = TopKSVC(k=1).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = TopKSVC(k=1).fit(frame, y)
        assert list(model.feature_names_in_) == names
        assert model.predict(frame).tolist() == plain.predict(X).tolist()


def test_two_classes_follow_the_convention():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    model = TopKSVC(k=1).fit(X, y)
    assert model.coef_.shape == (1, 4)
    assert model.decision_function(X).shape == (100,)
    assert (model.predict_top_k(X, 2)[:, 0] == model.predict(X)).all()


def test_k_of_one_is_crammer_singer():
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    peer = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-6, max_iter=100_000)
    peer.fit(X, y)
    model = TopKSVC(k=1, tol=1e-7).fit(X, y)
    assert model.coef_ == pytest.approx(peer.coef_, abs=2e-2)


def test_same_seed_same_model(digits):
    X, y = digits
    for parameters in ({}, {"solver": "block"}, {"kernel": "rbf"}):
        first, second, other = (
            TopKSVC(k=2, random_state=seed, **parameters).fit(X, y).decision_function(X)
            for seed in (0, 0, 1)
        )
        assert (first == second).all()
        assert (first != other).any()


def test_large_k_is_cut_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="3 classes"):
        model = TopKSVC(k=5).fit(X, y)
    assert model.k_ == 2


def test_zero_rows_and_a_class_of_weight_zero():
    X, y = load_iris(return_X_y=True)
    model = TopKSVC(k=1).fit(X, y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]
    zero = TopKSVC(k=1).fit(np.zeros_like(X), y)
    assert zero.certificate_.status == "converged"
    assert not zero.coef_.any()


def test_progress_and_limits(digits, capsys):
    X, y = digits
    seen = []
    model = TopKSVC(k=2, verbose=1, callback=seen.append, solver="block").fit(X, y)
    assert len(seen) <= len(model.certificate_.trace) <= len(seen) + 1
    assert "gap" in capsys.readouterr().out
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TopKSVC(k=2, tol=1e-9, max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        TopKSVC(k=2, tol=1e-12, time_limit=1e-6, solver="fw").fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be an integer.* at least 1.* got k=0"),
        ({"k": 2.5}, "k=2.5"),
        ({"C": -1.0}, "C=-1"),
        ({"smoothing": -0.1}, "smoothing=-0.1"),
        ({"loss": "squared"}, "'hinge', 'pseudo'"),
        ({"weights": "steep"}, "'flat', 'linear', 'exp'"),
        ({"weights": [0.1, 0.5]}, "not increasing"),
        ({"weights": [0.0]}, "not all zero"),
        ({"weights": [[1.0]]}, "1-D"),
        ({"weights": [1.0, 1.0, 1.0, 1.0]}, "4 non-zero numbers for 3 classes"),
        ({"solver": "newton"}, "does not offer"),
        ({"kernel": "cubic"}, "kernel='cubic'"),
        ({"kernel": "rbf", "solver": "proximal_newton"}, "does not offer"),
        ({"kernel": "precomputed"}, "square kernel matrix"),
        ({"cache_size": -1}, "cache_size=-1"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        TopKSVC(**{"k": 1, **parameters}).fit(X, y)


def test_errors_of_the_data():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="one class only"):
        TopKSVC().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="one class only"):
        TopKSVC().fit(X, y, sample_weight=(y == 1).astype(float))
    model = TopKSVC(k=1).fit(X, y)
    with pytest.raises(ValueError, match="at most 3"):
        model.predict_top_k(X, k=4)


def test_memory_follows_the_support(digits):
    """A thousand classes: the dual keeps a few entries per row."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 2)
    X = rng.normal(size=(1000, 16))[y] + 0.1 * rng.normal(size=(2000, 16))
    model = TopKSVC(k=5, kernel="rbf", tol=0.1).fit(X, y)
    assert model.dual_coef_.nnz < 50 * 2000
    assert clone(model).get_params() == model.get_params()
