"""From the folds to forecasts: hits of every model at every budget, and how sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import (
    hit_interval,
    local_precision,
    margin,
    mean_and_error,
    place_variance,
    pooled_error,
)

CONFIDENCE = 0.9


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the folds say about one model, or about the combination.

    Attributes
    ----------
    name, family : str
        The model.
    share : ndarray of shape (n_folds, n_rates)
        Hits per row at each rate.
    weight : float
        Its weight in the combination.
    seconds : float
        Time of all its fits.
    """

    name: str
    family: str
    share: np.ndarray
    weight: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Outlook:
    """Forecasts from the folds, for any budget.

    Attributes
    ----------
    models : tuple of Evidence
        One for each model, the baseline first; the combination last, if there is one.
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
    drawn : int
        How many folds each row was dealt into at random, by itself; 0 where rows stay
        together in groups or in time, so that only the folds know how much they differ.
    plain : Outlook or None
        Where the rows are weighted for drift: the same without these weights.
    """

    models: tuple[Evidence, ...]
    rates: np.ndarray
    n_candidates: int
    mass: float
    prevalence: float
    fold_weight: np.ndarray
    ratio: float
    drawn: int = 0
    plain: Outlook | None = None

    def find(self, name: str) -> Evidence:
        """Return the model of this name."""
        return next(model for model in self.models if model.name == name)

    def hits(self, model: Evidence, k: int) -> tuple[float, float, float]:
        """Return the expected hits among the `k` candidates, and the ends of their interval."""
        weight = self.fold_weight
        by_fold = self._by_fold(model, k) / k
        precision, error = mean_and_error(by_fold, weight, self.ratio)
        share = weight @ model.share / weight.sum()
        rate = k / self.n_candidates
        variance = place_variance(precision, local_precision(self.rates, share, rate), rate)
        if self.drawn > 1:
            plain = mean_and_error(by_fold, weight, 0.0)[1] ** 2 * len(by_fold) / self.drawn
            error = pooled_error(plain, self.drawn, variance / (rate * self.mass + 1.0))
        low, high = hit_interval(k, precision, error, rate * self.mass, variance, CONFIDENCE)
        return k * precision, low, high

    def difference(self, model: Evidence, other: Evidence, k: int) -> tuple[float, float]:
        """Return the difference in hits on the same folds, and its margin of noise."""
        per_row = (self._by_fold(model, k) - self._by_fold(other, k)) / self.n_candidates
        mean, needed = self._paired(per_row)
        return self.n_candidates * mean, self.n_candidates * needed

    def above_chance(self, model: Evidence, k: int) -> bool:
        """Say whether the folds show that the list is better than one drawn at random."""
        gain = (self._by_fold(model, k) - k * self.prevalence) / self.n_candidates
        mean, needed = self._paired(gain)
        return k == self.n_candidates or mean > needed

    def _paired(self, difference: np.ndarray) -> tuple[float, float]:
        """Return the mean difference over folds and the margin that noise alone stays within.

        Its error is at least :meth:`_noise`: few folds may agree by chance.
        """
        mean, error = mean_and_error(difference, self.fold_weight, self.ratio)
        error = max(error, self._noise(mean))
        return mean, margin(error, len(difference), CONFIDENCE)

    def _noise(self, mean: float) -> float:
        """Error of a difference in hits per row: that of as many coin flips as it has hits."""
        return float(np.sqrt(abs(mean) / self.mass))

    def _by_fold(self, model: Evidence, k: int) -> np.ndarray:
        """Return the hits that each fold promises among the `k` candidates."""
        rate, grid = k / self.n_candidates, np.append(0.0, self.rates)
        return np.array(
            [self.n_candidates * np.interp(rate, grid, np.append(0.0, s)) for s in model.share]
        )
