"""Swap, feasible direction and branch and bound against enumeration."""

import os
import signal
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from oracles.budgeted import best_subset, objective
from shortlist import TransductiveTopK
from shortlist.certificate import Monitor
from shortlist.rows.operators import as_rows
from shortlist.transductive.allowed_set import AllowedSet, thresholded
from shortlist.transductive.feasible_direction import feasible_direction
from shortlist.transductive.mip import branch_and_bound, exact, score_bounds
from shortlist.transductive.problem import BudgetedSVM
from shortlist.transductive.swap import search, swap


def build(X, y, c, candidates, count, k):
    n, m = len(X), len(candidates)
    rows = as_rows(np.concatenate([X, candidates]))
    return BudgetedSVM(rows, np.arange(n), y, c, np.arange(n, n + m), count, float(k))


def monitor(**limits):
    return Monitor(**{"tol": 1e-6, "max_iter": 100_000, **limits})


def random_data(seed, n, m, d, gap=0.7):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + gap * (y[:, None] > 0)
    return X, y, rng.normal(size=(m, d)) + gap * (rng.random(m) < 0.6)[:, None]


def run(method, problem, **limits):
    watch = monitor(**limits)
    options = {} if method is feasible_direction else {"restarts": 3, "seed": 0}
    method(problem, watch, **options)
    return watch.conclude()


def check_feasible(problem, found):
    training, candidates = problem.split_scores(found.w, found.b)
    assert problem.fits(candidates > 0.0)
    assert found.primal == pytest.approx(problem.objective(found.w, training), rel=1e-9)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    n, m, d = draw(st.integers(2, 16)), draw(st.integers(1, 7)), draw(st.integers(1, 5))
    X, y, candidates = random_data(seed, n, m, d, draw(st.sampled_from([0.0, 0.7, 3.0])))
    kind = draw(st.sampled_from(["plain", "rounded", "training rows", "identical"]))
    if kind == "rounded":
        X, candidates = np.round(X), np.round(candidates)
    elif kind == "training rows":
        candidates = X[np.arange(m) % n]
    elif kind == "identical":
        candidates[:] = candidates[0]
    scale = draw(st.sampled_from([1e-2, 1.0, 1e2]))
    count = np.ones(m)
    if draw(st.booleans()):
        count = draw(st.sampled_from([1.0, 2.0])) * np.random.default_rng(seed).integers(1, 3, m)
    k = draw(st.integers(1, int(count.sum())))
    c = draw(st.sampled_from([0.1, 1.0, 10.0])) * np.ones(n)
    return scale * X, y, c, scale * candidates, count, k


@draws(80)
@given(problems())
def test_local_methods_are_feasible_bounded_and_no_worse_than_their_start(data):
    X, y, c, candidates, count, k = data
    problem = build(*data)
    reference = best_subset(X, y, c, candidates, count, k)
    state = AllowedSet(problem)
    start = thresholded(problem, state)
    check_feasible(problem, start)
    slack = 2e-6 * max(reference, 1e-3)
    for method in (swap, feasible_direction):
        found, certificate = run(method, problem)
        check_feasible(problem, found)
        assert found.primal == pytest.approx(objective(X, y, c, found.w, found.b))
        assert reference - slack <= found.primal <= start.primal * (1.0 + 1e-9) + slack
        assert certificate.primal == found.primal
        assert certificate.dual <= reference + slack
        assert certificate.status in ("local", "converged", "max_iter")
        if certificate.status == "converged":
            assert found.primal <= reference + slack


@pytest.mark.parametrize("seed", range(12))
def test_swap_finds_the_optimum_of_small_problems(seed):
    X, y, candidates = random_data(seed, 30, 9, 3)
    data = X, y, np.ones(30), candidates, np.ones(9), 2
    found, _ = run(swap, build(*data))
    assert found.primal == pytest.approx(best_subset(*data), rel=1e-6)


def test_swap_is_far_below_the_threshold_and_below_descent():
    X, y, candidates = random_data(5, 120, 120, 15)
    problem = build(X, y, np.ones(120), candidates, np.ones(120), 6)
    start = thresholded(problem, AllowedSet(problem))
    best, _ = run(swap, problem)
    descent, _ = run(feasible_direction, problem)
    assert best.primal < 0.7 * start.primal
    assert best.primal <= descent.primal <= 1.2 * best.primal


@pytest.mark.parametrize(("m", "k", "d"), [(14, 2, 2), (10, 3, 3), (8, 7, 2), (6, 1, 4)])
def test_exact_agrees_with_enumeration(m, k, d):
    X, y, candidates = random_data(m, 20, m, d)
    data = X, y, np.ones(20), candidates, np.ones(m), k
    found, certificate = run(exact, build(*data), tol=1e-5)
    assert certificate.status == "converged"
    assert found.primal == pytest.approx(best_subset(*data), rel=1e-5)
    assert certificate.dual <= found.primal
    assert certificate.relative_gap <= 1e-5


def test_exact_improves_on_a_bad_start_and_counts_multiplicities():
    X, y, candidates = random_data(2, 20, 8, 2)
    count = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0])
    data = X, y, np.ones(20), candidates, count, 3
    problem = build(*data)
    bad = thresholded(problem, AllowedSet(problem))
    reference = best_subset(*data)
    assert bad.primal > 1.05 * reference
    for warm in (False, True):
        watch = monitor(tol=1e-5)
        branch_and_bound(problem, watch, bad, warm=warm)
        found, certificate = watch.conclude()
        check_feasible(problem, found)
        assert certificate.status == "converged"
        assert found.primal == pytest.approx(reference, rel=1e-5)


def test_exact_proves_the_optimum_for_40_candidates():
    X, y, candidates = random_data(1, 40, 40, 2)
    found, certificate = run(exact, build(X, y, np.ones(40), candidates, np.ones(40), 4), tol=1e-4)
    assert certificate.status == "converged"
    assert certificate.relative_gap <= 1e-4
    assert found.primal - certificate.dual <= 1e-4 * found.primal


def test_exact_reports_its_bound_when_time_is_up():
    X, y, candidates = random_data(3, 100, 100, 20)
    problem = build(X, y, np.ones(100), candidates, np.ones(100), 5)
    start = thresholded(problem, AllowedSet(problem))
    found, certificate = run(exact, problem, time_limit=0.2)
    check_feasible(problem, found)
    assert certificate.status == "time_limit"
    assert certificate.dual <= found.primal <= start.primal


def test_a_limit_in_cpu_seconds_ends_the_search():
    X, y, candidates = random_data(3, 100, 100, 20)
    problem = build(X, y, np.ones(100), candidates, np.ones(100), 5)
    start = thresholded(problem, AllowedSet(problem))
    watch = monitor()
    # Less than any machine takes: it ends where SCIP first looks at the clock.
    found = branch_and_bound(problem, watch, start, warm=False, cpu_limit=1e-3)
    check_feasible(problem, found)
    assert watch.status == "time_limit"
    assert watch.dual <= found.primal


@pytest.mark.parametrize("exit_by", ["ctrl-c", "raise", "return"])
def test_ctrl_c_and_callbacks_end_the_branch_and_bound(exit_by):
    X, y, candidates = random_data(3, 100, 100, 20)
    problem = build(X, y, np.ones(100), candidates, np.ones(100), 5)
    start = thresholded(problem, AllowedSet(problem))
    pressed = []

    def press(check):
        # Called at every better solution, in the midst of SCIP's work.
        pressed.append(check)
        if len(pressed) == 1:
            if exit_by == "ctrl-c":
                os.kill(os.getpid(), signal.SIGINT)
            elif exit_by == "raise":
                raise ZeroDivisionError
        return exit_by == "return"

    watch = monitor(time_limit=3600.0, callback=press)
    if exit_by == "return":
        branch_and_bound(problem, watch, start, warm=True)
        found, certificate = watch.conclude()
        check_feasible(problem, found)
        assert certificate.status == "stopped"
        assert certificate.dual <= found.primal <= start.primal
    else:
        error = KeyboardInterrupt if exit_by == "ctrl-c" else ZeroDivisionError
        with pytest.raises(error):
            branch_and_bound(problem, watch, start, warm=True)
    # Nothing better was looked for after that: at most the end itself is told.
    assert len(pressed) <= 2


def test_score_bounds_hold_for_every_model_at_least_as_good():
    X, y, candidates = random_data(4, 30, 10, 3)
    problem = build(X, y, np.ones(30), candidates, np.ones(10), 3)
    best, _ = run(swap, problem)
    ceiling = 1.5 * best.primal
    bounds = score_bounds(problem, ceiling)
    rng = np.random.default_rng(0)
    highest = np.full(problem.n_candidates, -np.inf)
    for _ in range(4000):
        w = best.w + rng.normal(size=3) * rng.choice([0.1, 0.5, 1.0])
        b = best.b + rng.normal()
        training, scores = problem.split_scores(w, b)
        if problem.objective(w, training) <= ceiling:
            highest = np.maximum(highest, scores)
    assert (highest <= bounds).all()
    assert (highest > 0.2 * bounds).any()


def test_missing_scip_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    X, y, candidates = random_data(0, 10, 5, 2)
    with pytest.raises(ImportError, match=r"pip install 'shortlist\[exact\]'"):
        run(exact, build(X, y, np.ones(10), candidates, np.ones(5), 1))


@pytest.mark.parametrize("method", [swap, feasible_direction])
def test_limits_and_callbacks_end_the_search(method):
    X, y, candidates = random_data(6, 80, 80, 10)
    problem = build(X, y, np.ones(80), candidates, np.ones(80), 4)
    found, certificate = run(method, problem, max_iter=2)
    check_feasible(problem, found)
    assert certificate.status == "max_iter"
    found, certificate = run(method, problem, callback=lambda check: True)
    check_feasible(problem, found)
    assert certificate.status == "stopped"
    assert len(certificate.trace) <= 2  # the claim, and what was proved


@pytest.mark.parametrize("method", [swap, feasible_direction, exact])
def test_a_budget_that_does_not_bind_returns_the_plain_svm(method):
    X, y, candidates = random_data(7, 40, 12, 3)
    problem = build(X, y, np.ones(40), candidates, np.ones(12), 12)
    found, certificate = run(method, problem)
    assert certificate.status == "converged"
    assert found.primal == pytest.approx(AllowedSet(problem).relaxed_bound, rel=1e-9)


def test_the_seed_decides_the_restarts(monkeypatch):
    """By the sets that they go to: most of them end in the same optimum."""
    X, y, candidates = random_data(8, 40, 30, 4)
    visited = []
    become = AllowedSet.become

    def watched(state, allowed):
        visited.append(tuple(np.flatnonzero(allowed)))
        become(state, allowed)

    monkeypatch.setattr(AllowedSet, "become", watched)

    def sets_of(seed, restarts=3):
        visited.clear()
        model = TransductiveTopK(5, restarts=restarts, random_state=seed)
        return model.fit(X, y, candidates).coef_, list(visited)

    coef, sets = sets_of(1)
    again, same_sets = sets_of(1)
    np.testing.assert_array_equal(coef, again)
    assert sets == same_sets
    assert len(sets) >= 3
    assert sets != sets_of(2)[1]
    assert sets_of(1, restarts=0)[1] == []


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_restart_finds_a_better_set(seed):
    X, y, candidates = random_data(150, 30, 40, 10)
    cost = np.random.default_rng(150).uniform(0.1, 10.0, 30)
    problem = build(X, y, cost, candidates, np.ones(40), 5)
    plain = search(problem, monitor(), 0, seed)
    found = search(problem, monitor(), 3, seed)
    assert found.primal < 0.9 * plain.primal
    check_feasible(problem, found)
