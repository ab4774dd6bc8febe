"""What a solver of many classes hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
