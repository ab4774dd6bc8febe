r"""Thresholds of scores that lie in parts: from sums, and from the few rows near the cut.

A threshold depends on the rows far above it only through
:math:`\sum\omega`, :math:`\sum\omega(s-e)` and :math:`\sum\omega(s-e)^2`, and on those
below it not at all. So each part adds up these moments in the cells of a grid; the cell
where the threshold lies becomes the next grid, until so few rows are left in it that they
can be looked at. Sums about a cell's own lower edge are moved down from edge to edge by
adding non-negative numbers: nothing cancels. The answer is that of the whole array, up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ..sweeps import TIE, Wanted, empirical_cut, highest, weighted_excess
from ..thresholds import Threshold

_CELLS = 1024
_FEW = 4096
# Up to this weight, the highest scores themselves stand for all where their mean is asked.
FEW_AT_TOP = 1000.0


@dataclass(frozen=True)
class Part:
    """Scores of some rows and their multiplicities, None where all are one."""

    scores: np.ndarray
    weight: np.ndarray | None = None

    def weights(self) -> np.ndarray:
        """Return the multiplicities."""
        return np.ones(len(self.scores)) if self.weight is None else self.weight

    def take(self, index: np.ndarray) -> Part:
        """Return some of the rows."""
        return Part(self.scores[index], None if self.weight is None else self.weight[index])

    @classmethod
    def joined(cls, parts: list[Part]) -> Part:
        """Return the rows of all parts."""
        plain = all(part.weight is None for part in parts)
        weight = None if plain else np.concatenate([part.weights() for part in parts])
        return cls(np.concatenate([part.scores for part in parts]), weight)


@dataclass(frozen=True)
class Extremes:
    """Lowest and highest score of some rows, and how many they are."""

    lowest: float = np.inf
    highest: float = -np.inf
    count: int = 0

    @classmethod
    def of(cls, part: Part) -> Extremes:
        """Return those of one part."""
        s = part.scores
        return cls(float(s.min()), float(s.max()), len(s)) if len(s) else cls()

    @classmethod
    def merged(cls, parts: list[Extremes]) -> Extremes:
        """Return those of all parts together."""
        return cls(
            min((part.lowest for part in parts), default=np.inf),
            max((part.highest for part in parts), default=-np.inf),
            sum(part.count for part in parts),
        )


@dataclass(frozen=True)
class Moments:
    """Number, weight and moments about `edge` of the rows that score above it."""

    edge: float
    count: int = 0
    weight: float = 0.0
    first: float = 0.0
    second: float = 0.0

    def lowered(self, edge: float, cell: np.ndarray) -> Moments:
        """Move to a lower edge, with the moments of the rows between about that edge."""
        h = self.edge - edge
        return Moments(
            edge,
            self.count + int(cell[0]),
            self.weight + cell[1],
            self.first + h * self.weight + cell[2],
            self.second + h * (2.0 * self.first + h * self.weight) + cell[3],
        )

    def as_rows(self) -> tuple[list[float], list[float]]:
        """Two rows above the edge, or one, with the same moments: scores and weights."""
        if self.second <= 0.0 or self.first <= 0.0:
            return ([self.edge], [self.weight]) if self.weight > 0.0 else ([], [])
        far = self.first * (self.first / self.second)
        near = max(self.weight - far, 0.0)
        scores, weights = [self.edge + self.second / self.first], [far]
        if near > 0.0:
            scores, weights = [*scores, self.edge], [*weights, near]
        return scores, weights


Ask = Callable[..., list[Any]]


class PartScores:
    """Scores in parts, wherever these are.

    Parameters
    ----------
    ask : callable
        ``ask(function, *arguments)`` returns ``function(part, *arguments)`` of every part.
    definition : Threshold
        The threshold of the scores.
    capped : bool
        Whether it has caps.
    extremes : Extremes
        Of all parts.
    """

    def __init__(self, ask: Ask, definition: Threshold, capped: bool, extremes: Extremes) -> None:
        self.ask = ask
        self._definition = definition
        self._capped = capped
        self.extremes = extremes

    @property
    def largest(self) -> float:
        """Largest absolute score."""
        return max(abs(self.extremes.lowest), abs(self.extremes.highest))

    def threshold(self, length: float = 1.0) -> float:
        """Return the threshold of the scores times `length`."""
        if self._definition.kept(self._capped) == 0.0:
            return length * self.extremes.highest
        definition = self._definition.scaled(length)
        above, scores, weight = self.near(
            lambda m: getattr(m, definition.moment) >= definition.target
        )
        rows, row_weight = above.as_rows()
        return length * definition.value(
            np.concatenate([rows, scores]), np.concatenate([row_weight, weight])
        )

    def threshold_error(self, t: float, length: float = 1.0) -> float:
        """Bound the rounding error of the threshold `t`."""

        def excess(level: float, power: int) -> float:
            return length**power * sum(self.ask(excess_of, level / length, power))

        ends = (length * self.extremes.lowest, length * self.extremes.highest)
        return self._definition.error(t, self.extremes.count, *ends, excess)

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut."""
        above, scores, weight = self.near(lambda m: m.weight > mass * (1.0 + 1e-12))
        tie, edge, low = TIE * self.largest, above.edge, np.nextafter(scores[-1], -np.inf)
        # Rows may be tied with some above the grid: take these in as well.
        while (following := min(self.ask(lowest_above, edge))) - scores[0] <= tie:
            edge = following + 1e3 * tie
            scores, weight = _merged(self.ask(distinct, low, edge))
        if np.isfinite(following):
            scores = np.concatenate([[following], scores])
            weight = np.concatenate([[sum(self.ask(weight_above, edge))], weight])
        return empirical_cut(scores, weight, mass, highest, tie)

    def near(self, reached: Callable[[Moments], bool]) -> tuple[Moments, np.ndarray, np.ndarray]:
        """Find the rows around the level where `reached` becomes true, from above.

        Returns the moments of the rows above them, their distinct scores (the highest
        first), and the weight of each score.
        """
        lowest, top, count = self.extremes.lowest, self.extremes.highest, self.extremes.count
        low, above = float(np.nextafter(lowest, -np.inf)), Moments(top)
        while count > _FEW and np.nextafter(low, above.edge) < above.edge:
            edges = np.unique(np.linspace(low, above.edge, _CELLS + 1))
            cells = np.sum(self.ask(cell_moments, edges), axis=0)
            for j in range(len(edges) - 2, -1, -1):
                below = above.lowered(float(edges[j]), cells[:, j])
                if reached(below) or j == 0:
                    break
                above = below
            low, count = float(edges[j]), below.count - above.count
        scores, weight = _merged(self.ask(distinct, low, above.edge))
        return above, scores, weight


def cell_moments(part: Part, edges: np.ndarray) -> np.ndarray:
    """Return number, weight and moments about its lower edge of every cell (a, b]."""
    out = np.zeros((4, len(edges) - 1))
    _core.cell_moments(part.scores, part.weight, edges, out)
    return out


def top_part(part: Part, weight: float) -> Part:
    """Return the highest scores that weigh as much, all that their mean depends on."""
    return part.take(highest(part.scores, part.weight, Wanted(1, weight)))


def distinct(part: Part, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores in (low, high] and the weight of each."""
    inside = (part.scores > low) & (part.scores <= high)
    return _weigh(part.scores[inside], part.weights()[inside])


def lowest_above(part: Part, edge: float) -> float:
    """Lowest score above `edge`, infinite where there is none."""
    return float(np.min(part.scores, where=part.scores > edge, initial=np.inf))


def excess_of(part: Part, level: float, power: int) -> float:
    """Weighted sum of a power of what the scores exceed a level by."""
    return weighted_excess(part.scores, part.weight, level, power)


def weight_above(part: Part, edge: float) -> float:
    """Weight of the scores above `edge`."""
    return float(part.weights()[part.scores > edge].sum())


def _weigh(scores: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, number = np.unique(scores, return_inverse=True)
    return values, np.bincount(number, weight, minlength=len(values))


def _merged(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All distinct scores, the highest first."""
    values, weight = _weigh(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return values[::-1], weight[::-1]
