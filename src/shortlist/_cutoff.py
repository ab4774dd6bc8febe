"""Where to cut a ranked list: the first k, or a threshold that keeps a rate."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import binom

from ._checks import round_down

# Ratio between neighbouring list lengths that are tested for a precision.
_GRID_RATIO = 1.25


def first_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Mark the k highest scores; among equal scores the earlier row comes first.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores, higher is better.
    k : int
        How many to mark; all rows when ``k`` exceeds their number.

    Returns
    -------
    chosen : ndarray of bool
        True for exactly ``min(k, n_samples)`` rows.
    left_out : int
        Rows left out although their score equals the last one taken.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist._cutoff import first_k
    >>> chosen, left_out = first_k(np.array([1.0, 3.0, 1.0, 1.0]), 2)
    >>> chosen.tolist(), left_out
    ([True, True, False, False], 2)
    """
    n = len(scores)
    if k >= n:
        return np.ones(n, dtype=bool), 0
    last = np.partition(scores, n - k)[n - k]
    chosen = scores > last
    tied = np.flatnonzero(scores == last)
    open_places = k - int(chosen.sum())
    chosen[tied[:open_places]] = True
    return chosen, len(tied) - open_places


def _warn_empty(reason: str) -> None:
    warnings.warn(reason + " Until then nothing is flagged.", UserWarning, stacklevel=5)


def threshold_for_fpr(
    positive: np.ndarray, scores: np.ndarray, fpr: float, confidence: float | None = None
) -> float:
    r"""Lowest threshold that keeps the false-positive rate within `fpr`.

    Rows with ``score > threshold`` are flagged. With :math:`m` negatives and the
    threshold at the :math:`(c+1)`-th highest of them, at most :math:`c` are
    flagged. Without `confidence`, :math:`c` is the largest integer with
    :math:`c/m \le` `fpr`. With it, :math:`c` is the largest integer with

    .. math:: P(\mathrm{Bin}(m, \mathrm{fpr}) \le c) \le 1 - \mathrm{confidence},

    the order-statistic rule of Neyman-Pearson classification, which is the same
    as a Clopper-Pearson upper bound on :math:`c` of :math:`m`. Then the rate on
    new negatives is at most `fpr` with probability `confidence` over the draw of
    the held-out negatives, for any score distribution, ties included.

    Parameters
    ----------
    positive : ndarray of bool
        Which held-out rows are positive.
    scores : ndarray of float
        Their scores, from a model that has not seen them.
    fpr : float
        The rate to keep.
    confidence : float, optional
        Probability with which the rate must hold.

    Returns
    -------
    float
        The threshold; infinite, with a warning, when no list keeps the wish.

    References
    ----------
    Tong, Feng and Li, "Neyman-Pearson classification algorithms and NP receiver
    operating characteristics", Science Advances 4(2), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist._cutoff import threshold_for_fpr
    >>> scores = np.arange(100.0)
    >>> threshold_for_fpr(np.zeros(100, bool), scores, fpr=0.1)
    89.0
    >>> threshold_for_fpr(np.zeros(100, bool), scores, fpr=0.1, confidence=0.95)
    95.0
    """
    negatives = scores[~positive]
    m = len(negatives)
    if confidence is None:
        allowed = min(int(round_down(fpr * m, whole=True)), m - 1)
    else:
        risk = 1 - confidence
        allowed = int(binom.ppf(risk, m, fpr))
        while allowed >= 0 and binom.cdf(allowed, m, fpr) > risk:
            allowed -= 1
        if allowed < 0:
            needed = np.ceil(np.log(risk) / np.log1p(-fpr)) if fpr > 0 else np.inf
            _warn_empty(
                f"fpr={fpr} cannot be promised with confidence={confidence} from {m} held-out "
                f"negatives: it takes at least {needed:g}. Hold out more rows (cv), or raise fpr, "
                "or lower confidence."
            )
            return np.inf
    place = m - 1 - allowed
    return float(np.partition(negatives, place)[place])


def _ranks_to_test(n: int, precision: float, risk: float) -> list[int]:
    """List lengths from n - 1 downwards, as long as a list of hits alone could pass."""
    ranks: list[int] = []
    rank = n - 1
    while rank >= 1 and precision**rank <= risk / (len(ranks) + 1):
        ranks.append(rank)
        rank = min(rank - 1, int(rank / _GRID_RATIO))
    return ranks


def threshold_for_precision(
    positive: np.ndarray, scores: np.ndarray, precision: float, confidence: float | None = None
) -> float:
    r"""Lowest threshold whose flagged rows reach `precision`.

    Rows with ``score > threshold`` are flagged. Without `confidence` the longest
    list whose precision on the held-out rows reaches the wish is taken; it was
    chosen for its luck, so expect slightly less on new rows.

    With `confidence`, a fixed set of :math:`G` list lengths is tested, spaced by
    a factor of 1.25 and chosen from the number of rows alone. For length
    :math:`j` the threshold is the :math:`(j+1)`-th highest score. Given that
    score and the number :math:`N \le j` of rows above it, these rows are a random
    sample of all rows above it, so their hits :math:`H` are binomial. The list
    passes when

    .. math:: P(\mathrm{Bin}(N, \mathrm{precision}) \ge H) \le (1 - \mathrm{confidence}) / G,

    a Clopper-Pearson lower bound with Bonferroni's correction for choosing among
    :math:`G` lists. The longest list that passes is taken: its precision on new
    rows is at least `precision` with probability `confidence`, for any score
    distribution, ties included.

    Parameters
    ----------
    positive : ndarray of bool
        Which held-out rows are positive.
    scores : ndarray of float
        Their scores, from a model that has not seen them.
    precision : float
        The share of positives wanted among flagged rows.
    confidence : float, optional
        Probability with which the precision must hold.

    Returns
    -------
    float
        The threshold; infinite, with a warning, when no list keeps the wish.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist._cutoff import threshold_for_precision
    >>> scores = np.arange(1000.0)
    >>> threshold_for_precision(scores >= 900, scores, precision=0.8)
    874.0
    >>> threshold_for_precision(scores >= 900, scores, precision=0.8, confidence=0.95)
    894.0
    """
    order = np.argsort(scores)[::-1]
    ranked = scores[order]
    hits = np.concatenate([[0], np.cumsum(positive[order])])
    n = len(scores)
    if confidence is None:
        ends = np.append(np.flatnonzero(np.diff(ranked)) + 1, n)
        passed = ends[hits[ends] / ends >= precision]
        remedy = "Lower precision, or improve the estimator."
    else:
        ranks = np.array(_ranks_to_test(n, precision, 1 - confidence), dtype=int)
        ends = np.searchsorted(-ranked, -ranked[ranks], side="left")
        p_values = binom.sf(hits[ends] - 1, ends, precision)
        passed = ends[p_values <= (1 - confidence) / max(len(ranks), 1)]
        remedy = "Hold out more rows (cv), or lower precision, or lower confidence."
    if len(passed) == 0:
        best = ends[np.argmax(hits[ends] / np.maximum(ends, 1))] if len(ends) else 0
        reached = (
            f"the best list tried holds {hits[best]} positives among {best} rows"
            if best
            else "no list that these rows allow could prove it"
        )
        promise = "" if confidence is None else f" with confidence={confidence}"
        _warn_empty(
            f"precision={precision} is not reached{promise} on {n} held-out rows: {reached}. "
            + remedy
        )
        return np.inf
    end = int(passed.max())
    return float(ranked[end]) if end < n else float(np.nextafter(ranked[-1], -np.inf))
