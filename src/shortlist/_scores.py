"""Scores of any estimator, turned to the positive class, and rows of any table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ._checks import label_index


def margins_of(estimator: Any) -> Callable[[Any], Any] | None:
    """Return what scores rows on an unbounded scale, higher for the second class, if anything.

    LightGBM has ``decision_function`` from 4.7 on. Earlier ones are asked for the same numbers,
    so that a model scores alike in all of them.
    """
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function
    if is_classifier(estimator) and _of_lightgbm(estimator):
        return partial(estimator.predict, raw_score=True)
    return None


def _of_lightgbm(estimator: Any) -> bool:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return type(estimator).__module__.startswith("lightgbm.")


@contextmanager
def _without_names(estimator: Any) -> Iterator[None]:
    """Let a LightGBM score arrays in silence: before 4.7 it misses the names of their columns."""
    if not _of_lightgbm(estimator):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def positive_scores(estimator: Any, X: Any, pos_label: Any = None) -> np.ndarray:
    """Scores of a fitted estimator, higher for the positive class.

    ``decision_function`` is asked first, because probabilities saturate at 0 and
    1 and tie where the decision function still ranks. ``predict_proba`` comes
    next, and ``predict`` for estimators that are not classifiers.

    Parameters
    ----------
    estimator : estimator
        Fitted binary classifier, or any fitted estimator whose output ranks rows.
    X : array-like of shape (n_samples, n_features)
        Rows to score.
    pos_label : label, optional
        The positive class; ``classes_[1]`` when not given.

    Returns
    -------
    ndarray of shape (n_samples,)
        Finite scores.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shortlist._scores import positive_scores
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> bool(positive_scores(model, [[1.0]], pos_label="no")[0] < 0)
    True
    """
    column, sign = 1, 1
    if is_classifier(estimator):
        classes = np.asarray(estimator.classes_)
        if len(classes) != 2:
            raise ValueError(
                f"Only binary classification is supported; {type(estimator).__name__} was fitted "
                f"on {len(classes)} classes. Reduce y to the class you look for against the rest."
            )
        if pos_label is not None:
            column = label_index(classes, pos_label)
            sign = 1 if column else -1
    margins = margins_of(estimator)
    with _without_names(estimator):
        if margins is not None:
            scores = sign * np.asarray(margins(X), dtype=float)
        elif hasattr(estimator, "predict_proba"):
            scores = np.asarray(estimator.predict_proba(X), dtype=float)[:, column]
        elif not is_classifier(estimator):
            scores = np.asarray(estimator.predict(X), dtype=float)
        else:
            raise ValueError(
                f"estimator={type(estimator).__name__} has neither decision_function nor "
                "predict_proba, so its rows cannot be ranked. Choose an estimator with one of "
                "them."
            )
    scores = scores.ravel()
    finite = np.isfinite(scores)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"{type(estimator).__name__} scored row {row} as {scores[row]}; every score must be "
            "finite. Scale the features, or drop such rows."
        )
    return scores


def in_double(X: Any) -> np.ndarray:
    """Return the rows of a table of numbers as an array of double precision."""
    return np.asarray(X, dtype=np.float64)


def take_rows(data: Any, rows: np.ndarray) -> Any:
    """Rows of an array, sparse matrix, data frame or list, by position."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "shape"):
        return data[rows]
    return [data[row] for row in rows]
