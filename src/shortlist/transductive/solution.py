"""What a solver of the transductive problem hands back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """A separating plane.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    b : float
        Intercept for rows less the centre: what `intercept` amounts to there.
    intercept : float
        Intercept for rows as they were given.
    primal : float
        Its objective.
    error : float
        Bound of the rounding error of `primal`.
    """

    w: np.ndarray
    b: float
    intercept: float
    primal: float
    error: float
