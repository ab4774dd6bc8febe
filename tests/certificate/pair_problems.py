"""RankSVM: nasty problems, their objective in extended precision, and other models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from oracles.ranking import pairs
from shortlist import RankSVM

from .nasty import KINDS, Nasty, check_certificate, exact_kernel, exact_rows, make
from .random_problems import Case

KERNELS = ("linear", "rbf", "laplacian", "poly", "precomputed")
POWERS = {"hinge": 1, "squared_hinge": 2}


def targets(data: Nasty, seed: int, grades: int) -> tuple[np.ndarray, np.ndarray]:
    """Return grades that follow the labels, and groups with a pair in the first."""
    rng = np.random.default_rng(seed)
    y = data.y * 1.0 if grades == 2 else np.floor((data.y + rng.random(len(data.y))) * grades)
    group = np.sort(rng.integers(0, rng.choice([1, 3]), len(y)))
    group[:2] = 0
    y[:2] = y.min() - 1.0, y.max() + 1.0
    return y, group


def spread(X: np.ndarray) -> float:
    """Variance of all entries around the means of their columns; one where they are equal."""
    return float(np.var(exact_rows(X))) or 1.0


def objective(
    model: RankSVM, data: Nasty, y: np.ndarray, group: np.ndarray, K: np.ndarray | None = None
) -> Any:
    """Return a function of a model (weights, or a coefficient per row): its objective.

    `K` is the kernel matrix, where it is at hand.
    """
    weight = data.full_weight
    listed = np.array([(i, j) for i, j in pairs(y, group) if weight[i] * weight[j] > 0.0])
    upper, lower = listed.T
    both = (weight[upper] * weight[lower]).astype(np.longdouble)
    c = np.longdouble(model.C)
    if model.normalize:
        rows = np.unique(listed)
        c = c * weight[rows].astype(np.longdouble).sum() / both.sum()
    linear = model.kernel == "linear"
    if linear:
        features = exact_rows(data.X)
    elif K is not None:
        features = K
    elif model.kernel == "precomputed":
        features = data.X.astype(np.longdouble)
    else:
        options = (model.gamma, model.degree, model.coef0)
        features = exact_kernel(model.kernel, data.X, *options)

    def value(u: np.ndarray) -> float:
        u = u.astype(np.longdouble)
        f = features @ u
        z = np.maximum(1 - f[upper] + f[lower], 0)
        square = u @ u if linear else u @ f
        return float(square / 2 + c * (both @ z ** POWERS[model.loss]))

    return value


def coefficients(model: RankSVM, n_rows: int) -> np.ndarray:
    """Return the model from its public attributes."""
    if model.kernel == "linear":
        return model.coef_[0]
    u = np.zeros(n_rows)
    u[model.support_] = model.dual_coef_[0]
    return u


def check(
    model: RankSVM,
    data: Nasty,
    y: np.ndarray,
    group: np.ndarray,
    other: np.ndarray | None = None,
) -> None:
    """Assert that the certificate of a fitted model is true.

    `other` is the model of some other fit: its objective is an upper bound of the optimum.
    """
    value = objective(model, data, y, group)
    u = coefficients(model, len(y))
    upper = min(value(0.0 * u), np.inf if other is None else value(other))
    for shrink in (0.999, 1.001):  # the optimum may lie on either side
        upper = min(upper, value(shrink * u))
    slack = 1e-9 if model.kernel in ("linear", "precomputed") else 1e-8
    check_certificate(model.certificate_, value(u), upper, slack)


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random fit of RankSVM on nasty data."""
    seed = int(rng.integers(1 << 30))
    kind = str(rng.choice(list(KINDS)))
    kernel = str(rng.choice(KERNELS, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
    data = make(kind, seed, int(rng.integers(4, 40)), int(rng.integers(1, 5)))
    data = data.cast(rng.choice([np.float32, np.float64]))
    if kernel == "poly":  # its values must be told apart
        data = make(str(rng.choice(["plain", "ties", "duplicates", "weights"])), seed, 30, 2)
    y, group = targets(data, seed, int(rng.choice([2, 5, 1000])))
    loss = str(rng.choice(["hinge", "squared_hinge"]))
    solver = "fw" if loss == "hinge" and rng.random() < 0.2 else "newton"
    model = RankSVM(
        C=float(10.0 ** rng.integers(-3, 4)),
        kernel=kernel,
        loss=loss,
        gamma=float(10.0 ** rng.integers(-2, 2)) / spread(data.X),
        degree=2,
        coef0=1.0,
        solver=solver,
        tol=float(rng.choice([1e-3, 1e-4, 1e-6])),
        max_iter=int(rng.choice([1, 5, 300])),
        normalize=bool(rng.random() < 0.8),
    )
    if kernel == "precomputed":
        rows = np.asarray(exact_rows(data.X), dtype=np.float64)
        size = max(float(np.abs(rows).max()), 1e-300)
        matrix = (rows / size) @ (rows / size).T
        data = Nasty(data.name, matrix.astype(data.X.dtype), data.y, data.weight)
    X: Any = sparse.csr_array(data.X) if kernel != "precomputed" and rng.random() < 0.3 else data.X

    def fit() -> RankSVM:
        return model.fit(X, y, qid=group, sample_weight=data.weight)

    def check_it(fitted: RankSVM) -> None:
        other = None  # a model of a sharper fit
        if fitted.max_iter > 5:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = RankSVM(**{**fitted.get_params(), "tol": 1e-8, "max_iter": 300})
                again.solver = "newton"
                again.fit(X, y, qid=group, sample_weight=data.weight)
            other = coefficients(again, len(y))
        check(fitted, data, y, group, other)

    return Case(f"RankSVM {solver}, {kernel}, {loss}", fit, check_it)
