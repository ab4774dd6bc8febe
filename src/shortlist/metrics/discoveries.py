r"""How many may be taken: lists of any length with a proven share of hits.

Labelled rows that a model has not seen and candidates from the same source are exchangeable:
which of them are candidates is a matter of chance. So in the order of their scores the rows
without a hit are candidates and labelled rows as drawn from an urn. How often a labelled one
turns up tells how many of the candidates' are above, with an error that is known exactly,
whatever the scores and their model are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils import check_random_state

from .._checks import check_rate
from ._sample import FloatArray, check_positive, check_sample, check_score

# Orders of the urn that are drawn to calibrate a band, and labelled rows without a hit up to
# which it is followed: longer lists hold so many that a bound of everything serves nobody.
_DRAWS = 2000
_FOLLOWED = 5000
# Ratio of neighbouring places of labelled rows that are followed.
_SPACED = 1.05
# Rows of the urn's law that are kept beside its mean, in standard deviations.
_FAR = 14.0


@dataclass(frozen=True, slots=True, eq=False)
class DiscoveryBand:
    """Bounds of the false discoveries in lists of every length, all true at once.

    Attributes
    ----------
    k : ndarray of shape (m,)
        List lengths.
    false : ndarray of shape (m,)
        Most rows without a hit among the first k.
    rate : ndarray of shape (m,)
        The same as a share of the list: a bound of the false discovery proportion.
    confidence : float
        Probability that all of these bounds hold together.
    """

    k: np.ndarray
    false: FloatArray
    rate: FloatArray
    confidence: float

    def longest(self, precision: float) -> int:
        """Return the length of the longest list whose share of hits is proved.

        Parameters
        ----------
        precision : float
            Smallest share of hits.

        Returns
        -------
        int
            The length; 0 where no list is proved.
        """
        kept = np.flatnonzero(self.rate <= 1.0 - precision + 1e-12)
        return int(self.k[kept[-1]]) if len(kept) else 0


def false_discovery_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    candidate_scores: ArrayLike,
    *,
    confidence: float = 0.95,
    pos_label: Any = None,
    random_state: Any = 0,
) -> DiscoveryBand:
    r"""Bound the false discoveries of every list of the candidates at once.

    Let :math:`N_t` be the labelled rows without a hit that score at least :math:`t`. With
    probability `confidence`, for all :math:`t` together, at most :math:`b(N_t)` candidates
    without a hit do. The list may therefore be cut anywhere, after any look at the band.

    :math:`b(N)` is the quantile of a negative hypergeometric law, the number of candidates
    drawn from an urn of n labelled rows and m candidates before the :math:`(N+1)`-th labelled
    one, at one level for all :math:`N`. That level is calibrated on drawn orders of the urn,
    of which the true order is another one, so that the confidence is exact.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of rows that the model behind the scores has not seen, two values.
    y_score : array-like of shape (n,)
        Their scores, higher is better.
    candidate_scores : array-like of shape (m,)
        Scores of the candidates by the same model. They must come from where the labelled
        rows came from.
    confidence : float, default=0.95
        Probability that all bounds hold.
    pos_label : label, default=None
        The positive label. None means 1 (or True).
    random_state : int, RandomState instance or None, default=0
        Draws the orders of the urn.

    Returns
    -------
    DiscoveryBand
        One bound for each length of the list.

    See Also
    --------
    conformal_selection : The longest list whose share of hits holds on average.

    References
    ----------
    U. Gazin, G. Blanchard and E. Roquain, "Transductive conformal inference with adaptive
    scores", AISTATS 2024: the law of the order, and bounds that hold at once.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.metrics import false_discovery_band
    >>> rng = np.random.default_rng(0)
    >>> y, new = rng.random((2, 2000)) < 0.2
    >>> score = rng.normal(size=2000) + 3 * y
    >>> band = false_discovery_band(y, score, rng.normal(size=2000) + 3 * new)
    >>> band.longest(0.8), band.longest(0.9)
    (415, 326)
    """
    aside, n = _labelled(y_true, y_score, pos_label)
    scores = check_score(candidate_scores, "candidate_scores")
    check_rate(confidence, "confidence", low_open=True, high_open=True)
    return band(aside, n, scores, len(scores), confidence, random_state)


def conformal_selection(
    y_true: ArrayLike,
    y_score: ArrayLike,
    candidate_scores: ArrayLike,
    precision: float,
    *,
    weight: ArrayLike | None = None,
    candidate_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> np.ndarray:
    r"""Take as many candidates as keep an expected share of hits.

    With :math:`N(s)` the labelled rows without a hit that score at least :math:`s`, a
    candidate's p-value is :math:`(1 + N(s)) / (n + 1)`, and the rule of Benjamini and
    Hochberg at the level :math:`1 - \text{precision}` chooses the list. Its false discovery
    rate, the expected share of rows without a hit, is at most that level, if the labelled
    rows and the candidates are exchangeable: for any model, any number of rows, and ties.

    Where the candidates differ from the labelled rows by known weights (their density over
    that of the labelled rows, given the features), weighted p-values and the pruned rule of
    weighted conformal selection keep the same level.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of rows that the model behind the scores has not seen, two values.
    y_score : array-like of shape (n,)
        Their scores, higher is better.
    candidate_scores : array-like of shape (m,)
        Scores of the candidates by the same model.
    precision : float
        Expected share of hits to keep.
    weight, candidate_weight : array-like, default=None
        Density ratio of the labelled rows and of the candidates, both or none.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    ndarray of int
        Row numbers of the chosen candidates, best first; none where no list is good enough.

    See Also
    --------
    false_discovery_band : Bounds that hold for the list at hand, with a confidence.

    References
    ----------
    Y. Jin and E. J. Candès, "Selection by prediction with conformal p-values", JMLR 24, 2023;
    "Model-free selective inference under covariate shift via weighted conformal p-values",
    Biometrika, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.metrics import conformal_selection
    >>> rng = np.random.default_rng(0)
    >>> y, new = rng.random((2, 2000)) < 0.2
    >>> score = rng.normal(size=2000) + 3 * y
    >>> chosen = conformal_selection(y, score, rng.normal(size=2000) + 3 * new, precision=0.8)
    >>> len(chosen), float(new[chosen].mean())
    (486, 0.7777777777777778)
    """
    check_rate(precision, "precision", low_open=True, high_open=True)
    scores = check_score(candidate_scores, "candidate_scores")
    if (weight is None) != (candidate_weight is None):
        raise ValueError(
            "weight and candidate_weight belong together: pass the density ratio of the labelled "
            "rows and of the candidates, or neither."
        )
    aside, n = _labelled(y_true, y_score, pos_label)
    if weight is None:
        chosen = expected_list(aside, n, scores, 1.0 - precision)
    else:
        ratio = density_ratio("weight", weight, n)
        own = density_ratio("candidate_weight", candidate_weight, len(scores))
        null = ~check_positive(y_true, pos_label)
        chosen = weighted_list(aside, ratio[null], ratio.sum(), scores, own, 1.0 - precision)
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def expected_list(aside: np.ndarray, n: int, scores: np.ndarray, level: float) -> np.ndarray:
    """Choose the longest list of an expected share of misses.

    Parameters
    ----------
    aside : ndarray
        Scores of the labelled rows without a hit.
    n : int
        Labelled rows they are drawn from: all of them, or those without a hit alone.
    scores : ndarray
        Scores of the candidates.
    level : float
        Expected share of misses; more than one takes everything.
    """
    false = 1.0 + above(aside, scores)
    order = np.argsort(-scores, kind="stable")
    places = np.arange(1, len(scores) + 1)
    kept = np.flatnonzero(false[order] * len(scores) <= level * (n + 1.0) * places * (1 + 1e-12))
    length = int(kept[-1]) + 1 if len(kept) else 0
    return order[:length]


def weighted_list(
    aside: np.ndarray,
    ratio: np.ndarray,
    total: float,
    scores: np.ndarray,
    own: np.ndarray,
    level: float,
) -> np.ndarray:
    """Choose as :func:`expected_list` does where candidates differ by known weights.

    A candidate's rejection is judged by the list that there would be if its own p-value were
    zero and it stood among the labelled rows; candidates whose list is longer than what
    remains are pruned.

    Parameters
    ----------
    aside : ndarray
        Scores of the labelled rows without a hit.
    ratio : ndarray
        Their weights.
    total : float
        Weight of all labelled rows they are drawn from.
    scores, own : ndarray
        Scores and weights of the candidates.
    level : float
        Expected share of misses.
    """
    m = len(scores)
    best = np.argsort(-aside, kind="stable")
    heavy = np.append(0.0, np.cumsum(ratio[best]))
    mass = heavy[np.searchsorted(-aside[best], -scores, side="right")]
    p = (mass + own) / (total + own)
    # Only these can be chosen: no list is longer than all.
    hopeful = np.flatnonzero(p <= level)
    places = np.arange(1, m + 1)
    size = np.zeros(m, dtype=int)
    for j in hopeful:
        others = (mass + own[j] * (scores <= scores[j])) / (total + own[j])
        others[j] = 0.0
        kept = np.flatnonzero(np.sort(others) * m <= level * places * (1 + 1e-12))
        size[j] = int(kept[-1]) + 1 if len(kept) else 0
    first = hopeful[p[hopeful] * m <= level * size[hopeful] * (1 + 1e-12)]
    lengths = np.sort(size[first])
    agreed = np.flatnonzero(np.arange(1, len(first) + 1) >= lengths)
    if not len(agreed):
        return np.zeros(0, dtype=int)
    return first[size[first] <= lengths[agreed[-1]]]


def band(
    aside: np.ndarray, n: int, scores: np.ndarray, most: int, confidence: float, seed: Any
) -> DiscoveryBand:
    """Return the band of all list lengths.

    Parameters
    ----------
    aside : ndarray
        Scores of the labelled rows without a hit.
    n : int
        Labelled rows they are drawn from: all of them, or those without a hit alone.
    scores : ndarray
        Scores of the candidates.
    most : int
        Candidates in the urn: all, or a bound of those without a hit.
    confidence : float
        Probability that all bounds hold.
    seed : int or RandomState
        Draws the orders of the urn.
    """
    bounds = urn_bounds(n, most, confidence, len(aside), seed)
    ranked = np.sort(scores)[::-1]
    seen = above(aside, ranked)
    k = np.arange(1, len(scores) + 1)
    false = np.append(bounds, float(most))[np.minimum(seen, len(bounds))]
    false = np.minimum(false, k.astype(np.float64))
    # A list has no more misses than a longer one, and grows by at most one a row.
    false = np.minimum.accumulate(false[::-1])[::-1]
    false = np.asarray(k + np.minimum.accumulate(false - k), dtype=np.float64)
    return DiscoveryBand(k, false, false / k, float(confidence))


def urn_bounds(n: int, m: int, confidence: float, most: int, seed: Any) -> FloatArray:
    r"""Bound how many candidates are drawn before each labelled row, all at once.

    An urn holds n labelled rows and m candidates. Entry N bounds the candidates drawn before
    the (N+1)-th labelled row; it is followed up to `most` of them.

    Before that row the number :math:`G_N` of candidates is beta-binomial with parameters
    :math:`N + 1` and :math:`n - N`. Each order of the urn has a smallest tail probability
    over N; the level is the one that a share of ``1 - confidence`` of drawn orders falls
    below, counted such that the true order may be any of them.
    """
    places = _followed(min(most + 1, n, _FOLLOWED))
    tails = [_tail(n, m, place) for place in places]
    rng = check_random_state(seed)
    draws = max(_DRAWS, int(np.ceil(20.0 / (1.0 - confidence))))
    drawn, lowest = np.zeros(draws, dtype=int), np.ones(draws)
    before = 0
    for place, tail in zip(places, tails, strict=True):
        # From one of n ordered labelled rows to a later one, as a share of what is left.
        step = rng.beta(place + 1 - before, n - place, size=draws)
        drawn += rng.binomial(m - drawn, step)
        lowest = np.minimum(lowest, tail[np.minimum(drawn, len(tail) - 1)])
        before = place + 1
    allowed = int(np.floor((1.0 - confidence) * (draws + 1) + 1e-9))
    level = np.sort(lowest)[allowed - 1]
    bounds = np.array([np.flatnonzero(tail >= level)[-1] for tail in tails], dtype=float)
    # Before a labelled row there are no more candidates than before a later one.
    return bounds[np.searchsorted(places, np.arange(places[-1] + 1))]


def _followed(count: int) -> np.ndarray:
    """Places of labelled rows that are followed: all of the first, fewer of the later ones."""
    places = [0]
    while places[-1] < count - 1:
        places.append(min(max(places[-1] + 1, int(places[-1] * _SPACED)), count - 1))
    return np.array(places)


def _tail(n: int, m: int, place: int) -> FloatArray:
    """Return the probabilities of at least g candidates before a labelled row, for every g."""
    a, b = place + 1.0, float(n - place)
    mean = m * a / (a + b)
    spread = np.sqrt(mean * (b / (a + b)) * (a + b + m) / (a + b + 1.0))
    end = int(min(m, mean + _FAR * spread + 60.0))
    g = np.arange(end + 1)
    logarithm = (
        gammaln(m + 1.0)
        - gammaln(g + 1.0)
        - gammaln(m - g + 1.0)
        + gammaln(g + a)
        + gammaln(m - g + b)
        - gammaln(m + a + b)
        + gammaln(a + b)
        - gammaln(a)
        - gammaln(b)
    )
    return np.minimum(np.exp(logarithm)[::-1].cumsum()[::-1], 1.0)


def above(aside: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Count the labelled rows that score at least as high as each candidate."""
    return len(aside) - np.searchsorted(np.sort(aside), scores, side="left")


def _labelled(y_true: ArrayLike, y_score: ArrayLike, pos_label: Any) -> tuple[np.ndarray, int]:
    """Return the scores of the rows without a hit, and the number of all rows."""
    sample = check_sample(y_true, y_score, None, pos_label)
    return sample.score[~sample.positive], sample.size


def density_ratio(name: str, value: Any, n: int) -> np.ndarray:
    """Return the density ratio of every row, checked."""
    ratio = np.asarray(value, dtype=np.float64)
    if ratio.shape != (n,) or not np.isfinite(ratio).all() or (ratio < 0).any():
        raise ValueError(f"{name} must hold {n} finite numbers of at least 0, one for each row.")
    return ratio
