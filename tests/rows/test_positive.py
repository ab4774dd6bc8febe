"""Matrices that are no kernels are refused, or claim nothing."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise

from shortlist import PatMat, RankSVM, TopKSVC, TopPush
from shortlist.rows.kernels import KERNEL_NAMES, KernelMatrix, kernel_function

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0.5).astype(int)


def matrix_with(eigenvalue, dtype=np.float64, centred=False):
    """Return a matrix of unit scale with this lowest eigenvalue, along differences or not."""
    v = RNG.normal(size=60)
    v = v - v.mean() if centred else np.ones(60)
    Q = np.linalg.qr(np.column_stack([v, RNG.normal(size=(60, 59))]))[0]
    values = np.concatenate([[eigenvalue], np.linspace(0.0, 1.0, 59)])
    K = (Q * values) @ Q.T
    return (0.5 * (K + K.T)).astype(dtype)


def of(K):
    return KernelMatrix(K, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_rounding_is_allowed_and_no_more(dtype, unit):
    if dtype == np.float32 and unit != 1.0:
        pytest.skip("beyond float32")
    seen = 1e-4 if dtype == np.float32 else 1e-11
    for eigenvalue, positive in ((0.0, True), (-seen, False), (-1.0, False)):
        K = unit * matrix_with(eigenvalue, dtype, centred=True)
        assert of(K).is_positive(centred=True) == positive
        assert of(K).is_positive(centred=False) == positive


def test_only_differences_count_where_the_origin_is_free():
    K = matrix_with(-1.0)
    assert not of(K).is_positive(centred=False)
    assert of(K).is_positive(centred=True)
    distances = -pairwise.euclidean_distances(X)
    assert of(distances).is_positive(centred=True)


def test_rows_that_do_not_count_do_not_matter():
    K = np.eye(60)
    K[7, 7] = -1.0
    assert not of(K).is_positive(centred=False)
    assert of(K).is_positive(np.delete(np.arange(60), 7), centred=False)
    assert of(np.zeros((5, 5))).is_positive(centred=False)


@pytest.mark.parametrize("name", sorted(set(KERNEL_NAMES) - {"precomputed", "sigmoid"}))
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_kernels_with_a_name_are_what_they_are_taken_for(name, offset):
    rows = np.abs(X) + offset
    function = kernel_function(name, rows, gamma=0.5, degree=3, coef0=0.0)
    K = KernelMatrix(rows, function)
    assert K.is_positive(centred=False)
    everything = np.arange(60)
    assert of(K.wide_entries(everything, everything)).is_positive(centred=False)


def test_a_negative_constant_is_looked_at():
    function = kernel_function("poly", X, gamma=1.0, degree=1, coef0=-5.0)
    assert not KernelMatrix(X, function).is_positive(centred=False)
    assert KernelMatrix(X, function).is_positive(centred=True)


MODELS = [
    TopPush(0.1, kernel="precomputed"),
    TopPush(1, kernel="precomputed", solver="coordinate", max_iter=2000),
    PatMat(0.1, kernel="precomputed"),
    TopKSVC(1, kernel="precomputed"),
    TopKSVC(1, kernel="precomputed", solver="away"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.solver}")
@pytest.mark.parametrize("lowest", [-1e-6, -0.1, -1.0])
def test_no_bound_is_claimed_of_a_matrix_that_is_not_positive(model, lowest):
    K = matrix_with(lowest, centred=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(K, Y)
    assert model.certificate_.status in ("local", "max_iter")
    assert model.certificate_.dual == 0.0
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model.fit(K, Y)


@pytest.mark.parametrize("lowest", [-1e-6, -0.1, -1.0])
def test_ranking_leaves_the_model_at_zero(lowest):
    with pytest.warns(ConvergenceWarning, match="is not positive semi-definite on these rows"):
        model = RankSVM(kernel="precomputed").fit(matrix_with(lowest, centred=True), Y)
    assert model.certificate_.status == "local"
    assert model.certificate_.dual == 0.0
    assert not len(model.support_)


@pytest.mark.parametrize("model", [*MODELS, RankSVM(kernel="precomputed")])
def test_a_matrix_must_be_symmetric(model):
    K = pairwise.rbf_kernel(X)
    K[3, 8] += 1e-3
    with pytest.raises(ValueError, match=r"must be symmetric, but is .* for rows [38] and [38]"):
        model.fit(K, Y)


@pytest.mark.parametrize(
    ("name", "value"), [("degree", 2.5), ("degree", -1), ("coef0", np.nan), ("coef0", "1")]
)
def test_parameters_of_a_polynomial(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        TopPush(kernel="poly", **{name: value}).fit(X, Y)
