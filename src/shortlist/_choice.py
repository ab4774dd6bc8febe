r"""From the race to a choice: which model, how many hits, how sure.

The baseline stays unless another model is better by more than the noise of the paired
difference, fold by fold. Choosing the best of many flatters the chosen one; how much is
found by replaying the choice without each fold in turn and looking at what was chosen on
the fold that had no say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._history import History
from ._noise import (
    hit_interval,
    local_precision,
    margin,
    mean_and_error,
    place_variance,
    shares,
)
from ._race import Race

CONFIDENCE = 0.9


@dataclass(frozen=True)
class Evidence:
    """What the folds say about one model; everything that another budget needs.

    Attributes
    ----------
    name, family : str
        The model.
    folds : ndarray of int
        Folds it has run.
    share : ndarray of shape (n_folds, n_rates)
        Hits per row at each rate.
    value : ndarray of shape (n_folds,)
        What the race was decided on.
    seconds : float
        Time of all its fits.
    """

    name: str
    family: str
    folds: np.ndarray
    share: np.ndarray
    value: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Outlook:
    """Forecasts from the folds, for any budget.

    Attributes
    ----------
    rates : ndarray
        Rates of the shares.
    n_candidates : int
        Rows to choose from.
    mass : float
        Weight of the history that was held out once.
    prevalence : float
        Share of positives in it, assumed to be that of the candidates.
    fold_weight : ndarray
        Weight of each fold.
    ratio : float
        Weight of a test part relative to its training part.
    shrink : float
        Part of the gain over chance that is left when the choice is taken into account.
    """

    rates: np.ndarray
    n_candidates: int
    mass: float
    prevalence: float
    fold_weight: np.ndarray
    ratio: float
    shrink: float = 1.0

    def by_fold(self, model: Evidence, k: int) -> np.ndarray:
        """Hits that each fold promises among the `k` candidates."""
        rate = k / self.n_candidates
        grid = np.append(0.0, self.rates)
        return np.array(
            [self.n_candidates * np.interp(rate, grid, np.append(0.0, s)) for s in model.share]
        )

    def hits(
        self, model: Evidence, k: int, shrink: float = 1.0
    ) -> tuple[float, float, float]:
        """Expected hits among the `k` candidates, and the ends of their interval."""
        weight = self.fold_weight[model.folds]
        mean, error = mean_and_error(self.by_fold(model, k) / k, weight, self.ratio)
        precision = self.prevalence + shrink * (mean - self.prevalence)
        share = weight @ model.share / weight.sum()
        rate = k / self.n_candidates
        variance = place_variance(precision, local_precision(self.rates, share, rate), rate)
        low, high = hit_interval(k, precision, error, rate * self.mass, variance, CONFIDENCE)
        return k * precision, low, high

    def difference(self, model: Evidence, other: Evidence, k: int) -> tuple[float, float]:
        """Difference in hits on the folds both have run, and what noise could make of it."""
        both = np.intersect1d(model.folds, other.folds)
        a, b = (
            self.by_fold(m, k)[np.isin(m.folds, both)] for m in (model, other)
        )
        return paired(
            (a - b) / self.n_candidates, self.fold_weight[both], self.ratio, self.mass,
            self.n_candidates,
        )  # fmt: skip


def paired(
    difference: np.ndarray,
    weight: np.ndarray,
    ratio: float,
    mass: float | None = None,
    unit: float = 1.0,
) -> tuple[float, float]:
    """Mean difference over folds and the margin it must exceed, both times `unit`.

    With `mass` the difference is one of hits per row, and its error is at least that of
    as many coin flips as it has hits: few folds may agree by chance.
    """
    mean, error = mean_and_error(difference, weight, ratio)
    if mass is not None:
        error = max(error, float(np.sqrt(abs(mean) / mass)))
    return unit * mean, unit * margin(error, len(difference), CONFIDENCE)


def choose(values: np.ndarray, weight: np.ndarray, ratio: float, mass: float | None) -> int:
    """Row of the best model that beats the first row, the baseline, by more than noise."""
    best, most = 0, -np.inf
    for i in range(1, len(values)):
        mean, needed = paired(values[i] - values[0], weight, ratio, mass)
        if mean > max(needed, most):
            best, most = i, mean
    return best


def optimism(
    race: Race, alive: list[int], history: History, rate: float, chosen: int, by_hits: bool
) -> float:
    """Part of the chosen model's gain over chance that survives a choice without the fold.

    Parameters
    ----------
    race : Race
        With every fold run by the models `alive`.
    alive : list of int
        Models among which the choice was made, the baseline first.
    history : History
        The labelled rows.
    rate : float
        Budget as a rate.
    chosen : int
        Position of the chosen model.
    by_hits : bool
        Whether the choice was made on the hits.

    Returns
    -------
    float
        In [0, 1].
    """
    splits, weight = race.folds.splits, race.folds.weight
    everything = np.arange(len(splits))
    values = np.array([race.values(i, everything) for i in alive])
    if len(splits) < 2 or len(alive) < 2:
        return 1.0
    hits = values if by_hits else np.array([_hits(race, i, history, rate) for i in alive])
    honest = np.empty(len(splits))
    inside = np.zeros(len(history), dtype=bool)
    for fold, (_, part) in enumerate(splits):
        inside[:] = False
        inside[part] = True
        others = [f for f in everything if f != fold and not inside[splits[f][1]].all()]
        reduced = values[:, others].copy()
        left = weight[others].copy()
        for column, other in enumerate(others):
            test = splits[other][1]
            kept = ~inside[test]
            if kept.all():
                continue
            left[column] = history.mass(test[kept])
            if by_hits:
                reduced[:, column] = [
                    _share(race, i, other, history, rate, kept) for i in alive
                ]
        mass = history.mass(np.unique(np.concatenate([t for _, t in splits])))
        picked = choose(reduced, left, race.folds.ratio, mass if by_hits else None)
        honest[fold] = hits[picked, fold]
    total = weight.sum()
    chance = _chance(race, history)
    claimed = weight @ hits[alive.index(chosen)] / total - rate * chance
    found = weight @ honest / total - rate * chance
    return float(np.clip(found / claimed, 0.0, 1.0)) if claimed > 0.0 else 1.0


def _share(
    race: Race, model: int, fold: int, history: History, rate: float, kept: np.ndarray
) -> float:
    rows = race.folds.splits[fold][1][kept]
    weight = None if history.weight is None else history.weight[rows]
    scores = race.runs[model, fold].scores[kept]
    return float(shares(history.positive[rows], scores, weight, np.array([rate]))[0])


def _hits(race: Race, model: int, history: History, rate: float) -> np.ndarray:
    every = [np.ones(len(test), dtype=bool) for _, test in race.folds.splits]
    return np.array(
        [_share(race, model, fold, history, rate, kept) for fold, kept in enumerate(every)]
    )


def _chance(race: Race, history: History) -> float:
    """Share of positives among the rows that were held out."""
    tested = np.unique(np.concatenate([test for _, test in race.folds.splits]))
    return history.mass(tested[history.positive[tested]]) / history.mass(tested)
