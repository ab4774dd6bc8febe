"""The whole job: from a history, candidates and a budget to a shortlist."""

from __future__ import annotations

import platform
import time
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from . import __version__
from ._choice import Evidence, Outlook, choose, optimism
from ._history import Candidates, History, check_budget, check_history, make_folds
from ._models import Model, Task, contestants, default_features
from ._race import Progress, Race, fit_features, fit_model, run_race
from ._scores import positive_scores
from ._shortlist import Shortlist, _at_budget

__all__ = ["Shortlist", "pick"]


def pick(
    X: Any,
    y: Any,
    candidates: Any,
    k: int | float,
    *,
    features: Any = None,
    models: Any = "auto",
    cv: Any = 5,
    repeats: int | None = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    positive: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Shortlist:
    """Choose the k candidates to act on."""
    start = time.perf_counter()
    history = check_history(X, y, sample_weight, groups, positive)
    pool = Candidates(candidates, history.X)
    places = check_budget(k, pool.n_rows)
    rate = places / pool.n_rows
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max // 2))
    folds = make_folds(history, cv, repeats, seed)
    transformer = default_features(history.X) if features is None else features
    task = Task(
        rate, len(history), pool.n_rows, sparse.issparse(history.X), pool.streamed, seed
    )
    found, left_out = contestants(models, task)
    m = pool.n_rows
    rates = np.unique(np.append(np.geomspace(1, m, min(m, 199)).round(), places)) / m
    race = Race(found, folds, rates)
    alive = run_race(race, history, transformer, rate, None, n_jobs, progress)
    every = np.arange(len(folds.splits))
    values = np.array([race.values(i, every) for i in alive])
    tested = np.unique(np.concatenate([test for _, test in folds.splits]))
    mass = history.mass(tested)
    chosen = alive[choose(values, folds.weight, folds.ratio, mass)]
    evidence = tuple(
        Evidence(
            model.name,
            model.family,
            race.met(i),
            race.share(i, race.met(i)),
            race.values(i, race.met(i)),
            sum(race.runs[i, fold].seconds for fold in race.met(i)),
        )
        for i, model in enumerate(found)
        if i not in race.failed
    )
    outlook = Outlook(
        rates,
        m,
        mass,
        history.mass(tested[history.positive[tested]]) / mass,
        folds.weight,
        folds.ratio,
        optimism(race, alive, history, rate, chosen, by_hits=True),
    )
    winner = found[chosen]
    pipeline, scores, problems = refit(winner, history, transformer, pool, places)
    settings = {
        "seed": random_state,
        "cv": folds.text,
        "repeats": len(folds.splits) // max(folds.first, 1),
        "scoring": "hits at the budget" if scoring is None else str(scoring),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "sklearn": sklearn.__version__,
            "shortlist": __version__,
        },
        "seconds": time.perf_counter() - start,
        "n_fits": len(race.runs) + 1,
        "models": [model.name for model in found],
        "warnings": _problems(race),
    }
    return Shortlist(
        n_candidates=m,
        n_history=len(history),
        n_positive=history.mass(np.flatnonzero(history.positive)),
        positive_label=history.positive_label,
        scores=scores,
        model=pipeline,
        winner=winner.name,
        baseline=found[0].name,
        held_out=_held_out(race, chosen, history, rate),
        certificate=getattr(pipeline[-1], "certificate_", None),
        settings=settings,
        _evidence=evidence,
        _outlook=outlook,
        **_at_budget(places, scores, evidence, outlook, winner.name, left_out),
    )


def refit(
    model: Model, history: History, features: Any, pool: Candidates, places: int
) -> tuple[Pipeline, np.ndarray, tuple[str, ...]]:
    """Fit features and model to the whole history; return them with the candidates' scores."""
    rows = np.arange(len(history))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, made = fit_features(features, history, rows)
    known = transformer.transform(pool.whole()) if model.transductive else None
    target = history.positive.astype(int)
    fitted, problems = fit_model(model, made, target, history.weight, known, places)
    pipeline = Pipeline([("features", transformer), ("model", fitted)])
    scores = np.concatenate([positive_scores(pipeline, block, 1) for block in pool.blocks()])
    return pipeline, scores, problems


def _held_out(
    race: Race, model: int, history: History, rate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    labels, scores, weights = [], [], []
    for fold in range(race.folds.first):
        test = race.folds.splits[fold][1]
        found = race.runs[model, fold].scores
        weight = np.ones(len(test)) if history.weight is None else history.weight[test]
        order = np.argsort(-found, kind="stable")
        place = int(np.searchsorted(np.cumsum(weight[order]), rate * weight.sum()))
        cut = found[order[min(place, len(order) - 1)]]
        scale = float(found.std()) or 1.0
        labels.append(history.positive[test].astype(int))
        scores.append((found - cut) / scale)
        weights.append(weight)
    return np.concatenate(labels), np.concatenate(scores), np.concatenate(weights)


def _problems(race: Race) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    fits: Counter[str] = Counter()
    for (i, _), run in race.runs.items():
        family = race.models[i].family
        fits[family] += 1
        for kind in run.problems:
            counts[family, kind] += 1
    found = [
        f"{family}: {count} of {fits[family]} fits {kind}"
        for (family, kind), count in sorted(counts.items())
    ]
    return found + [f"{race.models[i].name} failed: {text}" for i, text in race.failed.items()]
