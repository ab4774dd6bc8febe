"""Float32 Gaussian blocks, and the matrices and scores built from kernel blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise

from drawing import draws
from shortlist import _core
from shortlist._losses import LOSSES
from shortlist.rows import gaussian
from shortlist.rows.cache import RowCache
from shortlist.rows.formulas import rbf_kernel
from shortlist.rows.gaussian import GaussianEntries, longest_sum
from shortlist.rows.kernels import KernelMatrix, kernel_function
from shortlist.top.gram import Memory, square
from shortlist.top.kernel_problem import KernelTopProblem
from shortlist.top.surrogate_quantile import SurrogateQuantile

# Columns of rows whose kernel rows are kept.
WIDE = 60


def test_exponential():
    """Every argument that a block can meet, against float64."""
    x = np.concatenate([-np.geomspace(1e-12, 86.9, 50_001), [0.0]]).astype(np.float32)
    out = np.empty((1, len(x)), dtype=np.float32)
    zero = np.zeros(len(x), dtype=np.float32)
    _core.gaussian_entries(x[None], zero[:1], zero, out, np.zeros(1, dtype=np.int64), 0)
    np.testing.assert_allclose(out[0], np.exp(x.astype(np.float64)), rtol=3e-7)
    assert out[0, -1] == 1.0


def test_far_rows_and_rounding_above_zero():
    """Far apart is zero in effect, however far; rounding never lifts an entry above 1."""
    x = np.array([[-88.0, -1e4, -1e30, 1e-3]], dtype=np.float32)
    out = np.empty((1, 4), dtype=np.float32)
    zero = np.zeros(4, dtype=np.float32)
    _core.gaussian_entries(x, zero[:1], zero, out, np.zeros(1, dtype=np.int64), 0)
    assert (out[0, :3] >= 0.0).all()
    assert (out[0, :3] < 1e-37).all()
    assert out[0, 3] == 1.0


@pytest.mark.parametrize("own", [True, False])
@draws(60)
@given(
    seed=st.integers(0, 999),
    n=st.integers(1, 40),
    d=st.one_of(st.integers(1, 20), st.sampled_from([255, 256, 257, 600])),
    scale=st.sampled_from([1e-6, 1.0, 1e4]),
    offset=st.sampled_from([0.0, 10.0]),
)
def test_blocks(own, seed, n, d, scale, offset):
    """Any rows, repeated or not, written anywhere, against scikit-learn in float64.

    With products of BLAS and with those of the core.
    """
    rng = np.random.default_rng(seed)
    X = (scale * (offset + rng.standard_normal((n, d)))).astype(np.float32)
    gamma = 1.0 / (d * scale**2)
    rows, columns = rng.integers(0, n, 7), rng.integers(0, n, 5)
    out = np.full((9, 8), -1.0, dtype=np.float32)
    slots = rng.permutation(9)[:7]
    wide = X.astype(np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian, "OWN_PRODUCTS", own)
        GaussianEntries(X, X, gamma, wide.mean(axis=0)).fill(rows, columns, out, slots, 2)
    expected = np.full((9, 8), -1.0)
    expected[slots, 2:7] = pairwise.rbf_kernel(wide[rows], wide[columns], gamma=gamma)
    np.testing.assert_allclose(out, expected, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@draws(60)
@given(
    seed=st.integers(0, 999),
    n=st.sampled_from([1, 11, 12, 13, 25]),
    m=st.sampled_from([1, 15, 16, 17, 32, 33, 70]),
    d=st.sampled_from([0, 1, 3, 300]),
)
def test_products_of_the_core(dtype, seed, n, m, d):
    """Tiles of every size, against sums in float64; nothing is written beside them."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    x, y = (a.astype(dtype) / np.sqrt(max(d, 1)).astype(dtype) for a in (x, y))
    of_x, of_y = (np.square(a).sum(axis=1).astype(dtype) for a in (x, y))
    out = np.full((n + 2, m + 3), -1.0, dtype=dtype)
    slots = rng.permutation(n + 2)[:n]
    _core.gaussian_block(2 * x, of_x, y, of_y, out, slots, 2)
    expected = np.full(out.shape, -1.0)
    differences = x[:, None].astype(float) - y[None]
    expected[slots, 2 : m + 2] = np.exp(-np.square(differences).sum(axis=2))
    np.testing.assert_allclose(out, expected, rtol=100 * np.finfo(dtype).eps)
    assert out.max() <= 1.0


def test_several_tiles():
    """More rows and columns than one product takes."""
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((n, 3)).astype(np.float32) for n in (1100, 2100))
    K = pairwise.rbf_kernel(X.astype(float), Y.astype(float), gamma=0.2)
    np.testing.assert_allclose(rbf_kernel(X, Y, gamma=0.2), K, atol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_huge_rows(order):
    """Squares beyond float32 do not become undefined entries."""
    X = np.array([[1e25, 0.0], [-1e25, 1.0], [1e25, 0.0]], dtype=np.float32, order=order)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=1.0))
    block = kernel.entries(np.arange(3), np.arange(3))
    np.testing.assert_array_equal(block, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


@draws(60)
@given(
    seed=st.integers(0, 999),
    n=st.sampled_from([1, 2, 5, 63, 64, 65, 130]),
    kept=st.integers(1, 9),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_rows_computed_when_asked_for(seed, n, kept, dtype):
    """In any order, whichever were kept: the entries, never above 1."""
    rng = np.random.default_rng(seed)
    X = (3.0 * rng.standard_normal((n, int(rng.integers(1, 8)))) + 1e3).astype(dtype)
    gamma = 10.0 ** rng.uniform(-3, 1)
    entries = GaussianEntries(X, X, gamma, X.mean(axis=0, dtype=float), dtype=np.dtype(dtype))
    some = rng.permutation(n)[: max(1, n - 1)]
    memory = np.empty((max(kept, min(3, len(some))), len(some)), dtype=dtype)
    rows = entries.rows(some, memory)
    differences = X[:, None].astype(float) - X[None]
    everything = np.exp(-gamma * np.square(differences).sum(axis=2))
    K = everything[np.ix_(some, some)]
    squares = gamma * np.square(X - X.mean(axis=0, dtype=float)).sum(axis=1).max()
    rounding = 16.0 * np.finfo(dtype).eps * (1.0 + squares)
    for _ in range(5):
        asked = rng.integers(0, len(some), 12)
        out = np.empty((12, len(some)), dtype=dtype)
        rows.fill(asked, out)
        np.testing.assert_allclose(out, K[asked], atol=rounding)
        assert out.max() <= 1.0
    values, sums = rng.standard_normal((2, 5)), np.ones((2, n))
    chosen = rng.integers(0, n, 5)
    entries.add(chosen, np.arange(n), values, sums)
    np.testing.assert_allclose(
        sums, 1.0 + values @ everything[chosen], atol=5.0 * np.abs(values).max() * rounding
    )


@draws(60)
@given(
    seed=st.integers(0, 999),
    slots=st.integers(0, 14),
    dtype=st.sampled_from(["f4", "f8"]),
    d=st.sampled_from([40, WIDE]),
)
def test_square(seed, slots, dtype, d):
    """Whatever the cache holds, the matrix is that of its rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, d)).astype(dtype)
    gamma = 0.5 / d
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=gamma))
    order = rng.permutation(14)
    K = pairwise.rbf_kernel(X.astype(float), gamma=gamma)[np.ix_(order, order)]
    cache = RowCache(kernel, order, slots * 14 * kernel.dtype.itemsize)
    for length in (8, 8, 14, 14):
        some = rng.choice(length, rng.integers(0, length + 1), replace=False)
        cache.add_to([np.zeros(length)], some, [np.ones(len(some))])
        rows = rng.choice(length, rng.integers(1, length + 1), replace=False)
        out = np.full((len(rows), len(rows)), np.nan, dtype=kernel.dtype)
        square(cache, rows, length, out)
        np.testing.assert_allclose(out, K[np.ix_(rows, rows)], atol=1e-5)


@draws(60)
@given(seed=st.integers(0, 999), pixels=st.booleans(), dtype=st.sampled_from(["f4", "f8"]))
def test_a_matrix_that_grows(seed, pixels, dtype):
    """Rows that join a working set find room behind the others, or there is none."""
    rng = np.random.default_rng(seed)
    n, d = 60, WIDE
    X = rng.integers(0, 4, (n, d)) / 4.0 if pixels else rng.standard_normal((n, d))
    y = np.arange(n) % 3 == 0
    kernel = KernelMatrix(X.astype(dtype), kernel_function("rbf", X, gamma=0.5 / d))
    kernel.by_row = False
    loss = LOSSES["squared_hinge"]
    threshold = SurrogateQuantile(loss, 1.0, 2.0)
    problem = KernelTopProblem(
        kernel, np.flatnonzero(y), np.flatnonzero(~y), np.ones(n), 1.0, loss, threshold,
        cache_bytes=10**6,
    )  # fmt: skip
    order = rng.permutation(n)
    K = pairwise.rbf_kernel(X.astype(float), gamma=0.5 / d)[np.ix_(order, order)]
    memory, rows = Memory(problem, order), rng.permutation(n)[:40]
    held = memory.matrix(rows[:30], n)
    for count in (31, 31, 32):
        more = memory.grown(held, rows[:count], n)
        if more is None:
            assert count > 31
            return
        first = int(rng.integers(0, count))
        exact = K[np.ix_(rows[:count], rows[:count])]
        np.testing.assert_allclose(more.rows[:count, :count], exact, atol=1e-5)
        np.testing.assert_allclose(more.among(first), exact[first:, first:], atol=1e-4)
        values = rng.standard_normal(count)
        np.testing.assert_allclose(more.times(values), exact @ values, atol=1e-4)
        held = more
    raise AssertionError("there was room for more than a twenty-fifth")


@pytest.mark.parametrize("name", ["squared_hinge", "hinge"])
def test_slopes_and_shares(name):
    """Derivatives of the loss and of the surrogate threshold, by finite differences."""
    rng = np.random.default_rng(3)
    loss, h = LOSSES[name], 1e-7
    z, weight = 2.0 * rng.standard_normal(9), 0.5 + rng.random(9)
    numeric = [
        (loss.total(z + h * unit, weight) - loss.total(z - h * unit, weight)) / (2.0 * h)
        for unit in np.eye(9)
    ]
    np.testing.assert_allclose(loss.slopes(z, weight), numeric, atol=1e-6)
    if name == "hinge":
        return
    threshold = SurrogateQuantile(loss, 2.0, 1.3)
    t = threshold.value(z, weight)
    numeric = [
        (threshold.value(z + h * unit, weight) - threshold.value(z - h * unit, weight)) / (2.0 * h)
        for unit in np.eye(9)
    ]
    np.testing.assert_allclose(threshold.shares(z, weight, t), numeric, atol=1e-6)


def test_exponential_in_double():
    x = np.concatenate([-np.geomspace(1e-300, 707.0, 50_001), [0.0]])
    out = np.empty((1, len(x)))
    zero = np.zeros(len(x))
    _core.gaussian_entries(x[None], zero[:1], zero, out, np.zeros(1, dtype=np.int64), 0)
    np.testing.assert_allclose(out[0], np.exp(x), rtol=6e-16)
    assert out[0, -1] == 1.0


@draws(60)
@given(
    seed=st.integers(0, 999),
    dtype=st.sampled_from(["f4", "f8"]),
    to=st.sampled_from(["f4", "f8"]),
    storage=st.sampled_from(["C", "F", "csr"]),
    kept=st.booleans(),
    offset=st.sampled_from([0.0, 30.0]),
)
def test_any_storage_to_any_precision(seed, dtype, to, storage, kept, offset):
    """Entries are off by the share of themselves that proofs assume, wherever rows lie."""
    rng = np.random.default_rng(seed)
    X = (offset + rng.standard_normal((25, 4))).astype(dtype)
    given = sparse.csr_array(X) if storage == "csr" else np.asarray(X, order=storage)
    kernel = kernel_function("rbf", given, gamma=0.3)
    entries = GaussianEntries(given, given, 0.3, kernel.centre, to)
    order = rng.permutation(25)
    if kept:
        assert entries.keep(order, 10**6) == 25 * 4 * np.dtype(to).itemsize
    rows, columns = rng.integers(0, 25, 9), order[3:12]
    out = np.empty((9, 9), dtype=to)
    entries.fill(rows, columns, out, np.arange(9), 0)
    wide = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    expected = pairwise.rbf_kernel(wide, gamma=0.3)[np.ix_(rows, columns)]
    r = kernel.bounds(given, 2.0**-24 if to == "f4" else 2.0**-53)[1]
    share = r[rows][:, None] + r[columns]
    # The reference has errors of its own, in float64.
    assert (np.abs(out - expected) <= share * (1.0 + share) * out + 1e-13).all()


@pytest.mark.parametrize("columns", [255, 256, 257, 700])
def test_long_rows_in_float32(columns):
    """Products are summed in parts, and off by no more than the bounds of such sums."""
    rng = np.random.default_rng(columns)
    X = rng.standard_normal((40, columns)).astype(np.float32)
    kernel = kernel_function("rbf", X, gamma=0.5 / columns)
    matrix = KernelMatrix(X, kernel)
    rows = np.arange(40)
    wide = matrix.wide_entries(rows, rows)
    share = np.add.outer(*2 * [matrix.bounds(wide=False)[1]])
    assert np.all(np.abs(matrix.entries(rows, rows) - wide) <= share * (1.0 + share) * wide)
    # Sums of all terms one after the other would be bounded by more than twice as much.
    bound = longest_sum(columns)
    assert bound == columns if columns <= 256 else bound < 256 + 5


@given(
    seed=st.integers(0, 999),
    n=st.integers(1, 200),
    m=st.integers(1, 200),
    d=st.integers(1, 20),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_sums_both_ways(seed, n, m, d, dtype):
    """Sums over rows and over columns, each entry computed once."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, d)).astype(dtype)
    entries = GaussianEntries(X, X, 0.3, X.mean(axis=0).astype(float), dtype)
    rows, columns = rng.permutation(n + m)[:n], rng.permutation(n + m)[:m]
    of_rows, of_columns = rng.standard_normal(n), rng.standard_normal(m)
    there, back = rng.standard_normal(n), rng.standard_normal(m)
    K = rbf_kernel(X[rows].astype(float), X[columns].astype(float), gamma=0.3)
    exact = there + K @ of_columns, back + of_rows @ K
    entries.add_both(rows, columns, (of_rows, of_columns), (there, back))
    atol = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(there, exact[0], atol=atol)
    np.testing.assert_allclose(back, exact[1], atol=atol)
