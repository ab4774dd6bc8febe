r"""From the race to a choice: which model, how many hits, how sure.

The baseline stays unless another model is better by more than the noise of the paired
difference, fold by fold. Choosing the best of many flatters the chosen one. How much is
found by replaying the choice without the rows of each fold in turn, and looking at what
would have been chosen on the fold that had no say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import (
    hit_interval,
    local_precision,
    margin,
    mean_and_error,
    place_variance,
    shares,
)
from .race import Race

CONFIDENCE = 0.9


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the folds say about one model.

    Attributes
    ----------
    name, family : str
        The model.
    folds : ndarray of int
        Folds it has run.
    share : ndarray of shape (n_folds, n_rates)
        Hits per row at each rate.
    seconds : float
        Time of all its fits.
    """

    name: str
    family: str
    folds: np.ndarray
    share: np.ndarray
    seconds: float


@dataclass(frozen=True, eq=False)
class Outlook:
    """Forecasts from the folds, for any budget.

    Attributes
    ----------
    models : tuple of Evidence
        One for each model, the baseline first.
    rates : ndarray
        Rates of their shares.
    n_candidates : int
        Rows to choose from.
    mass : float
        Weight of the rows that were held out.
    prevalence : float
        Share of positives among them, assumed to be that of the candidates.
    fold_weight : ndarray
        Weight of each fold.
    ratio : float
        Weight of a test part relative to its training part.
    kept : float
        Part of the chosen model's gain over chance that is not owed to the choice.
    """

    models: tuple[Evidence, ...]
    rates: np.ndarray
    n_candidates: int
    mass: float
    prevalence: float
    fold_weight: np.ndarray
    ratio: float
    kept: float = 1.0

    def find(self, name: str) -> Evidence:
        """Return the model of this name."""
        return next(model for model in self.models if model.name == name)

    def hits(self, model: Evidence, k: int, kept: float = 1.0) -> tuple[float, float, float]:
        """Return the expected hits among the `k` candidates, and the ends of their interval."""
        weight = self.fold_weight[model.folds]
        mean, error = mean_and_error(self._by_fold(model, k) / k, weight, self.ratio)
        precision = self.prevalence + kept * (mean - self.prevalence)
        share = weight @ model.share / weight.sum()
        rate = k / self.n_candidates
        variance = place_variance(precision, local_precision(self.rates, share, rate), rate)
        low, high = hit_interval(k, precision, error, rate * self.mass, variance, CONFIDENCE)
        return k * precision, low, high

    def difference(self, model: Evidence, other: Evidence, k: int) -> tuple[float, float]:
        """Return the difference in hits on the folds both have run, and its margin of noise."""
        both = np.intersect1d(model.folds, other.folds)
        a, b = (self._by_fold(m, k)[np.isin(m.folds, both)] for m in (model, other))
        per_row = (a - b) / self.n_candidates
        mean, needed = paired(per_row, self.fold_weight[both], self.ratio, self.mass)
        return self.n_candidates * mean, self.n_candidates * needed

    def above_chance(self, model: Evidence, k: int) -> bool:
        """Say whether the folds show that the list is better than one drawn at random."""
        weight = self.fold_weight[model.folds]
        gain = (self._by_fold(model, k) - k * self.prevalence) / self.n_candidates
        mean, needed = paired(gain, weight, self.ratio, self.mass)
        return k == self.n_candidates or mean > needed

    def _by_fold(self, model: Evidence, k: int) -> np.ndarray:
        """Return the hits that each fold promises among the `k` candidates."""
        rate, grid = k / self.n_candidates, np.append(0.0, self.rates)
        return np.array(
            [self.n_candidates * np.interp(rate, grid, np.append(0.0, s)) for s in model.share]
        )


def paired(
    difference: np.ndarray, weight: np.ndarray, ratio: float, mass: float | None
) -> tuple[float, float]:
    """Return the mean difference over folds and the margin that noise alone stays within.

    With `mass`, the weight of the history, the difference is one of hits per row, and its
    error is at least that of as many coin flips as it has hits: few folds may agree by
    chance.
    """
    mean, error = mean_and_error(difference, weight, ratio)
    if mass is not None:
        error = max(error, float(np.sqrt(abs(mean) / mass)))
    return mean, margin(error, len(difference), CONFIDENCE)


def choose(values: np.ndarray, weight: np.ndarray, ratio: float, mass: float | None) -> int:
    """Return the row of the best model that beats the first row, the baseline, by more than noise.

    Parameters
    ----------
    values : ndarray of shape (n_models, n_folds)
        What each model reached on each fold; folds without a value are left out.
    weight : ndarray of shape (n_folds,)
        Weight of each fold.
    ratio : float
        Weight of a test part relative to its training part.
    mass : float or None
        Weight of the history, where the values are hits per row.
    """
    defined = np.isfinite(values).all(axis=0)
    values, weight = values[:, defined], weight[defined]
    best, most = 0, 0.0
    for i in range(1, len(values)):
        mean, needed = paired(values[i] - values[0], weight, ratio, mass)
        if mean > max(needed, most):
            best, most = i, mean
    return best


def choose_model(race: Race) -> tuple[int, float]:
    """Return the chosen model, and the part of its gain over chance not owed to the choice.

    The second number comes from choices without the rows of one fold each, judged on that
    fold; models that left the race early are not called back.
    """
    folds = race.folds
    every = range(len(folds.splits))
    alive = race.finishers()
    values = np.array([race.values(i, every) for i in alive])
    if not np.isfinite(values[0]).any():
        raise ValueError("scoring has no value on any fold; each fold may hold too few positives.")
    tested = np.unique(np.concatenate([test for _, test in folds.splits]))
    mass = race.history.mass(tested)
    by_hits = race.value is None
    noise = (folds.ratio, mass if by_hits else None)
    chosen = choose(values, folds.weight, *noise)
    if len(every) < 3 or len(alive) < 2:
        return alive[chosen], 1.0
    at_budget = int(np.searchsorted(race.rates, race.rate))
    hits = np.array([race.share(i, every)[:, at_budget] for i in alive])
    honest = np.empty(len(every))
    for fold in every:
        left, weight = _without(race, alive, values, fold)
        honest[fold] = hits[choose(left, weight, *noise), fold]
    positives = race.history.mass(tested[race.history.positive[tested]])
    chance = race.rate * positives / mass
    claimed, found = (
        float(folds.weight @ x / folds.weight.sum()) - chance for x in (hits[chosen], honest)
    )
    return alive[chosen], float(np.clip(found / claimed, 0.0, 1.0)) if claimed > 0.0 else 1.0


def _without(
    race: Race, alive: list[int], values: np.ndarray, fold: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and weights of the other folds, without the rows of this one."""
    history, splits = race.history, race.folds.splits
    inside = np.zeros(len(history), dtype=bool)
    inside[splits[fold][1]] = True
    values, weight = values.copy(), race.folds.weight.copy()
    values[:, fold] = np.nan
    rate = np.array([race.rate])
    for other, (_, test) in enumerate(splits):
        kept = ~inside[test]
        if other == fold or kept.all():
            continue
        rows = test[kept]
        if not len(rows):
            values[:, other] = np.nan
            continue
        weight[other] = history.mass(rows)
        row_weight = None if history.weight is None else history.weight[rows]
        if race.value is None:
            values[:, other] = [
                shares(
                    history.positive[rows], race.runs[i, other].scores[kept], row_weight, rate
                )[0]
                for i in alive
            ]  # fmt: skip
    return values, weight
