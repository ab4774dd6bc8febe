"""From estimators and cross-validation results to labels and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator

from .._scores import positive_scores, take_rows
from ..metrics._sample import check_positive


def inner_model(estimator: Any) -> Any:
    """Find the model inside a pipeline, a search or a frozen wrapper."""
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            return estimator


def model_name(estimator: Any) -> str:
    """Name the model itself, not what is wrapped around it."""
    return type(inner_model(estimator)).__name__


def named_models(estimators: Any) -> dict[str, Any]:
    """Turn one estimator or a mapping of them into a mapping."""
    if isinstance(estimators, Mapping):
        return dict(estimators)
    return {model_name(estimators): estimators}


def labelled_scores(
    estimator: Any, X: Any, y: Any, pos_label: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are positive, and their scores by a fitted estimator."""
    if pos_label is None and is_classifier(estimator):
        pos_label = estimator.classes_[-1]
    return check_positive(y, pos_label), positive_scores(estimator, X, pos_label)


def fold_scores(
    cv_results: Mapping[str, Any], X: Any, y: Any, pos_label: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels and scores of the test rows of every fold of ``cross_validate``."""
    missing = [name for name in ("estimator", "indices") if name not in cv_results]
    if missing:
        raise ValueError(
            f"cv_results has no {' and no '.join(repr(name) for name in missing)}. Call "
            "cross_validate(..., return_estimator=True, return_indices=True)."
        )
    y = np.asarray(y)
    return [
        labelled_scores(estimator, take_rows(X, test), y[test], pos_label)
        for estimator, test in zip(
            cv_results["estimator"], cv_results["indices"]["test"], strict=True
        )
    ]
