"""What the page shows, as plain numbers: computed once, for the charts and for the script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._density import class_densities
from ..metrics._blocks import tie_blocks
from ..metrics._sample import Sample, check_sample
from ..metrics.curve import hits_at
from ._scale import Scale, rounded_up

_DENSITY_POINTS = 205


@dataclass(frozen=True)
class Figures:
    """The forecast over all budgets, and where it is drawn.

    Attributes
    ----------
    values : dict of ndarray
        At each budget: ``k``, ``hits``, ``low``, ``high``, ``baseline``, ``random`` (hits),
        ``found`` and ``taken`` (shares of the positives and of the others of the
        history that score above the cut).
    places : dict of ndarray
        The same in percent of a chart: ``x``, ``hits_y``, ``precision_y``, ``cut_x``.
    scales : dict of Scale
        ``budget``, ``hits``, ``precision`` and ``score``.
    density : dict of ndarray
        ``grid``, and the densities of ``positive`` and ``other`` on it.
    """

    values: dict[str, np.ndarray]
    places: dict[str, np.ndarray]
    scales: dict[str, Scale]
    density: dict[str, np.ndarray]

    def at(self, name: str, k: float) -> float:
        """Interpolate one of the values between the budgets."""
        return float(np.interp(k, self.values["k"], self.values[name]))

    def place(self, name: str, k: float) -> float:
        """Interpolate one of the places between the budgets."""
        return float(np.interp(k, self.values["k"], self.places[name]))


def figures(shortlist: Any) -> Figures:
    """Compute everything that depends on the budget."""
    forecast = shortlist.forecast
    budgets = np.asarray(forecast.budgets, dtype=float)
    hits, low, high, baseline = (
        np.asarray(part, dtype=float)
        for part in (forecast.hits, forecast.low, forecast.high, forecast.baseline_hits)
    )
    precision = hits / budgets
    sample = check_sample(*shortlist.held_out)
    cut, found, taken = _cuts(sample, budgets / shortlist.n_candidates)
    grid, *densities = class_densities(sample.positive, sample.score, sample.weight)
    scales = {
        "budget": Scale(1.0, float(shortlist.n_candidates), log=True),
        "hits": Scale(0.0, rounded_up(max(high.max(), baseline.max()), 5)),
        "precision": Scale(
            0.0, min(1.0, rounded_up(max((high / budgets).max(), (baseline / budgets).max()), 5))
        ),
        "score": Scale(float(grid[0]), float(grid[-1])),
    }
    thin = slice(None, None, len(grid) // _DENSITY_POINTS)
    return Figures(
        values=_short(
            {
                "k": budgets,
                "hits": hits,
                "low": low,
                "high": high,
                "baseline": baseline,
                "random": budgets * hits[-1] / budgets[-1],
                "found": found,
                "taken": taken,
            }
        ),
        places=_short(
            {
                "x": scales["budget"].place(budgets),
                "hits_y": 100 - scales["hits"].place(hits),
                "precision_y": 100 - scales["precision"].place(precision),
                "cut_x": np.clip(scales["score"].place(cut), 0, 100),
            }
        ),
        scales=scales,
        density={"grid": grid[thin], "positive": densities[0][thin], "other": densities[1][thin]},
    )


def _short(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Round to seven digits: a shorter page, whose script reads the numbers Python has."""
    return {
        name: np.array([float(f"{value:.7g}") for value in array]) for name, array in arrays.items()
    }


def _cuts(sample: Sample, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the score that cuts off each rate of the history, and the shares above it."""
    weight = np.ones(sample.size) if sample.weight is None else sample.weight
    order = np.argsort(-sample.score, kind="stable")
    reached = np.cumsum(weight[order])
    wanted = rates * sample.total
    # A hair less, so that rounding of the sum does not move on to the next row.
    row = np.searchsorted(reached, wanted * (1 - 1e-12))
    cut = sample.score[order[np.minimum(row, sample.size - 1)]]
    hits = hits_at(wanted, tie_blocks(sample))
    positives = float(weight[sample.positive].sum())
    return cut, hits / positives, (wanted - hits) / (sample.total - positives)
