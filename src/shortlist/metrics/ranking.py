"""Metrics of the whole order: areas, exponential weights, pairs, and scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.metrics import top_k_accuracy_score as top_k_accuracy
from sklearn.utils import check_consistent_length, column_or_1d

from .._checks import check_number, check_rate, check_weight
from . import _formulas
from ._measure import Measure
from ._pairs import count_pairs
from ._sample import Sample, check_sample, check_score, check_ties, warn_undefined

PARTIAL_AUC = Measure("partial_auc", _formulas.partial_auc, ("positive", "negative"))
BEDROC = Measure("bedroc", _formulas.bedroc, ("positive", "negative"))

__all__ = [
    "average_precision",
    "bedroc",
    "ndcg",
    "pairwise_accuracy",
    "partial_auc",
    "top_k_accuracy",
]


def partial_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Area under a part of the ROC curve, 0.5 for chance and 1 for a perfect order.

    With the corner :math:`a` = ``max_fpr`` and :math:`b` = ``min_tpr``, the area
    inside :math:`[0, a] \times [b, 1]` is standardised as McClish does:

    .. math:: A = \int_0^a [\mathrm{tpr}(f) - b]_+ \, df, \qquad
              \tfrac12 \left( 1 + \frac{A - A_0}{a (1 - b) - A_0} \right), \quad
              A_0 = \tfrac12 [a - b]_+^2

    ``max_fpr`` alone is ``roc_auc_score(max_fpr=...)``; ``min_tpr`` alone looks
    at the other end; both give the two-way partial area; neither the plain AUC.
    Ties count half, their expectation. O(n log n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    max_fpr : float, default=None
        Highest false-positive rate, in (0, 1]. None means 1.
    min_tpr : float, default=None
        Lowest true-positive rate, in [0, 1). None means 0.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        NaN with an ``UndefinedMetricWarning`` when a class is missing.

    References
    ----------
    .. [1] D. K. McClish, "Analyzing a portion of the ROC curve", Medical Decision
       Making 9 (1989).
    .. [2] H. Yang et al., "Two-way partial AUC and its properties", Statistical
       Methods in Medical Research 28 (2019).

    Examples
    --------
    >>> from shortlist.metrics import partial_auc
    >>> y, s = [1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    >>> round(partial_auc(y, s, max_fpr=0.5), 4)
    0.8519
    >>> round(partial_auc(y, s), 4)
    0.8889
    """
    if max_fpr is not None:
        max_fpr = check_rate(max_fpr, "max_fpr", low_open=True)
    if min_tpr is not None:
        min_tpr = check_rate(min_tpr, "min_tpr", high_open=True)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return PARTIAL_AUC(sample, max_fpr=max_fpr, min_tpr=min_tpr)


def bedroc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: float = 20.0,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Boltzmann-enhanced discrimination of ROC: early positives count exponentially more.

    With :math:`r_i` the rank of the i-th of :math:`n^+` positives among n rows,

    .. math:: S = \sum_{i=1}^{n^+} e^{-\alpha r_i / n}, \qquad
              \mathrm{bedroc} = \frac{S - S_{\min}}{S_{\max} - S_{\min}}

    where the extremes have all positives last or first. With the default
    ``alpha`` the first 8 % of the list carry 80 % of the weight. O(n log n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    alpha : float, default=20.0
        How early counts, above 0. Towards 0 the value tends to the AUC.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How equal scores count: the exact mean over all orders of the tied rows,
        positives first, or positives last.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        In [0, 1]. NaN with an ``UndefinedMetricWarning`` when a class is missing.

    References
    ----------
    .. [1] J.-F. Truchon, C. I. Bayly, "Evaluating virtual screening methods",
       Journal of Chemical Information and Modeling 47 (2007).

    Examples
    --------
    >>> from shortlist.metrics import bedroc
    >>> round(bedroc([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], alpha=5.0), 4)
    0.8211
    """
    check_number("alpha", alpha, above=0.0)
    check_ties(ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return BEDROC(sample, alpha=float(alpha), ties=ties)


def pairwise_accuracy(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Fraction of the pairs with different targets that the scores order correctly.

    Over the pairs :math:`P = \{(i, j) : y_i > y_j,\ \mathrm{qid}_i = \mathrm{qid}_j\}`,

    .. math:: \frac{1}{|P|} \sum_{(i, j) \in P}
              \left( [s_i > s_j] + \tfrac12 [s_i = s_j] \right)

    Groups are thus averaged with their number of pairs as weight. For two labels
    and one group this is the AUC. O(n log n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Finite numbers that order the rows, higher is better.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    qid : array-like of shape (n,), default=None
        Group of each row; pairs are formed inside a group. None: one group.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row: a pair weighs the product of its rows.

    Returns
    -------
    float
        NaN with an ``UndefinedMetricWarning`` when no two rows of a group differ
        in their target.

    Examples
    --------
    >>> from shortlist.metrics import pairwise_accuracy
    >>> pairwise_accuracy([3, 2, 1], [0.9, 0.1, 0.5])
    0.6666666666666666
    >>> pairwise_accuracy([1, 0, 1, 0], [0.9, 0.1, 0.2, 0.2], qid=["a", "a", "b", "b"])
    0.75
    """
    target = check_score(y_true, "y_true")
    score = check_score(y_score)
    check_consistent_length(target, score)
    weight = None if sample_weight is None else check_weight(sample_weight, len(score), some=True)
    if qid is None and weight is None:
        upper = target == target.max()
        if not upper.all() and np.all(upper | (target == target.min())):
            return PARTIAL_AUC(Sample(upper, score, None, True), max_fpr=None, min_tpr=None)
    group = None if qid is None else _group_ids(qid, len(score))
    correct, pairs = count_pairs(target, score, group, weight)
    if pairs == 0:
        return warn_undefined("pairwise_accuracy", "pair of rows with different targets")
    return correct / pairs


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    qid: ArrayLike | None = None,
) -> float:
    r"""Normalised discounted cumulative gain of a list, averaged over groups.

    scikit-learn's :func:`~sklearn.metrics.ndcg_score`, which takes the mean over
    tie orders, on one row per item instead of one row per list:

    .. math:: \mathrm{dcg} = \sum_{i=1}^{k} \frac{y_{(i)}}{\log_2 (i + 1)}, \qquad
              \mathrm{ndcg} = \frac{\mathrm{dcg}}{\max \mathrm{dcg}}

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance of each row, at least 0.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    k : int, default=None
        Only the first k rows of each list count. None: all.
    qid : array-like of shape (n,), default=None
        Group of each row, each its own list. None: one list.

    Returns
    -------
    float
        A list without relevant rows counts as 0, a list of one row is left out.
        NaN with an ``UndefinedMetricWarning`` when no list has two rows.

    Examples
    --------
    >>> from shortlist.metrics import ndcg
    >>> round(ndcg([3, 2, 0], [0.5, 0.9, 0.1]), 4)
    0.9134
    """
    target = check_score(y_true, "y_true")
    score = check_score(y_score)
    check_consistent_length(target, score)
    group = _group_ids(np.zeros(len(score)) if qid is None else qid, len(score))
    order = np.argsort(group, kind="stable")
    lists = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    values = [ndcg_score([target[rows]], [score[rows]], k=k) for rows in lists if len(rows) > 1]
    if not values:
        return warn_undefined("ndcg", "list of at least two rows")
    return float(np.mean(values))


def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Precision averaged over the recall, by scikit-learn.

    :func:`~sklearn.metrics.average_precision_score` with this library's rules for
    labels and undefined values:

    .. math:: \mathrm{AP} = \sum_t (R_t - R_{t-1}) P_t

    over the thresholds t, with precision :math:`P_t` and recall :math:`R_t`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        NaN with an ``UndefinedMetricWarning`` without positives.

    Examples
    --------
    >>> from shortlist.metrics import average_precision
    >>> round(average_precision([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1]), 4)
    0.8333
    """
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    if not sample.positive.any():
        return warn_undefined("average_precision", "positive")
    return float(
        average_precision_score(sample.positive, sample.score, sample_weight=sample.weight)
    )


def _group_ids(qid: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    group = column_or_1d(qid)
    if len(group) != n_rows:
        raise ValueError(f"qid has {len(group)} rows and y_score {n_rows}.")
    return np.unique(group, return_inverse=True)[1]
