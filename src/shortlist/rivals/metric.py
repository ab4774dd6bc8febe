r"""Metrics as losses of whole rankings or labellings, and which of these violates most.

A metric judges a *labelling* :math:`\bar y` of all rows at once: the places of a ranking, or
which rows are called positive. The structural SVM bounds its loss :math:`\Delta` by

.. math:: R(s) = \max_{\bar y} \; \Delta(\bar y) + d(\bar y) \cdot s,

where :math:`d(\bar y) \cdot s \le 0` for the labelling that the scores s themselves give. So R is
convex and at least the loss. There are exponentially many labellings; a metric finds the worst
of them in :math:`O(n \log n)`. That is all the solver asks: one method, :meth:`Metric.worst`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._checks import top_count
from ..rows.rounding import gamma


@dataclass(frozen=True)
class Violation:
    r"""A labelling: its loss :math:`\Delta` and its direction :math:`d`.

    Attributes
    ----------
    loss : float
        Loss of the labelling.
    positive, negative : ndarray
        What one unit of score of every positive and negative row adds.
    """

    loss: float
    positive: np.ndarray
    negative: np.ndarray

    def value(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Return the violation at these scores.

        Parameters
        ----------
        positive, negative : ndarray
            Scores of the positive and of the negative rows.

        Returns
        -------
        float
            The loss of the labelling, and what the scores say for it.
        """
        return self.loss + float(self.positive @ positive) + float(self.negative @ negative)


class Metric(ABC):
    """What :class:`MetricSVM` needs of a metric; a metric of one's own is a subclass.

    Attributes
    ----------
    shift_invariant : bool
        Whether a constant added to all scores changes nothing. If not, the model has an
        intercept, and zero is its threshold.

    Examples
    --------
    The loss of the lowest positive against the mean negative:

    >>> import numpy as np
    >>> from shortlist.rivals import Metric, MetricSVM, Violation
    >>> class LowestPositive(Metric):
    ...     def worst(self, positive, negative):
    ...         direction = np.zeros(len(positive))
    ...         direction[np.argmin(positive)] = -1.0
    ...         return Violation(1.0, direction, np.full(len(negative), 1.0 / len(negative)))
    ...     def slope(self, n_positive, n_negative):
    ...         return 2.0
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = MetricSVM(LowestPositive(), C=10.0).fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(3).tolist()
    [[0.667]]
    """

    shift_invariant = True

    @abstractmethod
    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        """Return a labelling of the largest violation at these scores.

        Parameters
        ----------
        positive, negative : ndarray
            Scores of the rows of either class, in the order of the training data. They must
            not be written to.

        Returns
        -------
        Violation
            Its ``value`` at the scores is the largest of all labellings, up to rounding.
        """

    @abstractmethod
    def slope(self, n_positive: int, n_negative: int) -> float:
        """Bound the sum of the absolute directions of any labelling.

        Parameters
        ----------
        n_positive, n_negative : int
            Rows of either class.

        Returns
        -------
        float
            By so much R changes at most when no score moves by more than one.
        """

    def selection_error(self, n_positive: int, n_negative: int) -> float:
        """Bound what rounding costs in the choice of a labelling, for scores of size one.

        Parameters
        ----------
        n_positive, n_negative : int
            Rows of either class.

        Returns
        -------
        float
            The found violation is less than the largest by no more than this, times one plus
            the largest score.
        """
        rows = n_positive + n_negative
        return (1.0 + self.slope(n_positive, n_negative)) * gamma(8.0 * rows)

    def threshold(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Return the score above which a row is called positive.

        Parameters
        ----------
        positive, negative : ndarray
            Scores of the training rows.

        Returns
        -------
        float
            As many rows lie above it as there are positives, unless the metric knows better.
        """
        return cut(np.concatenate([positive, negative]), len(positive))


def list_count(k: Any, n_positive: int, n_negative: int) -> int:
    """Return the length of the list that `k` stands for."""
    return int(top_count(k, np.array([n_positive + n_negative]), what="training rows"))


def highest(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the highest scores, falling; ties go to the first."""
    found = np.empty(count, dtype=np.int64)
    _core.highest(scores, found)
    return found


def running(values: np.ndarray) -> np.ndarray:
    """Return the sums of the first 0, 1, ... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def cut(scores: np.ndarray, count: int) -> float:
    """Return a score with `count` of the given ones above it, as far as ties allow."""
    if count >= len(scores):
        return float(np.nextafter(scores.min(), -np.inf))
    first = len(scores) - count
    parts = np.partition(scores, (first - 1, first))
    return float(0.5 * parts[first - 1] + 0.5 * parts[first])
