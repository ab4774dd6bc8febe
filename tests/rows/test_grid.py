"""Rows on a grid, as bytes: found, exact, and refused where they are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from certificate.nasty import Nasty
from certificate.top_kernel_problems import check_kernel
from drawing import draws
from shortlist import PatMat, TopPush, _core
from shortlist.rows import cache
from shortlist.rows.grid import Grid, GridEntries
from shortlist.rows.kernels import KernelMatrix, kernel_function

# Columns of rows whose kernel rows are kept, and of some whose rows are not.
WIDE, NARROW = 321, 40


@pytest.fixture
def bytewise(monkeypatch):
    """Bytes are used on every processor."""
    monkeypatch.setattr(_core, "multiplies_bytes", lambda: True)


def pixels(rng, n, d, levels=256, dtype="f4"):
    return (rng.integers(0, levels, (n, d)) / 255).astype(dtype)


def exact(X, gamma):
    """Return the kernel matrix from differences, in extended precision."""
    X = X.astype(np.longdouble)
    return np.exp(-gamma * np.square(X[:, None] - X[None]).sum(axis=2))


@draws(60)
@given(
    seed=st.integers(0, 999),
    d=st.sampled_from([1, 3, 4, 5, 63, 64, 65, 784]),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_products_of_bytes_are_exact(seed, d, dtype):
    """Any rows, repeated or not, at their ends 0 and 255, written anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 90))
    X = rng.integers(0, 256, (n, d)) if seed % 3 else 255 * rng.integers(0, 2, (n, d))
    codes = np.empty((n, -(-d // 4) * 4), dtype=np.uint8)
    squares, sums = np.empty(n, np.uint32), np.empty(n, np.uint32)
    errors, made = np.empty(n), (codes, squares, sums)
    _core.grid_codes(X.astype(np.float64), np.zeros(d), 1.0, *made, errors)
    np.testing.assert_array_equal(codes[:, :d], X)
    np.testing.assert_array_equal(squares, np.square(X).sum(axis=1))
    np.testing.assert_array_equal(sums, X.sum(axis=1))
    assert not errors.any()
    rows, columns = rng.integers(0, n, rng.integers(0, 30)), rng.integers(0, n, 70)
    out, slots, to = np.full((40, 80), -1.0, dtype), rng.permutation(40), rng.permutation(80)
    if seed % 2:
        to = np.arange(80)
    slots, to = slots[: len(rows)], to[:70]
    scale = 2.0**-10 / d
    _core.grid_entries(*made, rows, columns, scale, out, slots, to)
    distances = np.square(X[rows][:, None] - X[columns][None]).sum(axis=2)
    expected = np.full((40, 80), -1.0)
    expected[np.ix_(slots, to)] = np.exp(-scale * distances)
    eps = np.finfo(dtype).eps
    # The exponent is rounded; what lies below the smallest normal number is lost.
    np.testing.assert_allclose(out, expected, rtol=eps * (4.0 + scale * distances.max(initial=0)))
    values, added = rng.standard_normal((2, len(rows))), np.ones((2, 70))
    _core.add_grid(*made, rows, columns, scale, values, added, dtype == "f4")
    sums = 1.0 + values @ np.exp(-scale * distances)
    limit = eps * (8.0 + scale * distances.max(initial=0)) * (1.0 + np.abs(values).sum())
    np.testing.assert_allclose(added, sums, atol=limit)
    square = np.full((70, 70), -1.0, dtype)
    for first in range(0, 70, 50):
        _core.grid_square(*made, columns, scale, square, first, min(70, first + 50))
    distances = np.square(X[columns][:, None] - X[columns][None]).sum(axis=2)
    np.testing.assert_allclose(
        square, np.exp(-scale * distances), rtol=eps * (4.0 + scale * distances.max())
    )
    assert (square == square.T).all()


@draws(60)
@given(
    seed=st.integers(0, 999),
    storage=st.sampled_from(["C", "F", "csr"]),
    dtype=st.sampled_from(["f4", "f8"]),
    unit=st.sampled_from([1.0, 1 / 255, 1e-12, 1e12, 0.3]),
    shift=st.sampled_from([0.0, 1.0, -7.0]),
)
def test_grids_are_found(seed, storage, dtype, unit, shift):
    """Wherever they lie and however they are stored: entries within the bounds that proofs use."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, int(rng.integers(2, 257)), (40, NARROW))
    codes[:, :5] = codes[0, :5]  # constant columns
    X = (unit * (codes + shift * rng.integers(0, 2, NARROW))).astype(dtype)
    given = sparse.csr_array(X) if storage == "csr" else np.asarray(X, order=storage)
    grid = Grid.of(given)
    assert grid is not None
    np.testing.assert_array_equal(grid.codes[0][:, :NARROW], codes - codes.min(axis=0))
    assert grid.suits(np.float32)
    gamma = 1.0 / (NARROW * float(X.astype(np.float64).var()))
    K = exact(X, gamma)
    rows = np.arange(40)
    for precision in (np.float32, np.float64):
        if not grid.suits(precision):
            continue
        entries = GridEntries(grid, gamma, precision)
        out = np.empty((40, 40), precision)
        entries.fill(rows, rows, out, rows, 0)
        assert (out == out.T).all()
        assert (np.diagonal(out) == 1.0).all()
        share = np.add.outer(*2 * [entries.bounds()[1]])
        least = np.finfo(precision).tiny
        assert (np.abs(out - K) <= share * (1.0 + share) * out + least).all()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, rng: X + 1e-3 * rng.random(X.shape),
        lambda X, rng: np.where(rng.random(X.shape) < 1e-3, X + 0.3 / 255, X),
        lambda X, rng: X * rng.uniform(0.5, 1.0, X.shape[1]),
        lambda X, rng: rng.standard_normal(X.shape),
        lambda X, rng: np.vstack([X[:-1], 2.0 * np.ones(X.shape[1])]),  # 510 steps
        lambda X, rng: np.vstack([X[:-1], 1e300 * np.ones(X.shape[1])]),
        lambda X, rng: 1e-170 * X,
    ],
)
def test_other_rows_are_no_grid(spoil):
    rng = np.random.default_rng(0)
    X = np.asarray(spoil(pixels(rng, 300, NARROW, dtype="f8"), rng))
    grid = Grid.of(X)
    assert grid is None or not grid.suits(np.float32)


def test_rows_rounded_to_float32_are_no_grid_in_float64():
    """Single precision pixels are off by less than its products, by more than double ones."""
    X = pixels(np.random.default_rng(0), 50, NARROW)
    grid = Grid.of(X)
    assert grid.suits(np.float32)
    assert not grid.suits(np.float64)
    assert Grid.of(np.rint(255 * X)).suits(np.float64)


@pytest.mark.usefixtures("bytewise")
@pytest.mark.parametrize("d", [NARROW, WIDE])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_kernel_matrix(d, storage, dtype):
    """Entries, scattered entries and sums are those of float64 products, within the bounds."""
    rng = np.random.default_rng(d)
    X = pixels(rng, 60, d, dtype=dtype) * (rng.random((60, d)) < 0.2)
    given = sparse.csr_array(X) if storage == "csr" and d == NARROW else X
    function = kernel_function("rbf", given)
    kernel = KernelMatrix(given, function)
    assert kernel.cheap == (d == NARROW)
    K = exact(X, function.parameters["gamma"]).astype(np.float64)
    r = kernel.bounds(wide=False)[1]
    share = np.add.outer(r, r)
    rows, columns = rng.permutation(60)[:9], rng.permutation(60)[:33]
    found = kernel.entries(rows, columns)
    assert found.dtype == dtype
    limit = (share * (1.0 + share))[np.ix_(rows, columns)] * found + 1e-16
    assert (np.abs(found - K[np.ix_(rows, columns)]) <= limit).all()
    np.testing.assert_allclose(kernel.wide_entries(rows, columns), K[np.ix_(rows, columns)])
    out = np.zeros((9, 60), dtype)
    kernel.scatter(rows, columns, out, np.arange(9), columns)
    np.testing.assert_array_equal(out[:, columns], found)
    values, sums = rng.standard_normal((2, 9)), np.zeros((2, 33))
    kernel.add(rows, columns, values, sums)
    np.testing.assert_allclose(sums, values @ found.astype(np.float64), atol=1e-14)
    # What it was compared with: bounds are tighter, so that less is recomputed in a proof.
    assert r.max() < function.bounds(given, 2.0 ** (-24 if dtype == "f4" else -53))[1].max()


@pytest.mark.usefixtures("bytewise")
@draws(40)
@given(
    seed=st.integers(0, 999),
    d=st.sampled_from([NARROW, WIDE]),
    dtype=st.sampled_from(["f4", "f8"]),
    levels=st.sampled_from([2, 3, 256]),
    number=st.integers(0, 4),
)
@example(seed=1, d=NARROW, dtype="f8", levels=2, number=3)  # sums are in float64, too
def test_certificates_on_grids(seed, d, dtype, levels, number):
    """Checked in extended precision: duplicates, constant columns, little memory, weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 50))
    X = pixels(rng, n, d, levels, dtype)
    X[rng.integers(0, n, n // 4)] = X[0]
    X[:, :3] = X[0, :3]
    y = rng.random(n) < 0.4
    y[:2] = True, False
    weight = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    options = {"kernel": "rbf", "max_iter": 100_000, "cache_size": [200, 0.02][seed % 2]}
    model = [
        TopPush(tol=1e-3, **options),
        TopPush(k=0.2, loss="hinge", **options),
        PatMat(0.2, **options),
        PatMat(0.3, quantile="all", loss="hinge", tol=1e-6, **options),
        TopPush(solver="coordinate", **options),
    ][number]
    if number == 4:
        weight = None
    model.fit(X, y, weight)
    check_kernel(model, Nasty("grid", X, y.astype(int), weight))


@pytest.mark.usefixtures("bytewise")
def test_rows_are_kept_where_enough_of_them_fit(monkeypatch):
    """And where all together are no huge matrix; the sums are the same."""
    rng = np.random.default_rng(2)
    X = pixels(rng, 60, WIDE)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=0.01))
    order, some, c = rng.permutation(60), np.array([3, 50, 7]), rng.standard_normal(3)
    codes = kernel.keep(order, 10**9)
    matrix = 4 * 60 * 60
    sums = []
    for budget, most, keeps in (
        (codes + matrix // 3, 10**9, True),
        (codes + matrix // 5, 10**9, False),
        (10**9, matrix - 1, False),
    ):
        monkeypatch.setattr(cache, "_COPY", 1.0)
        monkeypatch.setattr(cache, "_MOST", most)
        rows = cache.RowCache(kernel, order, budget)
        assert rows.keeps == keeps
        out = np.zeros(60)
        rows.add_to([out], some, [c])
        assert rows.most_rows == (3 if keeps else 0)
        sums.append(out)
    for other in sums:
        np.testing.assert_allclose(other, exact(X, 0.01)[order][:, order[some]] @ c, atol=1e-6)


@pytest.mark.usefixtures("bytewise")
@pytest.mark.parametrize("d", [NARROW, WIDE])
def test_threads_and_memory_change_nothing(d):
    """The same model to the last digit with one thread and with three."""
    rng = np.random.default_rng(1)
    X = pixels(rng, 700, d, 8)
    y = X[:, :9].sum(axis=1) + 0.05 * rng.standard_normal(700) > 0.16
    models = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            models.append(PatMat(0.1, kernel="rbf", tol=1e-3).fit(X, y))
    one, three = models
    assert one.certificate_.status == "converged"
    np.testing.assert_array_equal(one.support_, three.support_)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    assert one.certificate_.primal == three.certificate_.primal
