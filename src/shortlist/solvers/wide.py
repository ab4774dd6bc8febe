"""Scores from a float64 kernel, whatever precision the solver works in."""

from __future__ import annotations

import numpy as np

from ..problems.kernels import KernelMatrix

_STEP = 1024


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
