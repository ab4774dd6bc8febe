"""Every list length at once: what each budget buys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_k, check_rate, list_length
from ._bootstrap import generator, resamples
from ._rungs import Rungs, rungs_of
from ._sample import FloatArray, Sample, check_sample, warn_undefined

_MAX_POINTS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class BudgetCurve:
    """Precision, recall, lift and expected hits for every list length.

    Attributes
    ----------
    k : ndarray of shape (n,)
        List lengths: 1 to n, or the running weight of the rows.
    precision, recall, lift, hits : ndarray of shape (n,)
        Their values, the mean over all orders of tied rows.
    """

    k: np.ndarray
    precision: FloatArray
    recall: FloatArray
    lift: FloatArray
    hits: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class BudgetBand:
    """Pointwise intervals of precision and recall along the list lengths.

    Attributes
    ----------
    k : ndarray of shape (m,)
        List lengths.
    precision_low, precision_high, recall_low, recall_high : ndarray of shape (m,)
        Ends of the interval at each length.
    confidence : float
        Confidence of each single interval.
    """

    k: np.ndarray
    precision_low: FloatArray
    precision_high: FloatArray
    recall_low: FloatArray
    recall_high: FloatArray
    confidence: float


def budget_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> BudgetCurve:
    r"""Compute precision, recall, lift and expected hits for every k.

    .. math:: h(k) = \mathbb{E} \sum_{i=1}^{k} y_{(i)}, \quad
              \mathrm{precision} = \frac{h}{k}, \quad
              \mathrm{recall} = \frac{h}{n^+}, \quad
              \mathrm{lift} = \frac{h / k}{n^+ / n}

    The mean is over all orders of tied rows: inside a rung of equal scores the
    hits grow linearly. One sort and one pass.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; ``k`` is then the running weight, one entry per
        row of positive weight.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    BudgetCurve
        Without positives ``recall`` and ``lift`` are NaN, with an
        ``UndefinedMetricWarning``.

    See Also
    --------
    precision_at_k : The value at one k, without a full sort.
    budget_band : Intervals around the curve.

    Examples
    --------
    >>> from shortlist.metrics import budget_curve
    >>> curve = budget_curve([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    >>> curve.k
    array([1, 2, 3, 4])
    >>> curve.hits
    array([1. , 1.5, 2. , 2. ])
    """
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return curve_at(_every_length(sample), rungs_of(sample))


def curve_at(k: np.ndarray, rungs: Rungs) -> BudgetCurve:
    """Return the curve at the given list lengths."""
    hits = rungs.hits(k)
    precision = hits / k
    positives = float(rungs.positive.sum())
    if positives == 0:
        nothing = np.full(len(hits), warn_undefined("recall of budget_curve", "positive", 4))
        return BudgetCurve(k, precision, nothing, nothing.copy(), hits)
    lift = precision * (rungs.total / positives)
    return BudgetCurve(k, precision, hits / positives, lift, hits)


def _every_length(sample: Sample) -> np.ndarray:
    if sample.weight is None:
        return np.arange(1, sample.size + 1)
    return np.cumsum(sample.weight[np.argsort(sample.score)[::-1]])


def budget_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | float | Sequence[int | float] | np.ndarray | None = None,
    confidence: float = 0.95,
    n_resamples: int = 500,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> BudgetBand:
    r"""Bootstrap a pointwise band around the precision and recall of :func:`budget_curve`.

    For each k the ends are the :math:`(1 \mp c)/2` quantiles of the value over
    resamples of the rows, drawn with replacement within each class. Each
    interval holds on its own; all of them together hold less often.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    k : array-like of int or float, default=None
        List lengths, counts or fractions. None: every length up to 1,000 rows,
        then 1,000 lengths, close together at the top of the list. Memory grows
        with the number of lengths times ``n_resamples``.
    confidence : float, default=0.95
        Confidence of each interval, in (0, 1).
    n_resamples : int, default=500
        Number of resamples.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the resampling.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; rows are drawn and carry their weight.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    BudgetBand

    Examples
    --------
    >>> from shortlist.metrics import budget_band
    >>> band = budget_band([1, 0, 1, 0], [0.9, 0.6, 0.5, 0.1], k=[2, 4], random_state=0)
    >>> band.precision_low, band.precision_high
    (array([0. , 0.5]), array([1. , 0.5]))
    """
    confidence = check_rate(confidence, "confidence", low_open=True, high_open=True)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    if not sample.positive.any():
        raise ValueError("y_true holds no positive, so there is no band to draw.")
    lengths = _default_lengths(sample) if k is None else _given_lengths(sample, k)
    precision = np.empty((n_resamples, len(lengths)))
    recall = np.empty_like(precision)
    draws = resamples(sample, [sample.score], n_resamples, generator(random_state))
    for row, (rungs,) in enumerate(draws):
        hits = rungs.hits(lengths)
        precision[row] = hits / lengths
        recall[row] = hits / rungs.positive.sum()
    tail = 0.5 * (1 - confidence)
    low, high = np.quantile(precision, [tail, 1 - tail], axis=0)
    recall_low, recall_high = np.quantile(recall, [tail, 1 - tail], axis=0)
    return BudgetBand(lengths, low, high, recall_low, recall_high, confidence)


def _given_lengths(
    sample: Sample, k: int | float | Sequence[int | float] | np.ndarray
) -> np.ndarray:
    total = sample.total
    values = [k] if isinstance(k, int | float) else k
    lengths = [list_length(check_k(value), total, sample.whole) for value in values]
    return _as_counts(np.array(lengths))


def _default_lengths(sample: Sample) -> np.ndarray:
    n = sample.size
    rows = np.arange(n)
    if n > _MAX_POINTS:
        rows = np.unique(np.geomspace(1, n, _MAX_POINTS).round().astype(np.intp)) - 1
    return _every_length(sample)[rows]


def _as_counts(lengths: FloatArray) -> np.ndarray:
    whole = all(math.floor(length) == length for length in lengths)
    return lengths.astype(np.intp) if whole else lengths
