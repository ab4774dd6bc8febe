"""The best point of a simplex against a slow method, and beta settled by it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from oracles.simplex import best_by_faces
from shortlist.rows.cache import RowCache
from shortlist.rows.kernels import KernelMatrix, kernel_function
from shortlist.top.gram import Computed, Held
from shortlist.top.simplex import best_on_simplex
from shortlist.top.working_set import Working, settle


def problem(seed, n, ties, columns=2):
    """Rows of a kernel with duplicates and a ridge, a pull, and a start on some of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, columns)) if ties else rng.standard_normal((n, columns))
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2)) + 1e-6 * np.eye(n)
    start = rng.random(n) * (rng.random(n) < 0.5)
    start[rng.integers(n)] += 1.0
    return K, rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2), start


@draws(100)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 9), ties=st.booleans())
def test_against_every_face(seed, n, ties):
    K, pull, start = problem(seed, n, ties)
    x = best_on_simplex(K, pull, start, 0.0)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(start.sum())
    expected = best_by_faces(K, pull, start.sum())
    value = 0.5 * x @ K @ x - pull @ x
    assert value == pytest.approx(expected, rel=1e-7, abs=1e-7)


@draws(20)
@given(seed=st.integers(0, 10_000), ties=st.booleans())
def test_many_variables(seed, ties):
    """Optimal: all that are above zero have one slope, and no other has a lower one."""
    K, pull, start = problem(seed, 150, ties, columns=6)
    pull = K @ pull  # sums of kernel rows, as scores are
    x = best_on_simplex(K, pull, start, 1e-9)
    slope = K @ x - pull
    level = slope[x > 0.0].mean()
    size = np.abs(pull).max() + np.abs(K @ x).max()
    np.testing.assert_allclose(slope[x > 0.0], level, atol=1e-6 * size)
    assert slope.min() >= level - 1e-6 * size
    assert x.sum() == pytest.approx(start.sum())


@draws(20)
@given(seed=st.integers(0, 10_000))
def test_nearly_singular(seed):
    """Many rows close together: feasible, and no worse than the start."""
    K, pull, start = problem(seed, 150, False)
    pull = K @ pull
    x = best_on_simplex(K, pull, start, 1e-9)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(start.sum())
    before, after = (0.5 * z @ K @ z - pull @ z for z in (start, x))
    assert after <= before + 1e-9 * (1.0 + abs(before))


def test_not_definite():
    """A matrix that is none of a kernel: a point of the simplex all the same."""
    x = best_on_simplex(-np.eye(3), np.ones(3), np.ones(3), 0.0)
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(3.0)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_settled(kept, dtype):
    """Beta is best among itself, its sum and the scores of all rows are what they should be."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3)).astype(dtype)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=0.5))
    cache = RowCache(kernel, rng.permutation(60), 1 << 20)
    positions = rng.permutation(60)[:40]
    K = kernel.wide_entries(cache.order[positions], cache.order[positions])
    if kept:
        gram = Held(np.ascontiguousarray(K, dtype=dtype))
    else:
        rows = kernel.rows(cache.order[positions], np.empty((5, 40), dtype=dtype))
        gram = Computed(rows, cache, positions)
    alpha, beta = rng.random(15), rng.random(25)
    beta *= alpha.sum() / beta.sum()
    work = Working(positions, np.arange(15), np.arange(25), gram)
    scores = K @ np.concatenate([alpha, -beta])
    settle(work, beta, scores, 1e-7)
    assert beta.sum() == pytest.approx(alpha.sum())
    exact = K @ np.concatenate([alpha, -beta])
    np.testing.assert_allclose(scores, exact, atol=1e-5 if dtype == np.float32 else 1e-12)
    own, tol = exact[15:], 1e-4 if dtype == np.float32 else 1e-7
    assert np.ptp(own[beta > 0.0]) <= tol
    assert own.max() <= own[beta > 0.0].mean() + tol
