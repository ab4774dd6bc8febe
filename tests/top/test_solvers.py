"""Both linear solvers against cvxpy, over random and ugly problems."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from drawing import draws
from oracles.top import top_push_optimum
from shortlist._losses import LOSSES
from shortlist._solver import find_solver
from shortlist.certificate import Monitor
from shortlist.rows.operators import as_rows
from shortlist.top import interior_point
from shortlist.top.problem import TopProblem
from shortlist.top.top_mean import TopMean

NEWTON = importlib.import_module("shortlist.top.newton")


def make_problem(X, y, *, k=1, C=1.0, loss="squared_hinge", weight=None):
    y = np.asarray(y, dtype=bool)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    used = weight > 0
    return TopProblem(
        X,
        np.flatnonzero(y & used),
        np.flatnonzero(~y & used),
        weight,
        C,
        LOSSES[loss],
        TopMean(k),
    )


def run(problem, solver="newton", tol=1e-6, max_iter=None):
    chosen = find_solver(solver, problem)
    monitor = Monitor(tol, max_iter or chosen.max_iter)
    chosen.run(problem, monitor)
    return monitor.conclude()


@st.composite
def problems(draw, strengths=(1e-2, 1.0, 1e2)):
    """Small problems of every ugly kind; `strengths` are C in units of the features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_positive = draw(st.integers(1, 8))
    n_negative = draw(st.integers(1, 12))
    n_features = draw(st.integers(1, 6))
    X = rng.normal(size=(n_positive + n_negative, n_features))
    y = np.arange(len(X)) < n_positive
    X[y] += draw(st.sampled_from([0.0, 0.5, 3.0]))
    if draw(st.booleans()):
        X = np.round(X)  # ties and duplicates
    if draw(st.booleans()):
        X[:, 0] = 1.0  # a constant column
    unit = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    X *= unit
    weight = None
    total = n_negative
    if draw(st.booleans()):
        weight = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], size=len(X))
        weight[0], weight[-1] = 1.0, 1.0
        total = weight[~y].sum()
    # With k = total every dual weight is fixed, which costs a few digits at the extremes.
    k = draw(st.integers(1, max(1, int(total) - (strengths[-1] > 1e2))))
    C = draw(st.sampled_from(strengths)) / unit**2
    return {"X": X, "y": y, "k": k, "C": C, "weight": weight}


@pytest.mark.parametrize("loss", LOSSES)
@draws(50)
@given(args=problems())
def test_newton_reaches_the_optimum(args, loss):
    solution, certificate = run(make_problem(**args, loss=loss))
    optimum = top_push_optimum(**args, loss=loss)
    assert certificate.status == "converged"
    assert certificate.gap >= 0.0
    assert certificate.relative_gap <= 1e-6
    slack = 1e-5 * optimum
    assert certificate.dual <= optimum + slack
    assert certificate.primal >= optimum - slack
    # The certificate speaks of the model that is returned.
    problem = make_problem(**args, loss=loss)
    value, t = problem.primal(solution.w, *problem.split_scores(solution.w))
    assert value == pytest.approx(certificate.primal, rel=1e-9)
    assert t == pytest.approx(solution.threshold, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@draws(150)
@given(args=problems(strengths=(1e-6, 1e5)))
def test_newton_certifies_extreme_strengths(args, loss):
    _, certificate = run(make_problem(**args, loss=loss))
    assert certificate.status == "converged"
    assert 0.0 <= certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", LOSSES)
@draws(40)
@given(args=problems())
def test_accelerated_never_crosses_the_optimum(args, loss):
    _, certificate = run(make_problem(**args, loss=loss), "accelerated", tol=1e-4, max_iter=500)
    optimum = top_push_optimum(**args, loss=loss)
    slack = 1e-5 * optimum
    assert certificate.dual <= optimum + slack
    assert certificate.primal >= optimum - slack
    assert certificate.gap >= 0.0


def test_accelerated_ends_where_every_step_is_rounding():
    weight = [1.0, 1.0, 1.0, 0.5, 3.0, 0.5, 1.0, 1.0, 3.0, 0.5, 2.0, 0.5, 0.0, 1.0, 1.0]
    y = np.arange(15) < 7
    problem = make_problem(np.ones((15, 1)), y, k=5, C=100.0, loss="hinge", weight=weight)
    _, certificate = run(problem, "accelerated", tol=1e-4, max_iter=500)
    assert certificate.primal == pytest.approx(problem.value_at_zero)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_two_solvers_agree(loss, k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.arange(120) < 30
    X[y] += 0.7
    problem = make_problem(X, y, k=k, loss=loss, C=0.1)
    results = [run(problem, solver, tol=1e-6) for solver in ("newton", "accelerated")]
    for _, certificate in results:
        assert certificate.status == "converged"
    (fast, one), (slow, other) = results
    assert one.primal == pytest.approx(other.primal, rel=2e-6)
    np.testing.assert_allclose(fast.w, slow.w, atol=2e-3 * np.abs(slow.w).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_storage_does_not_change_the_model(form, dtype):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(900, 6)) * (rng.random((900, 6)) < 0.6)).astype(dtype)
    y = np.arange(900) < 60
    X[y, 0] += 1
    expected, _ = run(make_problem(X.astype(np.float64), y, k=5))
    got, certificate = run(make_problem(form(X), y, k=5))
    assert certificate.relative_gap <= 1e-6
    np.testing.assert_allclose(got.w, expected.w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("k", [1, 7, 40])
def test_weights_are_multiplicities(k):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5))
    y = np.arange(80) < 20
    weight = rng.integers(0, 4, size=80).astype(float)
    repeated = np.repeat(np.arange(80), weight.astype(int))
    one, _ = run(make_problem(X, y, k=k, weight=weight))
    two, _ = run(make_problem(X[repeated], y[repeated], k=k))
    np.testing.assert_allclose(one.w, two.w, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [1, 25])
def test_a_growing_working_set_ends_at_the_same_place(monkeypatch, k, loss):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 20)) * np.linspace(0.1, 2, 20)
    y = np.arange(3000) < 200
    X[y] += 0.3
    whole, _ = run(make_problem(X, y, k=k, loss=loss, C=0.1), tol=1e-9)
    monkeypatch.setattr(NEWTON, "_START_ROWS", 5)
    grown, certificate = run(make_problem(X, y, k=k, loss=loss, C=0.1), tol=1e-9)
    assert certificate.status == "converged"
    assert certificate.passes < 60
    np.testing.assert_allclose(grown.w, whole.w, rtol=1e-3, atol=1e-4 * np.abs(whole.w).max())


@pytest.mark.parametrize(("limit", "name"), [(50, "rows"), (10, "heavy_rows")])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_every_linear_system_gives_the_same_model(monkeypatch, sparse_rows, k, limit, name):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 90)) * (rng.random((60, 90)) < 0.3)
    y = np.arange(60) < 15
    stored = sparse.csr_array(X) if sparse_rows else X
    expected, _ = run(make_problem(X, y, k=k), tol=1e-8)
    chosen = []
    factor = getattr(interior_point.NewtonSystem, f"_factor_{name}")

    def spy(self, *args):
        chosen.append(name)
        return factor(self, *args)

    monkeypatch.setattr(interior_point, "_DIRECT_LIMIT", limit)
    monkeypatch.setattr(interior_point, "_FEW_SPARSE", 2 * limit)
    monkeypatch.setattr(interior_point.NewtonSystem, f"_factor_{name}", spy)
    got, certificate = run(make_problem(stored, y, k=k), tol=1e-8)
    assert chosen
    assert certificate.status == "converged"
    np.testing.assert_allclose(got.w, expected.w, rtol=1e-4, atol=1e-6)


def test_collapse_is_certified():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    y = np.arange(100) < 20
    X[~y] -= 5
    X[50] = X[y].mean(0)  # one negative in the middle of the positives
    solution, certificate = run(make_problem(X, y), tol=1e-8)
    assert certificate.status == "converged"
    assert certificate.primal == pytest.approx(20.0)
    assert not solution.w.any()
    assert solution.top_ranked == 50


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_of_the_features_only_rescale_the_problem(scale):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 5))
    y = np.arange(200) < 40
    X[y] += 1
    one, a = run(make_problem(X, y, C=1.0))
    two, b = run(make_problem(scale * X, y, C=1.0 / scale**2))
    assert b.status == "converged"
    assert b.primal * scale**2 == pytest.approx(a.primal, rel=1e-5)
    np.testing.assert_allclose(scale * two.w, one.w, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e4, 1e9])
@pytest.mark.parametrize("kind", ["even", "few heavy", "zeros"])
def test_newton_systems_of_wide_sparse_rows(scale, kind):
    random = np.random.default_rng(3)
    X = sparse.random(300, 900, 0.03, format="csr", random_state=3)
    weights = scale * random.random(300)
    if kind == "few heavy":
        weights[::50] *= 1e4
    elif kind == "zeros":
        weights[random.random(300) < 0.9] = 0.0
    parts = as_rows(X[:120]), as_rows(X[120:])
    solve = interior_point.NewtonSystem(*parts).factor(weights[:120], weights[120:])
    right = random.normal(size=(900, 2))
    matrix = np.eye(900) + X.T.toarray() @ (weights[:, None] * X.toarray())
    found = solve(right)
    residual = np.linalg.norm(matrix @ found - right)
    rounding = np.finfo(float).eps * np.linalg.norm(matrix) * np.linalg.norm(found)
    assert residual <= 1e-6 * np.linalg.norm(right) + 10.0 * rounding
