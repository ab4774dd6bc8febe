"""The formulas: one function per metric, on the weights of rungs.

Each takes :class:`Rungs`, best rung first, and returns a float. Rungs may be
empty (a resample can miss a row), the totals may not.
"""

from __future__ import annotations

import math

import numpy as np

from .._checks import list_length, round_down
from ._rungs import Rungs
from ._sample import FloatArray, at_least


def hits_at_k(rungs: Rungs, k: int | float, ties: str) -> float:
    """Positive weight among the first k rows."""
    size = rungs.positive + rungs.negative
    end = np.cumsum(size)
    length = list_length(k, float(end[-1]), rungs.whole)
    cut = int(np.searchsorted(end, length))
    if cut == len(end):
        return float(rungs.positive.sum())
    places = length - (end[cut] - size[cut])
    hits = float(rungs.positive[:cut].sum())
    positive, negative = rungs.positive[cut], rungs.negative[cut]
    if ties == "expected":
        return float(hits + places * positive / (positive + negative))
    if ties == "optimistic":
        return float(hits + min(places, positive))
    return float(hits + max(places - negative, 0.0))


def precision_at_k(rungs: Rungs, k: int | float, ties: str) -> float:
    """Hits divided by the length of the list."""
    return hits_at_k(rungs, k, ties) / list_length(k, rungs.total, rungs.whole)


def recall_at_k(rungs: Rungs, k: int | float, ties: str) -> float:
    """Hits divided by the positives."""
    return hits_at_k(rungs, k, ties) / float(rungs.positive.sum())


def lift_at_k(rungs: Rungs, k: int | float, ties: str) -> float:
    """Precision divided by the prevalence."""
    return precision_at_k(rungs, k, ties) * rungs.total / float(rungs.positive.sum())


def recall_at_fpr(rungs: Rungs, fpr: float, ties: str) -> float:
    """Share of the positives ahead of the first negative that is one too many."""
    allowed = round_down(fpr * float(rungs.negative.sum()), rungs.whole)
    end = np.cumsum(rungs.negative)
    cut = int(np.searchsorted(end, allowed, side="right"))
    total = float(rungs.positive.sum())
    if cut == len(end):
        return 1.0
    hits = float(rungs.positive[:cut].sum())
    positive, negative = rungs.positive[cut], rungs.negative[cut]
    if ties == "optimistic":
        hits += positive
    elif ties == "expected":
        # The j-th of q negatives, shuffled among p positives, has p j / (q + 1) ahead of it.
        place = allowed + 1 - (end[cut] - negative)
        hits += positive * place / (negative + 1)
    return float(hits / total)


def precision_at_recall(rungs: Rungs, recall: float) -> float:
    """Best precision among the thresholds that reach the recall."""
    hits, size = _taken(rungs)
    reached = at_least(hits, recall * hits[-1]) & (size > 0)
    return float(np.max(hits[reached] / size[reached]))


def recall_at_precision(rungs: Rungs, precision: float) -> float:
    """Best recall among the thresholds that reach the precision, 0 when none does."""
    hits, size = _taken(rungs)
    reached = hits[at_least(hits, precision * size)]
    return float(reached[-1] / hits[-1]) if len(reached) else 0.0


def _taken(rungs: Rungs) -> tuple[FloatArray, FloatArray]:
    """Positive weight and weight of all rows at or above each threshold."""
    hits = np.cumsum(rungs.positive)
    return hits, hits + np.cumsum(rungs.negative)


def partial_auc(rungs: Rungs, max_fpr: float | None, min_tpr: float | None) -> float:
    """Area of the ROC curve inside ``[0, max_fpr] x [min_tpr, 1]``, standardised."""
    right = 1.0 if max_fpr is None else max_fpr
    floor = 0.0 if min_tpr is None else min_tpr
    fpr, tpr = (
        np.concatenate([[0.0], np.cumsum(part) / part.sum()])
        for part in (rungs.negative, rungs.positive)
    )
    stop = int(np.searchsorted(fpr, right, side="right"))
    if stop < len(fpr):
        height = _between(right, fpr, tpr, stop)
        fpr, tpr = np.append(fpr[:stop], right), np.append(tpr[:stop], height)
    start = int(np.searchsorted(tpr, floor, side="right"))
    area = 0.0
    if start < len(tpr):
        x = np.concatenate([[_between(floor, tpr, fpr, start)], fpr[start:]])
        y = np.concatenate([[floor], tpr[start:]])
        area = float(np.sum(np.diff(x) * (0.5 * (y[1:] + y[:-1]) - floor)))
    best = right * (1 - floor)
    chance = 0.5 * max(right - floor, 0.0) ** 2
    return 0.5 * (1 + (area - chance) / (best - chance))


def _between(at: float, x: FloatArray, y: FloatArray, stop: int) -> float:
    """Interpolate y linearly at a point between ``x[stop - 1]`` and ``x[stop]``."""
    step = (at - x[stop - 1]) / (x[stop] - x[stop - 1])
    return float(y[stop - 1] + step * (y[stop] - y[stop - 1]))


def bedroc(rungs: Rungs, alpha: float, ties: str) -> float:
    """Exponentially weighted ranks of the positives, scaled to [0, 1]."""
    positive, negative = rungs.positive, rungs.negative
    size = positive + negative
    rate = alpha / size.sum()
    ahead = np.cumsum(size) - size
    # sum of exp(-rate r) over places a+1 .. b is (exp(-rate a) - exp(-rate b)) times a
    # factor that cancels, so weights need not be whole numbers.
    if ties == "expected":
        share = np.divide(positive, size, out=np.zeros_like(size), where=size > 0)
        places = -np.expm1(-rate * size) * share
    else:
        places = -np.expm1(-rate * positive)
        if ties == "pessimistic":
            ahead = ahead + negative
    gained = float(np.sum(np.exp(-rate * ahead) * places))
    best = -math.expm1(-rate * positive.sum())
    worst = best * math.exp(-rate * negative.sum())
    spread = -best * math.expm1(-rate * negative.sum())
    return min(max((gained - worst) / spread, 0.0), 1.0)
