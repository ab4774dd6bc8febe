"""Metrics at the top of scores that lie in partitions.

The formulas, the ties and the weights are those of :mod:`shortlist.metrics`: the same
functions see the same rungs of equal scores. Partitions send the highest of these rungs,
as many as the list is long, and the sums of the rest. While a metric runs, the workers
keep 9 bytes per row (17 with weights); the client holds 24 bytes per row of the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_k, check_rate, list_length, round_down
from ..metrics import at_k, at_threshold
from ..metrics._measure import Measure
from ..metrics._rungs import Rungs
from ..metrics._sample import check_ties, warn_undefined
from ..metrics.curve import BudgetCurve, curve_at
from ._cluster import gather, lost_cluster
from ._first_rows import first_rows, merge
from ._lazy import is_frame
from ._partitions import aligned_blocks, reduce_blocks
from ._scored import Scored, collect, summed_around, summed_top

__all__ = [
    "TopRows",
    "budget_curve",
    "lift_at_k",
    "positives_at_top",
    "precision_at_k",
    "recall_at_fpr",
    "recall_at_k",
    "top_k",
]


@dataclass(frozen=True, slots=True, eq=False)
class TopRows:
    """The best rows of a collection of scores, best first.

    Attributes
    ----------
    row : ndarray of int
        Their positions in the collection.
    score : ndarray
        Their scores.
    left_out : int
        Rows left out although their score equals the last one taken.
    """

    row: np.ndarray
    score: np.ndarray
    left_out: int


def top_k(scores: Any, k: int | float) -> TopRows:
    r"""Find the k highest of any number of scores.

    Every partition sends its k best and the results are merged in a tree, so that
    :math:`O(k)` memory is enough anywhere but where the scores are. Among equal scores
    the earlier row comes first, as in :class:`shortlist.BudgetClassifier`.

    Parameters
    ----------
    scores : dask array or series of shape (n,)
        Finite scores, higher is better. Computed once.
    k : int or float
        How many: a count, or a fraction in (0, 1) of the rows, rounded up.

    Returns
    -------
    TopRows
        ``min(k, n)`` positions and scores, best first.

    See Also
    --------
    shortlist.dask.BudgetClassifier : Labels for all rows, positive for the first k.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import top_k
    >>> scores = da.asarray([3.0, 1.0, 5.0, 3.0]).rechunk(2)
    >>> best = top_k(scores, 2)
    >>> best.row, best.score, best.left_out
    (array([2, 0]), array([5., 3.]), 1)
    """
    from dask import delayed

    k = check_k(k)
    _check_vector(scores, "scores")
    blocks = [block for (block,) in aligned_blocks(scores, "scores")]
    find = delayed(first_rows, pure=False)
    with lost_cluster():
        places = k if isinstance(k, int) else int(list_length(k, _count(scores, blocks), True))
        found = [find(number, block, places) for number, block in enumerate(blocks)]
        best = gather([reduce_blocks(found, merge, k=places)])[0]
    if not sum(best.lengths.values()):
        raise ValueError("scores is empty; at least one row is needed.")
    start = np.cumsum([0, *(best.lengths[number] for number in range(len(blocks)))])
    order = np.argsort(-best.score, kind="stable")
    return TopRows((start[best.block] + best.row)[order], best.score[order], best.left_out)


def precision_at_k(
    y_true: Any,
    y_score: Any,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the first k rows that are positive.

    .. math:: \mathrm{precision@}k = \frac{1}{k} \sum_{i=1}^{k} y_{(i)}

    Parameters
    ----------
    y_true : dask array or series of shape (n,)
        Labels, two values; partitioned as `y_score`.
    y_score : dask array or series of shape (n,)
        Finite scores, higher is better. Computed once.
    k, ties, pos_label
        As in :func:`shortlist.metrics.precision_at_k`.
    sample_weight : dask array or series of shape (n,), default=None
        Multiplicity of each row.

    Returns
    -------
    float
        As :func:`shortlist.metrics.precision_at_k`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import precision_at_k
    >>> y = da.asarray([1, 0, 1, 0, 0]).rechunk(2)
    >>> precision_at_k(y, da.asarray([0.9, 0.8, 0.7, 0.2, 0.1]), k=2)
    0.5
    """
    return _at_k(at_k.PRECISION_AT_K, y_true, y_score, k, ties, sample_weight, pos_label)


def recall_at_k(
    y_true: Any,
    y_score: Any,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives that are among the first k rows.

    .. math:: \mathrm{recall@}k = \frac{1}{n^+} \sum_{i=1}^{k} y_{(i)}

    Parameters
    ----------
    y_true, y_score, k, ties, sample_weight, pos_label
        As in :func:`precision_at_k`.

    Returns
    -------
    float
        As :func:`shortlist.metrics.recall_at_k`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import recall_at_k
    >>> y = da.asarray([1, 0, 1, 0, 0]).rechunk(2)
    >>> recall_at_k(y, da.asarray([0.9, 0.8, 0.7, 0.2, 0.1]), k=0.4)
    0.5
    """
    return _at_k(at_k.RECALL_AT_K, y_true, y_score, k, ties, sample_weight, pos_label)


def lift_at_k(
    y_true: Any,
    y_score: Any,
    k: int | float,
    *,
    ties: str = "expected",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""How many times more hits the first k rows hold than k rows drawn at random.

    .. math:: \mathrm{lift@}k = \frac{\mathrm{precision@}k}{n^+ / n}

    Parameters
    ----------
    y_true, y_score, k, ties, sample_weight, pos_label
        As in :func:`precision_at_k`.

    Returns
    -------
    float
        As :func:`shortlist.metrics.lift_at_k`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import lift_at_k
    >>> y = da.asarray([1, 0, 1, 0, 0]).rechunk(2)
    >>> lift_at_k(y, da.asarray([0.9, 0.8, 0.7, 0.2, 0.1]), k=1)
    2.5
    """
    return _at_k(at_k.LIFT_AT_K, y_true, y_score, k, ties, sample_weight, pos_label)


def positives_at_top(
    y_true: Any,
    y_score: Any,
    *,
    ties: str = "expected",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives ranked above the highest negative.

    .. math:: \mathrm{pos@top} = \frac{1}{n^+} \sum_{i \in \mathrm{pos}}
              \left[ s_i > \max_{j \in \mathrm{neg}} s_j \right]

    Parameters
    ----------
    y_true, y_score, ties, sample_weight, pos_label
        As in :func:`precision_at_k`.

    Returns
    -------
    float
        As :func:`shortlist.metrics.positives_at_top`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import positives_at_top
    >>> y = da.asarray([1, 1, 0, 1, 1]).rechunk(2)
    >>> positives_at_top(y, da.asarray([0.9, 0.8, 0.7, 0.6, 0.5]))
    0.5
    """
    check_ties(ties)
    scored = _scored(y_true, y_score, sample_weight, pos_label)
    return _at_fpr(at_threshold.POSITIVES_AT_TOP, scored, 0.0, ties=ties)


def recall_at_fpr(
    y_true: Any,
    y_score: Any,
    fpr: float,
    *,
    ties: str = "expected",
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    r"""Fraction of the positives found while the false-positive rate stays within a limit.

    With :math:`m = \lfloor \mathrm{fpr} \cdot n^- \rfloor` negatives allowed and
    :math:`s^-_{[m+1]}` the (m+1)-th highest negative,

    .. math:: \mathrm{recall@fpr} = \frac{1}{n^+} \sum_{i \in \mathrm{pos}}
              \left[ s_i > s^-_{[m+1]} \right]

    Parameters
    ----------
    y_true, y_score, ties, sample_weight, pos_label
        As in :func:`precision_at_k`.
    fpr : float
        Highest false-positive rate, in [0, 1].

    Returns
    -------
    float
        As :func:`shortlist.metrics.recall_at_fpr`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import recall_at_fpr
    >>> y = da.asarray([1, 0, 1, 0, 1]).rechunk(2)
    >>> recall_at_fpr(y, da.asarray([0.9, 0.8, 0.7, 0.6, 0.5]), fpr=0.5)
    0.6666666666666666
    """
    fpr = check_rate(fpr, "fpr")
    check_ties(ties)
    scored = _scored(y_true, y_score, sample_weight, pos_label)
    return _at_fpr(at_threshold.RECALL_AT_FPR, scored, fpr, fpr=fpr, ties=ties)


def budget_curve(
    y_true: Any,
    y_score: Any,
    *,
    max_k: int | float | None = 10_000,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> BudgetCurve:
    r"""Compute precision, recall, lift and expected hits for every k up to `max_k`.

    .. math:: h(k) = \mathbb{E} \sum_{i=1}^{k} y_{(i)}, \quad
              \mathrm{precision} = \frac{h}{k}, \quad
              \mathrm{recall} = \frac{h}{n^+}, \quad
              \mathrm{lift} = \frac{h / k}{n^+ / n}

    Parameters
    ----------
    y_true, y_score, sample_weight, pos_label
        As in :func:`precision_at_k`. With weights ``k`` is the running weight at the end
        of every rung of equal scores.
    max_k : int, float or None, default=10_000
        Longest list: a count, or a fraction in (0, 1) of the rows. None: all rows; the
        curve then takes 40 bytes per row.

    Returns
    -------
    BudgetCurve
        The beginning of the curve of :func:`shortlist.metrics.budget_curve`.

    Examples
    --------
    >>> import dask.array as da
    >>> from shortlist.dask.metrics import budget_curve
    >>> curve = budget_curve(da.asarray([1, 0, 1, 0]).rechunk(2), da.asarray([0.9, 0.5, 0.5, 0.1]))
    >>> curve.hits
    array([1. , 1.5, 2. , 2. ])
    """
    wanted = None if max_k is None else check_k(max_k)
    scored = _scored(y_true, y_score, sample_weight, pos_label)
    longest = scored.total
    if wanted is not None:
        longest = min(longest, list_length(wanted, scored.total, scored.whole))
    rungs = _rungs_of_list(scored, longest)
    lengths: np.ndarray = np.arange(1, int(longest) + 1)
    if sample_weight is not None:
        end = np.cumsum(rungs.positive + rungs.negative)
        reached = end <= longest * (1 + 1e-12)
        lengths = end[reached] if reached.any() else end[:1]
    return curve_at(lengths, rungs)


def _at_k(
    measure: Measure,
    y_true: Any,
    y_score: Any,
    k: int | float,
    ties: str,
    sample_weight: Any,
    pos_label: Any,
) -> float:
    check_ties(ties)
    k = check_k(k)
    scored = _scored(y_true, y_score, sample_weight, pos_label)
    if "positive" in measure.needs and not scored.positive:
        return warn_undefined(measure.name, "positive", stacklevel=4)
    rungs = _rungs_of_list(scored, list_length(k, scored.total, scored.whole))
    return float(measure.formula(rungs, k=k, ties=ties))


def _at_fpr(measure: Measure, scored: Scored, rate: float, **params: Any) -> float:
    if not scored.positive:
        return warn_undefined(measure.name, "positive", stacklevel=4)
    if not scored.negative:
        return 1.0
    allowed = round_down(rate * scored.negative, scored.whole)
    table = summed_top(scored, allowed, negatives_only=True)
    beyond = np.flatnonzero(np.cumsum(table.negative) > allowed)
    cut = table.score[beyond[0] if len(beyond) else -1]
    hits, misses = summed_around(scored, cut)
    return float(measure.formula(Rungs(hits, misses, scored.whole), **params))


def _rungs_of_list(scored: Scored, length: float) -> Rungs:
    """Rungs of equal scores at least as far as the list goes, and one of all other rows."""
    table = summed_top(scored, length)
    rest = [
        max(total - float(part.sum()), 0.0)
        for total, part in (
            (scored.positive, table.positive),
            (scored.negative, table.negative),
        )
    ]
    return Rungs(
        np.append(table.positive, rest[0]), np.append(table.negative, rest[1]), scored.whole
    )


def _scored(y_true: Any, y_score: Any, sample_weight: Any, pos_label: Any) -> Scored:
    _check_vector(y_score, "y_score")
    return collect(y_true, y_score, sample_weight, pos_label)


def _check_vector(scores: Any, name: str) -> None:
    if getattr(scores, "ndim", None) != 1 or not hasattr(scores, "__dask_graph__"):
        raise ValueError(
            f"{name} must be a one-dimensional dask array or series, got {type(scores).__name__} "
            f"of shape {getattr(scores, 'shape', None)}. Scores in memory go to shortlist.metrics."
        )


def _count(scores: Any, blocks: list[Any]) -> float:
    from dask import delayed

    if is_frame(scores) or np.isnan(scores.shape[0]):
        return float(sum(gather([delayed(len)(block) for block in blocks])))
    return float(scores.shape[0])
