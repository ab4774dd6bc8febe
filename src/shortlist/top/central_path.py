r"""Multipliers that belong to given scores: the centre of one constraint, in closed form.

On the central path every product of a slack and its multiplier has a known value
:math:`\mu`. For a fixed model the multiplier of one row is then the root of a quadratic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq


def bent(margin: np.ndarray, curvature: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return x > 0 with ``mu / x = margin + curvature * x``."""
    root = np.sqrt(margin * margin + 4.0 * curvature * mu)
    ahead = margin >= 0.0
    return np.where(ahead, 2.0 * mu, root - margin) / np.where(
        ahead, np.abs(margin) + root, 2.0 * curvature
    )


def boxed(margin: np.ndarray, cap: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x in (0, cap) with ``mu / x - mu / (cap - x) = margin``, and ``cap - x``."""
    pull = np.abs(margin) * cap
    smaller = 2.0 * mu * cap / (pull + 2.0 * mu + np.hypot(pull, 2.0 * mu))
    ahead = margin >= 0.0
    return np.where(ahead, smaller, cap - smaller), np.where(ahead, cap - smaller, smaller)


def recalled(
    x: np.ndarray, margin: np.ndarray, cap: np.ndarray, mu: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return known multipliers, moved to where margins known within `reach` have them.

    At a margin of zero any multiplier is right; the scores do not tell it.
    """
    least, most_rest = boxed(margin + reach, cap, mu)
    most, least_rest = boxed(margin - reach, cap, mu)
    return np.clip(x, least, most), np.clip(cap - x, least_rest, most_rest)


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a decreasing function is zero; the ends are moved until they enclose it."""
    width = max(high - low, 1e-300)
    while function(low) < 0.0:
        low, width = low - width, 2.0 * width
    while function(high) > 0.0:
        high, width = high + width, 2.0 * width
    tiny = max(1e-14 * max(abs(low), abs(high)), 1e-300)
    return float(brentq(function, low, high, xtol=tiny, rtol=1e-14, maxiter=200, disp=False))
