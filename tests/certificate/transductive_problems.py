"""TransductiveTopK: nasty problems, and their objective and budget in rational arithmetic."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from shortlist import TransductiveTopK

from .nasty import KINDS, Nasty, check_certificate, make
from .random_problems import Case


def exact_scores(model: TransductiveTopK, X: np.ndarray, shrink: Fraction) -> list[Fraction]:
    """Return scores by `shrink` times the public weights and intercept."""
    w = [Fraction(value) for value in model.coef_[0].tolist()]
    b = Fraction(float(model.intercept_[0]))
    return [
        shrink * (b + sum((Fraction(x) * v for x, v in zip(row, w, strict=True)), Fraction(0)))
        for row in X.astype(float).tolist()
    ]


def objective(model: TransductiveTopK, data: Nasty, shrink: Fraction = Fraction(1)) -> float:
    """Return the objective of `shrink` times the model, which keeps the budget as it does."""
    square = sum(Fraction(value) ** 2 for value in model.coef_[0].tolist()) * shrink**2
    loss = Fraction(0)
    scores = exact_scores(model, data.X, shrink)
    for score, label, weight in zip(scores, data.y, data.full_weight.tolist(), strict=True):
        loss += Fraction(weight) * max(Fraction(0), 1 - (score if label else -score))
    return float(square / 2 + Fraction(model.C) * loss)


def check(
    model: TransductiveTopK,
    data: Nasty,
    candidates: np.ndarray | None,
    other: TransductiveTopK | None = None,
) -> None:
    """Assert that the certificate of a fitted model is true, and that it keeps the budget."""
    pool = data.X if candidates is None else candidates
    count = data.full_weight if candidates is None else np.ones(len(pool))
    above = np.array([score > 0 for score in exact_scores(model, pool, Fraction(1))])
    room = model.k_ * (1.0 + 1e-12)
    assert count[above].sum() <= room
    assert count[model.scores_ > 0.0].sum() <= room
    value = objective(model, data)
    upper = min(objective(model, data, Fraction(share)) for share in (0.999, 1.001))
    if other is not None:
        upper = min(upper, objective(other, data))
    assert model.objective_ == model.certificate_.primal
    certificate = model.certificate_
    check_certificate(certificate, value, upper)


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random fit of TransductiveTopK on nasty data."""
    seed = int(rng.integers(1 << 30))
    data = make(
        str(rng.choice(list(KINDS))), seed, int(rng.integers(6, 30)), int(rng.integers(1, 4))
    )
    data = data.cast(rng.choice([np.float32, np.float64]))
    solver = str(rng.choice(["swap", "feasible_direction", "exact"], p=[0.5, 0.4, 0.1]))
    candidates = None
    if rng.random() < 0.5:
        candidates = data.X[rng.integers(0, len(data.X), 12)] + (
            data.X[rng.integers(0, len(data.X), 12)] - data.X[:1]
        ).astype(data.X.dtype)
    places = data.full_weight.sum() if candidates is None else len(candidates)
    model = TransductiveTopK(
        k=int(rng.integers(1, max(2, int(places) // 2))),
        C=float(10.0 ** rng.integers(-3, 4)),
        solver=solver,
        restarts=int(rng.choice([0, 3])),
        tol=float(rng.choice([1e-2, 1e-4])),
        max_iter=None if rng.random() < 0.7 else int(rng.integers(1, 20)),
        time_limit=3.0,
    )
    X: Any = sparse.csr_array(data.X) if rng.random() < 0.3 else data.X

    def fit() -> TransductiveTopK:
        return model.fit(X, data.y, candidates, data.weight)

    def check_it(fitted: TransductiveTopK) -> None:
        parameters = {**fitted.get_params(), "solver": "swap", "restarts": 20, "max_iter": None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = TransductiveTopK(**parameters).fit(X, data.y, candidates, data.weight)
        check(fitted, data, candidates, other)

    return Case(f"TransductiveTopK {solver}", fit, check_it)
