"""What a solver hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernel_problem import DualPoint, Evaluation, KernelTopProblem
from .sweeps import ArrayScores, Scores, Start


@dataclass(frozen=True)
class ScaledScores:
    """Scores of a pass, for a model `length` times as long as the one it scored."""

    scores: Scores
    length: float = 1.0

    @property
    def largest(self) -> float:
        """Largest absolute score."""
        return self.length * self.scores.largest

    def threshold_error(self, t: float) -> float:
        """Bound the rounding error of their threshold `t`."""
        return self.scores.threshold_error(t, self.length)

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut."""
        return self.length * self.scores.cut(mass, highest / self.length)


@dataclass(frozen=True)
class Solution:
    """A model with its threshold.

    Attributes
    ----------
    w : ndarray
        Weights of the features.
    threshold : float
        Threshold of the negatives' scores under `w`, counted from the rows' centre.
    score_scale : float
        Largest absolute score of a negative.
    top_ranked : int
        Row with the largest dual weight among the negatives, -1 if unknown.
    scores : ScaledScores or None
        Scores of the rows of the threshold; None for the zero model or if not kept.
    start : Start or None
        What a later fit may start from, beside the model.
    """

    w: np.ndarray
    threshold: float
    score_scale: float = 0.0
    top_ranked: int = -1
    scores: ScaledScores | None = None
    start: Start | None = None

    def ranked_scores(self, problem: Any) -> ScaledScores | None:
        """Return the scores of the rows of the threshold, where they are known."""
        return self.scores


@dataclass
class KernelSolution:
    """A kernel model with its threshold and dual point.

    Attributes
    ----------
    coefficients : ndarray
        One per training row, alpha minus beta.
    scores : ndarray
        One per training row; undefined for rows of weight zero.
    threshold : float
        Threshold of the training scores.
    primal : float
        Its objective.
    score_scale : float
        Largest absolute score of a row of the threshold, raised by the rounding of a
        float32 kernel over that of float64.
    point : DualPoint
        The dual variables.
    top_ranked : int
        Row with the largest dual weight among those of the threshold.
    """

    coefficients: np.ndarray
    scores: np.ndarray
    threshold: float
    primal: float
    score_scale: float
    point: DualPoint
    top_ranked: int

    def ranked_scores(self, problem: KernelTopProblem) -> ArrayScores:
        """Return the scores of the rows of the threshold."""
        return ArrayScores(self.scores[problem.ranked], problem.ranked_weight, problem.threshold)

    @classmethod
    def of(
        cls,
        problem: KernelTopProblem,
        point: DualPoint,
        evaluation: Evaluation,
        scores: np.ndarray | None,
    ) -> KernelSolution:
        """Make the model of a dual point from its scores; without any, the zero model."""
        top = int(problem.ranked[np.argmax(point.beta)])
        n = problem.kernel.n_rows
        t, primal = evaluation.threshold, evaluation.primal
        if scores is None:
            return cls(np.zeros(n), np.zeros(n), t, primal, 0.0, point, top)
        c = point.coefficients(problem, n)
        scale = float(np.abs(scores[problem.ranked]).max())
        if problem.kernel.dtype == np.float32:
            scale *= 1e5
        return cls(c, scores, t, primal, scale, point, top)
