"""The leap: a prolonged change of the dual, projected, with the exact step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from drawing import draws
from oracles import topk as oracle
from shortlist import TopKSVC
from shortlist.topk.problem import TopKProblem, rank_weights
from shortlist.topk.scores import LinearScores


def two_sweeps(X, y, k, C, smoothing=0.0, bias=0.0):
    """Return a problem and its dual point, the one sweep before remembered."""
    m = int(y.max()) + 1
    problem = TopKProblem(
        LinearScores(X, bias, m),
        y.astype(np.int32),
        np.full(len(y), C),
        m,
        rank_weights("flat", k),
        smoothing,
        False,
        np.random.RandomState(0),
    )
    dual = problem.dual()
    problem.scores.sweep(dual, problem.rng, True, 15)
    before = problem.alpha(dual).toarray()
    dual.remember()
    problem.scores.sweep(dual, problem.rng, True, 15)
    return problem, dual, before


def value(problem, A):
    """Value of the dual, from its definition."""
    rows = sparse.csr_array(A)
    own = A[np.arange(len(A)), problem.y].sum()
    return own - 0.5 * np.vdot(A, problem.product(rows))


@draws(50)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 30),
    m=st.integers(2, 6),
    k=st.integers(1, 4),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    reach=st.sampled_from([1.0, 4.0, 1e3]),
    smoothing=st.sampled_from([0.0, 0.2]),
    sparse_rows=st.booleans(),
)
def test_a_leap_stays_feasible_and_never_falls(
    seed, n, m, k, C, scale, reach, smoothing, sparse_rows
):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1) * scale
    X[rng.random(n) < 0.3] = X[0]
    y = np.append(m - 1, rng.integers(m, size=n - 1))
    k = min(k, m - 1)
    rows = sparse.csr_matrix(np.hstack([X, np.zeros((n, 3000))])) if sparse_rows else X
    problem, dual, _ = two_sweeps(rows, y, k, C, smoothing, bias=0.5)
    before = value(problem, problem.alpha(dual).toarray())
    problem.scores.leap(dual, reach)
    A = problem.alpha(dual)
    assert value(problem, A.toarray()) >= before - 1e-9 * abs(before)
    held, expected = problem.scores.W, problem.scores.model(A)
    assert held == pytest.approx(expected, rel=1e-7, abs=1e-9 * C * scale)
    beta = -A.toarray()
    beta[np.arange(n), y] = 0.0
    total = beta.sum(axis=1)
    cap = C if k == 1 else np.minimum(C / k, total / (k - 1))[:, None]
    assert (beta >= 0.0).all()
    assert (total <= C * (1 + 1e-9)).all()
    assert (beta <= cap + 1e-9 * C).all()


@pytest.mark.parametrize("k", [1, 3])
def test_the_proposal_is_a_projection(k):
    """Against a QP solver, row by row."""
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(20, 4)), np.arange(20) % 5
    reach, C = 3.0, 0.7
    problem, dual, before = two_sweeps(X, y, k, C)
    now = problem.alpha(dual).toarray()
    change = np.zeros_like(problem.scores.W)
    dual.extrapolate_dense(X, change, 0.0, reach)
    dual.accept(1.0)
    after = problem.alpha(dual).toarray()
    assert change == pytest.approx(X.T @ (after - now), abs=1e-9)
    assert np.abs(after - now).max() > 0.01
    target = now + reach * (now - before)
    for i in range(20):
        a = target[i, y[i]] - target[i]
        a[y[i]] = 0.0
        one = np.array([1.0])
        expected = -oracle.blocks(a[None], y[i], one, C * one, problem.rho)[0]
        expected[y[i]] = -expected.sum()
        assert after[i] == pytest.approx(expected, abs=1e-4)


def test_the_step_is_the_best_one():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    problem, dual, _ = two_sweeps(X, y, 1, 10.0)
    start = problem.alpha(dual).toarray()
    best = problem.scores.leap(dual, 4.0)
    assert 0.0 < best < 1.0
    end = problem.alpha(dual).toarray()
    reached = value(problem, end)
    for step in (0.9, 0.99, 1.01, 1.1):
        assert value(problem, start + step * (end - start)) < reached


def test_leaps_save_sweeps_where_rows_contradict(monkeypatch):
    """Twins with different classes creep to their bound by a constant step per sweep."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80))
    y = np.arange(60) % 3
    X = np.vstack([X, X[:20]])
    y = np.append(y, (y[:20] + 1) % 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sweeps = {}
    for leaps in (True, False):
        monkeypatch.setattr(LinearScores, "leaps", leaps)
        model = TopKSVC(k=1, C=1000.0, solver="block", tol=1e-3).fit(X, y)
        assert model.certificate_.status == "converged"
        sweeps[leaps] = model.n_iter_
    assert 2 * sweeps[True] < sweeps[False]
