"""The race: models meet on the same folds, and weak ones leave early.

Successive halving, on growing data. The members of a family differ in their parameters
only: where the history is long, half of them leave after a look at a sample of the first
fold, and half again after the first two folds. The best of each family runs the first
repeat, and the better half of the families the others. Nothing depends on the clock, so
the same seed gives the same race.

Every fold is visited once, and its features are fitted once for all models still in.

References
----------
K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", AISTATS 2016.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from .._scores import positive_scores, take_rows
from ..top.estimators import CollapsedWarning
from .history import Folds, History
from .models import Model
from .noise import shares

Progress = Callable[[int, int, str], object]
Value = Callable[[Any, Any, np.ndarray, np.ndarray, np.ndarray | None], float]
Rule = Callable[[int], int]

# Folds after which a family is halved.
_FIRST_LOOK = 2
# Challengers that run every fold, if there are as many.
_FINALISTS = 3
# A sample for the first look keeps this many rows and this many of the rarer class.
_SAMPLE_ROWS = 10_000
_SAMPLE_RARER = 500
_ONE_THREAD_ROWS = 10_000
# A sample is worth the trouble where it is this much smaller.
_WORTH = 0.5


@dataclass(frozen=True)
class Run:
    """One model on one fold.

    Attributes
    ----------
    scores : ndarray
        Scores of the test rows.
    share : ndarray
        Hits per row at each rate of the race.
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
    """The contestants, their track, and the results.

    Attributes
    ----------
    models : list of Model
        The contestants, the baseline first.
    history : History
        The labelled rows.
    folds : Folds
        Its splits.
    features : transformer
        Unfitted; put before every model.
    rate : float
        The budget as a rate of the rows.
    rates : ndarray
        All budgets of the forecast as rates, increasing; `rate` is one of them.
    value : callable or None
        What the race is decided on; None for the hits at the budget.
    runs : dict
        One :class:`Run` for each model and fold that met, by their positions.
    failed : dict
        Models that raised an error, with its text.
    """

    models: list[Model]
    history: History
    folds: Folds
    features: Any
    rate: float
    rates: np.ndarray
    value: Value | None = None
    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    def met(self, model: int) -> np.ndarray:
        """Folds that a model has run, in order."""
        return np.array([f for f in range(len(self.folds.splits)) if (model, f) in self.runs])

    def finishers(self) -> list[int]:
        """Models that ran every fold, the baseline first."""
        every = len(self.folds.splits)
        return [i for i in range(len(self.models)) if len(self.met(i)) == every]

    def values(self, model: int, folds: Iterable[int]) -> np.ndarray:
        """Return what the race is decided on, by fold."""
        return np.array([self.runs[model, fold].value for fold in folds])

    def share(self, model: int, folds: Iterable[int]) -> np.ndarray:
        """Hits per row, by fold and rate."""
        return np.array([self.runs[model, fold].share for fold in folds])

    def standing(self, run: Run) -> float:
        """Return the mean precision at half the budget, the budget and twice the budget.

        It decides who leaves early, because it is less noisy than the hits at the budget.
        """
        if self.value is not None:
            return run.value
        rates = self.rate * np.array([0.5, 1.0, 2.0])
        return float(np.mean(np.interp(rates, self.rates, run.share / self.rates)))


def run_race(race: Race, n_jobs: int | None, progress: Progress | None) -> None:
    """Let the models run; the results are in ``race.runs``."""
    alive = list(range(len(race.models)))
    stages = _stages(race)
    report = _Reporter(progress, _length(race, stages))
    if _sample(race) is not None:
        alive = _first_look(race, alive, report)
    # Workers get the track without the results, which grow while tasks are still on their way.
    track = replace(race, runs={}, failed={})
    for folds, keep, halve in stages:
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_run_fold)(track, alive, fold) for fold in folds
        )
        for fold, outcome in zip(folds, outcomes, strict=True):
            for i, result in outcome.items():
                if isinstance(result, Run):
                    race.runs[i, fold] = result
                else:
                    _fail(race, i, result)
            report(len(alive), f"fold {fold + 1} of {len(race.folds.splits)}")
        alive = [i for i in alive if i not in race.failed]
        mean = {
            i: float(np.nanmean([race.standing(race.runs[i, f]) for f in range(folds[-1] + 1)]))
            for i in alive
        }
        alive = _survivors(race.models, alive, keep, mean)
        if halve:
            alive = _better_half(race.models, alive, mean)


class _Reporter:
    """Counts fits for whoever watches."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress = progress
        self.total = total
        self.done = 0

    def __call__(self, fits: int, message: str) -> None:
        self.done = min(self.done + fits, self.total)
        if self.progress is not None:
            self.progress(self.done, self.total, message)


def _half(size: int) -> int:
    return -(-size // 2)


def _one(size: int) -> int:
    return 1


def _stages(race: Race) -> list[tuple[range, Rule, bool]]:
    """Folds of each stage, how many of a family go on, and whether families are halved."""
    every = len(race.folds.splits)
    bounds = sorted({0, min(_FIRST_LOOK, race.folds.first), race.folds.first, every})
    parts = [range(low, high) for low, high in pairwise(bounds)]
    rules: list[tuple[Rule, bool]] = [(_half, False), (_one, True), (_one, False)]
    if len(parts) < 3:
        rules = [(_one, False), (_one, False)]
    return [(part, *rule) for part, rule in zip(parts, rules, strict=False)]


def _length(race: Race, stages: list[tuple[range, Rule, bool]]) -> int:
    """Fits that the race will take if no model fails."""
    alive, even = list(range(len(race.models))), dict.fromkeys(range(len(race.models)), 0.0)
    total = 0
    if _sample(race) is not None:
        total += len(alive)
        alive = _survivors(race.models, alive, _half, even)
    for folds, keep, halve in stages:
        total += len(folds) * len(alive)
        alive = _survivors(race.models, alive, keep, even)
        alive = _better_half(race.models, alive, even) if halve else alive
    return total


def _families(models: list[Model], alive: list[int]) -> dict[str, list[int]]:
    families: dict[str, list[int]] = {}
    for i in alive:
        families.setdefault(models[i].family, []).append(i)
    return families


def _survivors(
    models: list[Model], alive: list[int], keep: Rule, mean: dict[int, float]
) -> list[int]:
    """Best of each family, and the baseline. Of equals the first stays."""
    kept = {i for i in alive if models[i].is_baseline}
    for members in _families(models, alive).values():
        kept.update(sorted(members, key=lambda i: -mean[i])[: keep(len(members))])
    return sorted(kept)


def _better_half(models: list[Model], alive: list[int], mean: dict[int, float]) -> list[int]:
    """Keep the better half of the challengers, one of a family each, and the baseline."""
    challengers = sorted((i for i in alive if not models[i].is_baseline), key=lambda i: -mean[i])
    kept = challengers[: max(_half(len(challengers)), _FINALISTS)]
    return sorted(kept + [i for i in alive if models[i].is_baseline])


def _fail(race: Race, model: int, error: Exception) -> None:
    if race.models[model].is_baseline:
        raise error
    race.failed[model] = f"{type(error).__name__}: {error}"


def _sample(race: Race) -> float | None:
    """Part of the first training fold for the first look; None where it is short."""
    train = race.folds.splits[0][0]
    positives = int(race.history.positive[train].sum())
    rarer = min(positives, len(train) - positives)
    part = max(_SAMPLE_ROWS / len(train), _SAMPLE_RARER / rarer)
    return part if part < _WORTH else None


def _first_look(race: Race, alive: list[int], report: _Reporter) -> list[int]:
    """Halve the families on a sample of the first training fold."""
    part = _sample(race) or 1.0
    train, test = race.folds.splits[0]
    rng = np.random.default_rng(0)
    rows = np.sort(
        np.concatenate(
            [
                rng.choice(some, max(1, round(part * len(some))), replace=False)
                for some in (
                    train[race.history.positive[train]],
                    train[~race.history.positive[train]],
                )
            ]
        )
    )
    crowded = [
        i for members in _families(race.models, alive).values() if len(members) > 1 for i in members
    ]
    mean = dict.fromkeys(alive, 0.0)
    for i, result in _run_rows(race, crowded, rows, test, 1.0 / part):
        if isinstance(result, Run):
            mean[i] = race.standing(result)
        else:
            _fail(race, i, result)
    report(len(alive), f"first look at {len(rows)} rows")
    alive = [i for i in alive if i not in race.failed]
    return _survivors(race.models, alive, _half, mean)


def _run_fold(race: Race, alive: list[int], fold: int) -> dict[int, Run | Exception]:
    train, test = race.folds.splits[fold]
    # On few rows threads gain nothing, and on a busy machine they wait for one another.
    with threadpool_limits(1 if len(train) <= _ONE_THREAD_ROWS else None):
        return dict(_run_rows(race, alive, train, test, 1.0))


def _run_rows(
    race: Race, alive: list[int], train: np.ndarray, test: np.ndarray, strengthen: float
) -> Iterator[tuple[int, Run | Exception]]:
    """Fit the features once, then every model; score the test rows."""
    history = race.history
    weight = history.weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, learn = fit_features(race.features, history, train)
        ask = transformer.transform(take_rows(history.X, test))
    target = history.positive[train].astype(int)
    positive = history.positive[test]
    test_weight = None if weight is None else weight[test]
    places = max(1, round(race.rate * history.mass(test)))
    for i in alive:
        start = time.perf_counter()
        try:
            fitted, problems = fit_model(
                race.models[i].strengthened(strengthen),
                learn,
                target,
                None if weight is None else weight[train],
                ask,
                places,
            )
            scores = positive_scores(fitted, ask, 1)
            share = shares(positive, scores, test_weight, race.rates)
            if race.value is None:
                value = float(share[np.searchsorted(race.rates, race.rate)])
            else:
                value = race.value(fitted, ask, positive, scores, test_weight)
        except Exception as error:
            yield i, error
            continue
        yield i, Run(scores, share, value, time.perf_counter() - start, problems)


def fit_features(features: Any, history: History, rows: np.ndarray) -> tuple[Any, Any]:
    """Fit a clone of the transformer to some rows; return it with what it made of them."""
    transformer = clone(features)
    target = history.positive[rows].astype(int)
    return transformer, transformer.fit_transform(take_rows(history.X, rows), target)


def fit_model(
    model: Model,
    X: Any,
    target: np.ndarray,
    weight: np.ndarray | None,
    candidates: Any,
    places: int,
) -> tuple[Any, tuple[str, ...]]:
    """Fit a clone of the model; return it and the kinds of warnings it gave.

    `candidates` and `places` are for the transductive method, which chooses `places` of them.
    """
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
    return estimator, tuple(sorted({_kind(warning) for warning in caught}))


def _kind(warning: warnings.WarningMessage) -> str:
    if issubclass(warning.category, CollapsedWarning):
        return "collapsed to the zero model"
    if issubclass(warning.category, ConvergenceWarning):
        return "did not converge"
    return f"gave a {warning.category.__name__}: {str(warning.message).splitlines()[0]}"
