"""Areas under the ROC curve and average precision: losses of whole rankings."""

from __future__ import annotations

import math

import numpy as np

from .._checks import check_rate, round_down, round_up
from .._core import worst_places
from ..rows.rounding import UNIT, gamma
from .metric import Metric, Violation, cut, highest, running


class PartialAUC(Metric):
    r"""Area under the ROC curve between two false-positive rates, normalised to one.

    .. math:: R(s) = \frac{1}{n^+ (b - a)} \sum_i \max_{0 \le r \le b} \Bigl( [r - a]_+
              + \sum_{j \le r} (s_j - s_i) \Bigr)

    with :math:`s_1 \ge s_2 \ge \dots` the scores of the negatives,
    :math:`a = \lceil \alpha n^- \rceil` and :math:`b = \lfloor \beta n^- \rfloor`: every positive i
    is passed by the r negatives that hurt most. This is the tight surrogate of Narasimhan and
    Agarwal (2013). From rate zero it is the mean hinge of the pairs with the b highest
    negatives; with b = 1 it is the infinite push.

    Parameters
    ----------
    max_fpr : float, default=0.1
        Upper end :math:`\beta`, in (0, 1].
    min_fpr : float, default=0.0
        Lower end :math:`\alpha`.

    References
    ----------
    H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial
    AUC based on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import PartialAUC
    >>> found = PartialAUC(max_fpr=0.5).worst(np.array([2.0, 0.0]), np.array([1.5, -9.0]))
    >>> found.loss, found.positive, found.negative
    (1.0, array([-0.5, -0.5]), array([1., 0.]))
    """

    def __init__(self, max_fpr: float = 0.1, min_fpr: float = 0.0) -> None:
        self.max_fpr = max_fpr
        self.min_fpr = min_fpr

    def _ends(self, n_negative: int) -> tuple[int, int]:
        high = check_rate(self.max_fpr, "max_fpr", low_open=True)
        low = check_rate(self.min_fpr, "min_fpr")
        a, b = int(round_up(low * n_negative, True)), int(round_down(high * n_negative, True))
        if a >= b:
            raise ValueError(
                f"min_fpr={low:g} and max_fpr={high:g} leave none of the {n_negative} negatives "
                f"between them: raise max_fpr to {(a + 1) / n_negative:g} or more, or lower "
                "min_fpr."
            )
        return a, b

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        a, b = self._ends(n)
        listed = highest(negative, b)
        scores = negative[listed]
        # Passed by r negatives: those above without a margin, or all a and then with one.
        rising = scores[::-1]
        passed = b - np.searchsorted(rising[: b - a], positive - 1.0, side="right")
        if a:
            few = a - np.searchsorted(rising[b - a :], positive, side="right")
            sums = running(scores)
            many = sums[passed] - passed * positive + (passed - a)
            passed = np.where(sums[few] - few * positive > many, few, passed)
        counts = np.bincount(passed, minlength=b + 1)
        unit = 1.0 / (m * (b - a))
        to_negative = np.zeros(n)
        to_negative[listed] = unit * (m - np.cumsum(counts[:-1]))
        loss = unit * float(np.maximum(passed - a, 0).sum())
        return Violation(loss, -unit * passed, to_negative)

    def slope(self, n_positive: int, n_negative: int) -> float:
        a, b = self._ends(n_negative)
        return 2.0 * b / (b - a)

    def threshold(self, positive: np.ndarray, negative: np.ndarray) -> float:
        return cut(negative, self._ends(len(negative))[1])


class ROCAUC(PartialAUC):
    r"""Area under the ROC curve: the mean hinge of all pairs, as in :class:`~shortlist.RankSVM`.

    .. math:: R(s) = \frac{1}{n^+ n^-} \sum_{i, j} [1 + s_j - s_i]_+

    References
    ----------
    T. Joachims, "A support vector method for multivariate performance measures", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import ROCAUC
    >>> ROCAUC().worst(np.array([2.0, 0.0]), np.array([1.5, -9.0])).loss
    0.5
    """

    def __init__(self) -> None:
        super().__init__(max_fpr=1.0)

    threshold = Metric.threshold


class AveragePrecision(Metric):
    r"""Average precision: :math:`\frac{1}{n^+} \sum_i i / \text{rank of the i-th positive}`.

    .. math:: R(s) = \max_{\pi} \; 1 - AP(\pi)
              - \frac{1}{n^+ n^-} \sum_{(i, j) \text{ swapped by } \pi} (s_i - s_j)

    over all rankings :math:`\pi`; a pair is swapped where negative j ranks above positive i.
    Yue et al. weigh the pairs twice as much, which is another C. Every negative finds its own
    place; their places never fall, which makes it :math:`O(n \log n)`.

    References
    ----------
    Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
    precision", SIGIR 2007.

    P. Mohapatra, C. V. Jawahar, M. P. Kumar, "Efficient optimization for average precision SVM",
    NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.rivals import AveragePrecision
    >>> found = AveragePrecision().worst(np.array([2.0]), np.array([1.5, -9.0]))
    >>> found.loss, found.positive, found.negative
    (0.5, array([-0.5]), array([0.5, 0. ]))
    """

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        best, first = highest(positive, m), highest(negative, n)
        place = np.empty(n, dtype=np.int64)
        worst_places(positive[best], negative[first], place)
        above = np.cumsum(np.bincount(place, minlength=m + 1)[:m])
        rank = np.arange(1.0, m + 1.0)
        unit = 1.0 / (m * n)
        to_positive, to_negative = np.empty(m), np.empty(n)
        to_positive[best] = -unit * above
        to_negative[first] = unit * (m - place)
        return Violation(float((above / (rank + above)).mean()), to_positive, to_negative)

    def slope(self, n_positive: int, n_negative: int) -> float:
        return 2.0

    def selection_error(self, n_positive: int, n_negative: int) -> float:
        # A place that is level but for rounding costs as much at every halving below it.
        halvings = math.log2(n_negative + 1.0) + 1.0
        harmonic = 64.0 * UNIT * n_negative / n_positive
        return 2.0 * halvings * (harmonic + gamma(8.0 * (n_positive + n_negative)))
