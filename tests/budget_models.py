"""Tiny classifiers for the tests of cut-offs."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator


class Identity(ClassifierMixin, BaseEstimator):
    """The score is the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X, dtype=float)[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class Mute(ClassifierMixin, BaseEstimator):
    """A classifier that cannot rank."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def identity(classes=(0, 1)):
    return FrozenEstimator(Identity().fit(None, np.array(classes)))


def column(values):
    return np.asarray(values, dtype=float)[:, None]
