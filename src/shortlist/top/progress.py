"""What rounds of a kernel solver have reached, and whether they still help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernel_problem import DualPoint, Evaluation

_NOTHING = Evaluation(np.inf, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Best:
    """The best primal value of a level, and where it was; the best dual value."""

    evaluation: Evaluation = _NOTHING
    point: DualPoint | None = None
    scores: np.ndarray | None = None
    dual: float = 0.0

    @property
    def gap(self) -> float:
        """Best primal value less the best dual value."""
        return self.evaluation.primal - self.dual


@dataclass
class Progress:
    """Whether rounds still help."""

    reference: float = np.inf
    count: int = 0
    steps: int = 0

    def stalls(self, gap: float) -> bool:
        """Take note of a gap; whether it has not fallen by a tenth for some rounds."""
        self.count += 1
        if gap < 0.9 * self.reference:
            self.count, self.reference = 0, gap
        return self.count > 0
