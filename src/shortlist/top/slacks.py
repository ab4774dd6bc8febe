"""A slack and its multiplier, for every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PairStep:
    """Changes of both sides of a pair."""

    da: np.ndarray
    db: np.ndarray


@dataclass(frozen=True)
class Pair:
    """Two positive vectors whose product goes to zero.

    Attributes
    ----------
    a, b : ndarray
        Multipliers and slacks.
    weight : ndarray
        Share of every product in mu.
    reach : float
        How much of `a` one step may take away.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    reach: float = 1.0

    def length(self, step: PairStep) -> float:
        """Longest step that keeps both sides non-negative."""
        fall = float((step.da / self.a).min()) / self.reach
        worst = min(fall, float((step.db / self.b).min()))
        return np.inf if worst >= 0.0 else -1.0 / worst

    def product(self) -> float:
        """Sum of the products."""
        return float(self.a @ self.b)

    def product_after(self, step: PairStep, length: float) -> float:
        """Sum of the products after a step."""
        return float((self.a + length * step.da) @ (self.b + length * step.db))

    def moved(self, step: PairStep, length: float) -> Pair:
        """Return the pair after a step."""
        a, b = self.a + length * step.da, self.b + length * step.db
        return Pair(a, b, self.weight, self.reach)

    def centred(self, a: np.ndarray, mu: float) -> Pair:
        """Return these multipliers with the slacks that make every product mu."""
        return Pair(a, mu * self.weight / a, self.weight, self.reach)

    def grown(self, a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> Pair:
        """Return the pair with more rows; `weight` is that of all."""
        return Pair(np.concatenate([self.a, a]), np.concatenate([self.b, b]), weight, self.reach)

    def target(self, mu: float) -> np.ndarray:
        """Return the change wanted of each product."""
        return mu * self.weight - self.a * self.b


Pairs = dict[str, Pair]
Steps = dict[str, PairStep]
Goals = dict[str, np.ndarray]  # changes wanted of the products, by the name of their pair


def goals(pairs: Pairs, mu: float, last: Steps | None = None, second_order: float = 0.0) -> Goals:
    """Return the change wanted of every product, less a share of the last step squared."""
    wanted = {name: pair.target(mu) for name, pair in pairs.items()}
    if last is not None and second_order:
        for name, step in last.items():
            wanted[name] -= second_order * (step.da * step.db)
    return wanted
