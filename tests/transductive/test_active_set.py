"""The active-set SVM against an interior-point QP, while the allowed set wanders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from drawing import draws
from oracles.budgeted import objective, optimum
from shortlist.rows.operators import as_rows
from shortlist.transductive.allowed_set import AllowedSet
from shortlist.transductive.problem import BudgetedSVM


def make_problem(X, y, c, candidates, k=1.0, count=None):
    n, m = len(X), len(candidates)
    count = np.ones(m) if count is None else count
    rows = as_rows(np.concatenate([X, candidates]))
    return BudgetedSVM(rows, np.arange(n), y, c, np.arange(n, n + m), count, k)


def draw_rows(rng, kind, n, m, d):
    if kind == "plain":
        return rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if kind == "ties":
        X = rng.integers(-1, 2, (n, d)).astype(float)
        return X, rng.integers(-1, 2, (m, d)).astype(float)
    if kind == "same rows":
        X = rng.integers(0, 2, (n, d)).astype(float)
        return X, X[rng.integers(0, n, m)]
    if kind == "identical":
        X, Z = np.repeat(rng.normal(size=(1, d)), n, 0), np.repeat(rng.normal(size=(1, d)), m, 0)
        X[rng.integers(n)] += 1.0
        return X, Z
    if kind == "huge":
        return 1e3 * rng.normal(size=(n, d)), 1e3 * rng.normal(size=(m, d))
    if kind == "tiny":
        return 1e-3 * rng.normal(size=(n, d)), 1e-3 * rng.normal(size=(m, d))
    scale = 10.0 ** rng.integers(-3, 4, d)
    return scale * rng.normal(size=(n, d)), scale * rng.normal(size=(m, d))


KINDS = ("plain", "ties", "same rows", "identical", "huge", "tiny", "mixed scales")


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, d = draw(st.integers(2, 20)), draw(st.integers(1, 14)), draw(st.integers(1, 6))
    X, candidates = draw_rows(rng, draw(st.sampled_from(KINDS)), n, m, d)
    y = np.where(rng.random(n) < draw(st.sampled_from([0.1, 0.5])), 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    c = draw(st.sampled_from([0.01, 1.0, 100.0])) * rng.integers(1, 4, n)
    return X, y, c, candidates, rng


@draws(150)
@given(problems())
def test_optimal_after_any_change_of_the_allowed_set(problem):
    X, y, c, candidates, rng = problem
    svm = make_problem(X, y, c, candidates)
    state = AllowedSet(svm)
    merged = svm.rows.dense()[svm.candidates]
    for share in (1.0, *rng.random(3)):
        state.become(rng.random(svm.n_candidates) < share)
        reference = optimum(X, y, c, merged, state.allowed)
        found = state.solution()
        tolerance = 2e-6 * max(abs(reference), 1e-3)
        assert found.primal == pytest.approx(reference, abs=tolerance)
        assert state.value == pytest.approx(reference, abs=tolerance)
        assert found.primal == pytest.approx(objective(X, y, c, found.w, found.b))
        held = merged[~state.allowed] @ found.w + found.b
        assert held.max(initial=-1.0) <= 0.0
        beta = state.multipliers()
        assert (beta >= 0.0).all()
        assert not beta[state.allowed].any()


@draws(50)
@given(problems())
def test_a_ceiling_is_exceeded_only_by_optima_above_it(problem):
    X, y, c, candidates, rng = problem
    svm = make_problem(X, y, c, candidates)
    state = AllowedSet(svm)
    relaxed = state.value
    chosen = rng.random(svm.n_candidates) < 0.5
    reference = optimum(X, y, c, svm.rows.dense()[svm.candidates], chosen)
    state.save()
    for share in (0.2, 0.8, 1.2):
        ceiling = relaxed + share * (reference - relaxed)
        state.forbid(*np.flatnonzero(~chosen))
        if not state.optimise(ceiling):
            assert reference > ceiling * (1.0 - 1e-6)
        else:
            assert state.value <= ceiling + 1e-6 * abs(reference)
        state.restore()
        assert state.value == relaxed
        assert state.allowed.all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_storage_does_not_matter(dtype, index):
    rng = np.random.default_rng(3)
    X = (rng.random((40, 12)) * (rng.random((40, 12)) < 0.4)).astype(dtype)
    y = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
    values = []
    for rows in (as_rows(X.astype(np.float64)), as_rows(X), as_rows(csr)):
        places = np.arange(40)
        svm = BudgetedSVM(rows, places[:25], y[:25], np.ones(25), places[25:], np.ones(15), 3.0)
        state = AllowedSet(svm)
        state.forbid(*range(svm.n_candidates))
        state.optimise()
        values.append((state.relaxed_bound, state.value, state.solution().primal))
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-9)


def test_equal_rows_are_one_row():
    X = np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 2.0], [1.0, 0.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    svm = make_problem(X, y, np.array([1.0, 2.0, 3.0, 4.0]), X[[0, 2, 0]], k=2.0)
    assert svm.n_training == 3
    assert sorted(svm.c) == [3.0, 3.0, 4.0]
    assert sorted(svm.count) == [1.0, 2.0]


def test_best_fills_the_budget_and_passes_over_what_is_too_large():
    svm = make_problem(
        np.array([[0.0], [1.0]]),
        np.array([1.0, -1.0]),
        np.ones(2),
        np.array([[0.0], [1.0], [2.0], [3.0]]),
        k=3.0,
        count=np.array([1.0, 2.0, 2.0, 1.0]),
    )
    assert svm.candidates.tolist() == sorted(svm.candidates.tolist())
    values = svm.rows.dense()[svm.candidates, 0]
    chosen = svm.best(-values)
    assert sorted(values[chosen]) == [0.0, 1.0]
    chosen = svm.best(np.where(values == 2.0, 9.0, np.where(values == 1.0, 5.0, 0.0)))
    assert svm.count[chosen].sum() == 3.0
    assert 2.0 in values[chosen]
