"""Linear TopPush and PatMat: objectives in extended precision, and random problems."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from oracles.top import soft_maximum
from shortlist import PatMat, TopPush
from shortlist._checks import top_count

from .nasty import KINDS, Nasty, check_certificate, exact_rows, make, stored
from .random_problems import Case


def hinge_power(loss: str) -> int:
    """Return the power of the hinge."""
    return 2 if loss == "squared_hinge" else 1


def top_mean(scores: np.ndarray, weight: np.ndarray, k: float) -> np.longdouble:
    """Mean of the k highest scores by their definition."""
    order = np.argsort(-scores, kind="stable")
    left, total = np.longdouble(k), np.longdouble(0.0)
    for row in order:
        share = min(left, np.longdouble(weight[row]))
        total += share * scores[row]
        left -= share
        if left <= 0:
            break
    return total / (np.longdouble(k) - max(left, np.longdouble(0.0)))


def surrogate(scores: np.ndarray, weight: np.ndarray, mass: float, theta: float, power: int) -> Any:
    """Surrogate quantile by halving an interval."""
    u = scores.max()

    def spent(u: Any) -> Any:
        return (weight * np.maximum(scores - u, 0.0) ** power).sum()

    target = np.longdouble(mass) / np.longdouble(theta) ** power
    low = u - (target / weight[np.argmax(scores)]) ** (np.longdouble(1.0) / power)
    width = max(np.longdouble(1e-30), u - low)
    while spent(low) < target:
        low, width = low - width, 2 * width
    for _ in range(120):
        middle = (low + u) / 2
        low, u = (middle, u) if spent(middle) > target else (low, middle)
    return (low + u) / 2 + 1 / np.longdouble(theta)


def objective(model: Any, data: Nasty, w: np.ndarray | None = None) -> float:
    """Objective of a model, from its parameters and `coef_` alone, in extended precision."""
    X, weight, y = exact_rows(data.X), data.full_weight.astype(np.longdouble), data.y == 1
    w = (model.coef_[0] if w is None else w).astype(np.longdouble)
    used = weight > 0
    X, y, weight = X[used], y[used], weight[used]
    scores = (X * w).sum(axis=1)
    if isinstance(model, TopPush) and model.smoothing:
        t = soft_maximum(scores[~y], weight[~y], model.smoothing)
    elif isinstance(model, TopPush):
        t = top_mean(scores[~y], weight[~y], top_count(model.k, data.full_weight[data.y == 0]))
    else:
        ranked = np.ones(len(y), dtype=bool) if model.quantile == "all" else ~y
        mass = model.tau * float(data.full_weight[used][ranked].sum())
        t = surrogate(scores[ranked], weight[ranked], mass, model.theta, hinge_power(model.loss))
    violation = np.maximum(1 + t - scores[y], 0) ** hinge_power(model.loss)
    return float((w * w).sum() / 2 + model.C * (weight[y] * violation).sum())


def best_known(model: Any, data: Nasty) -> float:
    """Objective of a good model, found far from nasty numbers: centred, scaled, tight."""
    X = exact_rows(data.X)
    unit = float(np.abs(X).max()) or 1.0
    easy = type(model)(**{**model.get_params(), "C": model.C * unit**2, "tol": 1e-9,
                          "solver": "auto", "callback": None, "max_iter": None,
                          "warm_start": False})  # fmt: skip
    easy.fit((X / unit).astype(np.float64), data.y, data.weight)
    return objective(model, data, easy.coef_[0] / unit)


def estimators() -> list[Any]:
    """Return one estimator per branch of the solvers."""
    return [
        TopPush(),
        TopPush(k=3, loss="hinge"),
        TopPush(k=0.2, C=100.0),
        TopPush(k=2, solver="accelerated", max_iter=3000),
        TopPush(smoothing=3.0),
        PatMat(tau=0.1),
        PatMat(tau=0.2, loss="hinge", theta=0.5),
        PatMat(tau=0.3, quantile="all", loss="hinge", C=100.0),
    ]


def random_estimator(rng: np.random.Generator) -> Any:
    """Return an estimator with random parameters."""
    common = {
        "C": float(10.0 ** rng.integers(-3, 4)),
        "loss": str(rng.choice(["squared_hinge", "hinge"])),
        "tol": float(rng.choice([1e-3, 1e-4, 1e-6])),
    }
    if rng.random() < 0.5:
        if rng.random() < 0.2:
            common |= {"solver": "accelerated", "max_iter": 1000}
        elif rng.random() < 0.2:
            return TopPush(smoothing=float(10.0 ** rng.integers(-3, 4)), **common)
        return TopPush(k=[1, 2, 5, 0.1, 0.5][rng.integers(5)], **common)
    return PatMat(
        tau=float(rng.choice([0.01, 0.1, 0.3, 0.9])),
        theta=float(rng.choice([0.1, 1.0, 10.0])),
        quantile=str(rng.choice(["negatives", "all"])),
        **common,
    )


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random estimator on random nasty data."""
    kind = str(rng.choice(sorted(KINDS)))
    n_rows, n_features = int(rng.integers(20, 120)), int(rng.integers(1, 6))
    data = make(kind, int(rng.integers(1 << 32)), n_rows, n_features)
    data = data.cast(rng.choice([np.float32, np.float64]))
    storage = str(rng.choice(["dense", "csr", "memmap", "blocks"]))
    model = random_estimator(rng)
    if getattr(model, "k", 1) > data.full_weight[data.y == 0].sum():
        model.k = 1
    if model.solver == "accelerated" and storage == "blocks":
        storage = "dense"

    def fit() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return model.fit(*stored(data, storage, folder))

    def check(fitted: Any) -> None:
        check_certificate(fitted.certificate_, objective(fitted, data), best_known(fitted, data))

    return Case(f"{type(model).__name__} {model.loss} {kind}", fit, check)
