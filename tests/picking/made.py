"""Made data and slow references for the tests of pick."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


def rows(n, seed, *, d=4, strength=1.5, prevalence=0.2):
    """Rows whose first column tells the classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    X = rng.normal(size=(n, d))
    X[:, 0] += strength * y
    return X, y


def quick():
    """Models that cost next to nothing."""
    return {"weak": LogisticRegression(C=1e-3), "svc": LinearSVC(C=0.1, dual=False)}


class Column(ClassifierMixin, BaseEstimator):
    """Score a row by one of its columns; nothing is learned."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, self.column]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def slow_share(positive, scores, weight, rate):
    """Hits per row at a rate, one row after the other, ties shared out evenly."""
    total = sum(weight)
    left, hits = rate * total, 0.0
    for value in sorted(set(scores), reverse=True):
        block = [i for i in range(len(scores)) if scores[i] == value]
        size = sum(weight[i] for i in block)
        found = sum(weight[i] for i in block if positive[i])
        if size == 0:
            continue
        taken = min(left, size)
        hits += found * taken / size
        left -= taken
    return hits / total
