r"""Thresholds: how the scores of the negatives become the number to beat.

A threshold is a support function :math:`T(s) = \max_{p \in \Delta} p \cdot s`; its
maximiser :math:`p` tells which negatives define the top, and the set
:math:`\Delta` is all that the dual needs to know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TopMean:
    r"""Mean of the `k` highest scores, rows counted by their weight.

    .. math:: T(s) = \max \{ p \cdot s : 0 \le p_j \le \omega_j / k, \; \textstyle\sum p = 1 \}

    Attributes
    ----------
    k : float
        How many negatives, counted by weight.
    """

    k: float

    def caps(self, weight: np.ndarray) -> np.ndarray | None:
        """Largest share of each row, None for the plain maximum.

        Caps that cannot bind because every weight is large are kept: a row of weight 2
        must be treated as the row twice.
        """
        return None if self.k <= min(1.0, float(weight.min())) else weight / self.k

    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold of these scores."""
        if self.caps(weight) is None:
            return float(scores.max())
        if np.ptp(weight) == 0.0 and (count := self.k / weight[0]) == int(count):
            count = int(count)
            return float(np.partition(scores, len(scores) - count)[-count:].mean())
        order = np.argsort(-scores, kind="stable")
        share = np.clip(self.k - (np.cumsum(weight[order]) - weight[order]), 0.0, weight[order])
        return float(share @ scores[order]) / float(share.sum())
