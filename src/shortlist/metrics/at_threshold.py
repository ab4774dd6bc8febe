"""Metrics at a threshold set by the negatives, by a rate or by a quantile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from .._checks import check_rate, round_down
from . import _formulas, at_k
from ._measure import Measure
from ._rungs import Rungs, score_beyond
from ._sample import Sample, check_sample, check_ties


def _cut_by_negatives(
    sample: Sample, margin: Callable[[float], float], fpr: float, ties: str
) -> Any:
    negative = sample.score[~sample.positive]
    if not len(negative):
        return sample.score.min()
    weight = None if sample.weight is None else sample.weight[~sample.positive]
    total = float(len(negative) if weight is None else weight.sum())
    allowed = round_down(fpr * total, sample.whole)
    return score_beyond(negative, allowed + margin(allowed), weight)


def _top_formula(rungs: Rungs, ties: str) -> float:
    return _formulas.recall_at_fpr(rungs, 0.0, ties)


def _top_cut(sample: Sample, margin: Callable[[float], float], ties: str) -> Any:
    return _cut_by_negatives(sample, margin, 0.0, ties)


def _quantile_formula(rungs: Rungs, tau: float, quantile: str, ties: str) -> float:
    formula = _formulas.recall_at_k if quantile == "all" else _formulas.recall_at_fpr
    return formula(rungs, tau, ties)


def _quantile_cut(
    sample: Sample, margin: Callable[[float], float], tau: float, quantile: str, ties: str
) -> Any:
    cut = at_k.RECALL_AT_K.cut if quantile == "all" else _cut_by_negatives
    assert cut is not None
    return cut(sample, margin, tau, ties)


_OF_POSITIVES = at_k.RECALL_AT_K.trials

POSITIVES_AT_TOP = Measure("positives_at_top", _top_formula, ("positive",), _top_cut, _OF_POSITIVES)
RECALL_AT_FPR = Measure(
    "recall_at_fpr", _formulas.recall_at_fpr, ("positive",), _cut_by_negatives, _OF_POSITIVES
)
POSITIVES_AT_QUANTILE = Measure(
    "positives_at_quantile", _quantile_formula, ("positive",), _quantile_cut, _OF_POSITIVES
)
PRECISION_AT_RECALL = Measure("precision_at_recall", _formulas.precision_at_recall, ("positive",))
RECALL_AT_PRECISION = Measure("recall_at_precision", _formulas.recall_at_precision, ("positive",))


def positives_at_top(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives ranked above the highest negative.

    .. math:: \mathrm{pos@top} = \frac{1}{n^+} \sum_{i \in \mathrm{pos}}
              \left[ s_i > \max_{j \in \mathrm{neg}} s_j \right]

    Of p positives that share the highest negative's score with q negatives,
    :math:`p / (q + 1)` come first on average. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How positives count that share the highest negative's score: the exact
        mean over all orders of the tied rows, all of them, or none.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; a weight of 0 leaves it out.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        1 without negatives. NaN with an ``UndefinedMetricWarning`` without
        positives.

    Examples
    --------
    >>> from shortlist.metrics import positives_at_top
    >>> positives_at_top([1, 1, 0, 1, 1], [0.9, 0.8, 0.7, 0.6, 0.5])
    0.5
    >>> positives_at_top([1, 0], [0.5, 0.5])
    0.5
    """
    check_ties(ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return POSITIVES_AT_TOP(sample, ties=ties)


def recall_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    fpr: float,
    *,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives found while the false-positive rate stays within a limit.

    With :math:`m = \lfloor \mathrm{fpr} \cdot n^- \rfloor` negatives allowed and
    :math:`s^-_{[m+1]}` the (m+1)-th highest negative,

    .. math:: \mathrm{recall@fpr} = \frac{1}{n^+} \sum_{i \in \mathrm{pos}}
              \left[ s_i > s^-_{[m+1]} \right]

    Of p positives tied with q negatives, :math:`p j / (q + 1)` come before the
    j-th of those negatives on average. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    fpr : float
        Highest false-positive rate, in [0, 1]. 0 gives :func:`positives_at_top`.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How positives count that share the deciding negative's score.
        ``"pessimistic"`` is what a threshold on the score attains.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row. The allowed weight of negatives is rounded down
        only if all weights are whole numbers.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        1 without negatives. NaN with an ``UndefinedMetricWarning`` without
        positives.

    Examples
    --------
    >>> from shortlist.metrics import recall_at_fpr
    >>> recall_at_fpr([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6, 0.5], fpr=0.5)
    0.6666666666666666
    """
    fpr = check_rate(fpr, "fpr")
    check_ties(ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return RECALL_AT_FPR(sample, fpr=fpr, ties=ties)


def positives_at_quantile(
    y_true: ArrayLike,
    y_score: ArrayLike,
    tau: float,
    *,
    quantile: str = "all",
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives in the top τ of the scores.

    What Accuracy at the Top and Pat&Mat are trained for:

    .. math:: \mathrm{pos@}\tau = \frac{1}{n^+} \sum_{i \in \mathrm{pos}} [s_i \ge t],
              \quad t = s_{[\lceil \tau n \rceil]}

    with :math:`s_{[i]}` the i-th highest score. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    tau : float
        Share of the scores above the threshold, in (0, 1).
    quantile : {"all", "negatives"}, default="all"
        Whose quantile: of all scores, the same number as ``recall_at_k`` with
        the fraction τ; or of the negatives, the same number as
        ``recall_at_fpr`` with the rate τ. As in :class:`shortlist.PatMat`.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How positives at the threshold count. See :func:`precision_at_k`.
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
    >>> from shortlist.metrics import positives_at_quantile
    >>> positives_at_quantile([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], tau=0.4)
    0.5
    """
    tau = check_rate(tau, "tau", low_open=True, high_open=True)
    if quantile not in ("all", "negatives"):
        raise ValueError(f"quantile={quantile!r} is unknown; choose 'all' or 'negatives'.")
    check_ties(ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return POSITIVES_AT_QUANTILE(sample, tau=tau, quantile=quantile, ties=ties)


def precision_at_recall(
    y_true: ArrayLike,
    y_score: ArrayLike,
    recall: float,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Best precision of a threshold that finds at least this share of the positives.

    .. math:: \max_t \left\{ \mathrm{precision}(t) :
              \mathrm{recall}(t) \ge \mathrm{recall} \right\}

    A threshold takes rows of equal score together, so the order of ties cannot
    matter. O(n log n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    recall : float
        Recall to reach, in [0, 1].
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
    >>> from shortlist.metrics import precision_at_recall
    >>> precision_at_recall([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], recall=0.8)
    0.6666666666666666
    """
    recall = check_rate(recall, "recall")
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return PRECISION_AT_RECALL(sample, recall=recall)


def recall_at_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    precision: float,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Best recall of a threshold that is at least this precise.

    .. math:: \max_t \left\{ \mathrm{recall}(t) :
              \mathrm{precision}(t) \ge \mathrm{precision} \right\}

    A threshold takes rows of equal score together, so the order of ties cannot
    matter. O(n log n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    precision : float
        Precision to reach, in [0, 1].
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        0 when no threshold is that precise. NaN with an
        ``UndefinedMetricWarning`` without positives.

    Examples
    --------
    >>> from shortlist.metrics import recall_at_precision
    >>> recall_at_precision([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], precision=0.9)
    0.5
    """
    precision = check_rate(precision, "precision")
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return RECALL_AT_PRECISION(sample, precision=precision)
