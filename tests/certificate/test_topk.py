"""Every certificate of TopKSVC is true: solvers, kernels, storages, nasty data, every exit."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from shortlist import TopKSVC

from .nasty import KINDS, check_certificate, make, stored
from .topk_problems import SOLVERS, STORAGES, objective, several_classes

PAIRS = [(s, k) for s in SOLVERS for k in ("linear", "rbf") if (s, k) != ("proximal_newton", "rbf")]
FORMS = list(itertools.product((np.float32, np.float64), STORAGES))


def problem(kind, n_classes=3, seed=0, dtype=np.float64, n_rows=40):
    rng = np.random.default_rng(seed)
    return several_classes(make(kind, seed, n_rows), n_classes, rng).cast(dtype)


def fitted(data, storage="dense", folder=".", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TopKSVC(**{"k": 2, "gamma": 0.5, **options}).fit(*stored(data, storage, folder))


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
def test_every_solver_on_nasty_data(number, tmp_path):
    """Precision and storage take turns over the kinds, so that all of them meet."""
    kind = list(KINDS)[number]
    found = {}
    for at, (solver, kernel) in enumerate(PAIRS):
        dtype, storage = FORMS[(at + number) % len(FORMS)]
        data = problem(kind, 2 + number % 3, number, dtype)
        limit = 150 if solver in SOLVERS[:2] else 20
        model = fitted(
            data, storage, tmp_path, k=1, kernel=kernel, solver=solver, tol=1e-3, max_iter=limit
        )
        check_certificate(model.certificate_, objective(model, data))
        if np.isfinite(data.X).all():
            found.setdefault((kernel, dtype), []).append(model.certificate_)
    for certificates in found.values():
        # One optimum lies between all of them.
        lowest = min(certificates, key=lambda c: c.primal)
        assert max(c.dual for c in certificates) <= lowest.primal * (1 + 1e-9) + lowest.rounding


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_default_converges_or_names_the_rounding(kind, fit_intercept):
    """Wherever numbers allow a proof there is one; beyond that "stalled", with the reason."""
    model = fitted(problem(kind), fit_intercept=fit_intercept)
    certificate = model.certificate_
    if certificate.status != "converged":
        assert certificate.status == "stalled"
        assert certificate.rounding > 0.5 * certificate.gap
        assert kind in ("offset 1e+12", "scale 1e+12")


@pytest.mark.parametrize(("solver", "kernel"), PAIRS)
@pytest.mark.parametrize("way", ["max_iter", "time_limit", "callback"])
def test_every_exit_is_proved(solver, kernel, way):
    data = problem("plain", 4)
    stops = {
        "max_iter": {"max_iter": 3},
        "time_limit": {"time_limit": 1e-9},
        "callback": {"callback": lambda check: check.iteration >= 2},
    }
    model = fitted(data, solver=solver, kernel=kernel, tol=1e-12, **stops[way])
    expected = {"callback": "stopped"}.get(way, way)
    assert model.certificate_.status == expected
    check_certificate(model.certificate_, objective(model, data))


def test_the_issue():
    """A Gaussian kernel far from the origin: once 'converged' at three times the optimum."""
    rng = np.random.default_rng(1)
    X = rng.integers(-20, 20, (80, 2)) / 8.0
    y = (X[:, 0] + rng.normal(size=80) > 1).astype(int)
    near, far = (
        TopKSVC(k=1, kernel="rbf", gamma=0.5).fit(X + offset, y).certificate_
        for offset in (0.0, 1e8)
    )
    assert far.status == "converged"
    assert far.primal == pytest.approx(near.primal, rel=2e-4)


def test_overflow_is_a_stall():
    data = problem("plain")
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model = TopKSVC(k=2).fit(data.X * 1e200, data.y)
    assert model.certificate_.primal == pytest.approx(len(data.y))
    assert not model.coef_.any()


def test_a_kernel_that_is_not_positive_claims_nothing():
    data = problem("plain")
    K = -np.eye(len(data.y))
    with pytest.warns(ConvergenceWarning, match="semi-definite"):
        model = TopKSVC(k=1, kernel="precomputed").fit(K, data.y)
    assert model.certificate_.status == "local"
    assert model.certificate_.dual == 0.0


class Interrupt(Exception):
    pass


@draws(25)
@given(
    before=st.sampled_from(["linear", "rbf"]),
    after=st.sampled_from(["linear", "rbf"]),
    solver=st.sampled_from(["auto", "block", "fw"]),
    at=st.integers(1, 6),
)
def test_an_interrupted_refit_changes_nothing(before, after, solver, at):
    data, other = problem("plain", 3), problem("plain", 4, seed=5)
    model = fitted(data, kernel=before)
    scores, kept = model.decision_function(data.X), dict(vars(model))
    count = itertools.count(1)

    def interrupt(check):
        if next(count) >= at:
            raise Interrupt

    model.set_params(kernel=after, solver=solver, tol=1e-12, callback=interrupt)
    with pytest.raises(Interrupt):
        model.fit(other.X, other.y)
    model.set_params(kernel=before, solver="auto", tol=1e-4, callback=None)
    assert vars(model).keys() == kept.keys()
    assert all(vars(model)[name] is value for name, value in kept.items() if name.endswith("_"))
    assert (model.decision_function(data.X) == scores).all()


def test_nothing_of_the_last_fit_is_left():
    data = problem("plain", 3)
    model = fitted(data)
    assert hasattr(model, "coef_")
    model.set_params(kernel="rbf").fit(data.X, data.y)
    assert not hasattr(model, "coef_")
    model.set_params(kernel="linear").fit(data.X, data.y)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "support_vectors_")


def test_the_warning_points_here():
    data = problem("plain", 3)
    with pytest.warns(ConvergenceWarning) as caught:
        TopKSVC(k=2, tol=1e-12, max_iter=1).fit(data.X, data.y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="always hold") as caught:
        TopKSVC(k=5).fit(data.X, data.y)
    assert caught[0].filename == __file__
