"""Nasty problems of several classes, and the objective of TopKSVC in extended precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from shortlist import TopKSVC

from .nasty import KINDS, Nasty, check_certificate, exact_kernel, make, stored
from .random_problems import Case

SOLVERS = ("proximal_newton", "block", "block_fw", "fw", "away", "pairwise")
STORAGES = ("dense", "csr", "memmap")


def several_classes(data: Nasty, n_classes: int, rng: np.random.Generator) -> Nasty:
    """Return the data with labels of more classes, each of them at least once."""
    y = data.y + 2 * rng.integers(0, (n_classes + 1) // 2, len(data.y))
    y[:n_classes] = np.arange(n_classes)
    weight = data.weight
    if weight is not None:
        weight = weight.copy()
        weight[:n_classes] = 1.0
    return Nasty(data.name, data.X, np.minimum(y, n_classes - 1), weight)


def losses(scores: np.ndarray, y: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Return the weighted top-k hinge of every row, straight from its definition."""
    rows = np.arange(len(y))
    a = 1.0 + scores - scores[rows, y][:, None]
    a[rows, y] = 0.0
    a = -np.sort(-a, axis=1)[:, : len(rho)]
    return np.maximum(a @ rho[: a.shape[1]], 0.0)


def objective(model: TopKSVC, data: Nasty, K: np.ndarray | None = None) -> float:
    """Recompute the objective from public attributes alone, in extended precision.

    `K` is the kernel matrix, where that is not Gaussian.
    """
    code = np.searchsorted(model.classes_, data.y)
    used = data.full_weight > 0.0
    if model.kernel == "linear":
        W = model.coef_.astype(np.longdouble)
        b = model.intercept_.astype(np.longdouble)
        scores = data.X.astype(np.longdouble) @ W.T + b
        square = (W * W).sum() + (b * b).sum()
    else:
        coef = model.dual_coef_.toarray().astype(np.longdouble)
        if K is None:
            K = exact_kernel("rbf", data.X, model.gamma, 0, 0.0)
        scores = (K[:, model.support_] + model.fit_intercept) @ coef.T
        # Of a kernel that is not positive a negative square counts as zero.
        square = max((coef * scores[model.support_].T).sum(), np.longdouble(0))
    if len(model.classes_) == 2:
        scores = scores @ np.array([[-0.5, 0.5]])
        square = square / 2
    weight = data.full_weight[used].astype(np.longdouble)
    rho = model.weights_.astype(np.longdouble)
    return float(square / 2 + model.C * (weight @ losses(scores[used], code[used], rho)))


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random problem of the family."""
    kind = str(rng.choice(list(KINDS)))
    # With so many classes and coefficients steps look at a few classes only.
    many = rng.random() < 0.1
    n_classes = int(rng.integers(64, 70) if many else rng.integers(2, 6))
    n_rows, n_features = int(rng.integers(8, 70)), int(rng.integers(2, 6))
    if many:
        n_rows, n_features = n_rows + n_classes, 42
    data = several_classes(
        make(kind, int(rng.integers(1 << 30)), n_rows, n_features), n_classes, rng
    )
    data = data.cast(rng.choice([np.float32, np.float64], p=[0.3, 0.7]))
    solver = str(rng.choice(["auto", "block", *SOLVERS[2:]], p=[0.5, 0.3, 0.05, 0.05, 0.05, 0.05]))
    slow = solver in SOLVERS[2:]
    options: dict[str, Any] = {
        "k": int(rng.integers(1, 3 if many else n_classes)),
        "C": float(rng.choice([0.01, 1.0, 100.0])),
        "weights": str(rng.choice(["flat", "linear", "exp"])),
        "kernel": str(rng.choice(["linear", "rbf"], p=[0.7, 0.3])),
        "gamma": 0.5,
        "fit_intercept": bool(rng.integers(2)),
        "solver": solver,
        "tol": 0.1 if slow else float(rng.choice([1e-2, 1e-4, 1e-6])),
        "max_iter": 300 if slow else 3000,
    }

    def fit() -> TopKSVC:
        storage = "dense" if rng.random() < 0.7 else "csr"
        return TopKSVC(**options).fit(*stored(data, storage, "."))

    def check(model: TopKSVC) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rival = {**options, "solver": "auto", "tol": 1e-4}
            other = TopKSVC(**rival).fit(*stored(data, "dense", "."))
        bound = other.certificate_.primal + other.certificate_.rounding
        check_certificate(model.certificate_, objective(model, data), bound)

    label = f"TopKSVC {options['kernel']} {'fw' if slow else solver}{' many' if many else ''}"
    return Case(f"{label}, {kind}", fit, check)
