"""What the page draws, as plain numbers: values, and where they lie in a chart.

Computed once, for the drawings and for the script.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from ..picking.result import Shortlist

Ticks = list[tuple[float, str]]

# Budgets on the axis, and how far it reaches: a list five times as long says enough.
_POINTS = 120
_REACH = 5
# Part of the axis over which the steps of an interval are smoothed.
_WINDOW = 1 / 30
_DOTS = 100
# Probabilities that are put together when they are compared with what came.
_BINS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_FEWEST = 8


@dataclass(frozen=True)
class Curve:
    """What each budget buys, and where it is drawn.

    Attributes
    ----------
    values : dict of ndarray
        At each budget: ``k``, ``hits``, ``low``, ``high``, ``baseline`` and ``random`` (hits).
    places : dict of ndarray
        ``x`` and ``y`` of the expected hits, in percent of the chart.
    budgets, hits : Scale
        The axes, both linear and from zero.
    """

    values: dict[str, np.ndarray]
    places: dict[str, np.ndarray]
    budgets: Scale
    hits: Scale

    def at(self, name: str, k: float) -> float:
        """Interpolate one of the values between the budgets."""
        return float(np.interp(k, self.values["k"], self.values[name]))

    def line(self, name: str) -> str:
        """Return a line through the values, for a drawing of 100 by 100."""
        return _points(self.places["x"], 100 - self.hits.place(self.values[name]))

    def band(self) -> str:
        """Return the outline of the interval."""
        x = self.places["x"]
        low, high = (100 - self.hits.place(self.values[end]) for end in ("low", "high"))
        return _points(np.append(x, x[::-1]), np.append(high, low[::-1]))


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))


def curve(shortlist: Shortlist) -> Curve:
    """Compute everything that depends on the budget."""
    forecast, k = shortlist.forecast, shortlist.k
    reach = max(k, min(shortlist.plan.terms.candidates.longest, max(_REACH * k, 20)))
    grid = np.unique(np.append(np.linspace(1, reach, min(reach, _POINTS)).round(), k)).astype(float)
    known = np.append(0.0, forecast.budgets)

    def along(line: np.ndarray) -> np.ndarray:
        return np.interp(grid, known, np.append(0.0, line))

    expected = shortlist.expected
    line = along(forecast.hits)
    if shortlist.plan.decides:
        # The folds' curve, not a sum of these candidates' chances: it has the folds' steps.
        line = _smooth(grid, line)
    hits = _through(grid, line, k, expected.value)
    low = np.minimum(_through(grid, _smooth(grid, along(forecast.low)), k, expected.low), hits)
    high = _through(grid, _smooth(grid, along(forecast.high)), k, expected.high)
    high = np.clip(high, hits, np.maximum(grid, hits))
    if shortlist.drift.refused is not None:
        low, high = np.zeros_like(grid), grid
    values = {
        "k": grid,
        "hits": hits,
        "low": low,
        "high": high,
        "baseline": _through(
            grid,
            _smooth(grid, along(forecast.baseline_hits)),
            k,
            shortlist.comparison.baseline.hits,
        ),
        "random": grid * float(shortlist.plan.probability.mean()),
    }
    budgets = Scale(0.0, float(reach))
    most = Scale(0.0, rounded_up(float(max(high.max(), values["baseline"].max(), 1.0)), 5))
    places = {"x": budgets.place(grid), "y": 100 - most.place(hits)}
    return Curve(values, {name: place.round(3) for name, place in places.items()}, budgets, most)


def _smooth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Smooth a line through the origin that never falls, so that it never does.

    The mean of the line over a window that slides along it; beyond its ends the line goes on
    as it came, turned by half.
    """
    y = np.maximum.accumulate(y)
    if len(x) < 5:
        return y
    last, end = x[-1], y[-1]
    xs = np.concatenate([-x[::-1], [0.0], x, 2 * last - x[-2::-1]])
    ys = np.concatenate([-y[::-1], [0.0], y, 2 * end - y[-2::-1]])
    steps = np.linspace(-1.0, 1.0, 21) * max(_WINDOW * last, 1.5)
    return np.asarray(np.interp(x[:, None] + steps, xs, ys).mean(axis=1))


def _through(x: np.ndarray, y: np.ndarray, at: float, value: float) -> np.ndarray:
    """Scale a line so that it passes through a point."""
    here = float(np.interp(at, x, y))
    return y * (value / here) if here > 0 else y


def dots(shortlist: Shortlist) -> dict[str, Any]:
    """Return the picture of the list: one dot a row, or one for several rows of a long list."""
    k, expected = len(shortlist.selected), shortlist.expected
    number = max(1, min(k, _DOTS))
    unit = k / number
    marks = []
    for place in range(1, number + 1):
        row = place * unit
        if row <= expected.low + 1e-9:
            marks.append("sure")
        elif row <= round(expected.value / unit) * unit + 1e-9:
            marks.append("expected")
        elif row <= expected.high + 1e-9:
            marks.append("possible")
        else:
            marks.append("none")
    across = 10 if number <= 60 else 20
    return {
        "marks": [
            {"kind": kind, "x": 12 + 24 * (i % across), "y": 12 + 24 * (i // across)}
            for i, kind in enumerate(marks)
        ],
        "width": 24 * min(across, number),
        "height": 24 * -(-number // across),
        "unit": unit,
        "filled": sum(kind in ("sure", "expected") for kind in marks),
    }


def tested(shortlist: Shortlist) -> list[float]:
    """Return the hits that each fold promises a list of this length."""
    outlook = shortlist.outlook
    rate = shortlist.k / outlook.n_candidates
    grid = np.append(0.0, outlook.rates)
    shares = outlook.find(shortlist.winner).share
    return [
        float(outlook.n_candidates * np.interp(rate, grid, np.append(0.0, share)))
        for share in shares
    ]


def calibration(shortlist: Shortlist) -> list[dict[str, Any]]:
    """Compare held-out probabilities with what came, in parts."""
    plan = shortlist.plan
    said, hit, weight = plan.held_probability, plan.records.hit > 0, plan.records.weight
    found = []
    for low, high in pairwise(_BINS):
        inside = (said > low) & (said <= high)
        mass = float(weight[inside].sum())
        if inside.sum() >= _FEWEST and mass > 0:
            found.append(
                {
                    "rows": int(inside.sum()),
                    "said": float(weight[inside] @ said[inside] / mass),
                    "were": float(weight[inside] @ hit[inside] / mass),
                }
            )
    return found[::-1]


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
    >>> from shortlist.report._figures import Scale
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
    >>> from shortlist.report._figures import rounded_around
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
    >>> from shortlist.report._figures import rounded_up
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
