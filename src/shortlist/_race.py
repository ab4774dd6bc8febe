"""The race: models meet on the same folds, and weak ones leave early.

Every fold is visited once, and its features are fitted once for all models that are still
in. Inside a family, whose members differ in their parameters only, the better half goes
on after the first folds, the best two after the first repeat; the best of each family and
the baseline run every fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from ._history import Folds, History
from ._models import Model
from ._noise import shares
from ._scores import positive_scores, take_rows
from .top import CollapsedWarning

Progress = Callable[[int, int, str], object]
Value = Callable[[Any, Any, np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Run:
    """One model on one fold.

    Attributes
    ----------
    scores : ndarray
        Scores of the test rows.
    share : ndarray
        Hits per row at each rate of the forecast.
    value : float
        What the race is decided on.
    seconds : float
        Time of fitting and scoring.
    problems : tuple of str
        Kinds of warnings of the fit.
    """

    scores: np.ndarray
    share: np.ndarray
    value: float
    seconds: float
    problems: tuple[str, ...]


@dataclass
class Race:
    """Results so far: ``runs[model, fold]`` by position.

    Attributes
    ----------
    models : list of Model
        The contestants, the baseline first.
    folds : Folds
        Splits of the history.
    rates : ndarray
        Budgets as rates of the rows, increasing.
    runs : dict
        One :class:`Run` for each model and fold that met.
    failed : dict
        Models that raised an error, with its text.
    """

    models: list[Model]
    folds: Folds
    rates: np.ndarray
    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    def met(self, model: int) -> np.ndarray:
        """Folds that a model has run, in order."""
        return np.array([f for f in range(len(self.folds.splits)) if (model, f) in self.runs])

    def values(self, model: int, folds: np.ndarray) -> np.ndarray:
        """What the race is decided on, by fold."""
        return np.array([self.runs[model, fold].value for fold in folds])

    def share(self, model: int, folds: np.ndarray) -> np.ndarray:
        """Hits per row, by fold and rate."""
        return np.array([self.runs[model, fold].share for fold in folds])


def run_race(
    race: Race,
    history: History,
    features: Any,
    rate: float,
    value: Value | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> list[int]:
    """Run the race; return the models that met every fold, the baseline first."""
    alive = list(range(len(race.models)))
    stages = _stages(race.folds)
    done = 0
    for stage, (folds, keep) in enumerate(stages):
        ahead = sum(
            len(later) * len(_survivors(race, alive, np.arange(0), share))
            for (later, _), share in zip(
                stages[stage + 1 :], [s[1] for s in stages[stage:]], strict=False
            )
        )
        total = done + len(folds) * len(alive) + ahead
        tasks = (
            delayed(_run_fold)(
                [race.models[i] for i in alive],
                history,
                features,
                *race.folds.splits[fold],
                race.rates,
                rate,
                value,
            )
            for fold in folds
        )
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        for fold, outcome in zip(folds, outcomes, strict=True):
            for i, result in zip(alive, outcome, strict=True):
                if isinstance(result, Exception):
                    if race.models[i].is_baseline:
                        raise result
                    race.failed[i] = f"{type(result).__name__}: {result}"
                else:
                    race.runs[i, fold] = result
            done += len(alive)
            if progress is not None:
                progress(done, total, f"{len(alive)} models, fold {fold + 1}")
        alive = [i for i in alive if i not in race.failed]
        seen = np.arange(folds[-1] + 1)
        alive = _survivors(race, alive, seen, keep)
    return alive


def _stages(folds: Folds) -> list[tuple[range, Callable[[int], int]]]:
    """Folds of each stage, and how many of a family go on after it."""
    everything = len(folds.splits)
    first = min(3, folds.first)
    bounds = sorted({0, first, folds.first, everything})
    keep = [lambda size: -(-size // 2), lambda size: min(size, 2), lambda size: 1]
    if len(bounds) < 4:
        keep = [keep[0], keep[2]]
    return [
        (range(low, high), rule)
        for (low, high), rule in zip(zip(bounds, bounds[1:], strict=False), keep, strict=False)
    ]


def _survivors(
    race: Race, alive: list[int], folds: np.ndarray, keep: Callable[[int], int]
) -> list[int]:
    """Best of each family so far, and the baseline; in order of position."""
    weight = race.folds.weight[folds]
    families: dict[str, list[int]] = {}
    for i in alive:
        families.setdefault(race.models[i].family, []).append(i)
    kept = {i for i in alive if race.models[i].is_baseline}
    for members in families.values():
        if len(folds):
            mean = {i: float(weight @ race.values(i, folds)) for i in members}
            members = sorted(members, key=lambda i: -mean[i])
        kept.update(members[: keep(len(members))])
    return sorted(kept)


def _run_fold(
    models: list[Model],
    history: History,
    features: Any,
    train: np.ndarray,
    test: np.ndarray,
    rates: np.ndarray,
    rate: float,
    value: Value | None,
) -> list[Run | Exception]:
    """Fit the features once, then every model, on one fold."""
    target = history.positive.astype(int)
    weight = history.weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, learn = fit_features(features, history, train)
        ask = transformer.transform(take_rows(history.X, test))
    positive = history.positive[test]
    test_weight = None if weight is None else weight[test]
    places = max(1, round(rate * history.mass(test)))
    outcome: list[Run | Exception] = []
    for model in models:
        start = time.perf_counter()
        try:
            fitted, problems = fit_model(
                model, learn, target[train], None if weight is None else weight[train], ask, places
            )
            scores = positive_scores(fitted, ask, 1)
            at_rates = shares(positive, scores, test_weight, rates)
            decided = (
                float(shares(positive, scores, test_weight, np.array([rate]))[0])
                if value is None
                else value(fitted, ask, positive, scores, test_weight)
            )
        except Exception as error:
            outcome.append(error)
            continue
        seconds = time.perf_counter() - start
        outcome.append(Run(scores, at_rates, decided, seconds, problems))
    return outcome


def fit_features(features: Any, history: History, rows: np.ndarray) -> tuple[Any, Any]:
    """Fit a clone of the transformer to some rows; return it with what it made of them."""
    transformer = clone(features)
    made = transformer.fit_transform(take_rows(history.X, rows), history.positive[rows].astype(int))
    return transformer, made


def fit_model(
    model: Model,
    X: Any,
    target: np.ndarray,
    weight: np.ndarray | None,
    candidates: Any,
    places: int,
) -> tuple[Any, tuple[str, ...]]:
    """Fit a clone of the model; return it and the kinds of warnings it gave."""
    estimator = clone(model.estimator)
    options: dict[str, Any] = {}
    if weight is not None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"models[{model.name!r}] does not take sample_weight. Leave it out of models, or "
                "leave out sample_weight."
            )
        options["sample_weight"] = weight
    if model.transductive:
        estimator.set_params(k=places)
        options["candidates"] = candidates
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, target, **options)
    return estimator, tuple(sorted({_kind(w.category) for w in caught}))


def _kind(category: type[Warning]) -> str:
    if issubclass(category, CollapsedWarning):
        return "collapsed"
    return "not converged" if issubclass(category, ConvergenceWarning) else category.__name__
