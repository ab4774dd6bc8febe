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
    threshold : float
        Minus the intercept.
    primal : float
        Its objective.
    """

    w: np.ndarray
    threshold: float
    primal: float
