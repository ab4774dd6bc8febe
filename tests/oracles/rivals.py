"""Every labelling of a few rows, and the optimum of the structural SVM over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import cvxpy as cp
import numpy as np

from shortlist.rivals import (
    F1,
    ROCAUC,
    AveragePrecision,
    LabelPrecision,
    PartialAUC,
    PrecisionAtK,
    RecallAtK,
)

Plane = tuple[float, np.ndarray, np.ndarray]
RANKINGS = (AveragePrecision, PartialAUC, ROCAUC)


def labellings(metric: Any, m: int, n: int) -> list[Plane]:
    """Loss and direction (positives, negatives) of every labelling that a metric considers."""
    found = _rankings(metric, m, n) if isinstance(metric, RANKINGS) else _labels(metric, m, n)
    distinct = {(loss, *p, *q): (loss, p, q) for loss, p, q in found}
    return list(distinct.values())


def _rankings(metric: Any, m: int, n: int) -> Iterator[Plane]:
    for order in permutations(range(m + n)):
        place = np.argsort(order)
        swapped = place[m:][None, :] < place[:m][:, None]
        yield (
            _average_precision(swapped)
            if isinstance(metric, AveragePrecision)
            else _area(metric, swapped, np.argsort(place[m:]))
        )


def interleavings(metric: Any, m: int, n: int) -> Iterator[Plane]:
    """Loss and direction of every order of the classes; rows of a class in their order.

    Every ranking is one of these with the rows of either class rearranged: the loss stays, and
    the directions move with the rows.
    """
    for slots in combinations(range(m + n), m):
        negatives = np.setdiff1d(np.arange(m + n), slots)
        swapped = negatives[None, :] < np.array(slots)[:, None]
        yield (
            _average_precision(swapped)
            if isinstance(metric, AveragePrecision)
            else _area(metric, swapped, np.arange(n))
        )


def largest_of_rankings(metric: Any, positive: np.ndarray, negative: np.ndarray) -> float:
    """Largest violation over all rankings, for up to ten rows.

    The two classes are rearranged independently of each other: their best sums add up.
    """
    above, below = (np.array(list(permutations(part))) for part in (positive, negative))
    return max(
        loss + float((above @ p).max()) + float((below @ q).max())
        for loss, p, q in interleavings(metric, len(positive), len(negative))
    )


def _average_precision(swapped: np.ndarray) -> Plane:
    m, n = swapped.shape
    above = np.sort(swapped.sum(axis=1))
    precision = [(i + 1) / (i + 1 + above[i]) for i in range(m)]
    pairs = swapped / (m * n)
    return 1.0 - float(np.mean(precision)), -pairs.sum(axis=1), pairs.sum(axis=0)


def _area(metric: PartialAUC, swapped: np.ndarray, order: np.ndarray) -> Plane:
    m, n = swapped.shape
    a, b = int(np.ceil(metric.min_fpr * n - 1e-9)), int(np.floor(metric.max_fpr * n + 1e-9))
    counted = np.zeros_like(swapped)
    counted[:, order[:b]] = swapped[:, order[:b]]
    unit = m * (b - a)
    loss = float(swapped[:, order[a:b]].sum()) / unit
    return loss, -counted.sum(axis=1) / unit, counted.sum(axis=0) / unit


def _labels(metric: Any, m: int, n: int) -> Iterator[Plane]:
    for labels in product([0.0, 1.0], repeat=m + n):
        right, wrong = np.array(labels[:m]), np.array(labels[m:])
        a, b = right.sum(), wrong.sum()
        if isinstance(metric, F1):
            yield 1.0 - 2.0 * a / (a + b + m), -(1.0 - right) / m, wrong / m
        elif isinstance(metric, LabelPrecision):
            if a + b >= metric.k and b > 0:
                rows = m + n
                yield b / (a + b), -(1.0 - right) / rows, wrong / rows
        elif a + b == metric.k:
            unit = m if isinstance(metric, RecallAtK) else metric.k
            assert isinstance(metric, PrecisionAtK)
            e = (min(metric.k, m) - a) / unit
            missed, chosen = 1.0 - right, wrong
            if e > 0.0:
                yield e, -e * missed / missed.sum(), e * chosen / chosen.sum()
            else:
                yield 0.0, np.zeros(m), np.zeros(n)


def largest(planes: list[Plane], positive: np.ndarray, negative: np.ndarray) -> float:
    """Largest violation at these scores."""
    return max(loss + p @ positive + q @ negative for loss, p, q in planes)


def optima(
    planes: list[Plane], positive: np.ndarray, negative: np.ndarray, costs: Sequence[float]
) -> Iterator[float]:
    """Least objective of a linear model over rows of either class, for each cost of slack."""
    losses = np.array([loss for loss, _, _ in planes])
    gradients = np.array([p @ positive + q @ negative for _, p, q in planes])
    w, slack = cp.Variable(positive.shape[1]), cp.Variable(nonneg=True)
    cost = cp.Parameter(nonneg=True)
    asked = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + cost * slack), [losses + gradients @ w <= slack]
    )
    for cost.value in costs:
        yield float(asked.solve(solver=cp.CLARABEL))
