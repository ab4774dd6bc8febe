"""What a solver hands back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problems.top_kernel import DualPoint, Evaluation, KernelTopProblem


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
    top_negative : int
        Row with the largest dual weight among the negatives, -1 if unknown.
    """

    w: np.ndarray
    threshold: float
    primal: float
    top_negative: int = -1


@dataclass
class KernelSolution:
    """A kernel model with its threshold and dual point.

    Attributes
    ----------
    coefficients : ndarray
        One per training row, alpha minus beta.
    threshold : float
        Threshold of the training scores.
    primal : float
        Its objective.
    point : DualPoint
        The dual variables.
    top_negative : int
        Row with the largest dual weight among those of the threshold.
    """

    coefficients: np.ndarray
    threshold: float
    primal: float
    point: DualPoint
    top_negative: int

    @classmethod
    def of(
        cls, problem: KernelTopProblem, point: DualPoint, evaluation: Evaluation
    ) -> KernelSolution:
        """Make the model of a dual point; the zero model where that is better."""
        top = int(problem.negative[np.argmax(point.beta)])
        c = np.zeros(problem.kernel.n_rows)
        if problem.value_at_zero < evaluation.primal:
            return cls(c, problem.threshold_at_zero, problem.value_at_zero, point, top)
        c[problem.positive] += point.alpha
        c[problem.negative] -= point.beta
        return cls(c, evaluation.threshold, evaluation.primal, point, top)
