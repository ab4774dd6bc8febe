"""The methods seed 004 compares with, as estimators of the library with the paper's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.rivals import AATP, LabelPrecision, MetricSVM, TransductiveSVM

SHARE = 0.05  # of the rows, for the methods that aim at the top


@dataclass(frozen=True)
class Model:
    """A linear model."""

    w: np.ndarray
    b: float

    def scores(self, X: np.ndarray) -> np.ndarray:
        return X @ self.w + self.b


def model_of(estimator: Any) -> Model:
    return Model(estimator.coef_[0], float(estimator.intercept_[0]))


def accuracy_at_top(X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float) -> Model:
    """Accuracy at the top; the candidates are not used."""
    return model_of(AATP(SHARE, C=C).fit(X, y))


def above(scores: np.ndarray) -> int:
    """Count the rows over the boundary; rounding does not lift one."""
    return int((scores > 1e-7 * np.abs(scores).max()).sum())


def tsvm(X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float) -> Model:
    """Transductive SVM with UniverSVM's defaults."""
    return model_of(TransductiveSVM(C).fit(X, y, candidates=pool))


def svmperf(X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float) -> Model:
    """Precision at k as in the program SVMperf, k = 5 % of the rows.

    It counts losses in per cent, and its C is that of the whole loss. The candidates are not
    used.
    """
    estimator = MetricSVM(LabelPrecision(SHARE), C=100.0 * C / float((y > 0.0).sum()), tol=1e-3)
    return model_of(estimator.fit(X, y))


BASELINES = {"AATP": accuracy_at_top, "TSVM": tsvm, "SVMperf": svmperf}
