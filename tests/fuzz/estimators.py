"""Estimators: their certificates in extended precision, and their optima against the oracles."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from tests.certificate.random_problems import FAMILIES
from tests.oracles import patmat, ranking, top, topk

from shortlist import PatMat, RankSVM, TopKSVC, TopPush


def prepare() -> dict[str, Any]:
    """Return the families of random problems."""
    return {
        name: importlib.import_module(f"tests.certificate.{module}")
        for name, module in FAMILIES.items()
    }


def run(seed: int, shared: dict[str, Any]) -> None:
    """Fit a random problem; certificates are true and optima those of the oracle."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rng.random() < 0.25:
            differs_from_the_oracle(rng)
            return
        case = shared[sorted(shared)[rng.integers(len(shared))]].random_problem(rng)
        case.check(case.fit())


def differs_from_the_oracle(rng: np.random.Generator) -> None:
    """Compare with a conic solver, on data that it can solve."""
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.5:
        X = X.round(int(rng.integers(0, 2)))  # equal values and equal rows
    loss = str(rng.choice(["hinge", "squared_hinge"]))
    C = float(10.0 ** rng.integers(-2, 3))
    weight = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else None
    kind = rng.integers(4)
    power = 1 if loss == "hinge" else 2
    if kind < 2:
        y = rng.random(n) < 0.4
        y[:2], y[2:4] = True, False
        if weight is not None:
            weight[:4] = 1.0
        if kind == 0:
            model: Any = TopPush(1, C=C, loss=loss, tol=1e-7)
            best = top.top_push_optimum(X, y, k=1.0, C=C, loss=loss, weight=weight)
        else:
            tau = float(rng.choice([0.1, 0.3, 0.6]))
            model = PatMat(tau, C=C, loss=loss, tol=1e-7)
            best = patmat.patmat_optimum(X, y, tau=tau, C=C, loss=loss, weight=weight)
        model.fit(X, y.astype(int), weight)
    elif kind == 2:
        y = rng.integers(0, 4, n)
        y[:2] = 0, 1
        group = np.sort(rng.integers(0, 3, n)) if rng.random() < 0.5 else None
        if group is not None:
            group[:2] = 0
        model = RankSVM(C=C, loss=loss, normalize=False, tol=1e-7).fit(X, y, group)
        best = ranking.optimum(X, y, C=C, power=power, group=group, normalize=False)
    else:
        y = rng.integers(0, 4, n)
        y[:4] = range(4)
        k = int(rng.integers(1, 4))
        model = TopKSVC(k, C=C, tol=1e-7).fit(X, y)
        best = topk.optimum(X, y, model.weights_, C=C)
    found = model.certificate_
    # The oracle is good to about six digits.
    room = 2e-5 * abs(best) + 1e-7
    assert found.dual <= best + room, (found, best)
    if found.status == "converged":
        assert abs(found.primal - best) <= room, (found, best)
