"""Precision and recall of a list, and losses of labels: what is called positive."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .._core import worst_labels
from .metric import Metric, Violation, cut, highest, list_count, running


class PrecisionAtK(Metric):
    r"""Precision in the first k rows.

    .. math:: R(s) = \max_a \frac{k' - a}{k} \Bigl[ 1 + \text{mean of the top } k - a
              \text{ negatives} - \text{mean of the lowest } n^+ - a \text{ positives} \Bigr],
              \quad k' = \min(k, n^+),

    over the numbers a of hits in the list: labellings with exactly k positives. For
    :math:`k = n^+` that is the surrogate of Joachims (2005). For other k his is not unchanged by a
    constant that is added to all scores, and a constant alone makes it zero; this is the
    average surrogate of Kar, Narasimhan and Jain (2015), which mends it.

    Parameters
    ----------
    k : int or float, default=0.05
        Length of the list: a number of training rows, or a fraction of them, rounded up.

    References
    ----------
    T. Joachims, "A support vector method for multivariate performance measures", ICML 2005.

    P. Kar, H. Narasimhan, P. Jain, "Surrogate functions for maximizing precision at the top",
    ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import PrecisionAtK
    >>> found = PrecisionAtK(k=1).worst(np.array([2.0, 0.0]), np.array([1.5]))
    >>> found.loss, found.positive, found.negative
    (1.0, array([-0.5, -0.5]), array([1.]))
    """

    def __init__(self, k: int | float = 0.05) -> None:
        self.k = k

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        k = list_count(self.k, m, n)
        most = min(k, m)
        hits = np.arange(max(0, k - n), most)
        nothing = Violation(0.0, np.zeros(m), np.zeros(n))  # as many hits as can be
        if not len(hits):
            return nothing
        chosen, listed = highest(positive, most), highest(negative, min(k, n))
        above = running(positive[chosen])
        passed = running(negative[listed])
        share = (most - hits) / self._unit(k, m)
        rest = (float(positive.sum()) - above[hits]) / (m - hits)
        value = share * (1.0 + passed[k - hits] / (k - hits) - rest)
        place = int(np.argmax(value))
        if not value[place] > 0.0:
            return nothing
        a, e = int(hits[place]), float(share[place])
        to_positive = np.full(m, -e / (m - a))
        to_positive[chosen[:a]] = 0.0
        to_negative = np.zeros(n)
        to_negative[listed[: k - a]] = e / (k - a)
        return Violation(e, to_positive, to_negative)

    def _unit(self, k: int, n_positive: int) -> float:
        return float(k)

    def slope(self, n_positive: int, n_negative: int) -> float:
        k = list_count(self.k, n_positive, n_negative)
        return 2.0 * min(k, n_positive) / self._unit(k, n_positive)

    def threshold(self, positive: np.ndarray, negative: np.ndarray) -> float:
        return cut(
            np.concatenate([positive, negative]), list_count(self.k, len(positive), len(negative))
        )


class RecallAtK(PrecisionAtK):
    r"""Recall in the first k rows: :class:`PrecisionAtK` times :math:`k / n^+`.

    The same models, at another C.

    Parameters
    ----------
    k : int or float, default=0.05
        Length of the list: a number of training rows, or a fraction of them, rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import RecallAtK
    >>> RecallAtK(k=1).worst(np.array([2.0, 0.0]), np.array([1.5])).loss
    0.5
    """

    def _unit(self, k: int, n_positive: int) -> float:
        return float(n_positive)


class _LabelCounts(Metric):
    """A loss of the right and wrong positives of free labels.

    With a right and b wrong ones, the loss is ``1 - numerator / (b + offset)``: it grows with b,
    by less and less.
    """

    shift_invariant = False

    @abstractmethod
    def _terms(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return numerator, offset and the least b for every a; the weight of a row."""

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        numerator, offset, least, weight = self._terms(m, n)
        best, first = highest(positive, m), highest(negative, n)
        a, b = worst_labels(positive[best], negative[first], numerator, offset, least, weight)
        to_positive, to_negative = np.zeros(m), np.zeros(n)
        to_positive[best[a:]] = -weight
        to_negative[first[:b]] = weight
        loss = 1.0 - numerator[a] / (b + offset[a]) if a else 1.0
        return Violation(float(loss), to_positive, to_negative)

    def slope(self, n_positive: int, n_negative: int) -> float:
        return self._terms(n_positive, n_negative)[3] * (n_positive + n_negative)

    def threshold(self, positive: np.ndarray, negative: np.ndarray) -> float:
        return 0.0  # the intercept is learned


class F1(_LabelCounts):
    r"""F1, the harmonic mean of precision and recall of the labels.

    .. math:: R(s) = \max_{\bar y} \; 1 - \frac{2a}{a + b + n^+}
              - \frac{1}{n^+} \Bigl( \sum_{i \text{ missed}} s_i - \sum_{j \text{ wrong}} s_j \Bigr)

    with a right and b wrong positives in :math:`\bar y`. The model has an intercept, which is
    regularised with the weights, as in the program SVMperf.

    References
    ----------
    T. Joachims, "A support vector method for multivariate performance measures", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import F1
    >>> F1().worst(np.array([2.0, 0.0]), np.array([1.5])).loss
    0.5
    """

    def _terms(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        a = np.arange(m + 1.0)
        return 2.0 * a, a + m, np.zeros(m + 1, dtype=np.int64), 1.0 / m


class LabelPrecision(_LabelCounts):
    r"""Precision of the labels, of which at least k are positive and one wrong.

    The precision at k of the program SVMperf, which papers ran: not of a list of k rows, as
    :class:`PrecisionAtK`, but of all labels.

    .. math:: R(s) = \max_{\bar y} \; \frac{b}{a + b}
              - \frac{1}{n} \Bigl( \sum_{i \text{ missed}} s_i - \sum_{j \text{ wrong}} s_j \Bigr)

    Parameters
    ----------
    k : int or float, default=0.05
        Fewest positive labels: a number of training rows, or a fraction of them, rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import LabelPrecision
    >>> LabelPrecision(k=2).worst(np.array([2.0, 0.0]), np.array([-1.5])).loss
    0.5
    """

    def __init__(self, k: int | float = 0.05) -> None:
        self.k = k

    def _terms(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        a = np.arange(m + 1.0)
        least = np.maximum(1, list_count(self.k, m, n) - np.arange(m + 1, dtype=np.int64))
        return a, a, least, 1.0 / (m + n)
