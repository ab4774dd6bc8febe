"""What a shortlist says about a budget: expected hits, models compared, other budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from ..._written import fixed, hit_decimals, percent, rounded, sum_decimals
from .outlook import CONFIDENCE, Outlook, local_precision, place_variance

COMBINATION = "combination"
# Budgets of a forecast: enough for a smooth line and a slider.
_POINTS = 199
# Part of a shift by estimated weights that may still be missing: on made shifts they moved the
# forecast by 60 to 70 % of the way (benchmarks/results/pick_trust.md).
_UNMOVED = 0.5


@dataclass(frozen=True)
class ExpectedHits:
    """How many of the list are expected to be positive.

    Attributes
    ----------
    value : float
        Expected number.
    low, high : float
        Ends of the interval that holds the actual number with probability `confidence`.
    confidence : float
        That probability.
    """

    value: float
    low: float
    high: float
    confidence: float

    def between(self, low: float, high: float) -> ExpectedHits:
        """Return it with whole ends: an interval that begins above 16.5 begins at 17."""
        low, high = float(np.floor(low + 0.5)), float(np.ceil(high - 0.5))
        return replace(self, low=min(low, self.value), high=max(high, self.value))


@dataclass(frozen=True)
class Entry:
    """One model of the comparison.

    Attributes
    ----------
    name, family : str
        The model, with and without its parameters.
    hits : float
        Expected hits among the k candidates: what the folds say of the model, in the unit of
        the forecast (:func:`in_unit_of`).
    low, high : float
        Ends of the interval of the hits.
    difference : float
        Hits more than the baseline, on the same folds.
    difference_error : float
        Half the width of the 90 % interval of the difference: a larger difference is
        beyond noise. Infinite with a single fold.
    is_baseline, is_winner : bool
        Its part in the comparison.
    weight : float
        Its weight in the combination; one for the combination itself.
    seconds : float
        Time of its fits.
    """

    name: str
    family: str
    hits: float
    low: float
    high: float
    difference: float
    difference_error: float
    is_baseline: bool
    is_winner: bool
    weight: float
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """The models that were combined and what they give together, best first.

    Iterate over it for :class:`Entry` records. ``str()`` gives an aligned table of the
    combination, the baseline, the models with a weight and the best of each other family.

    Attributes
    ----------
    entries : tuple of Entry
        One for each model.
    k : int
        The budget.
    left_out : dict
        Families that were not tried, with the reason.
    unit : str
        What is counted: "hits", or the "sum" of numeric outcomes.
    """

    entries: tuple[Entry, ...]
    k: int
    left_out: dict[str, str]
    unit: str = "hits"

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    @property
    def winner(self) -> Entry:
        """What ranks the candidates."""
        return next(entry for entry in self.entries if entry.is_winner)

    @property
    def baseline(self) -> Entry:
        """The yardstick."""
        return next(entry for entry in self.entries if entry.is_baseline)

    @property
    def decimals(self) -> int:
        """Decimals of all its numbers, so that a reader can check one against the other."""
        size = self.winner.hits
        return hit_decimals(size) if self.unit == "hits" else sum_decimals(size)

    def written(self, value: float) -> str:
        """Write hits, or a sum."""
        return fixed(value, self.decimals)

    def difference(self, entry: Entry) -> float:
        """Return the difference of the hits as they are written."""
        ends = (rounded(e.hits, self.decimals) for e in (entry, self.baseline))
        return rounded(next(ends) - next(ends), self.decimals)

    def noise(self, entry: Entry) -> str:
        """Write the margin of a difference, rounded so that it stays on its side of it."""
        error = entry.difference_error
        if not np.isfinite(error):
            return "∞"
        scale = 10**self.decimals
        side = np.ceil if abs(entry.difference) <= error else np.floor
        return self.written(side(round(error * scale, 6)) / scale)

    def _main_entries(self) -> list[Entry]:
        shown, families = [], set()
        for entry in self.entries:
            if entry.weight or entry.is_baseline or entry.family not in families:
                shown.append(entry)
                families.add(entry.family)
        return shown

    def to_frame(self) -> Any:
        """Return a pandas frame, one row for each model."""
        import pandas as pd

        return pd.DataFrame([asdict(entry) for entry in self.entries])

    def __str__(self) -> str:
        head = (
            "model",
            f"{self.unit} of {self.k}",
            f"{percent(CONFIDENCE)} interval",
            "to baseline",
            "weight",
        )
        rows = [head]
        shown = self._main_entries()
        ends = 0 if self.unit == "hits" else self.decimals
        for e in shown:
            gain = self.difference(e)
            sign = "-" if gain < 0 else "+" if gain > 0 else ""
            rows.append(
                (
                    e.name + (" *" if e.is_winner else ""),
                    self.written(e.hits),
                    f"{fixed(e.low, ends)} to {fixed(e.high, ends)}",
                    "baseline"
                    if e.is_baseline
                    else f"{sign}{self.written(abs(gain))} ± {self.noise(e)}",
                    "" if e.is_winner else f"{fixed(100 * e.weight, 0)} %",
                )
            )
        width = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join([row[0].ljust(width[0]), *map(str.rjust, row[1:], width[1:])]) for row in rows
        ]
        lines += ["* ranks the candidates"]
        if len(shown) < len(self.entries):
            lines += [f"{len(self.entries) - len(shown)} more without weight"]
        return "\n".join(
            lines + [f"not tried: {name}: {why}" for name, why in self.left_out.items()]
        )


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected hits for every budget.

    Attributes
    ----------
    budgets : ndarray of int
        Increasing, from 1 to the number of candidates; at most 200 of them.
    hits, low, high : ndarray
        Expected hits of the chosen model, and the ends of their interval at each budget.
    baseline_hits : ndarray
        Expected hits of the baseline.
    narrowed : ndarray or float
        Width of the intervals over that for other candidates, whose scores are not known.
    """

    budgets: np.ndarray
    hits: np.ndarray
    low: np.ndarray
    high: np.ndarray
    baseline_hits: np.ndarray
    narrowed: np.ndarray | float = 1.0

    @property
    def precision(self) -> np.ndarray:
        """Expected hits divided by the budget."""
        return self.hits / self.budgets

    @property
    def next_precision(self) -> np.ndarray:
        """Expected hits per further row at each budget: what one more place buys.

        Places further down the list buy no more than those above them, so that folds'
        ups and downs are pooled.
        """
        steps = np.diff(self.hits, prepend=0.0)
        places = np.diff(self.budgets, prepend=0)
        pooled = IsotonicRegression(increasing=False)
        return pooled.fit_transform(self.budgets, steps / places, sample_weight=places)


def forecast_budgets(n_candidates: int, k: int) -> np.ndarray:
    """Return budgets to forecast: close together at the top of the list, `k` among them."""
    grid = np.geomspace(1, n_candidates, min(n_candidates, _POINTS)).round().astype(int)
    if n_candidates <= _POINTS:
        grid = np.arange(1, n_candidates + 1)
    return np.unique(np.append(grid, k))


def compare_models(
    outlook: Outlook, winner: str, k: int, left_out: dict[str, str], unit: str = "hits"
) -> Comparison:
    """Compare all models at this budget."""
    baseline = outlook.models[0]
    entries = []
    for model in outlook.models:
        hits, low, high = outlook.hits(model, k)
        difference, error = outlook.difference(model, baseline, k)
        entries.append(
            Entry(
                model.name,
                model.family,
                hits,
                low,
                high,
                difference,
                error,
                model is baseline,
                model.name == winner,
                model.weight,
                model.seconds,
            )
        )
    entries.sort(key=lambda entry: (not entry.is_winner, -entry.hits))
    return Comparison(tuple(entries), k, left_out, unit)


def forecast_hits(outlook: Outlook, winner: str, k: int) -> tuple[Forecast, ExpectedHits]:
    """Forecast the winner at all budgets and at `k`.

    Where the rows are weighted for drift, the interval is longer on the side to which the
    weights moved the forecast: they come of a classifier that learned from few rows, and such
    odds are nearer to even than the true ones.
    """
    chosen, baseline = outlook.find(winner), outlook.models[0]
    budgets = forecast_budgets(outlook.n_candidates, k)
    along = np.array([outlook.hits(chosen, int(b)) for b in budgets])
    if outlook.plain is not None:
        before = outlook.plain.find(winner)
        moved = along[:, 0] - [outlook.plain.hits(before, int(b))[0] for b in budgets]
        along[:, 1] += _UNMOVED * np.minimum(moved, 0.0)
        along[:, 2] += _UNMOVED * np.maximum(moved, 0.0)
    base = along if chosen is baseline else [outlook.hits(baseline, int(b)) for b in budgets]
    value, low, high = map(float, along[np.searchsorted(budgets, k)])
    hits, lows, highs = along.T
    forecast = Forecast(budgets, hits, lows, highs, np.array(base)[:, 0])
    return forecast, ExpectedHits(value, low, high, CONFIDENCE)


def agreed(
    forecast: Forecast, expected: ExpectedHits, k: int, probability: np.ndarray, mass: float
) -> tuple[Forecast, ExpectedHits]:
    r"""Let the forecast be the sum of the probabilities of the list, its intervals moved along.

    The folds know what a list of this rate brings on average; the probabilities also know how
    many candidates look like hits. Lists of real sets are missed by a fifth less
    (``benchmarks/results/pick_trust.md``), so the intervals are narrower, too: what the draw of
    the candidates decides is known, and a place has the variance
    :math:`v' = \frac1k \sum_i p_i (1 - p_i)` in place of v
    (:func:`shortlist.picking.forecast.outlook.place_variance`).

    Parameters
    ----------
    forecast, expected : Forecast, ExpectedHits
        By the folds.
    k : int
        Budget.
    probability : ndarray
        Of every candidate.
    mass : float
        Weight of the rows that were held out.
    """
    budgets, n = forecast.budgets, len(probability)
    ranked = np.sort(probability)[::-1]
    sums = np.cumsum(ranked)[budgets - 1]
    known = np.cumsum(ranked * (1.0 - ranked))[budgets - 1] / budgets
    narrowed = _narrowed(forecast, known, n, mass)
    low = np.clip(sums - narrowed * (forecast.hits - forecast.low), 0.0, sums)
    high = np.clip(sums + narrowed * (forecast.high - forecast.hits), sums, budgets)
    low, high = np.maximum.accumulate(low), np.maximum.accumulate(high)
    # The baseline is compared on the folds; what they cannot know of these candidates it shares.
    baseline = forecast.baseline_hits * sums / np.maximum(forecast.hits, 1e-12)
    baseline = np.minimum(baseline, budgets)
    made = Forecast(budgets, sums, low, high, baseline, narrowed)
    at = int(np.searchsorted(budgets, k))
    return made, replace(expected, value=float(sums[at])).between(low[at], high[at])


def _narrowed(forecast: Forecast, known: np.ndarray, n: int, mass: float) -> np.ndarray:
    """Return the width that is left where the variance of each place is known, at most one."""
    rates, share, precision = forecast.budgets / n, forecast.hits / n, forecast.precision
    blind = [
        max(place_variance(p, local_precision(rates, share, rate), rate), p * (1.0 - p))
        for p, rate in zip(precision, rates, strict=True)
    ]
    # Half a hit and half a miss, as in the intervals of the folds: none of the two is ever zero.
    least = 0.25 / (rates * mass + 1.0)
    return np.sqrt(np.minimum(1.0, (known + least) / (np.array(blind) + least)))


def through(forecast: Forecast, expected: ExpectedHits, k: int) -> Forecast:
    """Let the forecast of all budgets be what is expected at `k`, where terms decide that."""
    at = int(np.searchsorted(forecast.budgets, k))
    factor = expected.value / forecast.hits[at] if forecast.hits[at] > 0.0 else 1.0
    lines = {
        name: np.clip(factor * getattr(forecast, name), 0.0, forecast.budgets)
        for name in ("hits", "low", "high", "baseline_hits")
    }
    return replace(forecast, **lines)


def in_unit_of(comparison: Comparison, expected: Any, per_row: bool = False) -> Comparison:
    """Return the comparison in the unit of the forecast, so that there is one number for the list.

    The folds know how the models compare, the forecast what this list brings. Hits of all models
    are multiplied by what makes those of the winner the forecast; sums, which may be negative,
    are moved.

    Parameters
    ----------
    comparison : Comparison
        From the folds.
    expected : ExpectedHits or ExpectedGain
        The forecast.
    per_row : bool, default=False
        Whether the forecast is of the mean of a row, not of the sum.
    """
    winner, k = comparison.winner, comparison.k
    factor, move, most = (1.0 / k if per_row else 1.0), 0.0, np.inf
    if comparison.unit == "hits":
        factor = expected.value / winner.hits if winner.hits > 0.0 else 1.0
        most = float(k)
    else:
        move = expected.value - factor * winner.hits

    def moved(value: float) -> float:
        return float(min(factor * value + move, most))

    entries = [
        replace(
            entry,
            hits=moved(entry.hits),
            low=moved(entry.low),
            high=moved(entry.high),
            difference=factor * entry.difference,
            difference_error=factor * entry.difference_error,
        )
        for entry in comparison
    ]
    entries = [
        replace(entry, hits=expected.value, low=expected.low, high=expected.high)
        if entry.is_winner
        else entry
        for entry in entries
    ]
    return replace(comparison, entries=tuple(entries), unit="mean" if per_row else comparison.unit)


def ranking(comparison: Comparison, chosen_for: int, approximate: bool = False) -> str:
    """Say what ranks the list, and how it compares with the yardstick.

    Parameters
    ----------
    comparison : Comparison
        In the unit of the forecast.
    chosen_for : int
        The budget that the models were weighed for.
    approximate : bool, default=False
        Whether terms decide what is on the list, which the comparison does not know.
    """
    winner, baseline, k = comparison.winner, comparison.baseline, comparison.k
    used = [entry for entry in comparison if entry.weight and not entry.is_winner]
    name = f"a {COMBINATION} of {len(used)} models" if len(used) > 1 else winner.name
    when = "" if k == chosen_for else f", weighed for a budget of {chosen_for}"
    text = f"Ranked by {name}{when}"
    if not winner.is_baseline:
        terms = ", if these terms cost it as much" if approximate else ""
        text += (
            f"; by {baseline.name} it would be about {comparison.written(baseline.hits)}{terms}: "
            f"difference {comparison.written(comparison.difference(winner))}"
        )
        if not np.isfinite(winner.difference_error):
            text += ", of unknown noise with a single fold"
        else:
            text += f" ± {comparison.noise(winner)}"
            text += ", within noise" if winner.difference <= winner.difference_error else ""
    return f"{text}."


def expectation(expected: ExpectedHits, rows: int, refused: bool = False) -> str:
    """Put the expected hits of a list of so many rows into words."""
    value = counted(expected.value)
    if refused:
        return f"If nothing had changed, about {value} of {rows:,} would be hits."
    return (
        f"Expect about {value} of {rows:,} to be hits, {fixed(expected.low, 0)} to "
        f"{fixed(expected.high, 0)} with {percent(expected.confidence)} probability."
    )


def counted(hits: float) -> str:
    """Write hits that are expected of a list: whole from ten on, to the tenth below.

    Examples
    --------
    >>> from shortlist.picking.forecast.comparison import counted
    >>> counted(16.46), counted(6.0), counted(12345.6)
    ('16', '6.0', '12,346')
    """
    return fixed(hits, hit_decimals(hits))
