"""Slow, obvious references: every order of tied rows, every pair, every threshold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np


def tie_orders(y: Sequence[int], score: Sequence[float]) -> list[list[int]]:
    """Labels from the top, once per order of the rows that the scores allow."""
    rungs = []
    for value in sorted(set(score), reverse=True):
        labels = [label for label, s in zip(y, score, strict=True) if s == value]
        rungs.append(list(itertools.permutations(labels)))
    return [list(itertools.chain(*order)) for order in itertools.product(*rungs)]


def over_ties(
    metric: Callable[[list[int]], float], y: Sequence[int], score: Sequence[float], ties: str
) -> float:
    values = [metric(labels) for labels in tie_orders(y, score)]
    if ties == "expected":
        return math.fsum(values) / len(values)
    return max(values) if ties == "optimistic" else min(values)


def length(k: int | float, n: int) -> int:
    return k if isinstance(k, int) else math.ceil(Fraction(str(k)) * n)


def precision_at_k(labels: list[int], k: int | float) -> float:
    k = length(k, len(labels))
    return sum(labels[:k]) / k


def recall_at_k(labels: list[int], k: int | float) -> float:
    return sum(labels[: length(k, len(labels))]) / sum(labels)


def lift_at_k(labels: list[int], k: int | float) -> float:
    return precision_at_k(labels, k) / (sum(labels) / len(labels))


def recall_at_fpr(labels: list[int], fpr: float) -> float:
    allowed = math.floor(Fraction(str(fpr)) * labels.count(0))
    found = wrong = 0
    for label in labels:
        wrong += 1 - label
        if wrong > allowed:
            break
        found += label
    return found / sum(labels)


def bedroc(labels: list[int], alpha: float) -> float:
    """Equation of Truchon and Bayly, through the robust initial enhancement."""
    n, total = sum(labels), len(labels)
    ratio = n / total
    gained = sum(math.exp(-alpha * (r + 1) / total) for r, label in enumerate(labels) if label)
    chance = (1 / total) * (1 - math.exp(-alpha)) / (math.exp(alpha / total) - 1)
    rie = gained / n / chance
    rie_min = (1 - math.exp(alpha * ratio)) / (ratio * (1 - math.exp(alpha)))
    rie_max = (1 - math.exp(-alpha * ratio)) / (ratio * (1 - math.exp(-alpha)))
    return (rie - rie_min) / (rie_max - rie_min)


def thresholds(y: Sequence[int], score: Sequence[float]) -> list[tuple[float, float]]:
    """Precision and recall of every threshold."""
    found = []
    for t in set(score):
        taken = [label for label, s in zip(y, score, strict=True) if s >= t]
        found.append((sum(taken) / len(taken), sum(taken) / sum(y)))
    return found


def pairwise_accuracy(
    target: Sequence[float],
    score: Sequence[float],
    qid: Sequence[int] | None = None,
    weight: Sequence[float] | None = None,
) -> float:
    n = len(target)
    qid = [0] * n if qid is None else qid
    weight = [1.0] * n if weight is None else weight
    correct = pairs = 0.0
    for i, j in itertools.permutations(range(n), 2):
        if qid[i] == qid[j] and target[i] > target[j]:
            mass = weight[i] * weight[j]
            pairs += mass
            correct += mass * (1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0)
    return correct / pairs if pairs else math.nan


def partial_auc(
    y: Sequence[int], score: Sequence[float], max_fpr: float, min_tpr: float, points: int = 100_001
) -> float:
    """Riemann sum over the ROC curve through the thresholds, then McClish's scaling."""
    y, score = np.asarray(y), np.asarray(score, dtype=float)
    cuts = np.sort(np.unique(score))[::-1]
    fpr = np.array([0.0] + [np.mean(score[y == 0] >= t) for t in cuts])
    tpr = np.array([0.0] + [np.mean(score[y == 1] >= t) for t in cuts])
    # A vertical step is walked in a sliver of the axis, so that interpolation is single-valued.
    grid = (np.arange(points) + 0.5) / points * max_fpr
    height = np.interp(grid, fpr + 1e-12 * np.arange(len(fpr)), tpr)
    area = np.mean(np.maximum(height - min_tpr, 0)) * max_fpr
    chance = max(max_fpr - min_tpr, 0) ** 2 / 2
    return 0.5 * (1 + (area - chance) / (max_fpr * (1 - min_tpr) - chance))
