"""Kernels by name, merged rows, the row cache, and the memory it promises."""

import math
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise

from drawing import draws
from kernel_data import random_data
from shortlist import TopPush
from shortlist.rows.cache import Known, RowCache
from shortlist.rows.kernels import KernelMatrix, kernel_function
from shortlist.rows.weighted import merge_duplicates


def slow_kernel(name, x, z, gamma, degree, coef0):
    """One entry, from the formula."""
    inner = sum(a * b for a, b in zip(x, z, strict=True))
    distance = sum(abs(a - b) for a, b in zip(x, z, strict=True))
    if name == "linear":
        return inner
    if name == "rbf":
        return np.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))
    if name == "poly":
        return (gamma * inner + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(gamma * inner + coef0)
    if name == "laplacian":
        return np.exp(-gamma * distance)
    if name == "chi2":
        terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
        return np.exp(-gamma * sum(terms))
    if name == "tanimoto":
        below = sum(a * a for a in x) + sum(b * b for b in z) - inner
        return inner / below if below > 0 else 1.0
    high = sum(max(a, b) for a, b in zip(x, z, strict=True))
    return sum(min(a, b) for a, b in zip(x, z, strict=True)) / high if high > 0 else 1.0


NAMES = ["linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_formulas(name, dtype):
    X = np.random.default_rng(0).integers(0, 4, (7, 3)).astype(dtype)
    X[0] = 0
    function = kernel_function(name, X, gamma=0.3, degree=2, coef0=0.5)
    wide = X.astype(float) - (X.mean(axis=0, dtype=float) if name == "linear" else 0.0)
    expected = [[slow_kernel(name, x, z, 0.3, 2, 0.5) for z in wide[:4]] for x in wide]
    np.testing.assert_allclose(function(X, X[:4]), expected, rtol=2e-5, atol=1e-6)
    if name == "chi2":
        with pytest.raises(ValueError, match="does not take sparse rows"):
            kernel_function(name, sparse.csr_array(X))
        return
    function = kernel_function(name, sparse.csr_array(X), gamma=0.3, degree=2, coef0=0.5)
    if name == "linear":  # a column that holds zeros stays where it is
        expected = [[slow_kernel(name, x, z, 0.3, 2, 0.5) for z in X[:4]] for x in X.astype(float)]
    for index in (np.int32, np.int64):
        rows = sparse.csr_array(X)
        rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
        np.testing.assert_allclose(function(rows, rows[:4]), expected, rtol=2e-5, atol=1e-6)


def exact_entry(name, x, z, gamma):
    """One entry in rational arithmetic, but for the exponential."""
    x, z = ([Fraction(float(a)) for a in row] for row in (x, z))
    if name == "poly":
        return float((Fraction(gamma) * sum(a * b for a, b in zip(x, z, strict=True))) ** 3)
    power = 2 if name == "rbf" else 1
    return math.exp(-gamma * float(sum(abs(a - b) ** power for a, b in zip(x, z, strict=True))))


@draws(60)
@given(
    seed=st.integers(0, 999),
    name=st.sampled_from(["rbf", "laplacian", "linear", "poly"]),
    offset=st.sampled_from([0.0, 1e4, 1e8, -1e6]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    dtype=st.sampled_from(["f4", "f8"]),
    sparse_rows=st.booleans(),
    given_gamma=st.booleans(),
)
@example(
    seed=1, name="poly", offset=0.0, scale=1e-6, dtype="f4", sparse_rows=False, given_gamma=True
)
def test_bounds_hold_far_from_the_origin(
    seed, name, offset, scale, dtype, sparse_rows, given_gamma
):
    """Entries are within their stated error of the exact ones, wherever the rows lie."""
    rng = np.random.default_rng(seed)
    X = (offset + scale * rng.standard_normal((9, 3))).astype(dtype)
    X[:, 2] = rng.integers(0, 2, 9)
    rows = sparse.csr_array(X) if sparse_rows else X
    function = kernel_function(name, rows, gamma=0.7 if given_gamma else "scale")
    gamma = function.parameters.get("gamma", 0.0)
    if name == "linear":
        exact = [[Fraction(float(a)) for a in row] for row in X]
        centre = [Fraction(float(c)) for c in function.centre]
        moved = [[a - c for a, c in zip(row, centre, strict=True)] for row in exact]
        K = np.array(
            [[float(sum(a * b for a, b in zip(x, z, strict=True))) for z in moved] for x in moved]
        )
    else:
        K = np.array([[exact_entry(name, x, z, gamma) for z in X] for x in X])
    kernel = KernelMatrix(rows, function)
    every = np.arange(9)
    for wide in (True, False):
        q, r = kernel.bounds(wide)
        entries = (kernel.wide_entries if wide else kernel.entries)(every, every)
        limit = np.outer(q, r) + np.outer(r, q)
        assert (np.abs(entries - K) <= limit).all()
        assert (np.abs(K) <= np.outer(q, q) * (1 + 1e-12)).all()
        out = np.empty((9, 9), dtype=kernel.dtype)
        if not wide:
            kernel.fill(every, every, out, every)
            assert (np.abs(out - K) <= limit).all()


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_gamma_scale_is_that_of_scikit_learn(sparse_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.5)
    weight = rng.integers(0, 3, 30).astype(float)
    X = np.round(8.0 * X) / 8.0  # moved without rounding
    for offset in (0.0, 1e8, 1e12):
        rows = sparse.csr_array(X + offset) if sparse_rows else X + offset
        found = kernel_function("rbf", rows, weight=weight).parameters["gamma"]
        repeated = np.repeat(X, weight.astype(int), axis=0)
        assert found == pytest.approx(1.0 / (4 * repeated.var()), rel=1e-13)
    constant = np.full((7, 3), 0.1)
    assert kernel_function("rbf", constant).parameters["gamma"] == 1.0


@pytest.mark.parametrize("name", [*NAMES, "precomputed", "callable"])
def test_every_kernel_fits_and_scores(name):
    X, y = random_data(n=50)
    X = np.abs(X)
    options = {"kernel": name}
    rows = X
    if name == "precomputed":
        rows = pairwise.rbf_kernel(X)
    if name == "callable":
        options["kernel"] = pairwise.rbf_kernel
    if name == "sigmoid":
        # Not a positive semi-definite kernel, if nearly for small gamma: no bound is claimed.
        options.update(gamma=1e-3, coef0=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TopPush(0.2, tol=1e-3, **options).fit(rows, y)
    assert model.certificate_.status == ("local" if name == "sigmoid" else "converged")
    scores = model.decision_function(rows)
    negatives = np.sort(scores[~y])[::-1]
    assert negatives[: int(np.ceil(0.2 * len(negatives)))].mean() == pytest.approx(0.0, abs=1e-6)


def test_minmax_needs_counts():
    X, y = random_data()
    with pytest.raises(ValueError, match="needs non-negative features"):
        TopPush(kernel="minmax").fit(X, y)


def test_precomputed_must_be_square():
    X, y = random_data()
    with pytest.raises(ValueError, match=r"dense square matrix .* got a dense matrix of shape"):
        TopPush(kernel="precomputed").fit(X, y)


def test_undefined_kernel_values():
    X, y = random_data()
    with pytest.raises(ValueError, match="The kernel holds infinite or undefined values"):
        TopPush(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


@given(seed=st.integers(0, 999), sparse_rows=st.booleans())
def test_merged_rows(seed, sparse_rows):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (12, 3)).astype(float)
    weight = rng.choice([0.5, 1.0, 2.0], 12)
    rows = np.flatnonzero(rng.random(12) < 0.7)
    before = {}
    for i in rows:
        before[tuple(X[i])] = before.get(tuple(X[i]), 0.0) + weight[i]
    kept = merge_duplicates(sparse.csr_array(X) if sparse_rows else X, rows, weight)
    assert {tuple(X[i]): weight[i] for i in kept} == pytest.approx(before)
    assert weight[np.setdiff1d(rows, kept)].sum() == 0.0


@draws(40)
@given(seed=st.integers(0, 999), slots=st.integers(0, 12), dtype=st.sampled_from(["f4", "f8"]))
def test_row_cache(seed, slots, dtype):
    """Whatever fits into the budget, sums and blocks are those of the whole matrix."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)).astype(dtype)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=0.5))
    order = rng.permutation(12)
    K = pairwise.rbf_kernel(X.astype(float), gamma=0.5)[np.ix_(order, order)]
    cache = RowCache(kernel, order, slots * 12 * kernel.dtype.itemsize)
    for length in (5, 12, 12):
        positions = rng.choice(length, 4, replace=False)
        a, b = rng.standard_normal((2, 4))
        out = [np.zeros(length), np.ones(length)]
        cache.add_to(out, positions, [a, b])
        np.testing.assert_allclose(out[0], K[:length, positions] @ a, atol=1e-5)
        np.testing.assert_allclose(out[1], 1 + K[:length, positions] @ b, atol=1e-5)
        rows, columns = rng.choice(length, 3), rng.choice(length, 6)
        np.testing.assert_allclose(
            cache.entries(rows, columns), K[np.ix_(rows, columns)], atol=1e-5
        )
        cache.release(rng.random(12) < 0.5)


@draws(40)
@given(
    seed=st.integers(0, 999),
    slots=st.integers(1, 12),
    columns=st.sampled_from([3, 70]),
    kernel=st.sampled_from(["rbf", "laplacian"]),
)
def test_rows_take_over_what_is_known(seed, slots, columns, kernel):
    """What a solver holds is copied, the rest computed: rows and sums are the same."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, columns))
    matrix = KernelMatrix(X, kernel_function(kernel, X, gamma=0.5 / columns))
    order = rng.permutation(12)
    K = matrix.entries(order, order)
    cache = RowCache(matrix, order, (slots + columns) * 12 * matrix.dtype.itemsize)
    for length in (7, 12, 12):
        held = rng.choice(length, rng.integers(1, length + 1), replace=False)
        known = Known(held, np.ascontiguousarray(K[np.ix_(held, held)]))
        positions = rng.choice(length, 4, replace=False)
        a, out = rng.standard_normal(4), np.zeros(length)
        before = cache.computed
        cache.add_to([out], positions, [a], known=known)
        np.testing.assert_allclose(out, K[:length, positions] @ a, atol=1e-12)
        assert cache.computed - before <= 4 * length
        kept = positions[cache.holds(positions, length)]
        entries = cache.entries(kept, np.arange(length))
        np.testing.assert_allclose(entries, K[kept][:, :length], atol=1e-12)
        if length == 7 and not matrix.cheap and cache.holds(positions, length).all():
            known_part = np.isin(positions, held).sum() * len(held)
            assert cache.computed - before == 4 * length - known_part
        cache.release(rng.random(12) < 0.5)


def test_cache_size_is_a_promise():
    """Far less than the 200 MB matrix; a small cache changes the time, not the result."""
    X, y = random_data(n=5000, d=4)
    primal = []
    for megabytes in (10, 400):
        model = TopPush(C=0.1, kernel="rbf", cache_size=megabytes, tol=1e-3)
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        # 5000 rows: 60 vectors of the rows, and blocks of fixed size.
        assert peak <= megabytes + 60 * 8 * 5000 / 1e6 + 60
        assert model.certificate_.status == "converged"
        primal.append(model.certificate_.primal)
    assert primal[0] == pytest.approx(primal[1], rel=1e-3)
