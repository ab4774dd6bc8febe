"""What the page shows, as plain numbers: computed once, for the charts and for the script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._density import class_densities
from ..metrics._rungs import rungs_of
from ..metrics._sample import Sample, check_sample
from ..metrics.curve import hits_at
from ._scale import Scale, rounded_up

if TYPE_CHECKING:
    from ..picking.result import Shortlist

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
        ``grid``, and the densities of ``positive`` and ``other`` on it; empty, like all
        that belongs to the cut, where the held-out rows are of one class.
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


def figures(shortlist: Shortlist) -> Figures:
    """Compute everything that depends on the budget."""
    forecast = shortlist.forecast
    k = forecast.budgets.astype(float)
    most_hits = max(forecast.high.max(), forecast.baseline_hits.max())
    most_precise = max((forecast.high / k).max(), (forecast.baseline_hits / k).max())
    scales = {
        "budget": Scale(1.0, float(shortlist.n_candidates), log=True),
        "hits": Scale(0.0, rounded_up(most_hits, 5)),
        "precision": Scale(0.0, min(1.0, rounded_up(most_precise, 5))),
    }
    values = {
        "k": k,
        "hits": forecast.hits,
        "low": forecast.low,
        "high": forecast.high,
        "baseline": forecast.baseline_hits,
        "random": k * forecast.hits[-1] / k[-1],
    }
    places = {
        "x": scales["budget"].place(k),
        "hits_y": 100 - scales["hits"].place(forecast.hits),
        "precision_y": 100 - scales["precision"].place(forecast.hits / k),
    }
    density: dict[str, np.ndarray] = {}
    sample = check_sample(*shortlist.held_out)
    if sample.positive.any() and not sample.positive.all():
        cut, values["found"], values["taken"] = _cuts(sample, k / shortlist.n_candidates)
        grid, above, below = class_densities(sample.positive, sample.score, sample.weight)
        scales["score"] = Scale(float(grid[0]), float(grid[-1]))
        places["cut_x"] = scales["score"].place(cut)
        thin = slice(None, None, len(grid) // _DENSITY_POINTS)
        density = {"grid": grid[thin], "positive": above[thin], "other": below[thin]}
    return Figures(values, _short(places), scales, density)


def _short(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Round to seven digits, for a shorter page: these are places, nobody reads them."""
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
    hits = hits_at(wanted, rungs_of(sample))
    positives = float(weight[sample.positive].sum())
    return cut, hits / positives, (wanted - hits) / (sample.total - positives)
