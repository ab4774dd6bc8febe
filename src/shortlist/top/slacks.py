"""A slack and its multiplier, for every row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Pair:
    """Two non-negative vectors whose product goes to zero, with their steps."""

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    reach: float = 1.0  # how much of `a` one step may take away
    da: np.ndarray = field(default_factory=lambda: np.empty(0))
    db: np.ndarray = field(default_factory=lambda: np.empty(0))

    def length(self) -> float:
        """Longest step that keeps both sides non-negative."""
        fall = float((self.da / self.a).min()) / self.reach
        worst = min(fall, float((self.db / self.b).min()))
        return np.inf if worst >= 0.0 else -1.0 / worst

    def product(self, step: float = 0.0) -> float:
        """Sum of the products after a step."""
        if step == 0.0:
            return float(self.a @ self.b)
        return float((self.a + step * self.da) @ (self.b + step * self.db))

    def move(self, step: float) -> None:
        """Take the step."""
        self.a = self.a + step * self.da
        self.b = self.b + step * self.db

    def target(self, mu: float, second_order: float) -> np.ndarray:
        """Return the change wanted of each product, less a share of the last step squared."""
        out = mu * self.weight - self.a * self.b
        if second_order:
            out -= second_order * (self.da * self.db)
        return out
