"""What a solver hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Solution:
    """A model with its threshold.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    threshold : float
        Threshold of the negatives' scores under `w`.
    primal : float
        Its objective.
    score_scale : float
        Largest absolute score of a negative.
    top_negative : int
        Row with the largest dual weight among the negatives, -1 if unknown.
    """

    w: np.ndarray
    threshold: float
    primal: float
    score_scale: float = 0.0
    top_negative: int = -1


@dataclass
class ClassScores:
    """A model of many classes.

    Attributes
    ----------
    model : ndarray or csr array
        Weights of the features (features x classes), or the dual variables (rows x
        classes) where the scores come from a kernel.
    primal : float
        Its objective.
    """

    model: Any
    primal: float
