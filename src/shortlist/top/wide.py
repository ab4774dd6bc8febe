"""Scores from a float64 kernel, whatever precision the solver works in."""

from __future__ import annotations

import numpy as np

from ..rows.kernels import KernelMatrix
from .problem import TopTerms
from .thresholds import TopMean

_STEP = 1024


def widen(
    kernel: KernelMatrix,
    order: np.ndarray,
    terms: TopTerms,
    c: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Recompute, in place, the scores of the coefficients `c` that both objectives rest on.

    These are the scores of the support vectors (the norm), of the positives with a loss
    and of the rows that make the threshold; all others may be off by the rounding seen.
    """
    support = np.flatnonzero(c)
    done = np.zeros(len(order), dtype=bool)
    done[support] = True
    margin = 0.0
    todo = support
    while len(todo):
        exact = wide_scores(kernel, order, todo, support, c[support])
        margin = max(margin, 10.0 * float(np.abs(exact - scores[todo]).max()))
        scores[todo] = exact
        done[todo] = True
        negative = scores[terms.negative]
        t = terms.threshold.value(negative, terms.negative_weight)
        reach = t - terms.threshold.shift
        if isinstance(terms.threshold, TopMean):
            reach = _lowest_counted(negative, terms.negative_weight, terms.threshold.k)
        near = np.zeros(len(order), dtype=bool)
        near[terms.positive] = scores[terms.positive] < t + 1.0 + margin
        near[terms.negative] |= negative > reach - margin
        todo = np.flatnonzero(near & ~done)


def _lowest_counted(scores: np.ndarray, weight: np.ndarray, k: float) -> float:
    order = np.argsort(-scores, kind="stable")
    at = int(np.searchsorted(np.cumsum(weight[order]), k))
    return float(scores[order[min(at, len(order) - 1)]])


def wide_scores(
    kernel: KernelMatrix,
    order: np.ndarray,
    rows: np.ndarray,
    support: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """Scores of the rows at the positions `rows` from the rows `support` times `c`.

    Where both are the same positions, half of the entries are computed.
    """
    out = np.zeros(len(rows))
    mirrored = rows is support
    for i in range(0, len(rows), _STEP):
        part = slice(i, i + _STEP)
        last = i + 1 if mirrored else len(support)
        for j in range(0, last, _STEP):
            other = slice(j, j + _STEP)
            block = kernel.wide_block(order[rows[part]], order[support[other]])
            out[part] += block @ c[other]
            if mirrored and j < i:
                out[other] += c[part] @ block
    return out
