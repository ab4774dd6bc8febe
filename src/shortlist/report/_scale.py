"""Where values lie in a chart, in percent of its width or height, and its ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic axis.

    Attributes
    ----------
    low, high : float
        Ends of the axis.
    log : bool
        Whether equal ratios are equal distances.

    Examples
    --------
    >>> from shortlist.report._scale import Scale
    >>> float(Scale(1, 1000, log=True).place(10).round(1))
    33.3
    """

    low: float
    high: float
    log: bool = False

    def place(self, values: ArrayLike) -> np.ndarray:
        """Return the distance from the low end in percent of the axis."""
        low, high, at = (
            np.log(end) if self.log else np.asarray(end, dtype=float)
            for end in (self.low, self.high, values)
        )
        # Halves first: the range of huge scores may exceed the largest float.
        length = 0.5 * high - 0.5 * low
        if not length > np.finfo(float).tiny:
            return np.full_like(at, 50.0)
        return 100.0 * (0.5 * at - 0.5 * low) / length

    def ticks(self, at_most: int = 6) -> Ticks:
        """Return round values on the axis with their labels."""
        values = self._decades(at_most) if self.log else self._steps(at_most)
        return [(float(self.place(value)), short(value)) for value in values]

    def _steps(self, at_most: int) -> list[float]:
        step = _round_step(self.high / at_most - self.low / at_most)
        if not step:
            return [self.low]
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def _decades(self, at_most: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        fine = [m * 10.0**d for d in decades for m in (1, 2, 5)]
        coarse = fine[::3]
        inside = [
            [v for v in values if self.low <= v * (1 + 1e-9) and v <= self.high * (1 + 1e-9)]
            for values in (fine, coarse)
        ]
        return inside[0] if len(inside[0]) <= at_most else inside[1]


def rounded_around(low: float, high: float, at_most: int = 6) -> Scale:
    """Return an axis with round ends that holds both values.

    Examples
    --------
    >>> from shortlist.report._scale import rounded_around
    >>> rounded_around(61.3, 99)
    Scale(low=60.0, high=100.0, log=False)
    """
    step = _round_step((high - low) / at_most) or 1.0
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(step * first, step * max(last, first + 1))


def rounded_up(value: float, at_most: int = 6) -> float:
    """Return a round number of at least `value`, to end an axis that starts at zero.

    Examples
    --------
    >>> from shortlist.report._scale import rounded_up
    >>> rounded_up(61.3), rounded_up(0)
    (80.0, 1.0)
    """
    if value <= 0:
        return 1.0
    step = _round_step(value / at_most)
    return step * math.ceil(value / step - 1e-9)


def short(value: float) -> str:
    """Write the label of a tick."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if unit <= abs(value) < 1e12:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}".replace("-", "−")


def _round_step(step: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten; 0 where there is no range."""
    if not step > np.finfo(float).tiny:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(step))
    return next(m * unit for m in (1, 2, 5, 10) if m * unit >= step * (1 - 1e-9))
