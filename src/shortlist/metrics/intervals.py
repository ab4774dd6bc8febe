"""How sure a metric is, and whether one scoring really beats another."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, norm

from .._checks import check_number, check_rate
from ._bootstrap import generator, resamples, row_resamples
from ._measure import Measure
from ._sample import FloatArray, check_sample
from .names import MEASURES, resolve

METHODS = ("bootstrap", "wilson", "exact")


@dataclass(frozen=True, slots=True)
class Interval:
    """A metric with its confidence interval.

    Attributes
    ----------
    estimate : float
        The metric on the rows as given.
    low, high : float
        Ends of the interval.
    confidence : float
        Nominal probability that such an interval holds the true value.
    method : str
        How the ends were found.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two scorings of the same rows, compared.

    Attributes
    ----------
    difference : float
        ``estimate_a - estimate_b``.
    low, high : float
        Ends of the interval of the difference.
    p_value : float
        Two-sided, for the hypothesis of no difference.
    estimate_a, estimate_b : float
        The metric of each scoring.
    confidence : float
        Confidence of the interval.
    n_resamples : int
        Number of resamples behind it.
    """

    difference: float
    low: float
    high: float
    p_value: float
    estimate_a: float
    estimate_b: float
    confidence: float
    n_resamples: int


def interval(
    metric: str | Callable[..., float],
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    confidence: float = 0.95,
    method: str = "bootstrap",
    n_resamples: int = 1000,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    **metric_kwargs: Any,
) -> Interval:
    r"""Compute a metric with a confidence interval.

    ``"bootstrap"``: the :math:`(1 \mp c)/2` quantiles of the metric over
    resamples of the rows, drawn with replacement within each class. Whole groups
    are drawn when there is a ``qid``. It serves every metric. It cannot reach
    beyond the rows it has: when every row of the list is a hit it returns a
    single point, and for the highest negative (``positives_at_top``) it is
    one-sided. Use ``"wilson"`` there.

    ``"wilson"``: the score interval of a proportion :math:`\hat p = h / m`,

    .. math:: \frac{\hat p + z^2 / 2m \pm z \sqrt{\hat p (1 - \hat p) / m + z^2 / 4m^2}}
                   {1 + z^2 / m}

    and ``"exact"``: the Clopper-Pearson interval, never too short. Both take the
    hits as binomial with the threshold held fixed: among the k rows for
    ``precision_at_k`` and ``lift_at_k``, among the positives for ``recall_at_k``,
    ``recall_at_fpr``, ``positives_at_top`` and ``positives_at_quantile``. They
    are immediate. For a recall they err on the long side.

    Parameters
    ----------
    metric : str or callable
        A metric of this module, a name such as ``"precision_at_100"``, or any
        ``metric(y_true, y_score, **metric_kwargs)``.
    y_true : array-like of shape (n,)
        Labels or targets.
    y_score : array-like of shape (n,)
        Scores, higher is better.
    confidence : float, default=0.95
        Confidence, in (0, 1).
    method : {"bootstrap", "wilson", "exact"}, default="bootstrap"
        How to find the ends.
    n_resamples : int, default=1000
        Number of resamples of the bootstrap.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the resampling.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; rows are drawn and carry their weight.
    qid : array-like of shape (n,), default=None
        Group of each row, for the metrics that take it.
    **metric_kwargs
        Parameters of the metric, such as ``k=100`` or ``pos_label="spam"``.

    Returns
    -------
    Interval
        All NaN where the metric is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.metrics import interval
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.2
    >>> s = y + rng.normal(size=1000)
    >>> found = interval("precision_at_100", y, s, random_state=0)
    >>> found.estimate
    0.53
    >>> found.low < 0.53 < found.high
    True
    """
    confidence = check_rate(confidence, "confidence", low_open=True, high_open=True)
    if method not in METHODS:
        raise ValueError(f"method={method!r} is unknown; choose one of {', '.join(METHODS)}.")
    problem = _Problem(metric, y_true, [y_score], sample_weight, qid, metric_kwargs)
    (estimate,) = problem.estimates()
    if math.isnan(estimate):
        return Interval(estimate, math.nan, math.nan, confidence, method)
    if method == "bootstrap":
        values = problem.bootstrap(n_resamples, random_state)[:, 0]
        low, high = _quantiles(values, confidence)
    else:
        trials, unit = problem.trials(method)
        ends = _wilson if method == "wilson" else _clopper_pearson
        low, high = (unit * end for end in ends(estimate / unit, trials, confidence))
    return Interval(estimate, low, high, confidence, method)


def compare(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    metric: str | Callable[..., float] = "precision_at_k",
    *,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    **metric_kwargs: Any,
) -> Comparison:
    r"""Compare two scorings of the same rows, to see whether the first is really better.

    Paired bootstrap: every resample is scored by both, so what the two share
    cancels in the difference :math:`d^*`. The interval holds its
    :math:`(1 \mp c)/2` quantiles, and with R resamples

    .. math:: p = \min\left(1, \frac{2}{R + 1} \left(1 + \min(
              \#\{d^* \le 0\}, \#\{d^* \ge 0\}) \right) \right)

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels or targets.
    score_a, score_b : array-like of shape (n,)
        Two scorings, higher is better. Only their order matters, so their scales
        may differ.
    metric : str or callable, default="precision_at_k"
        A metric of this module, a name such as ``"precision_at_100"``, or any
        ``metric(y_true, y_score, **metric_kwargs)``.
    confidence : float, default=0.95
        Confidence of the interval, in (0, 1).
    n_resamples : int, default=2000
        Number of resamples; the smallest p-value is 2 / (n_resamples + 1).
    random_state : int, RandomState, Generator or None, default=0
        Seed of the resampling.
    sample_weight : array-like of shape (n,), default=None
        Multiplicity of each row; rows are drawn and carry their weight.
    qid : array-like of shape (n,), default=None
        Group of each row, for the metrics that take it.
    **metric_kwargs
        Parameters of the metric, such as ``k=100``.

    Returns
    -------
    Comparison
        All NaN where the metric is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.metrics import compare
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.2
    >>> good, poor = 2 * y + rng.normal(size=2000), rng.normal(size=2000)
    >>> result = compare(y, good, poor, k=100, random_state=0)
    >>> result.low > 0, result.p_value < 0.01
    (True, True)
    """
    confidence = check_rate(confidence, "confidence", low_open=True, high_open=True)
    problem = _Problem(metric, y_true, [score_a, score_b], sample_weight, qid, metric_kwargs)
    estimate_a, estimate_b = problem.estimates()
    difference = estimate_a - estimate_b
    low = high = p_value = math.nan
    if not math.isnan(difference):
        values = problem.bootstrap(n_resamples, random_state)
        differences = values[:, 0] - values[:, 1]
        low, high = _quantiles(differences, confidence)
        rarer = int(min((differences <= 0).sum(), (differences >= 0).sum()))
        p_value = min(1.0, 2 * (1 + rarer) / (n_resamples + 1))
    return Comparison(
        difference, low, high, p_value, estimate_a, estimate_b, confidence, n_resamples
    )


class _Problem:
    """A metric with its parameters on given rows, under one or more scorings."""

    def __init__(
        self,
        metric: str | Callable[..., float],
        y_true: ArrayLike,
        scores: list[ArrayLike],
        sample_weight: ArrayLike | None,
        qid: ArrayLike | None,
        params: dict[str, Any],
    ) -> None:
        if isinstance(metric, str):
            entry, named = resolve(metric)
            metric, params = entry.function, {**named, **params}
        self.metric = metric
        self.params = params
        self.y_true = y_true
        self.scores = scores
        self.rowwise = {
            name: np.asarray(values)
            for name, values in (("sample_weight", sample_weight), ("qid", qid))
            if values is not None
        }
        self.measure: Measure | None = MEASURES.get(metric)

    def estimates(self) -> list[float]:
        """Return the metric of each scoring; this is also where arguments are checked."""
        return [
            float(self.metric(self.y_true, score, **self.rowwise, **self.params))
            for score in self.scores
        ]

    def bootstrap(self, n_resamples: int, random_state: Any) -> FloatArray:
        """Return the metric on each resample, a column per scoring."""
        check_number("n_resamples", n_resamples, least=2, integer=True)
        rng = generator(random_state)
        values = np.empty((int(n_resamples), len(self.scores)))
        if self.measure is None:
            return self._by_rows(values, rng)
        sample, others, params = self._sample()
        draws = resamples(sample, others, len(values), rng, self.measure, **params)
        for row, drawn in enumerate(draws):
            values[row] = [self.measure.formula(rungs, **params) for rungs in drawn]
        return values

    def trials(self, method: str) -> tuple[float, float]:
        """Return the number of trials behind a proportion, and its unit."""
        if self.measure is None or self.measure.trials is None:
            name = getattr(self.metric, "__name__", self.metric)
            raise ValueError(
                f"method={method!r} needs a proportion and {name} is none; use method='bootstrap'."
            )
        sample, _, params = self._sample()
        return self.measure.trials(self.measure.rungs(sample, **params), **params)

    def _sample(self) -> tuple[Any, list[NDArray[Any]], dict[str, Any]]:
        bound = inspect.signature(self.metric).bind(None, None, **self.params)
        bound.apply_defaults()
        params = dict(list(bound.arguments.items())[2:])
        pos_label = params.pop("pos_label")
        params.pop("sample_weight")
        weight = self.rowwise.get("sample_weight")
        samples = [check_sample(self.y_true, s, weight, pos_label) for s in self.scores]
        return samples[0], [sample.score for sample in samples], params

    def _by_rows(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        y_true = np.asarray(self.y_true)
        scores = [np.asarray(score) for score in self.scores]
        draws = row_resamples(y_true, self.rowwise.get("qid"), len(values), rng)
        for row, (rows, groups) in enumerate(draws):
            rowwise = {name: array[rows] for name, array in self.rowwise.items()}
            if groups is not None:
                rowwise["qid"] = groups
            values[row] = [
                self.metric(y_true[rows], score[rows], **rowwise, **self.params) for score in scores
            ]
        return values


def _quantiles(values: FloatArray, confidence: float) -> tuple[float, float]:
    tail = 0.5 * (1 - confidence)
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _wilson(proportion: float, trials: float, confidence: float) -> tuple[float, float]:
    z = float(norm.ppf(0.5 * (1 + confidence)))
    spread = z * math.sqrt(proportion * (1 - proportion) / trials + (0.5 * z / trials) ** 2)
    middle = proportion + 0.5 * z * z / trials
    scale = 1 + z * z / trials
    # At 0 and 1 the end is the proportion itself, up to rounding.
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return max(min(low, proportion), 0.0), min(max(high, proportion), 1.0)


def _clopper_pearson(proportion: float, trials: float, confidence: float) -> tuple[float, float]:
    tail = 0.5 * (1 - confidence)
    hits = proportion * trials
    misses = trials - hits
    low = float(beta.ppf(tail, hits, misses + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, misses)) if misses > 0 else 1.0
    return low, high
