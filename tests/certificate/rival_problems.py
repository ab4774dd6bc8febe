"""Nasty problems of the rivals, and their objectives in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.rivals import AATP, InfinitePush, MetricSVM, TransductiveSVM

from .nasty import KINDS, Nasty, check_certificate, exact_rows, make, stored
from .random_problems import Case

METRICS = ("precision_at_k", "recall_at_k", "partial_auc", "roc_auc", "average_precision", "f1")


def surrogate(model: MetricSVM, positive: np.ndarray, negative: np.ndarray) -> np.longdouble:
    """Largest violation, straight from the pages of the metrics; no sorting tricks."""
    positive, negative = -np.sort(-positive), -np.sort(-negative)
    m, n = len(positive), len(negative)
    one = np.longdouble(1.0)
    if model.metric in ("precision_at_k", "recall_at_k"):
        k = int(model.k)
        unit = k if model.metric == "precision_at_k" else m
        values = [
            one * (min(k, m) - a) / unit * (1 + negative[: k - a].mean() - positive[a:].mean())
            for a in range(max(0, k - n), min(k, m))
        ]
        return max([0 * one, *values])
    if model.metric in ("partial_auc", "roc_auc"):
        low, high = (0.0, 1.0) if model.metric == "roc_auc" else (model.min_fpr, model.max_fpr)
        a, b = int(np.ceil(low * n - 1e-9)), int(np.floor(high * n + 1e-9))
        rank = np.arange(1, b + 1)
        gains = (rank > a) + negative[None, :b] - positive[:, None]
        sums = np.concatenate([np.zeros((m, 1)), np.cumsum(gains, axis=1)], axis=1)
        return sums.max(axis=1).sum() / (m * (b - a))
    if model.metric == "average_precision":
        i, j = np.arange(1, m + 1)[:, None], np.arange(1, n + 1)[None, :]
        lost = one * i / (i + j - 1) - one * i / (i + j)
        lost = lost / m + (negative[None, :] - positive[:, None]) / (m * n)
        sums = np.concatenate([np.zeros((1, n)), np.cumsum(lost[::-1], axis=0)])
        return sums.max(axis=0).sum()
    a, b = np.arange(m + 1)[:, None], np.arange(n + 1)[None, :]
    missed = positive.sum() - np.concatenate([[0.0], np.cumsum(positive)])
    wrong = np.concatenate([[0.0], np.cumsum(negative)])
    return (1 - 2 * one * a / (a + b + m) + (wrong[None, :] - missed[:, None]) / m).max()


def metric_objective(model: MetricSVM, data: Nasty) -> float:
    """Recompute the objective from public attributes alone, in extended precision."""
    w = model.coef_[0].astype(np.longdouble)
    square = w @ w
    if model.metric == "f1":
        b = np.longdouble(model.intercept_[0])
        square += b * b
        scores = data.X.astype(np.longdouble) @ w + b
    else:
        scores = exact_rows(data.X) @ w
    value = surrogate(model, scores[data.y == 1], scores[data.y == 0])
    return float(square / 2 + model.C * (data.y == 1).sum() * max(value, np.longdouble(0.0)))


def metric_options(rng: np.random.Generator, data: Nasty) -> dict[str, Any]:
    """Return parameters that suit the data."""
    n_rows, n_negative = len(data.y), int((data.y == 0).sum())
    low = int(rng.integers(0, n_negative))
    return {
        "metric": str(rng.choice(METRICS)),
        "k": int(rng.integers(1, n_rows + 1)),
        "min_fpr": low / n_negative,
        "max_fpr": int(rng.integers(low + 1, n_negative + 1)) / n_negative,
        "C": float(rng.choice([0.01, 1.0, 100.0])),
        "tol": float(rng.choice([1e-2, 1e-4, 1e-6])),
        "max_iter": 2000,
    }


def plain_objective(model: Any, data: Nasty) -> float:
    """Objective of the rivals that have an intercept or push the highest negative."""
    w = model.coef_[0].astype(np.longdouble)
    scores = exact_rows(data.X) @ w
    weight = data.full_weight.astype(np.longdouble)
    used = weight > 0.0
    if isinstance(model, InfinitePush):
        norm = w @ w / 2 if model.regularization == "l2" else np.abs(w).sum()
        positive = used & (data.y == 1)
        loss = np.maximum(1 + scores[used & (data.y == 0)].max() - scores, 0)
        return float(norm + model.C * (weight[positive] @ loss[positive]))
    sign = np.where(data.y == 1, 1, -1)
    if isinstance(model, AATP):
        scores = scores - scores[model.boundary_]
    else:
        share = weight[data.y == 1].sum() / weight.sum()
        scores = scores - scores[used].mean() + (2 * share - 1)
    loss = model.C * (weight @ np.maximum(1 - sign * scores, 0))
    if isinstance(model, TransductiveSVM):
        each = model.C * weight.sum() / used.sum()
        loss += each * np.maximum(1 - np.abs(scores[used]), 0).sum()
    return float(w @ w / 2 + loss)


def random_problem(rng: np.random.Generator) -> Case:
    """Return a random problem of the family."""
    metric = rng.random() < 0.6
    kind = str(rng.choice([kind for kind in KINDS if not metric or "weight" not in kind]))
    n_rows, n_features = int(rng.integers(4, 70)), int(rng.integers(1, 6))
    data = make(kind, int(rng.integers(1 << 30)), n_rows, n_features)
    data = data.cast(rng.choice([np.float32, np.float64], p=[0.3, 0.7]))
    storage = "dense" if rng.random() < 0.7 else "csr"
    C, tol = float(rng.choice([0.01, 1.0, 100.0])), float(rng.choice([1e-2, 1e-4, 1e-6]))
    others = [
        InfinitePush("l2", C=C, tol=tol),
        InfinitePush("l1", C=C, tol=tol),
        AATP(0.2, C=C, tol=tol),
        TransductiveSVM(C, tol=tol),
    ]
    model = others[int(rng.integers(4))]
    label = type(model).__name__
    if metric:
        options = metric_options(rng, data)
        model, label = MetricSVM(**options), f"MetricSVM {options['metric']}"

    def fit() -> Any:
        given = stored(data, storage, ".")
        return model.fit(*given[:2], **({} if metric else {"sample_weight": given[2]}))

    def check(model: Any) -> None:
        value = (metric_objective if metric else plain_objective)(model, data)
        certificate = model.certificate_
        if certificate.status in ("local", "max_iter"):
            room = 1e-7 * value + certificate.rounding
            assert abs(certificate.primal - value) <= room, (certificate, value)
            assert certificate.dual <= value * (1.0 + 1e-9), (certificate, value)
        else:
            check_certificate(certificate, value)

    return Case(label, fit, check)
