"""What a race is decided on, where it is not the hits at the budget."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...metrics.names import resolve


@dataclass(frozen=True)
class NamedMetric:
    """A metric of the library, by its name."""

    function: Callable[..., float]
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        fitted: Any,
        X: Any,
        positive: np.ndarray,
        scores: np.ndarray,
        weight: np.ndarray | None,
    ) -> float:
        """Evaluate the metric on the scores."""
        options = {} if weight is None else {"sample_weight": weight}
        return float(self.function(positive, scores, **options, **self.params))


@dataclass(frozen=True)
class Scorer:
    """A scikit-learn scorer: a function of a fitted model, rows and labels."""

    scorer: Callable[..., float]

    def __call__(
        self,
        fitted: Any,
        X: Any,
        positive: np.ndarray,
        scores: np.ndarray,
        weight: np.ndarray | None,
    ) -> float:
        """Evaluate the scorer on features and labels, 1 for the positives."""
        options = {} if weight is None else {"sample_weight": weight}
        return float(self.scorer(fitted, X, positive.astype(int), **options))


def check_scoring(scoring: Any, weighted: bool) -> NamedMetric | Scorer:
    """Turn ``scoring`` into what the race calls."""
    if isinstance(scoring, str):
        entry, params = resolve(scoring)
        try:
            inspect.signature(entry.function).bind(None, None, **params)
        except TypeError as error:
            raise ValueError(
                f"scoring={scoring!r} lacks its number; write it as in 'precision_at_5%'."
            ) from error
        _check_weighted(scoring, entry.function, weighted)
        return NamedMetric(entry.function, params)
    if callable(scoring):
        _check_weighted(scoring, scoring, weighted)
        return Scorer(scoring)
    raise ValueError(
        f"scoring={scoring!r} is not understood; pass None for the hits at the budget, the name "
        "of a metric such as 'average_precision', or a scorer."
    )


def _check_weighted(scoring: Any, function: Callable[..., float], weighted: bool) -> None:
    takes = inspect.signature(function).parameters
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in takes.values())
    if weighted and "sample_weight" not in takes and not anything:
        raise ValueError(
            f"scoring={scoring!r} does not take sample_weight. Choose another, or leave out "
            "sample_weight."
        )
