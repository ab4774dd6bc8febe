r"""What a list was promised to bring, and how likely what it brought is.

Two things are uncertain: the precision of the list, which the history leaves open, and the luck
of the draw. A promise keeps them apart, because lists of one model share the first: the precision
is a beta variable p, and given p the hits are beta-binomial, of variance :math:`k v` with v the
variance per place (:func:`shortlist.picking.forecast.outlook.place_variance`). The spread of p is
the one with which the hits fall into the promised interval as often as promised, and never less
than the places of the history leave open: lists would be taken for decay otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import beta

from .outlook import local_precision, place_variance

if TYPE_CHECKING:
    from ..result import Shortlist

# Precisions that stand for all, at equal steps of probability.
_POINTS = 61
# Longer lists are judged as lists of this length: the history's part is all that is left.
_LONGEST = 2_000
_SPREADS = np.geomspace(1e-3, 0.5, 60)


@dataclass(frozen=True)
class Promise:
    """Hits that were promised.

    Attributes
    ----------
    k : int
        Rows of the list.
    value, low, high : float
        Hits expected, and the ends of their interval.
    confidence : float
        Probability of the interval.
    luck : float
        Standard deviation of the hits if the precision were known.

    Examples
    --------
    >>> from shortlist.picking.forecast.promise import Promise
    >>> promise = Promise(30, 22.0, 17.0, 27.0, 0.9, 2.4)
    >>> round(promise.p_value(16), 2), round(promise.p_value(22), 1)
    (0.07, 1.0)
    """

    k: int
    value: float
    low: float
    high: float
    confidence: float
    luck: float

    @property
    def centre(self) -> float:
        """Precision that is expected; never quite 0 or 1."""
        return float(np.clip(self.value / self.k, 0.25 / self.k, 1.0 - 0.25 / self.k))

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the precision, as the history leaves it open."""
        misses = []
        for spread in _SPREADS:
            low, high = _ends(self, self.centre, spread)
            misses.append(abs(low - self.low) + abs(high - self.high))
        return float(_SPREADS[int(np.argmin(misses))])

    @property
    def whole(self) -> tuple[int, int]:
        """Least and most hits that lie inside: an end of 16.6 is one of 17."""
        return math.ceil(self.low - 0.5), math.floor(self.high + 0.5)

    def holds(self, found: float) -> bool:
        """Whether so many hits lie inside."""
        low, high = self.whole
        return low <= found <= high

    @property
    def _unit(self) -> float:
        return min(1.0, _LONGEST / self.k)

    def likelihoods(self, found: float, factor: float = 1.0) -> np.ndarray:
        """Return how likely so many hits are, at each of the precisions times a factor."""
        return np.asarray(_at(self, factor)[:, round(found * self._unit)])

    def p_value(self, found: float) -> float:
        """Return the chance of hits at least as far out, to either side."""
        law = _at(self, 1.0).mean(axis=0)
        place = round(found * self._unit)
        return float(min(1.0, 2.0 * min(law[: place + 1].sum(), law[place:].sum())))

    def of(self, k: int) -> Promise:
        """Return the promise of another list of the same model, at the same rate."""
        if k == self.k:
            return self
        luck = self.luck * np.sqrt(k / self.k)
        made = Promise(k, self.centre * k, 0.0, float(k), self.confidence, float(luck))
        low, high = _ends(made, self.centre, self.spread)
        return Promise(k, made.value, low, min(high, float(k)), self.confidence, made.luck)


@lru_cache(maxsize=64)
def _at(promise: Promise, factor: float) -> np.ndarray:
    """Return the distribution of the hits where the precisions are a part of what they were.

    A ledger asks for the same ones again and again.
    """
    return _law(promise, _precisions(promise.centre, promise.spread) * factor)


def _precisions(centre: float, spread: float) -> np.ndarray:
    """Return precisions at equal steps of the probability of a beta variable."""
    # No history is so short that it speaks of less than half a hit and half a miss.
    size = max(centre * (1.0 - centre) / spread**2 - 1.0, 0.5 / min(centre, 1.0 - centre))
    steps = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.clip(beta.ppf(steps, centre * size, (1.0 - centre) * size), 1e-6, 1.0 - 1e-6)


def _law(promise: Promise, precisions: np.ndarray) -> np.ndarray:
    """Return the distribution of the hits at each precision, one row each."""
    k = min(promise.k, _LONGEST)
    hits = np.arange(k + 1)
    choose = gammaln(k + 1) - gammaln(hits + 1) - gammaln(k - hits + 1)
    binomial = promise.centre * (1.0 - promise.centre)
    # Variance per place over that of a coin: above one where the cut moves with the draw.
    excess = max(0.0, (promise.luck**2 / promise.k) / binomial - 1.0)
    rho = min(excess / max(k - 1.0, 1.0), 0.9)
    p = precisions[:, None]
    if rho < 1e-6:
        log = choose + hits * np.log(p) + (k - hits) * np.log1p(-p)
    else:
        size = 1.0 / rho - 1.0
        a, b = p * size, (1.0 - p) * size
        log = choose + betaln(hits + a, k - hits + b) - betaln(a, b)
    made = np.exp(log)
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def _ends(promise: Promise, centre: float, spread: float) -> tuple[float, float]:
    """Return the ends of the interval of the hits, were the precision so spread.

    Between whole hits, so that every spread has ends of its own: whole ones cannot tell a
    precision that is known from one that is not.
    """
    law = _law(promise, _precisions(centre, spread)).mean(axis=0)
    tail, hits = 0.5 * (1.0 - promise.confidence), np.arange(len(law))
    # The cumulative share of h hits is reached at h + 1/2.
    low, down = (
        np.interp(tail, np.cumsum(side), hits + 0.5, left=0.0) for side in (law, law[::-1])
    )
    return float(low) / promise._unit, float(hits[-1] - down) / promise._unit


@dataclass(frozen=True, eq=False)
class Promises:
    """What lists of any length were promised by one model.

    Attributes
    ----------
    k, n_candidates : int
        The list it was made for, and the rows it was chosen from.
    confidence : float
        Probability of the intervals.
    budgets, hits, low, high, luck : ndarray
        Lengths of lists, and what they were promised; see :class:`Promise`.
    """

    k: int
    n_candidates: int
    confidence: float
    budgets: np.ndarray
    hits: np.ndarray
    low: np.ndarray
    high: np.ndarray
    luck: np.ndarray

    def at(self, k: int, n_candidates: int | None = None) -> Promise:
        """Return what `k` of so many candidates were promised; None: of those it was made for."""
        rows = self.n_candidates if n_candidates is None else n_candidates
        place = float(np.clip(k * self.n_candidates / rows, 1.0, self.n_candidates))
        near = round(place)
        value, low, high, luck = (
            float(np.interp(near, self.budgets, line))
            for line in (self.hits, self.low, self.high, self.luck)
        )
        return Promise(near, value, low, high, self.confidence, luck).of(k)

    def to_plain(self) -> dict[str, Any]:
        """Return plain values and arrays."""
        return dict(vars(self))

    @classmethod
    def from_plain(cls, content: Any) -> Promises:
        """Make it again; raise where the content is not what :meth:`to_plain` returns."""
        arrays = {
            name: np.asarray(content[name], dtype=float)
            for name in ("budgets", "hits", "low", "high", "luck")
        }
        sizes = {array.shape for array in arrays.values()}
        if len(sizes) != 1 or not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("the promise does not fit together")
        return cls(
            int(content["k"]),
            int(content["n_candidates"]),
            float(content["confidence"]),
            **arrays,
        )


def promises_of(found: Shortlist) -> Promises:
    """Return what a shortlist promises, for its own budget and for others.

    A promise is one for every list of the model, so the intervals are as wide as they are for
    candidates whose scores are not known yet.
    """
    forecast, n = found.forecast, found.n_candidates
    budgets = forecast.budgets.astype(float)
    expected = found.expected
    own = budgets == found.k
    hits, low, high = (
        np.where(own, here, line)
        for here, line in (
            (expected.value, forecast.hits),
            (expected.low, forecast.low),
            (expected.high, forecast.high),
        )
    )
    low = np.clip(hits - (hits - low) / forecast.narrowed, 0.0, hits)
    high = np.clip(hits + (high - hits) / forecast.narrowed, hits, budgets)
    rates, share = budgets / n, forecast.hits / n
    luck = [
        _luck(b, h, local_precision(rates, share, b / n), n)
        for b, h in zip(budgets, hits, strict=True)
    ]
    least = [
        _least(Promise(int(b), h, 0.0, b, expected.confidence, s), b / n * found.outlook.mass)
        for b, h, s in zip(budgets, hits, luck, strict=True)
    ]
    low, high = np.minimum(low, np.array(least)[:, 0]), np.maximum(high, np.array(least)[:, 1])
    return Promises(
        found.k, n, expected.confidence, budgets, hits, low, high, np.array(luck, dtype=float)
    )


def _least(promise: Promise, places: float) -> tuple[float, float]:
    """Return the interval that so many places of the history leave open, if they are all alike."""
    p = promise.centre
    low, high = _ends(promise, p, float(np.sqrt(p * (1.0 - p) / (places + 1.0))))
    return min(low, promise.value), min(max(high, promise.value), float(promise.k))


def _luck(k: float, hits: float, local: float, n_candidates: int) -> float:
    precision = float(np.clip(hits / k, 0.25 / k, 1.0 - 0.25 / k))
    variance = place_variance(precision, local, k / n_candidates)
    return float(np.sqrt(k * max(variance, precision * (1.0 - precision))))
