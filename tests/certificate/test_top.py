"""Certificates of linear TopPush and PatMat, on every storage and after every exit."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from drawing import draws
from shortlist import PatMat, TopPush

from .nasty import STORAGES, check_certificate, in_turns, make, stored
from .top_problems import best_known, estimators, objective

pytestmark = pytest.mark.filterwarnings("ignore")


def name_of(model):
    parts = (type(model).__name__, model.loss, model.solver, getattr(model, "k", ""))
    return "-".join(str(part) for part in parts)


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("model", "kind"),
    in_turns(estimators()),
    ids=lambda part: part if isinstance(part, str) else name_of(part),
)
def test_nasty_data(model, kind, turn):
    """Precisions take turns over kinds and models; with the slow tests all of them meet."""
    if kind == "one negative" and getattr(model, "k", 1) > 1:
        pytest.skip("k exceeds the negatives")
    dtype = (np.float32, np.float64)[(len(kind) + len(name_of(model)) + turn) % 2]
    data = make(kind).cast(dtype)
    fitted = clone(model).fit(data.X, data.y, data.weight)
    check_certificate(fitted.certificate_, objective(fitted, data), best_known(fitted, data))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same_proof(storage, dtype, tmp_path):
    kinds = ["offset 1e+06", "far and weighted", "one column far"]
    for kind in kinds[:1] if storage == "dask" else kinds:
        data = make(kind).cast(dtype)
        arguments = stored(data, storage, tmp_path)
        for model in (TopPush(k=3, loss="hinge", tol=1e-6), PatMat(tau=0.2, tol=1e-6)):
            if storage == "dask":
                from shortlist import dask

                model = getattr(dask, type(model).__name__)(**model.get_params())
            fitted = model.fit(*arguments)
            in_memory = clone(model).fit(data.X, data.y, data.weight)
            assert fitted.certificate_.status == "converged"
            check_certificate(fitted.certificate_, objective(fitted, data))
            np.testing.assert_allclose(
                fitted.certificate_.primal, in_memory.certificate_.primal, rtol=2e-6
            )
            np.testing.assert_allclose(
                fitted.decision_function(data.X), in_memory.decision_function(data.X), atol=1e-2
            )


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_iter": 2}, "max_iter"),
        ({"time_limit": 1e-9}, "time_limit"),
        ({"callback": lambda check: True}, "stopped"),
        ({"tol": 1e-300}, "stalled"),
    ],
)
@pytest.mark.parametrize("solver", ["newton", "accelerated"])
@pytest.mark.parametrize("kind", ["plain", "offset 1e+08", "mixed scales"])
def test_every_exit_is_proved(kind, solver, limits, status):
    data = make(kind)
    if solver == "accelerated" and status == "stalled":
        limits, status = {"tol": 1e-300, "max_iter": 200}, "max_iter"
    model = TopPush(k=5, C=10.0, solver=solver, **{"tol": 1e-8, **limits}).fit(data.X, data.y)
    assert model.certificate_.status == status
    check_certificate(model.certificate_, objective(model, data), best_known(model, data))


@pytest.mark.parametrize("scale", [1e-200, 1e155, 1e300])
@pytest.mark.parametrize("model", estimators(), ids=name_of)
def test_numbers_beyond_double_precision_end_with_a_model(model, scale):
    data = make("plain")
    fitted = clone(model).fit(scale * data.X, data.y)
    c = fitted.certificate_
    assert np.isfinite([c.primal, c.dual]).all()
    assert c.gap >= 0.0
    assert (c.status == "converged") == (c.relative_gap <= c.tol)


def test_a_warning_points_at_the_line_that_called_fit():
    data = make("plain")
    for model in (TopPush(max_iter=1, C=10.0), TopPush(C=1e-12)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(data.X, data.y)
        assert [warning.filename for warning in caught] == [__file__]


class Interrupt(Exception):
    """What a callback may raise."""


def state_of(model):
    return {key: value for key, value in vars(model).items() if key != "callback"}


@draws(25)
@given(
    seed=st.integers(0, 1000),
    at=st.integers(1, 6),
    new=st.sampled_from([{}, {"kernel": "rbf"}, {"C": 3.0}, {"loss": "hinge"}]),
    old=st.sampled_from([{}, {"kernel": "rbf"}]),
)
def test_an_interrupted_refit_changes_nothing(seed, at, new, old):
    data, other = make("plain", seed), make("offset 10000", seed + 1, n_rows=70)
    model = TopPush(k=3, warm_start=True, **old).fit(data.X, data.y)
    twin = TopPush(k=3, warm_start=True, **old).fit(data.X, data.y)
    before, scores = state_of(model), model.decision_function(data.X)
    checks = []

    def callback(check):
        checks.append(check)
        if len(checks) >= at:
            raise Interrupt

    learned = {key: before[key] for key in before if key not in model.get_params()}
    model.set_params(callback=callback, **new)
    try:
        model.fit(other.X, other.y)
    except Interrupt:
        model.set_params(**{**twin.get_params(), "callback": None})
        assert {key: vars(model)[key] is value for key, value in learned.items()} == dict.fromkeys(
            learned, True
        )
        assert set(state_of(model)) == set(before)
        np.testing.assert_array_equal(model.decision_function(data.X), scores)
        for one in (model, twin):
            one.set_params(C=2.0).fit(data.X, data.y)
        assert model.certificate_.primal == twin.certificate_.primal
        assert model.n_iter_ == twin.n_iter_


def test_nothing_is_left_of_a_fit_with_another_kernel():
    data = make("plain")
    model = TopPush(kernel="rbf", warm_start=True).fit(data.X, data.y)
    model.set_params(kernel="linear").fit(data.X, data.y)
    fresh = TopPush(warm_start=True).fit(data.X, data.y)
    assert set(vars(model)) == set(vars(fresh))
    model.set_params(kernel="rbf").fit(data.X, data.y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_warm_start_on_other_data_is_certified_by_that_data(kernel):
    data, other = make("plain", 1), make("plain", 2)
    model = TopPush(k=3, kernel=kernel, warm_start=True, tol=1e-6).fit(data.X, data.y)
    model.fit(other.X, other.y)
    cold = TopPush(k=3, kernel=kernel, tol=1e-6).fit(other.X, other.y)
    np.testing.assert_allclose(model.certificate_.primal, cold.certificate_.primal, rtol=3e-6)
