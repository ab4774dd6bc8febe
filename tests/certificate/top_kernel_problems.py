"""Kernel TopPush and PatMat: objectives in extended precision, and random problems."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from shortlist import PatMat, TopPush
from shortlist._checks import top_count

from .nasty import KINDS, SHIFT_FREE, Nasty, check_certificate, exact_kernel, make
from .random_problems import Case
from .top_problems import hinge_power, objective, surrogate, top_mean

KERNELS = (*SHIFT_FREE, "poly", "chi2", "tanimoto", "minmax")
# Kernels of which counts or shares are asked.
_NON_NEGATIVE = ("chi2", "minmax")


def gamma_of(model: Any, data: Nasty) -> Any:
    """Return the coefficient by its definition, in extended precision."""
    if model.gamma != "scale":
        return np.longdouble(model.gamma)
    weight = data.full_weight.astype(np.longdouble)
    X = data.X.astype(np.longdouble)
    entries = weight.sum() * X.shape[1]
    mean = (weight @ (X - X[0, 0])).sum() / entries + X[0, 0]
    variance = (weight @ (X - mean) ** 2).sum() / entries
    return 1 / (X.shape[1] * variance) if variance > 0 else np.longdouble(1)


def matrix(model: Any, data: Nasty) -> np.ndarray:
    """Return the kernel matrix of the rows in extended precision."""
    return exact_kernel(model.kernel, data.X, gamma_of(model, data), model.degree, model.coef0)


def coefficients(model: Any, n_rows: int) -> np.ndarray:
    """Coefficient of every row, from the public attributes."""
    c = np.zeros(n_rows, dtype=np.longdouble)
    c[model.support_] = model.dual_coef_[0]
    return c


def kernel_objective(model: Any, data: Nasty, K: np.ndarray, c: np.ndarray | None = None) -> float:
    """Objective of a model from its parameters and coefficients alone."""
    c = coefficients(model, len(K)) if c is None else c
    weight, y = data.full_weight.astype(np.longdouble), data.y == 1
    scores = K @ c
    used = weight > 0
    negative, positive = used & ~y, used & y
    if isinstance(model, TopPush):
        k = top_count(model.k, data.full_weight[data.y == 0])
        t = top_mean(scores[negative], weight[negative], k)
    else:
        ranked = used if model.quantile == "all" else negative
        mass = model.tau * float(data.full_weight[ranked].sum())
        t = surrogate(scores[ranked], weight[ranked], mass, model.theta, hinge_power(model.loss))
    violation = np.maximum(1 + t - scores[positive], 0) ** hinge_power(model.loss)
    # Of a kernel that is not positive a negative square counts as zero.
    square = max(c @ scores, np.longdouble(0))
    return float(square / 2 + model.C * (weight[positive] * violation).sum())


def best_kernel_model(model: Any, data: Nasty, K: np.ndarray) -> float:
    """Objective of a good model, found on the kernel matrix itself."""
    options = {"kernel": "precomputed", "tol": 1e-8, "solver": "auto", "callback": None}
    options |= {"max_iter": 500_000, "warm_start": False, "time_limit": 1.0}
    easy = type(model)(**{**model.get_params(), **options})
    unit = float(np.abs(np.diagonal(K)).max()) or 1.0
    easy.C *= unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        easy.fit((K / unit).astype(np.float64), data.y, data.weight)
    return kernel_objective(model, data, K, coefficients(easy, len(K)) / unit)


def check_kernel(model: Any, data: Nasty) -> None:
    """Raise an AssertionError where the certificate of a fitted model is false."""
    K = matrix(model, data)
    # A linear model is its `coef_`; its coefficients would need the rows' centre.
    linear = model.kernel == "linear"
    value = objective(model, data) if linear else kernel_objective(model, data, K)
    known = best_kernel_model(model, data, K)
    check_certificate(model.certificate_, value, known)


def suited(data: Nasty, kernel: str) -> Nasty:
    """Return the data as the kernel needs it."""
    return (
        Nasty(data.name, np.abs(data.X), data.y, data.weight) if kernel in _NON_NEGATIVE else data
    )


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random kernel estimator on random nasty data."""
    kind, kernel = str(rng.choice(sorted(KINDS))), str(rng.choice(KERNELS))
    n_rows, n_features = int(rng.integers(8, 70)), int(rng.integers(1, 6))
    data = make(kind, int(rng.integers(1 << 32)), n_rows, n_features)
    data = suited(data.cast(rng.choice([np.float32, np.float64])), kernel)
    options = {
        "C": float(10.0 ** rng.integers(-3, 4)),
        "loss": str(rng.choice(["squared_hinge", "hinge"])),
        "tol": float(rng.choice([1e-3, 1e-4, 1e-6])),
        "kernel": kernel,
        "gamma": ["scale", 0.5, 10.0][rng.integers(3)],
        "degree": int(rng.integers(1, 4)),
        "coef0": float(rng.choice([0.0, 1.0])),
        "solver": "smo",
        "max_iter": 1_000_000,
        "time_limit": 3.0,
    }
    if rng.random() < 0.5:
        model: Any = TopPush(k=[1, 2, 5, 0.1, 0.5][rng.integers(5)], **options)
        if model.k > data.full_weight[data.y == 0].sum():
            model.k = 1
    else:
        model = PatMat(
            tau=float(rng.choice([0.01, 0.1, 0.3, 0.9])),
            theta=float(rng.choice([0.1, 1.0, 10.0])),
            quantile=str(rng.choice(["negatives", "all"])),
            **options,
        )
    jams = model.k != 1 if isinstance(model, TopPush) else model.loss == "hinge"
    if not jams and data.weight is None and rng.random() < 0.4:
        model.solver = "coordinate"
    rows = data.X
    if kernel != "chi2" and rng.random() < 0.4:
        rows = sparse.csr_array(rows)
    label = f"{type(model).__name__} {model.solver} {kernel}"
    return Case(
        label,
        lambda: model.fit(rows, data.y, data.weight),
        lambda fitted: check_kernel(fitted, data),
    )
