"""The whole job: from a history, candidates and a budget to a shortlist."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline

from .. import __version__
from .._checks import check_choice, check_seed
from .._scores import positive_scores, take_rows
from ..certificate import Certificate
from .drift.drift import drawn_rows, find_drift, weighted_outlook, weighted_rows
from .forecast.comparison import forecast_budgets
from .forecast.guarantee import check_shift, check_wish, refuse_beside, reserve
from .forecast.outlook import Outlook
from .race.combining import Combination, combine, outlook_of
from .race.goals import GOALS, Goal
from .race.heats import run_heat
from .race.history import Candidates, make_folds, stacked
from .race.models import (
    EFFORTS,
    RACE_ROWS,
    Task,
    as_numbers,
    contestants,
    default_features,
    kind_of,
)
from .race.race import Progress, Race, fit_features, fit_model, fit_problems, run_race
from .race.scoring import check_scoring
from .reasons.importance import Study
from .reasons.subject import Shown, subject_of
from .result import Shortlist, at_budget
from .terms.clusters import NAME as CLUSTER
from .terms.clusters import Clusters
from .terms.plan import make_plan
from .terms.terms import read_order
from .terms.times import time_folds, windows_in_words

__all__ = ["Shortlist", "pick"]

# Times the folds are drawn.
_REPEATS = {"quick": 1, "normal": 1, "thorough": 3}


def pick(
    X: Any,
    y: Any,
    candidates: Any,
    k: int | float | None = None,
    *,
    precision: float | None = None,
    guarantee: str = "expected",
    confidence: float = 0.9,
    shift: Any = None,
    goal: str = "hits",
    features: Any = None,
    models: Any = "auto",
    cv: Any = 5,
    repeats: int | None = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    effort: str = "normal",
    value: Any = None,
    cost: Any = None,
    one_per: Any = None,
    limits: Any = None,
    exclude: Any = None,
    time: Any = None,
    delay: Any = None,
    only_new: bool = False,
    base_rate: float | None = None,
    fill: bool | None = None,
    clusters: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    shown: Shown | None = None,
) -> Shortlist:
    r"""Choose the k candidates to act on, and say how many hits to expect.

    Models of many kinds learn on folds of the history and score the rows they did not see.
    A combination of them, weighed for the top of the list (see :class:`TopStack`), ranks
    the candidates; plain logistic regression is the yardstick in every verdict. All are
    judged at the budget scaled to the fold: k of m candidates is the rate :math:`q = k/m`,
    and a fold of weight W is cut after :math:`qW` rows, inside a row in proportion.

    The forecast is that of the combination without flattery: on each fold it is weighed by
    the other folds only. The interval adds what the history leaves open about the precision
    to the luck of the draw of these candidates (see :class:`Shortlist`). It assumes that
    the candidates come from where the history came from, with the same share of positives.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n_rows, n_features)
        The history.
    y : array-like of shape (n_rows,)
        Its labels, any two values; or numbers, with another `goal`.
    candidates : like `X`, or callable
        Rows to choose from. A function without arguments that returns a fresh iterator of
        blocks lets them stream: it is called twice, and only the scores are kept. Then
        the transductive method is left out.
    k : int or float, default=None
        Budget: a number, or a fraction in (0, 1) of the candidates, rounded up; with `one_per`
        of their entities.
    precision : float, default=None
        Instead of `k`: the longest list of which this share is hits, guaranteed. Part of the
        negatives is set aside to check it (:mod:`shortlist.picking.forecast.guarantee` says which
        theorem); the list may be empty. Not together with what takes rows by more than
        their score: weights, groups, values, limits, entities, times.
    guarantee : {"expected", "high_probability"}, default="expected"
        Whether the share holds on average over such lists, or for this list with
        `confidence`.
    confidence : float, default=0.9
        Of a guarantee of high probability, and of ``found.guarantee.band``.
    shift : pair of arrays, default=None
        With `precision`: the density of the candidates over that of the history, for each row
        of the history and each candidate, where they are known to differ by it.
    goal : {"hits", "sum", "mean"}, default="hits"
        What the list is to be full of. "hits": rows of one label. "sum" and "mean": `y` holds
        numbers (a potency, an amount, a grade), and the list is the one with the largest sum,
        or mean, of them. A row that is expected to bring less than nothing makes no sum
        larger and is left out (see `fill`).
    features : transformer, default=None
        Unfitted; put before every model and fitted once per fold. None: numbers as they
        are, missing ones too; for a frame with columns that are not numbers, skrub's
        ``TableVectorizer``, texts by their pieces of words. Linear and kernel models, and your
        own, then impute and scale.
    models : "auto", list of str or dict, default="auto"
        Families to combine: "LightGBM" (where it is installed), "gradient boosting" (where
        it is not), "extra trees", "random forest", "PatMat rbf", "SVC rbf", "PatMat of sets"
        (for bits and counts), and "logistic regression" with other `C`; "PatMat", the linear
        one, only by name; or names and estimators of your own.
        The yardstick is always in; a model of your own called "logistic regression"
        takes its place. For numbers: "ridge" (the yardstick), "RankSVM", "LightGBM",
        "gradient boosting", "extra trees", "random forest", "RankSVM rbf", "SVR rbf",
        "RankSVM of sets" and "SVR of sets".
    cv : int, splitter or iterable of splits, default=5
        An integer is a number of stratified folds, shuffled; lowered, with a warning,
        where one class has fewer rows; of a long history few of them are visited (see
        `effort`). A splitter is used as it is: `TimeSeriesSplit`
        learns from the past only. Training parts without both classes are left out.
    repeats : int, default=None
        Times the folds are drawn; None leaves it to `effort`. For an integer `cv` only.
    scoring : str or callable, default=None
        None combines the models. The name of a metric, such as "precision_at_5%", or a
        scorer, called with features and 0/1 labels: the one model that is best by it is
        taken, alone.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group stay in one fold.
    sample_weight : array-like of shape (n_rows,), default=None
        Multiplicity of every row. Copies of a row stay in one fold.
    pos_label : label, default=None
        The label to look for. It may be left out for labels that explain themselves: 0/1,
        False/True, -1/1 and no/yes.
    effort : {"quick", "normal", "thorough"}, default="normal"
        Settings a family, trees a forest, repeats of the folds. On a history of more than 6,000
        rows (thorough: 20,000) a heat on a sample chooses who races, and fewer folds are
        visited.
    value, cost : number, column or pair of arrays, default=None
        What a hit brings, and what taking a row costs. The list is then that of the largest
        expected sum, :math:`\sum_i (p_i v_i - c_i)` with calibrated probabilities
        :math:`p_i`, and rows that are expected to cost more than they bring are left out
        (see `fill`). Like all arguments below that speak of rows: the name of a column,
        where `X` and `candidates` are frames, or a pair of arrays (history, candidates).
    one_per : column or pair of arrays, default=None
        Entities, of which the list takes the best row each. Their rows stay in one fold.
        The column is no feature.
    limits : dict or list, default=None
        Bounds per group: ``{"region": {"north": (0, 10), "south": 5}}``, or one number for
        every group, ``{"region": 10}``; with arrays, a list of ``((history, candidates),
        bounds)``. The list is the best one that keeps them.
    exclude : array, column or dict, default=None
        Candidates that must not be taken: row numbers, a mask, the name of a column that is
        true for them, ``{column: values}``, or with `one_per` its values.
    time : column or pair of arrays, default=None
        When each row happened: dates, ISO text or numbers. Folds then learn from the past
        and test on later windows as long as the candidates' time; the forecast is that of
        the latest windows. The column is no feature. Takes the place of `cv`.
    delay : str, number or timedelta, default=None
        Time until a label is known, such as "7d"; a number counts days. Nothing is learned
        from rows whose label was not known when a window began.
    only_new : bool, default=False
        With `time`, and `groups` or `one_per`: test only groups, or entities, that were not
        known before a window.
    base_rate : float, default=None
        Share of positives among the candidates, where the history was thinned.
    fill : bool, default=None
        Whether rows of no expected gain may fill the budget; None: only where there is
        neither value nor cost.
    clusters : int, default=None
        Divide the candidates into so many clusters of look-alikes, by their features; `limits`
        call them "cluster": ``clusters=100, limits={"cluster": 2}`` takes two of each at most.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and models.
    n_jobs : int, default=None
        Folds that run at the same time; does not change the result.
    progress : callable, default=None
        Called as ``progress(done, total, message)``.
    shown : Shown, default=None
        Where `X` holds features that were made before: the columns they were made of, for a
        look at drift.

    Returns
    -------
    Shortlist
        ``selected``, ``scores``, ``expected_hits``, ``comparison``, ``model`` and more.

    See Also
    --------
    TopStack : The combination, as an estimator.

    Examples
    --------
    >>> from shortlist import pick
    >>> from shortlist.datasets import load_tumours
    >>> X, y = load_tumours()
    >>> found = pick(X[:300], y[:300], X[300:], k=20, effort="quick")
    >>> found.selected.shape, int(y[300:][found.selected].sum())
    ((20,), 20)
    >>> found.winner
    'combination'
    """
    start = perf_counter()
    check_choice("effort", effort, EFFORTS)
    check_choice("goal", goal, tuple(GOALS))
    aim = GOALS[goal]
    seed = check_seed(random_state)
    wish = None
    if precision is not None:
        wish = check_wish(k, precision, guarantee, confidence)
        refuse_beside(
            wish,
            sample_weight=sample_weight,
            groups=groups,
            value=value,
            cost=cost,
            one_per=one_per,
            limits=limits,
            time=time,
            goal=None if goal == "hits" else goal,
            clusters=clusters,
        )
    elif k is None:
        raise ValueError("Say how many: k=100, or precision=0.8 for as many as stay that good.")
    X, pool, terms = read_order(
        X,
        candidates,
        sample_weight,
        value=value,
        cost=cost,
        one_per=one_per,
        limits=limits,
        exclude=exclude,
        time=time,
        delay=delay,
        base_rate=base_rate,
        fill=fill,
        goal=goal,
        cluster=None if clusters is None else CLUSTER,
        clusters=None if clusters is None else Clusters(clusters, y, features, seed),
    )
    whose = None if groups is not None else (terms.history.entity, terms.candidates.entity)
    if groups is None and (time is None or only_new):
        groups = terms.history.entity
    if only_new and (time is None or groups is None):
        raise ValueError(
            "only_new tests what was not known before a window: it needs time, and groups or "
            "one_per."
        )
    history = everything = aim.read(X, y, sample_weight, groups, pos_label)
    if aim.numeric and scoring is not None:
        raise ValueError(f"scoring={scoring!r} judges labels; with goal={goal!r} leave it out.")
    judged = None if scoring is None else check_scoring(scoring, history.weight is not None)
    shifted = None
    if shift is not None:
        shifted = check_shift(shift, wish, base_rate, len(history), pool.n_rows)
    if wish is None:
        places = terms.budget(k)
    else:
        history, left, checked = reserve(history, wish, seed, shifted)
        terms = replace(terms, history=terms.history.take(left))
        places = max(1, round(pool.n_rows * (base_rate or checked.share)))
    if repeats is None and isinstance(cv, int | np.integer):
        repeats = _REPEATS[effort]
    if time is not None:
        cv, repeats = time_folds(terms, history, only_new), None
    task = Task(
        places / pool.n_rows,
        len(history),
        sparse.issparse(history.X),
        kind_of(history.X) if features is None else None,
        effort,
        seed,
    )
    folds = make_folds(history, cv, repeats, seed, RACE_ROWS, task.folds)
    if time is not None:
        folds = replace(folds, text=windows_in_words(folds, terms))
    competing, left_out = contestants(models, task, features is not None, aim.families)
    race = Race(
        competing,
        history,
        folds,
        _features(history.X, features, models),
        task.rate,
        forecast_budgets(pool.n_rows, places) / pool.n_rows,
        judged,
    )
    n_fits = 0
    if task.long and isinstance(models, str) and judged is None:
        n_fits = len(competing)
        race, gone = run_heat(race, effort, seed)
        left_out |= gone
    run_race(race, n_jobs, progress)
    combination = combine(race, seed)
    outlook, winner = outlook_of(race, combination, pool.n_rows, aim.outlook)
    pipeline, problems = _refit(race, combination, aim)
    scores, some = _score(pipeline, pool, drawn_rows(pool.n_rows, seed))
    subject = subject_of(pool, pipeline[0])
    shown = shown or Shown(everything.X, subject.columns, lambda: some)
    drift = find_drift(everything, shown, seed, base_rate, whose)
    if wish is not None:
        drift = drift.take(left)
    held_out = weighted_rows(combination.held_out, drift)
    outlook = weighted_outlook(outlook, race, held_out, drift, winner)
    latest = None if time is None else max(2, (folds.first + 1) // 2)
    # Scores of hits are log odds less those at the budget.
    whole = scores + getattr(pipeline[-1], "threshold_", 0.0)
    plan = make_plan(terms, held_out, whole, seed, latest)
    weak = _weak_points(race, outlook, winner, places) + problems
    for text in weak:
        warnings.warn(text, UserWarning, stacklevel=2)
    stack = pipeline[-1]
    settings = {
        "k": places,
        "seed": seed,
        "effort": effort,
        "cv": folds.text,
        "repeats": len(folds.splits) // folds.first,
        "goal": goal,
        "scoring": _judged_by(aim, scoring),
        "features": str(race.features),
        "models": [model.name for model in race.models],
        "n_fits": n_fits + len(folds.rounds()) * len(race.finishers()) + len(stack.estimators_),
        "seconds": perf_counter() - start,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "sklearn": sklearn.__version__,
            "shortlist": __version__,
        },
        "warnings": weak + fit_problems(race),
    }
    found = Shortlist(
        n_candidates=pool.n_rows,
        n_history=len(history),
        n_positive=history.mass(np.flatnonzero(history.positive)),
        positive_label=history.positive_label,
        scores=scores,
        model=pipeline,
        winner=winner,
        baseline=competing[0].name,
        held_out_rows=combination.held_out,
        certificate=_certificate(stack),
        settings=settings,
        outlook=outlook,
        plan=plan,
        subject=subject,
        drift=drift,
        study=Study(
            race,
            combination.members,
            combination.head,
            subject.columns,
            np.arange(len(subject.columns)),
        ),
        **at_budget(places, outlook, winner, scores, left_out, places, plan, drift),
    )
    return found if wish is None else checked.apply(found)


def _features(X: Any, features: Any, models: Any) -> Any:
    """Return what comes before every model; the library's own take arrays of numbers."""
    if features is None:
        return default_features(X)
    return features if isinstance(models, Mapping) else make_pipeline(features, as_numbers())


def _judged_by(aim: Goal, scoring: Any) -> str:
    if scoring is not None:
        return str(scoring)
    return "squared error" if aim.numeric else "average precision"


def _refit(race: Race, combination: Combination, aim: Goal) -> tuple[Pipeline, list[str]]:
    """Fit features and members of weight to the whole history; say what went wrong."""
    history, members = race.history, combination.members
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, made = fit_features(race.features, history, np.arange(len(history)))
    fitted, problems = [], []
    for i, weight in zip(members, combination.head.weights, strict=True):
        if weight != 0.0:
            model = race.models[i]
            grown = model.for_rows(len(history), final=True)
            one, said = fit_model(model.name, grown, made, history.target, history.weight)
            fitted.append(one)
            problems += [f"{model.name}, fitted to the whole history, {text}." for text in said]
    stack = aim.stack(race, combination, made, fitted)
    return Pipeline([("features", transformer), ("model", stack)]), problems


def _certificate(stack: Any) -> Certificate | None:
    """Return the certificate of the head, or of the member that is alone."""
    if len(stack.estimators_) > 1:
        return stack.certificate_
    member = stack.estimators_[0][1]
    return getattr(getattr(member, "steps", [(None, member)])[-1][1], "certificate_", None)


def _score(pipeline: Pipeline, pool: Candidates, kept: np.ndarray) -> tuple[np.ndarray, Any]:
    """Score all candidates; return some of the rows, too, so that none is read again."""
    scores, parts, found = [], [], 0
    for block in pool.blocks():
        scores.append(positive_scores(pipeline, block, 1))
        inside = kept[(kept >= found) & (kept < found + len(scores[-1]))] - found
        parts.append(take_rows(block, inside))
        found += len(scores[-1])
    if found != pool.n_rows:
        raise ValueError(
            f"candidates() gave {pool.n_rows} rows the first time and {found} the second; it must "
            "return a fresh iterator over the same rows at every call."
        )
    return np.concatenate(scores), stacked([part for part in parts if part.shape[0]])


def _weak_points(race: Race, outlook: Outlook, winner: str, k: int) -> list[str]:
    """Say what makes the result weak."""
    found = [] if race.folds.note is None else [race.folds.note]
    smallest = float(race.rate * race.folds.weight.min())
    if smallest < 1.0:
        found.append(
            f"k={k} of {outlook.n_candidates} candidates is less than one row of a fold "
            f"({smallest:.2g}): the estimate is that of the first row of a fold, and the true "
            "list may be better. Use fewer folds (cv) or a longer history."
        )
    if not outlook.above_chance(outlook.find(winner), k):
        found.append(
            "The list is not better than one drawn at random, as far as the history can tell. "
            "Look for better features or more labelled rows."
        )
    return found
