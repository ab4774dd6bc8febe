r"""From the folds to forecasts: hits of every model at every budget, and how sure.

The unit is the *share*: hits per row of a list, at a budget that is a rate
:math:`q = k/m` of the rows. What is noise and what is not: variances and intervals of
cross-validated hits stand at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import beta, t

CONFIDENCE = 0.9
# Above this budget the counts are so fine that their distribution is continuous.
_COUNTED = 2_000
# The precision at the cut is taken over this part of the list on either side of it.
_AROUND = 0.25


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


def mean_and_error(values: np.ndarray, weight: np.ndarray, ratio: float) -> tuple[float, float]:
    r"""Return the mean over the folds and its standard error, corrected for their overlap.

    .. math:: \hat\sigma^2 \Bigl( \frac1J + \frac{n_{test}}{n_{train}} \Bigr)

    The training parts of the folds share most of their rows, so the folds are not
    independent and :math:`\hat\sigma^2/J` is far too small. The error is infinite with
    a single fold.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52,
    2003.
    """
    weight = weight / weight.sum()
    mean = float(weight @ values)
    # Folds of unequal weight count as their effective number.
    folds = 1.0 / float(weight @ weight)
    if folds <= 1.0 + 1e-9:
        return mean, np.inf
    variance = float(weight @ (values - mean) ** 2) * folds / (folds - 1.0)
    return mean, float(np.sqrt(variance * (1.0 / folds + ratio)))


def pooled_error(between: float, folds: int, within: float) -> float:
    r"""Return the standard error of a precision from rows that were dealt into folds at random.

    Such folds differ as their rows do: the variance :math:`v/N` of N places says as much
    as the folds themselves, which are few and disagree or agree by chance. The two are
    averaged, the folds with their degrees of freedom, the places with four.
    """
    # A precision of one, rounded, may leave a variance below zero.
    return float(np.sqrt(((folds - 1) * between + 4.0 * max(within, 0.0)) / (folds + 3.0)))


def margin(error: float, folds: int, confidence: float) -> float:
    """Half the width of the interval of a difference: what it must exceed to be no noise."""
    if not np.isfinite(error):
        return np.inf
    return float(t.ppf(0.5 * (1.0 + confidence), folds - 1)) * error


def local_precision(rates: np.ndarray, share: np.ndarray, rate: float) -> float:
    """Precision of the rows around the cut: slope of the share along the rate."""
    ends = np.clip(rate * np.array([1.0 - _AROUND, 1.0 + _AROUND]), 0.0, 1.0)
    low, high = np.interp(ends, np.append(0.0, rates), np.append(0.0, share))
    return float(np.clip((high - low) / (ends[1] - ends[0]), 0.0, 1.0))


def place_variance(precision: float, local: float, rate: float) -> float:
    r"""Variance of the hits of a list, per place.

    .. math:: p (1 - p) + (1 - q) (p - r)^2

    Given the score at the cut, the rows above it are a random sample of what scores
    above it: binomial. The cut itself moves with the candidates, and the precision with
    it by :math:`dp / d\log q = r - p`, with :math:`r` the precision at the cut. A perfect
    ranking whose list is longer than the positives shows that both parts are needed: its
    hits are all positives among the candidates, :math:`m\pi(1-\pi)`, which this equals.
    """
    return precision * (1.0 - precision) + (1.0 - rate) * (precision - local) ** 2


def hit_interval(
    k: int, precision: float, error: float, places: float, variance: float, confidence: float
) -> tuple[float, float]:
    r"""Interval of the hits among `k` new candidates.

    Two sources add up: what the history leaves open about the precision, and the luck of
    these candidates,

    .. math:: k^2 \max(\hat e^2, v / N) + k v

    with :math:`v` the variance per place, :math:`N` the places of the history and
    :math:`\hat e` the corrected error over folds. The interval is that of the
    beta-binomial distribution with this variance, around the precision with half a hit
    and half a miss added (Jeffreys), so that it stays inside 0 and `k` and does not
    collapse when every place was a hit.

    Parameters
    ----------
    k : int
        Budget.
    precision : float
        Estimated precision of the list.
    error : float
        Its standard error over the folds; infinite where unknown.
    places : float
        Places that the history offers at this rate: rate times weight.
    variance : float
        Variance per place, :func:`place_variance`.
    confidence : float
        Probability that the hits fall inside.
    """
    centre = (precision * places + 0.5) / (places + 1.0)
    binomial = centre * (1.0 - centre)
    # The same half hit and half miss, also where the observed variance is zero.
    per_place = max(variance, binomial)
    known = error**2 if np.isfinite(error) else 0.0
    total = k * per_place + k**2 * max(known, per_place / (places + 1.0))
    tail = 0.5 * (1.0 - confidence)
    # Of k draws, beta-binomial: k c(1-c) (1 + (k-1) rho).
    spread = min(total / (k * binomial), 0.99 * k)
    if k > _COUNTED:
        concentration = max(k / spread - 1.0, 1e-3)
        ends = beta.ppf([tail, 1.0 - tail], centre * concentration, (1 - centre) * concentration)
        return float(k * ends[0]), float(k * ends[1])
    rho = max((spread - 1.0) / (k - 1.0), 1e-9) if k > 1 else 0.5
    a, b = centre * (1.0 / rho - 1.0), (1.0 - centre) * (1.0 / rho - 1.0)
    hits = np.arange(k + 1)
    log_choose = gammaln(k + 1) - gammaln(hits + 1) - gammaln(k - hits + 1)
    below = np.cumsum(np.exp(log_choose + betaln(hits + a, k - hits + b) - betaln(a, b)))
    low, high = np.searchsorted(below / below[-1], [tail, 1.0 - tail])
    return float(low), float(min(high, k))
