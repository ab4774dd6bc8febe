"""Metrics of a list of k rows: precision, recall and lift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from .._checks import check_k, list_length
from . import _formulas
from ._measure import Measure
from ._rungs import Rungs, score_beyond
from ._sample import Sample, check_sample, check_ties


def _cut(sample: Sample, margin: Callable[[float], float], k: int | float, ties: str) -> Any:
    length = list_length(k, sample.total, sample.whole)
    return score_beyond(sample.score, length + margin(length), sample.weight)


def _trials_of_list(rungs: Rungs, k: int | float, ties: str) -> tuple[float, float]:
    return list_length(k, rungs.total, rungs.whole), 1.0


def _trials_of_positives(rungs: Rungs, **params: Any) -> tuple[float, float]:
    return float(rungs.positive.sum()), 1.0


def _trials_of_lift(rungs: Rungs, k: int | float, ties: str) -> tuple[float, float]:
    trials, _ = _trials_of_list(rungs, k, ties)
    return trials, rungs.total / float(rungs.positive.sum())


PRECISION_AT_K = Measure("precision_at_k", _formulas.precision_at_k, (), _cut, _trials_of_list)
RECALL_AT_K = Measure(
    "recall_at_k", _formulas.recall_at_k, ("positive",), _cut, _trials_of_positives
)
LIFT_AT_K = Measure("lift_at_k", _formulas.lift_at_k, ("positive",), _cut, _trials_of_lift)


def _checked(k: int | float, ties: str) -> dict[str, Any]:
    check_ties(ties)
    return {"k": check_k(k), "ties": ties}


def precision_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the first k rows that are positive.

    .. math:: \mathrm{precision@}k = \frac{1}{k} \sum_{i=1}^{k} y_{(i)}

    where :math:`y_{(i)} \in \{0, 1\}` is the label of the row with the i-th
    highest score. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    k : int or float
        Length of the list. An integer counts rows. A float in (0, 1) is a
        fraction of the rows, rounded up to a whole row: ``0.05`` of 30 rows are 2.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        What to do when the cut falls among equal scores. ``"expected"``: the
        exact mean over all orders of the tied rows. ``"optimistic"`` and
        ``"pessimistic"``: positives first or last.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row: a weight of 3 is the row three times, a weight
        of 0 leaves it out, and ``k`` counts weight. A fraction is taken of the
        total weight and rounded up only if all weights are whole numbers.
    pos_label : label, default=None
        The positive label. None means 1 (or True) and needs labels 0/1, -1/1 or
        booleans.

    Returns
    -------
    float
        Hits divided by k, always: with ``k`` above the number of rows the places
        that stay empty count as misses. 0 without positives.

    See Also
    --------
    recall_at_k : The same hits divided by the positives.
    budget_curve : All list lengths at once.

    Examples
    --------
    >>> from shortlist.metrics import precision_at_k
    >>> y = [1, 0, 1, 0, 0]
    >>> precision_at_k(y, [0.9, 0.8, 0.7, 0.2, 0.1], k=2)
    0.5
    >>> precision_at_k(y, [0.9, 0.7, 0.7, 0.7, 0.1], k=4, ties="optimistic")
    0.5
    >>> precision_at_k([1, 1, 0, 0], [1, 1, 1, 1], k=1)
    0.5
    """
    params = _checked(k, ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return PRECISION_AT_K(sample, **params)


def recall_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives that are among the first k rows.

    .. math:: \mathrm{recall@}k = \frac{1}{n^+} \sum_{i=1}^{k} y_{(i)}

    where :math:`y_{(i)} \in \{0, 1\}` is the label of the row with the i-th
    highest score and :math:`n^+` the number of positives. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    k : int or float
        Length of the list: a count, or a fraction in (0, 1) of the rows,
        rounded up. See :func:`precision_at_k`.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How equal scores at the cut count. See :func:`precision_at_k`.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; ``k`` counts weight.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        1 when ``k`` is at least the number of rows. NaN with an
        ``UndefinedMetricWarning`` when there are no positives.

    Examples
    --------
    >>> from shortlist.metrics import recall_at_k
    >>> recall_at_k([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], k=0.4)
    0.5
    """
    params = _checked(k, ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return RECALL_AT_K(sample, **params)


def lift_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    r"""How many times more hits the first k rows hold than k rows drawn at random.

    Also known as the enrichment factor, and exported under that name.

    .. math:: \mathrm{lift@}k = \frac{\mathrm{precision@}k}{n^+ / n}

    with :math:`n^+` positives among n rows. O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, two values.
    y_score : array-like of shape (n,)
        Finite scores, higher is better.
    k : int or float
        Length of the list: a count, or a fraction in (0, 1) of the rows,
        rounded up. See :func:`precision_at_k`.
    ties : {"expected", "optimistic", "pessimistic"}, default="expected"
        How equal scores at the cut count. See :func:`precision_at_k`.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; ``k`` counts weight.
    pos_label : label, default=None
        The positive label. None means 1 (or True).

    Returns
    -------
    float
        1 for constant scores. NaN with an ``UndefinedMetricWarning`` when there
        are no positives.

    Examples
    --------
    >>> from shortlist.metrics import lift_at_k
    >>> lift_at_k([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], k=1)
    2.5
    """
    params = _checked(k, ties)
    sample = check_sample(y_true, y_score, sample_weight, pos_label)
    return LIFT_AT_K(sample, **params)


enrichment_factor = lift_at_k
