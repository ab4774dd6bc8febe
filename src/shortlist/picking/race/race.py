"""The race: every model meets every fold, and scores rows that it did not see.

Every fold is visited once, and the features that come before all models are fitted once for
it. Nothing depends on the clock, so the same seed gives the same race. On a long history a
heat (:mod:`shortlist.picking.race.heats`) chooses who races, and few folds are visited. One longer
than ``models.RACE_ROWS`` is raced on a sample, drawn by class or by group; only the final fit
sees every row.

What comes after needs two things only. :attr:`Race.runs` holds the held-out scores of every
model on every fold; :func:`shortlist.picking.race.combining.combine` turns them into the
combination's held-out log odds of every tested row, with fold and weight
(:class:`shortlist.picking.race.combining.HeldOut`). A forecast of any rule of selection, any gain,
any calibration is that rule applied to these rows, fold by fold, as it is to the candidates
with the scores of ``Shortlist.model``.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..._scores import take_rows
from ...certificate import CollapsedWarning
from ...stacking.estimator import weight_options
from ...stacking.heads import member_scores
from .history import Folds, History
from .models import Model

Progress = Callable[[int, int, str], object]
Value = Callable[[Any, Any, np.ndarray, np.ndarray, np.ndarray | None], float]

_ONE_THREAD_ROWS = 10_000


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
        What a scoring of the user's says; NaN without one.
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
        A scoring of the user's; None for the hits.
    runs : dict
        One :class:`Run` for each model and fold, by their positions.
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

    def finishers(self) -> list[int]:
        """Models that did not fail, the baseline first."""
        return [i for i in range(len(self.models)) if i not in self.failed]

    def scores(self, models: list[int], fold: int) -> np.ndarray:
        """Held-out scores of some models on a fold, one column each."""
        return np.column_stack([self.runs[i, fold].scores for i in models])

    def share(self, model: int) -> np.ndarray:
        """Hits per row, by fold and rate."""
        return np.array([self.runs[model, f].share for f in range(len(self.folds.splits))])

    def seconds(self, model: int) -> float:
        """Time of all fits of a model in the folds."""
        return sum(self.runs[model, f].seconds for f in range(len(self.folds.splits)))


def run_race(race: Race, n_jobs: int | None, progress: Progress | None) -> None:
    """Let the models run; the results are in ``race.runs``."""
    rounds = race.folds.rounds()
    # Workers get the track without the results, which grow while tasks are still on their way.
    track = replace(race, runs={}, failed={})
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_run_round)(track, folds) for folds in rounds
    )
    for number, outcome in enumerate(outcomes, start=1):
        for i, result in outcome.items():
            if not isinstance(result, Exception):
                race.runs |= {
                    (i, f): run for f, run in zip(rounds[number - 1], result, strict=True)
                }
            elif race.models[i].is_baseline:
                raise result
            else:
                race.failed.setdefault(i, f"{type(result).__name__}: {result}")
        if progress is not None:
            done, total = number * len(race.models), len(rounds) * len(race.models)
            progress(done, total, f"fold {number} of {len(rounds)}")


def _run_round(race: Race, folds: list[int]) -> dict[int, list[Run] | Exception]:
    train, _ = race.folds.splits[folds[0]]
    # On few rows threads gain nothing, and on a busy machine they wait for one another.
    with threadpool_limits(1 if len(train) <= _ONE_THREAD_ROWS else None):
        return dict(_run_models(race, folds))


def _run_models(race: Race, folds: list[int]) -> Iterator[tuple[int, list[Run] | Exception]]:
    """Fit the features once, then every model; score the test rows of these folds."""
    train, _ = race.folds.splits[folds[0]]
    history = race.history
    weight = history.weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, learn = fit_features(race.features, history, train)
        asked = {
            fold: transformer.transform(take_rows(history.X, race.folds.splits[fold][1]))
            for fold in folds
        }
    target = history.target[train]
    train_weight = None if weight is None else weight[train]
    for i, model in enumerate(race.models):
        start = time.perf_counter()
        try:
            estimator = model.for_rows(len(train))
            fitted, problems = fit_model(model.name, estimator, learn, target, train_weight)
            runs = []
            for fold, ask in asked.items():
                test = race.folds.splits[fold][1]
                scores = member_scores(fitted, ask, 1)
                share = history.shares(test, scores, race.rates)
                value = np.nan
                if race.value is not None:
                    test_weight = None if weight is None else weight[test]
                    value = race.value(fitted, ask, history.positive[test], scores, test_weight)
                seconds, start = time.perf_counter() - start, time.perf_counter()
                runs.append(Run(scores, share, value, seconds, problems))
        except Exception as error:
            yield i, error
            continue
        yield i, runs


def fit_features(features: Any, history: History, rows: np.ndarray) -> tuple[Any, Any]:
    """Fit a clone of the transformer to some rows; return it with what it made of them."""
    transformer = clone(features)
    made = transformer.fit_transform(take_rows(history.X, rows), history.target[rows])
    return transformer, made


def fit_model(
    name: str, estimator: Any, X: Any, target: np.ndarray, weight: np.ndarray | None
) -> tuple[Any, tuple[str, ...]]:
    """Fit a clone of an estimator; return it and the kinds of warnings it gave."""
    estimator = clone(estimator)
    options: dict[str, Any] = {}
    if weight is not None:
        try:
            options = weight_options(estimator, weight)
        except ValueError as error:
            raise ValueError(
                f"models[{name!r}] does not take sample_weight. Leave it out of models, or "
                "leave out sample_weight."
            ) from error
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


def fit_problems(race: Race) -> list[str]:
    """Warnings of the fits, counted by family, and models that failed."""
    fits: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for (i, _), run in race.runs.items():
        family = race.models[i].family
        fits[family] += 1
        counts.update((family, kind) for kind in run.problems)
    return [
        f"{family}: {count} of {fits[family]} fits {kind}"
        for (family, kind), count in sorted(counts.items())
    ] + [f"{race.models[i].name} failed and left the race: {e}" for i, e in race.failed.items()]
