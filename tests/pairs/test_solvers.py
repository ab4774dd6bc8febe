"""Both solvers against a conic solver with explicit pairs, over ugly problems."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from drawing import draws
from oracles.ranking import optimum, pairs
from shortlist._losses import LOSSES
from shortlist._solver import find_solver
from shortlist.certificate import Monitor
from shortlist.pairs.plan import listed_pairs, plan_pairs
from shortlist.pairs.problem import PairProblem, dual_value, primal_value
from shortlist.pairs.spaces import KernelSpace, LinearSpace, Point
from shortlist.rows.kernels import KernelMatrix

# The package exports the function of the same name.
pair_newton = importlib.import_module("shortlist.pairs.newton")


def solve(problem, solver="auto", tol=1e-6, max_iter=None):
    chosen = find_solver(solver, problem)
    monitor = Monitor(tol, max_iter or chosen.max_iter)
    chosen.run(problem, monitor)
    return monitor.conclude()


def make_problem(X, y, *, C=1.0, loss="hinge", space=None, **options):
    n = len(y)
    arguments = {"group": np.zeros(n, dtype=int), "weight": np.ones(n), **options}
    return PairProblem(
        space or LinearSpace.of(X), np.asarray(y, float), C=C, loss=LOSSES[loss], **arguments
    )


@st.composite
def tables(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    X = random.normal(size=(n, d)) * 10.0 ** draw(st.integers(-2, 2))
    if draw(st.booleans()):
        X[:, 0] = 1.0
    if draw(st.booleans()):
        X = X[random.integers(0, n, n)]
    y = random.integers(0, draw(st.sampled_from([2, 3, 50])), n).astype(float)
    y[0], y[-1] = 0.0, 1.0
    group = random.integers(0, draw(st.sampled_from([1, 3])), n)
    group[0] = group[-1] = 0
    options = {
        "group": group,
        "weight": random.choice([1.0, 2.0, 0.5], n),
        "max_rank_distance": draw(st.sampled_from([None, 1, 3])),
        "normalize": draw(st.booleans()),
    }
    return X, y, draw(st.sampled_from([1e-3, 1.0, 10.0])), options


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@draws(40)
@given(case=tables())
def test_newton_reaches_the_optimum(loss, case):
    X, y, C, options = case
    problem = make_problem(X, y, C=C, loss=loss, **options)
    point, certificate = solve(problem)
    best = optimum(X, y, C=C, power=LOSSES[loss].power, **options)
    assert certificate.status == "converged"
    slack = 1e-6 * abs(best) + 1e-9
    assert certificate.dual <= best + slack
    assert best - slack <= certificate.primal <= best + 2e-6 * abs(best) + slack
    fresh = Point(LinearSpace.of(X), point.u)
    sums = problem.sums(fresh, 1.0 if loss == "hinge" else np.inf)
    assert primal_value(problem, sums) == pytest.approx(certificate.primal, rel=1e-9, abs=1e-12)


@draws(25)
@given(case=tables())
def test_frank_wolfe_brackets_the_optimum(case):
    X, y, C, options = case
    _, certificate = solve(make_problem(X, y, C=C, **options), "fw", tol=1e-3, max_iter=300)
    best = optimum(X, y, C=C, power=1, **options)
    assert certificate.dual <= best * (1 + 1e-6) + 1e-9
    assert certificate.primal >= best * (1 - 1e-6) - 1e-9


def test_frank_wolfe_gap_is_the_duality_gap():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    problem = make_problem(X, X[:, 0] + random.normal(size=60), C=0.1)
    _, certificate = solve(problem, "fw", tol=1e-4, max_iter=5000)
    assert certificate.status == "converged"
    vertex_only = problem.sums(problem.zero(), 1.0)
    model = vertex_only.vertex_model()
    # One full step from zero: alpha is the vertex, so h can be written down.
    sums = problem.sums(model, 1.0)
    h = sums.violated - vertex_only.violated - float((sums.vertex - vertex_only.vertex) @ model.f)
    gap = primal_value(problem, sums) - (vertex_only.violated - 0.5 * model.dot(model))
    assert h == pytest.approx(gap, rel=1e-12)


def test_gap_is_half_the_squared_gradient_plus_the_rounding():
    random = np.random.default_rng(1)
    X = random.normal(size=(40, 3))
    problem = make_problem(X, random.normal(size=40))
    point = Point(problem.space, X.T @ (0.01 * random.normal(size=40)))
    sums = problem.sums(point, 0.4)
    model = sums.model()
    gradient = point.plus(-1.0, model)
    rounding = sums.hinge - sums.slack
    gap = primal_value(problem, sums) - dual_value(problem, sums, model)
    assert gap == pytest.approx(0.5 * gradient.dot(gradient) + rounding, rel=1e-10)
    assert rounding >= 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("storage", ["csr", "float32", "kernel", "small cache"])
def test_storages_agree(storage, loss):
    random = np.random.default_rng(2)
    X = random.normal(size=(50, 4)).astype(np.float32).astype(float)
    y = X[:, 0] + 0.5 * random.normal(size=50)
    space = {
        "csr": lambda: LinearSpace.of(sparse.csr_array(X)),
        "float32": lambda: LinearSpace.of(X.astype(np.float32)),
        "kernel": lambda: KernelSpace(KernelMatrix(X @ X.T, None), 100),
        "small cache": lambda: KernelSpace(KernelMatrix(X @ X.T, None), 1e-3),
    }[storage]()
    expected = solve(make_problem(X, y, loss=loss))[1]
    got = solve(make_problem(X, y, loss=loss, space=space))[1]
    assert got.status == "converged"
    assert got.primal == pytest.approx(expected.primal, rel=2e-6)


@pytest.mark.parametrize("groups", [1, 400])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sampled_start_and_curvature_reach_the_same_optimum(monkeypatch, groups, loss):
    random = np.random.default_rng(3)
    X = random.normal(size=(3000, 5))
    y = X[:, 0] + random.normal(size=3000)
    group = random.integers(0, groups, 3000)
    exact = solve(make_problem(X, y, loss=loss, group=group))[1]
    monkeypatch.setattr(pair_newton, "_SAMPLE_FROM", 1000)
    monkeypatch.setattr(pair_newton, "_LEAST_ROWS", 200)
    monkeypatch.setattr(pair_newton, "_ROWS_PER_FEATURE", 20)
    sampled = solve(make_problem(X, y, loss=loss, group=group))[1]
    assert sampled.status == "converged"
    assert sampled.primal == pytest.approx(exact.primal, rel=2e-6)
    assert sampled.passes < 60


def test_large_c_does_not_crawl():
    random = np.random.default_rng(4)
    X = random.normal(size=(400, 10))
    y = X @ random.normal(size=10) + random.normal(size=400)
    for C in (1.0, 1e2, 1e4):
        certificate = solve(make_problem(X, y, C=C), tol=1e-4)[1]
        assert certificate.status == "converged"
        assert certificate.passes <= 100


def test_separable_pairs():
    X = np.array([[0.0], [1.0], [2.0]])
    point, certificate = solve(make_problem(X, [0, 1, 2], C=100.0, normalize=False))
    assert certificate.status == "converged"
    assert point.u[0] == pytest.approx(1.0, rel=1e-5)


@draws(40)
@given(case=tables())
def test_interior_point_reaches_the_optimum(case):
    X, y, C, options = case
    space = KernelSpace(KernelMatrix(X @ X.T, None), 100)
    _, certificate = solve(make_problem(X, y, C=C, space=space, **options), "interior_point")
    best = optimum(X, y, C=C, power=1, **options)
    slack = 1e-6 * abs(best) + 1e-9
    assert certificate.status == "converged"
    assert certificate.dual <= best + slack
    assert best - slack <= certificate.primal <= best + 2e-6 * abs(best) + slack


@draws(40)
@given(seed=st.integers(0, 999), distance=st.sampled_from([None, 1, 2, 5]))
def test_listed_pairs(seed, distance):
    random = np.random.default_rng(seed)
    y, group = random.integers(0, 6, 15).astype(float), random.integers(0, 3, 15)
    upper, lower = listed_pairs(plan_pairs(y, group, distance))
    listed = list(zip(upper.tolist(), lower.tolist(), strict=True))
    assert sorted(listed) == sorted(pairs(y, group, distance))


def test_a_strong_loss_of_kernel_pairs_goes_inside():
    """The default where C is large, and as many steps at any C; where it is not, Newton."""
    random = np.random.default_rng(6)
    X = random.normal(size=(150, 30))
    y = X @ random.normal(size=30) + 3.0 * random.normal(size=150)
    K = np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(-1))
    for C in (1.0, 1e2, 1e4):
        problem = make_problem(X, y, C=C, space=KernelSpace(KernelMatrix(K, None), 100))
        strong = find_solver("auto", problem).name == "interior_point"
        assert strong == (C > 1.0)
        certificate = solve(problem, "interior_point", tol=1e-4)[1]
        assert certificate.status == "converged"
        assert certificate.passes <= 60


def test_squared_hinge_has_no_conditional_gradient():
    problem = make_problem(np.eye(3), [0, 1, 2], loss="squared_hinge")
    with pytest.raises(ValueError, match="solver='fw' cannot be used: it needs a sum over hinged"):
        find_solver("fw", problem)
