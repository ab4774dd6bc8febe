"""Certificates of RankSVM are true: kernels, storages, precisions, nasty data, every exit."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from oracles.ranking import optimum
from shortlist import RankSVM

from .nasty import KINDS, Nasty, check_certificate, make, some_slow, stored
from .pair_problems import POWERS, check, coefficients, objective, random_problem, spread, targets

# Of these problems the weights beside the loss are beyond what float64 can tell apart.
STEEP = {"scale 1e+12", "two values"}


def fitted(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", POWERS)
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_linear_fits_on_nasty_data(kind, loss, turn):
    """Precisions take turns; with the slow tests all of them meet."""
    dtype = (np.float32, np.float64)[(len(kind) + len(loss) + turn) % 2]
    data = make(kind, 1, 40).cast(dtype)
    y, group = targets(data, 1, 5)
    model = RankSVM(C=3.0, loss=loss)
    fitted(model, data.X, y, group, data.weight)
    sharper = fitted(RankSVM(C=3.0, loss=loss, tol=1e-8), data.X, y, group, data.weight)
    check(model, data, y, group, sharper.coef_[0])
    assert model.certificate_.status == "converged" or kind in STEEP


@pytest.mark.parametrize("loss", POWERS)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
def test_the_optimum_lies_between_and_a_shift_changes_nothing(loss, offset):
    data = make("plain", 2, 25)
    y, group = targets(data, 2, 5)
    value = optimum(data.X, y, C=2.0, power=POWERS[loss], group=group)
    model = RankSVM(C=2.0, loss=loss).fit(data.X + offset, y, group)
    certificate = model.certificate_
    assert certificate.status == "converged"
    assert certificate.dual <= value * (1.0 + 1e-7)
    assert certificate.primal >= value * (1.0 - 1e-7)
    same = RankSVM(C=2.0, loss=loss).fit(data.X, y, group)
    assert certificate.primal == pytest.approx(same.certificate_.primal, rel=1e-9)
    assert model.score(data.X + offset, y, group) == same.score(data.X, y, group)


@pytest.mark.parametrize("kind", ["plain", "offset 10000", "offset 1e+08", "scale 1e-06", "ties"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("solver", ["newton", "fw"])
def test_kernel_fits_on_nasty_data(kind, kernel, solver):
    data = make(kind, 3, 30)
    y, group = targets(data, 3, 5)
    model = RankSVM(kernel=kernel, gamma=0.3 / spread(data.X), solver=solver, max_iter=300)
    fitted(model, data.X, y, group, data.weight)
    check(model, data, y, group)
    assert model.certificate_.status == "converged" or solver == "fw"


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("solver", ["newton", "fw"])
@pytest.mark.parametrize("storage", ["dense", "csr", "memmap", "dask"])
@pytest.mark.parametrize("kind", ["plain", "offset 1e+06", "weights"])
def test_storages(storage, kind, solver, turn, tmp_path):
    """Precisions take turns; with the slow tests all of them meet."""
    dtype = (np.float32, np.float64)[(len(storage) + len(kind) + len(solver) + turn) % 2]
    data = make(kind, 4, 36).cast(dtype)
    group = np.arange(36) // 12
    X, y, weight = stored(Nasty(kind, data.X, data.y * 1.0, data.weight), storage, tmp_path)
    model, qid = RankSVM(solver=solver, max_iter=60), group
    if storage == "dask":
        da, lazy = pytest.importorskip("dask.array"), pytest.importorskip("shortlist.dask")
        model, qid = lazy.RankSVM(solver=solver, max_iter=60), da.from_array(group, chunks=12)
    fitted(model, X, y, qid, weight)
    check(model, data, data.y, group)
    assert model.certificate_.status == "converged" or solver == "fw"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"max_iter": 1}, "max_iter"),
        ({"time_limit": 1e-9}, "time_limit"),
        ({"callback": lambda check: True}, "stopped"),
        ({"callback": lambda check: check.iteration == 3}, "stopped"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["newton", "fw"])
def test_every_exit_reports_what_is_true(options, status, kernel, solver):
    data = make("offset 1e+06", 5, 50)
    y, group = targets(data, 5, 1000)
    model = RankSVM(kernel=kernel, gamma=0.1, solver=solver, tol=1e-9, **options)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(data.X, y, group)
    assert any(record.filename == __file__ for record in caught)
    assert model.certificate_.status == status
    check(model, data, y, group)


def test_a_stall_says_so_and_is_true():
    data = make("scale 1e+12", 6)
    y, group = targets(data, 6, 5)
    with pytest.warns(ConvergenceWarning, match="'stalled'.*scale the features"):
        model = RankSVM(C=100.0).fit(data.X, y, group)
    check(model, data, y, group)


def test_a_small_c_still_orders_and_an_indefinite_matrix_gives_zero():
    data = make("plain", 7)
    model = RankSVM(C=1e-20).fit(data.X, data.y)
    assert model.coef_.any()
    check(model, data, data.y * 1.0, np.zeros(60, dtype=int))
    A = np.random.default_rng(0).normal(size=(30, 30))
    with pytest.warns(ConvergenceWarning, match="is not positive semi-definite on these rows"):
        model = RankSVM(C=10.0, kernel="precomputed").fit(A + A.T, np.arange(30))
    assert model.certificate_.status == "local"
    assert not model.predict(A + A.T).any()


@draws(25)
@given(
    at=st.integers(0, 12),
    before=st.sampled_from(["linear", "rbf"]),
    after=st.sampled_from(["linear", "rbf"]),
    solver=st.sampled_from(["newton", "fw"]),
    error=st.sampled_from([KeyboardInterrupt, ZeroDivisionError]),
)
def test_an_interrupted_refit_changes_nothing(at, before, after, solver, error):
    data = make("plain", 8, 30)
    model = RankSVM(kernel=before, gamma=0.2).fit(data.X, data.y)
    was, scores = pickle.dumps(model.__dict__), model.predict(data.X)
    calls = []

    def interrupt(check):
        calls.append(check)
        if len(calls) > at:
            raise error

    parameters = model.get_params()
    model.set_params(kernel=after, C=50.0, solver=solver, callback=interrupt, tol=1e-12)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.X + 1.0, -data.y)
    except error:
        model.set_params(**parameters)
        assert pickle.dumps(model.__dict__) == was
        np.testing.assert_array_equal(model.predict(data.X), scores)
    else:
        assert len(calls) <= at


def test_a_refit_leaves_nothing_of_the_previous_one():
    data = make("plain", 9, 30)
    model = RankSVM(kernel="rbf").fit(data.X, data.y)
    model.set_params(kernel="linear").fit(data.X[:, :2], data.y)
    fresh = RankSVM().fit(data.X[:, :2], data.y)
    assert set(vars(model)) == set(vars(fresh))
    model.set_params(kernel="precomputed").fit(data.X @ data.X.T, data.y)
    assert model.support_vectors_.shape == (0, 0)
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert not hasattr(model, "coef_")


def test_a_far_row_and_a_constant_one_in_sparse_predictions():
    data = make("one column far", 10)
    from scipy import sparse

    model = RankSVM().fit(sparse.csr_array(data.X), data.y)
    dense = model.predict(data.X)
    np.testing.assert_allclose(model.predict(sparse.csr_array(data.X)), dense, rtol=1e-9)
    exact = (data.X - data.X[:1]) @ model.coef_[0]
    np.testing.assert_allclose(dense - dense[0], exact, atol=1e-6)


@pytest.mark.parametrize("seed", some_slow(range(40)))
def test_random_problems(seed):
    case = random_problem(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.check(case.fit())


def test_a_false_certificate_would_be_seen():
    """The check itself: a model that is a little off, and a bound a little too high."""
    data = make("plain", 11)
    y, group = targets(data, 11, 5)
    model = RankSVM(tol=1e-8).fit(data.X, y, group)
    value = objective(model, data, y, group)(coefficients(model, len(y)))
    check_certificate(model.certificate_, value)
    for wrong in (value * (1 + 1e-7), value * (1 - 1e-7)):
        with pytest.raises(AssertionError):
            check_certificate(model.certificate_, wrong)
