"""The models that are compared, each with six candidates to choose from.

A peer is a name, a way to build the model from parameters, and a grid of exactly
`CANDIDATES` parameter settings, so that nobody is tuned harder than another.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC, LinearSVC

from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK

CANDIDATES = 6
SIX_C = {"C": [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]}
RBF = {"C": [0.1, 1.0, 10.0], "gamma": [0.3, 1.0]}
FRACTION = 0.05
_AP_STEPS = 500


def plain_fit(model: Any, X: Any, y: np.ndarray, candidates: Any) -> None:
    model.fit(X, y)


def ranker_fit(model: Any, X: Any, y: np.ndarray, candidates: Any) -> None:
    """One query: the whole training set."""
    model.fit(X, y, group=[len(y)])


def transductive_fit(model: Any, X: Any, y: np.ndarray, candidates: Any) -> None:
    model.fit(X, y, candidates=candidates)


@dataclass(frozen=True)
class Peer:
    """A model family: how to make it, its candidates, how it is fitted."""

    name: str
    make: Callable[..., Any]
    grid: dict[str, list]
    ours: bool = False
    fit: Callable[[Any, Any, np.ndarray, Any], None] = plain_fit
    needs: str | None = None

    def candidates(self) -> list[dict[str, Any]]:
        return list(ParameterGrid(self.grid))

    def missing(self) -> str | None:
        """Return why this peer cannot run here, None where it can."""
        try:
            if self.needs:
                importlib.import_module(self.needs)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None


class WidthScaled(BaseEstimator):
    """A kernel model whose `gamma` is a multiple of 1 / (n_features * variance)."""

    def __init__(self, model: Any, gamma: float) -> None:
        self.model = model
        self.gamma = gamma

    def fit(self, X: Any, y: np.ndarray) -> WidthScaled:
        self.model.set_params(gamma=self.gamma / (X.shape[1] * np.var(X)))
        self.model.fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.model.decision_function(X)


class LinearAP(BaseEstimator):
    """LibAUC's average-precision loss with its optimiser SOAP on a linear model."""

    def __init__(self, learning_rate: float = 1e-2, weight_decay: float = 1e-4) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay

    def fit(self, X: Any, y: np.ndarray) -> LinearAP:
        import torch
        from libauc.losses import APLoss
        from libauc.optimizers import SOAP
        from libauc.sampler import DualSampler

        torch.manual_seed(0)
        X = np.asarray(X, dtype=np.float32)
        y = np.asarray(y, dtype=np.float32)
        self._model = torch.nn.Linear(X.shape[1], 1)
        loss = APLoss(data_len=len(y))
        optimiser = SOAP(
            self._model.parameters(),
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            mode="adam",
            verbose=False,
        )
        sampler = DualSampler(None, 64, labels=y, sampling_rate=0.5, random_seed=0)
        rows, targets = torch.from_numpy(X), torch.from_numpy(y)
        steps = 0
        while steps < _AP_STEPS:
            order = np.fromiter(iter(sampler), dtype=np.int64)
            for start in range(0, len(order) - 63, 64):
                index = torch.from_numpy(order[start : start + 64])
                scores = torch.sigmoid(self._model(rows[index]))
                value = loss(scores, targets[index], index)
                optimiser.zero_grad()
                value.backward()
                optimiser.step()
                steps += 1
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        import torch

        X = np.asarray(X, dtype=np.float32)
        with torch.no_grad():
            return self._model(torch.from_numpy(X)).numpy().ravel().astype(np.float64)


def boosted(module: str, name: str, **fixed: Any) -> Callable[..., Any]:
    """Build a model of an optional package when it is asked for."""

    def make(**parameters: Any) -> Any:
        return getattr(importlib.import_module(module), name)(**fixed, **parameters)

    return make


def rbf(model: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    def make(C: float, gamma: float) -> WidthScaled:
        return WidthScaled(model(C=C, kernel="rbf", **fixed), gamma)

    return make


def linear_svc(**fixed: Any) -> Callable[..., Any]:
    return partial(LinearSVC, dual=False, **fixed)


_FOREST = {"min_samples_leaf": [1, 3, 10], "max_features": ["sqrt", 0.5]}
_TREES = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 15, 31]}
_LIGHT = {"learning_rate": [0.03, 0.1], "num_leaves": [7, 15, 31]}
_EXTREME = {"learning_rate": [0.03, 0.1], "max_depth": [3, 4, 6]}
_lightgbm = partial(boosted, "lightgbm", n_estimators=100, verbose=-1, n_jobs=1, random_state=0)
_xgboost = partial(boosted, "xgboost", n_estimators=100, n_jobs=1, random_state=0)

PEERS = (
    Peer("logistic regression", partial(LogisticRegression, max_iter=2000), SIX_C),
    Peer(
        "logistic regression, balanced",
        partial(LogisticRegression, max_iter=2000, class_weight="balanced"),
        SIX_C,
    ),
    Peer("LinearSVC", linear_svc(), SIX_C),
    Peer("LinearSVC, balanced", linear_svc(class_weight="balanced"), SIX_C),
    Peer("SVC rbf", rbf(SVC), RBF),
    Peer("SVC rbf, balanced", rbf(SVC, class_weight="balanced"), RBF),
    Peer("random forest", partial(RandomForestClassifier, 100, random_state=0), _FOREST),
    Peer(
        "random forest, balanced",
        partial(RandomForestClassifier, 100, random_state=0, class_weight="balanced"),
        _FOREST,
    ),
    Peer(
        "HistGradientBoosting",
        partial(HistGradientBoostingClassifier, max_iter=100, random_state=0),
        _TREES,
    ),
    Peer("LightGBM", _lightgbm("LGBMClassifier"), _LIGHT, needs="lightgbm"),
    Peer(
        "LightGBM ranker",
        _lightgbm("LGBMRanker"),
        _LIGHT,
        fit=ranker_fit,
        needs="lightgbm",
    ),
    Peer(
        "XGBoost rank:map",
        _xgboost("XGBRanker", objective="rank:map"),
        _EXTREME,
        fit=ranker_fit,
        needs="xgboost",
    ),
    Peer(
        "LibAUC linear (AP loss)",
        LinearAP,
        {"learning_rate": [1e-3, 1e-2, 1e-1], "weight_decay": [1e-5, 1e-3]},
        needs="libauc.losses",
    ),
    Peer("TopPush", TopPush, {"k": [1, FRACTION], "C": [1e-3, 1e-1, 10.0]}, ours=True),
    Peer("PatMat", PatMat, {"tau": [0.01, FRACTION], "C": [1e-3, 1e-1, 10.0]}, ours=True),
    Peer("TopPush rbf", rbf(TopPush, k=FRACTION), RBF, ours=True),
    Peer("PatMat rbf", rbf(PatMat, tau=FRACTION), RBF, ours=True),
    Peer("RankSVM", RankSVM, SIX_C, ours=True),
    Peer(
        "TransductiveTopK",
        partial(TransductiveTopK, FRACTION, restarts=2, time_limit=20.0),
        SIX_C,
        ours=True,
        fit=transductive_fit,
    ),
)

MULTICLASS = (
    Peer("logistic regression", partial(LogisticRegression, max_iter=500), SIX_C),
    Peer("LinearSVC", linear_svc(), SIX_C),
    Peer("random forest", partial(RandomForestClassifier, 100, random_state=0), _FOREST),
    Peer(
        "HistGradientBoosting",
        partial(HistGradientBoostingClassifier, max_iter=50, random_state=0),
        _TREES,
    ),
    Peer("LightGBM", _lightgbm("LGBMClassifier"), _LIGHT, needs="lightgbm"),
    Peer("TopKSVC(k=3)", partial(TopKSVC, 3), SIX_C, ours=True),
    Peer("TopKSVC(k=5)", partial(TopKSVC, 5), SIX_C, ours=True),
)


def scores(model: Any, X: Any) -> np.ndarray:
    """Score rows by whatever the model offers: higher is more likely."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1]
    return np.asarray(model.predict(X), dtype=np.float64)
