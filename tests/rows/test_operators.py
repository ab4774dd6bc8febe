import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from drawing import draws
from shortlist.rows.operators import as_rows

FORMS = {
    "c": np.ascontiguousarray,
    "f": np.asfortranarray,
    "csr": sparse.csr_array,
    "csr64": lambda X: with_long_indices(sparse.csr_array(X)),
    "unsorted": lambda X: unsorted(sparse.csr_array(X)),
}


def with_long_indices(X):
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return X


def unsorted(X):
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:end] = X.indices[start:end][::-1].copy()
        X.data[start:end] = X.data[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(form, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 7)) * (rng.random((40, 7)) < 0.5)).astype(dtype)
    exact = X.astype(np.float64)
    stored = form(X)
    before = stored.copy()
    rows = as_rows(stored)
    w, v = rng.normal(size=7), rng.random(40)
    np.testing.assert_allclose(rows.scores(w), exact @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.combine(v), exact.T @ v, rtol=1e-12, atol=1e-12)
    gram = exact.T @ (v[:, None] * exact)
    added = np.ones((7, 7))
    rows.add_gram(v, added)
    np.testing.assert_allclose(np.triu(added), np.triu(1.0 + gram), rtol=1e-10, atol=1e-12)
    several = rng.normal(size=(3, 40))
    for some in (several, several[:2], several[:1]):
        np.testing.assert_allclose(rows.combines(some), exact.T @ some.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.inner(), exact @ exact.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(rows.squared_norms(), (exact**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(rows.column_squares(v), (exact**2).T @ v, rtol=1e-12)
    index = np.array([3, 0, 3])
    both = rows.take(index).stack(rows.take(np.array([5])))
    np.testing.assert_allclose(both.scores(w), (exact @ w)[[3, 0, 3, 5]], atol=1e-12)
    scaled = rows.scaled_columns(w)
    np.testing.assert_allclose(scaled.scores(np.ones(7)), exact @ w, atol=1e-5)
    assert abs(stored - before).max() == 0


def test_float32_scores_keep_double_accuracy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300)).astype(np.float32)
    w = rng.normal(size=300)
    for stored in (X, sparse.csr_array(X)):
        error = np.abs(as_rows(stored).scores(w) - X.astype(np.float64) @ w).max()
        assert error < 1e-11


@draws(60)
@given(st.integers(0, 9), st.integers(1, 19), st.integers(0, 99))
def test_float32_products_of_any_shape(n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    w, v = rng.normal(size=n_features), rng.integers(0, 3, size=n_rows) * rng.random(n_rows)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(as_rows(X).scores(w), exact @ w, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(as_rows(X).combine(v), exact.T @ v, rtol=1e-12, atol=1e-13)


def test_sums_of_many_float32_rows_keep_double_accuracy():
    rng = np.random.default_rng(0)
    X = (1.0 + rng.random(size=(300_001, 3))).astype(np.float32)
    v = rng.random(len(X))
    exact = np.array([math.fsum(column) for column in (X.astype(np.float64) * v[:, None]).T])
    np.testing.assert_allclose(as_rows(X).combine(v), exact, rtol=3e-14)


@draws(60)
@given(
    st.integers(0, 150),
    st.integers(1, 40),
    st.integers(0, 99),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from("CF"),
)
def test_weighted_squares_of_rows_of_any_shape(n_rows, n_features, seed, dtype, order):
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.normal(size=(n_rows, n_features)), dtype, order)
    v, out = rng.random(n_rows), rng.normal(size=(n_features, n_features))
    exact = X.astype(np.float64)
    expected = out + exact.T @ (v[:, None] * exact)
    as_rows(X).add_gram(v, out)
    np.testing.assert_allclose(np.triu(out), np.triu(expected), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_rows", [999, 1000, 3001])
def test_many_short_rows_are_taken_as_they_are(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    index = rng.integers(0, 4000, n_rows)
    w, v, out = rng.normal(size=5), rng.random(n_rows), np.zeros((5, 5))
    rows = as_rows(X).take(index)
    np.testing.assert_array_equal(rows.dense(), X[index])
    np.testing.assert_allclose(rows.scores(w), X[index] @ w, atol=1e-12)
    np.testing.assert_allclose(rows.combine(v), X[index].T @ v, rtol=1e-12, atol=1e-11)
    rows.add_gram(v, out)
    np.testing.assert_allclose(np.triu(out), np.triu(X[index].T @ (v[:, None] * X[index])))
