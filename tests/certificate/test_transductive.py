"""Certificates of TransductiveTopK are true: solvers, storages, nasty data, every exit."""

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from oracles.budgeted import best_subset
from shortlist import TransductiveTopK

from .nasty import KINDS, make, some_slow, stored
from .transductive_problems import check, objective, random_problem


def fitted(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["swap", "feasible_direction"])
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_local_solvers_on_nasty_data(kind, solver, turn):
    """Precisions take turns; with the slow tests all of them meet."""
    dtype = (np.float32, np.float64)[(len(kind) + len(solver) + turn) % 2]
    data = make(kind, 1, 30).cast(dtype)
    model = TransductiveTopK(k=2, C=10.0, solver=solver)
    fitted(model, data.X, data.y, None, data.weight)
    check(model, data, None)


@pytest.mark.parametrize("kind", ["plain", "offset 1e+08", "duplicates", "ties", "weights"])
def test_exact_lies_between_what_all_subsets_say(kind):
    pytest.importorskip("pyscipopt")
    data = make(kind, 2, 20)
    candidates = data.X[4:11] + 0.25
    reference = best_subset(
        data.X - data.X[0],
        2.0 * data.y - 1.0,
        0.5 * data.full_weight,
        candidates - data.X[0],
        np.ones(7),
        2,
    )
    model = TransductiveTopK(k=2, C=0.5, solver="exact", tol=1e-4)
    fitted(model, data.X, data.y, candidates, data.weight)
    check(model, data, candidates)
    certificate = model.certificate_
    assert certificate.status == "converged"
    assert certificate.dual <= reference * (1.0 + 1e-8)
    assert certificate.primal >= reference * (1.0 - 1e-8)


@pytest.mark.parametrize("offset", [1e4, 1e7, 1e12])
@pytest.mark.parametrize("solver", ["swap", "feasible_direction"])
def test_a_shift_changes_nothing(offset, solver):
    data = make("plain", 3, 80, 2)
    here = TransductiveTopK(k=5, solver=solver).fit(data.X, data.y)
    there = TransductiveTopK(k=5, solver=solver).fit(data.X + offset, data.y)
    # The intercept is a float64 number: at 1e12 it has four digits behind the point.
    room = 1e-9 + 1e-15 * offset
    assert there.objective_ == pytest.approx(here.objective_, rel=10 * room)
    assert there.certificate_.dual == pytest.approx(here.certificate_.dual, rel=1e-9)
    np.testing.assert_array_equal(here.selected_, there.selected_)
    np.testing.assert_allclose(there.scores_, here.scores_, atol=100 * room)
    assert (there.decision_function(data.X + offset) > 0.0).sum() <= 5


@pytest.mark.parametrize("storage", ["dense", "csr", "memmap"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plain", "offset 1e+06", "one column far", "weights"])
def test_storages(storage, dtype, kind, tmp_path):
    data = make(kind, 4, 30).cast(dtype)
    X, y, weight = stored(data, storage, tmp_path)
    model = fitted(TransductiveTopK(k=3), X, y, None, weight)
    check(model, data, None)
    np.testing.assert_allclose(model.decision_function(X), model.scores_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"max_iter": 1}, "max_iter"),
        ({"time_limit": 1e-9}, "time_limit"),
        ({"callback": lambda check: True}, "stopped"),
    ],
)
@pytest.mark.parametrize("solver", ["swap", "feasible_direction", "exact"])
def test_every_exit_reports_what_is_true(options, status, solver):
    if solver == "exact":
        pytest.importorskip("pyscipopt")
    data = make("offset 10000", 6, 40)
    model = TransductiveTopK(k=1, solver=solver, tol=1e-9, **options)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(data.X, data.y)
    assert caught[0].filename == __file__
    assert model.certificate_.status == status
    check(model, data, None)


def test_the_bound_is_that_of_the_plain_svm_where_nothing_is_proved():
    data = make("plain", 6, 40)
    model = TransductiveTopK(k=1).fit(data.X, data.y)
    assert model.certificate_.status == "local"
    free = TransductiveTopK(k=40).fit(data.X, data.y)
    assert free.certificate_.status == "converged"
    assert model.certificate_.dual <= objective(free, data) <= model.objective_


@draws(25)
@given(
    at=st.integers(0, 8),
    solver=st.sampled_from(["swap", "feasible_direction"]),
    error=st.sampled_from([KeyboardInterrupt, ZeroDivisionError]),
)
def test_an_interrupted_refit_changes_nothing(at, solver, error):
    data = make("plain", 7, 40)
    model = TransductiveTopK(k=4, solver=solver).fit(data.X, data.y)
    was, scores = pickle.dumps(model.__dict__), model.decision_function(data.X)
    calls = []

    def interrupt(check):
        calls.append(check)
        if len(calls) > at:
            raise error

    parameters = model.get_params()
    model.set_params(k=2, callback=interrupt)
    try:
        model.fit(data.X + 1.0, 1 - data.y, data.X[:9])
    except error:
        model.set_params(**parameters)
        assert pickle.dumps(model.__dict__) == was
        np.testing.assert_array_equal(model.decision_function(data.X), scores)
    else:
        assert len(calls) <= at


@pytest.mark.parametrize("solver", ["swap", "feasible_direction"])
def test_ctrl_c_leaves_the_model(solver):
    data = make("plain", 8, 40)
    model = TransductiveTopK(k=1, solver=solver).fit(data.X, data.y)
    was = pickle.dumps(model.__dict__)
    model.callback = lambda check: os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X, 1 - data.y)
    model.callback = None
    assert pickle.dumps(model.__dict__) == was


@pytest.mark.parametrize("seed", some_slow(range(40)))
def test_random_problems(seed):
    case = random_problem(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.check(case.fit())
