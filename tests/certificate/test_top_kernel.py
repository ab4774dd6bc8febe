"""Certificates of kernel TopPush and PatMat: nasty data, every exit, warm starts."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from drawing import draws
from shortlist import PatMat, TopPush

from .nasty import Nasty, check_certificate, in_turns, make, some_slow
from .top_kernel_problems import (
    check_kernel,
    kernel_objective,
    matrix,
    random_problem,
    suited,
)

pytestmark = pytest.mark.filterwarnings("ignore")

ESTIMATORS = [
    TopPush(kernel="rbf"),
    TopPush(k=0.2, kernel="rbf", loss="hinge", gamma=0.5),
    TopPush(k=2, solver="smo"),
    TopPush(kernel="poly", degree=1),
    TopPush(kernel="laplacian", solver="coordinate"),
    PatMat(tau=0.2, kernel="rbf"),
    PatMat(tau=0.3, kernel="tanimoto", quantile="all", loss="hinge", C=100.0),
    PatMat(tau=0.2, kernel="rbf", solver="coordinate"),
]


def id_of(part):
    if isinstance(part, str):
        return part
    return f"{type(part).__name__}-{part.kernel}-{part.loss}-{part.solver}"


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("model", "kind"), in_turns(ESTIMATORS), ids=id_of)
def test_nasty_data(model, kind, turn):
    """Precisions and storages take turns; where the origin is free, offsets converge."""
    number = (ESTIMATORS.index(model) + turn) % 2
    dtype = (np.float32, np.float64)[number]
    data = suited(make(kind, n_rows=40).cast(dtype), model.kernel)
    rows = sparse.csr_array(data.X) if (number + len(kind)) % 2 else data.X
    fitted = clone(model).set_params(max_iter=100_000)
    if kind == "one negative" and fitted.get_params().get("k", 1) > 1:
        pytest.skip("k exceeds the negatives")
    if data.weight is not None and isinstance(fitted, TopPush) and model.solver == "coordinate":
        pytest.skip("weights below one are caps, which it does not take")
    fitted.fit(rows, data.y, data.weight)
    check_kernel(fitted, data)
    if kind.startswith("offset") and model.kernel in ("rbf", "laplacian"):
        assert fitted.certificate_.status == "converged"


@draws(25)
@given(seed=st.integers(0, 1 << 30))
@example(seed=62814)  # C = 1e17: rounding leaves no alpha
def test_random_problems(seed):
    case = random_problem(np.random.default_rng(seed))
    case.check(case.fit())


@pytest.mark.parametrize("solver", ["smo", "coordinate"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_iter": 7}, "max_iter"),
        ({"time_limit": 1e-9}, "time_limit"),
        ({"callback": lambda check: check.iteration > 20}, "stopped"),
        ({"tol": 1e-300}, "stalled"),
    ],
)
def test_every_exit_is_proved(limits, status, dtype, solver):
    data = make("offset 10000", n_rows=60).cast(dtype)
    model = PatMat(tau=0.2, kernel="rbf", solver=solver, tol=1e-9).set_params(**limits)
    if status == "stalled":
        model.set_params(max_iter=300_000)
    model.fit(data.X, data.y)
    assert model.certificate_.status == status
    check_kernel(model, data)


@pytest.mark.parametrize(
    "options", [{"kernel": "poly", "degree": 1}, {"kernel": "linear", "solver": "smo"}]
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_float32_rows_with_a_mean(options, loss):
    """Float32 entries are large, their differences small: the proof is in float64."""
    rng = np.random.default_rng(0)
    X = (30.0 + rng.standard_normal((300, 20))).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.standard_normal(300) > 30.8).astype(int)
    data = Nasty("mean", X, y)
    for k in (1, 0.1):
        model = TopPush(k, loss=loss, tol=1e-3, **options).fit(X, y)
        assert model.certificate_.status == "converged"
        K = matrix(model, data)
        check_certificate(model.certificate_, kernel_objective(model, data, K))


@pytest.mark.parametrize("seed", some_slow(range(20)))
def test_two_values(seed):
    """Zeros and hundred millions only: nothing is divided by what has become zero."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1e8], (13, 2))
    y = rng.permutation([1] * 4 + [0] * 9)
    data = Nasty("two values", X, y)
    model = PatMat(0.3, quantile="all", loss="hinge", C=100.0, solver="smo", max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(X, y)
    check_kernel(model, data)


class Stop(Exception):
    """Raised by a callback."""


def test_a_broken_refit_changes_nothing():
    """Predictions, attributes and the next warm start are those of the last good fit."""
    rng = np.random.default_rng(0)
    X, other = rng.standard_normal((2, 80, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(80) > 0.8).astype(int)
    model = TopPush(0.1, kernel="rbf", warm_start=True).fit(X, y)
    twin = clone(model).fit(X, y)
    before = model.decision_function(X)

    def stop(check):
        raise Stop

    for rows in (other, X):
        with pytest.raises(Stop):
            model.set_params(callback=stop).fit(rows, y)
        model.set_params(callback=None)
        np.testing.assert_array_equal(model.decision_function(X), before)
    assert vars(model).keys() == vars(twin).keys()
    # The interrupted rows are not taken for those of the last fit.
    model.fit(other, y)
    check_kernel(model, Nasty("other", other, y))
    twin.fit(other, y)
    assert model.certificate_.primal == twin.certificate_.primal


def test_a_kernel_that_changes_its_mind():
    """A function may depend on what is not a parameter: only a point is reused."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(60) > 0.8).astype(int)
    width = [0.1]

    def kernel(A, B):
        return rbf_kernel(A, B, gamma=width[0])

    for solver in ("smo", "coordinate"):
        model = TopPush(kernel=kernel, warm_start=True, solver=solver, tol=1e-5)
        for width[0] in (0.1, 2.0, 0.02):
            model.fit(X, y)
            fresh = TopPush(kernel="rbf", gamma=width[0], tol=1e-5).fit(X, y)
            c, d = model.certificate_, fresh.certificate_
            assert c.status == "converged"
            assert c.primal == pytest.approx(d.primal, rel=2e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_rows_overwritten_after_a_fit_are_not_reused(kernel, dtype):
    """Equal rows in other memory: what is kept of the last fit must not look at the old ones."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    y = (X[:, 0] + 0.7 * rng.standard_normal(150) > 0.8).astype(int)
    old = (rbf_kernel(X) if kernel == "precomputed" else X).astype(dtype)
    new = old.copy()
    model = TopPush(0.1, kernel=kernel, gamma=1.0, C=0.1, warm_start=True).fit(old, y)
    old *= 3.0
    model.set_params(C=5.0).fit(new, y)
    fresh = TopPush(0.1, kernel=kernel, gamma=1.0, C=5.0).fit(new, y)
    assert model.certificate_.status == "converged"
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("model", [TopPush(0.1), PatMat(0.1), PatMat(0.1, loss="hinge")])
def test_little_memory(model):
    """A working set cut to the memory allowed takes longer, and arrives."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 5)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.standard_normal(1200) > 2.0).astype(int)
    model.set_params(kernel="rbf", tol=1e-3, cache_size=0.06)
    model.fit(X, y)
    assert model.certificate_.status == "converged"
