"""Splits, equal tuning and measurement."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, top_k_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from benchmarks.peers.models import Peer, scores
from shortlist import metrics

FOLDS = 3


def splits(y: np.ndarray, n_splits: int, max_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield stratified train and test rows: two thirds and one third, at most `max_rows`."""
    train_size = min(max_rows, int(len(y) * 2 / 3))
    test_size = min(len(y) - train_size, 4 * max_rows)
    parts = StratifiedShuffleSplit(
        n_splits, train_size=train_size, test_size=test_size, random_state=0
    )
    yield from parts.split(np.zeros(len(y)), y)


def fitted(peer: Peer, parameters: dict[str, Any], X: Any, y: Any, candidates: Any) -> Any:
    model = peer.make(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(model, X, y, candidates)
    return model


def quality(y: np.ndarray, score: np.ndarray) -> float:
    """Average precision: what every binary peer is tuned by, because it is least noisy."""
    return float(average_precision_score(y, score))


def top_quality(y: np.ndarray, score: np.ndarray) -> float:
    return float(top_k_accuracy_score(y, score, k=3))


def tuned(peer: Peer, X: Any, y: np.ndarray, multiclass: bool = False) -> dict[str, Any]:
    """Choose one of the peer's candidates by cross-validation on the training rows."""
    judge, score = (top_quality, class_scores) if multiclass else (quality, scores)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    means = []
    for parameters in peer.candidates():
        values = []
        for train, test in folds:
            model = fitted(peer, parameters, X[train], y[train], X[test])
            values.append(judge(y[test], score(model, X[test])))
        means.append(np.mean(values))
    return peer.candidates()[int(np.argmax(means))]


def class_scores(model: Any, X: Any) -> np.ndarray:
    """Score every class."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.decision_function(X)


def measure(peer: Peer, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict:
    """Tune and fit on `train`; return the quality on `test` and the CPU seconds."""
    start = time.process_time()
    parameters = tuned(peer, X[train], y[train])
    tuning = time.process_time() - start
    start = time.process_time()
    model = fitted(peer, parameters, X[train], y[train], X[test])
    fit = time.process_time() - start
    start = time.process_time()
    score = scores(model, X[test])
    predict = time.process_time() - start
    truth = y[test]
    return {
        "parameters": repr(parameters),
        "pos_at_top": metrics.positives_at_top(truth, score),
        "precision_1": metrics.precision_at_k(truth, score, 0.01),
        "precision_5": metrics.precision_at_k(truth, score, 0.05),
        "recall_1_fpr": metrics.recall_at_fpr(truth, score, 0.01),
        "average_precision": quality(truth, score),
        "tune_s": tuning,
        "fit_s": fit,
        "predict_s": predict,
    }


def measure_classes(peer: Peer, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict:
    """Tune by top-3 accuracy; return top-1, 3 and 5 accuracies and the CPU seconds."""
    start = time.process_time()
    parameters = tuned(peer, X[train], y[train], multiclass=True)
    tuning = time.process_time() - start
    start = time.process_time()
    model = fitted(peer, parameters, X[train], y[train], X[test])
    fit = time.process_time() - start
    start = time.process_time()
    score = class_scores(model, X[test])
    predict = time.process_time() - start
    row: dict[str, Any] = {"parameters": repr(parameters)}
    for k in (1, 3, 5):
        row[f"top_{k}"] = float(top_k_accuracy_score(y[test], score, k=k))
    return row | {"tune_s": tuning, "fit_s": fit, "predict_s": predict}
