"""The whole job: from a history, candidates and a budget to a shortlist."""

from __future__ import annotations

import platform
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from .. import __version__
from .._scores import positive_scores
from .choice import Evidence, Outlook, choose_model
from .comparison import forecast_budgets
from .deciding import check_scoring
from .history import Candidates, check_budget, check_history, make_folds
from .models import Task, contestants, default_features
from .race import Progress, Race, fit_features, fit_model, run_race
from .result import Shortlist, at_budget

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
    r"""Choose the k candidates to act on, and say how many hits to expect.

    Models compete on the same folds of the history, at the budget scaled to the fold: k
    of m candidates is the rate :math:`q = k/m`, and a fold of weight W is cut after
    :math:`qW` rows, inside a row in proportion. Weak ones leave early. The baseline,
    plain logistic regression, is kept unless another model finds more by more than
    noise,

    .. math:: \bar d > t_{0.95} \, \hat\sigma_d \sqrt{1/J + n_{test}/n_{train}}

    over the J paired differences (Nadeau and Bengio's correction, because folds
    overlap). The winner is fitted to the whole history and ranks the candidates.

    The interval of the expected hits adds what the folds leave open about the precision
    to the luck of the draw of these candidates, and is lowered by what the winner owes to
    being chosen (see :class:`Shortlist`). It assumes that the candidates come from where
    the history came from, with the same share of positives.

    Parameters
    ----------
    X : array-like, sparse matrix or frame of shape (n_rows, n_features)
        The history.
    y : array-like of shape (n_rows,)
        Its labels, any two values.
    candidates : like `X`, or callable
        Rows to choose from. A function without arguments that returns a fresh iterator of
        blocks lets them stream: it is called twice, and only the scores are kept. Then
        the transductive method is left out.
    k : int or float
        Budget: a number, or a fraction in (0, 1) of the candidates, rounded up.
    features : transformer, default=None
        Unfitted; put before every model and fitted once per fold, to each row once. None:
        median imputation with indicators and unit variance; for sparse rows, columns
        divided by their largest entry; for a frame with columns that are not numbers,
        skrub's ``TableVectorizer`` first.
    models : "auto", list of str or dict, default="auto"
        Families to compare: "balanced logistic regression", "LinearSVC", "TopPush",
        "PatMat", "TransductiveTopK", "gradient boosting", "TopPush rbf", "PatMat rbf",
        and "logistic regression" with other `C`; or names and estimators of your own.
        The baseline is always in; a model of your own called "logistic regression"
        takes its place.
    cv : int, splitter or iterable of splits, default=5
        An integer is a number of stratified folds, shuffled; lowered, with a warning,
        where one class has fewer rows. A splitter is used as it is: `TimeSeriesSplit`
        learns from the past only. Training parts without both classes are left out.
    repeats : int, default=None
        Times the folds are drawn; None is 2 up to 10,000 rows and 1 above. For an
        integer `cv` only.
    scoring : str or callable, default=None
        What the race is decided on: None, the hits at the budget; the name of a metric,
        such as "average_precision"; or a scorer, called with features and 0/1 labels.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group stay in one fold.
    sample_weight : array-like of shape (n_rows,), default=None
        Multiplicity of every row. Copies of a row stay in one fold.
    positive : label, default=None
        The label to look for; None is the larger of the two.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and models.
    n_jobs : int, default=None
        Folds that run at the same time; does not change the result.
    progress : callable, default=None
        Called as ``progress(done, total, message)``.

    Returns
    -------
    Shortlist
        ``selected``, ``scores``, ``expected_hits``, ``comparison``, ``model`` and more.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52,
    2003.

    Examples
    --------
    >>> from shortlist import pick
    >>> from shortlist.datasets import load_tumours
    >>> X, y = load_tumours()
    >>> found = pick(X[:300], y[:300], X[300:], k=20, models=["TopPush", "PatMat"])
    >>> found.selected.shape, int(y[300:][found.selected].sum())
    ((20,), 20)
    >>> found.winner
    'logistic regression'
    """
    start = time.perf_counter()
    history = check_history(X, y, sample_weight, groups, positive)
    pool = Candidates(candidates, history.X)
    places = check_budget(k, pool.n_rows)
    value = check_scoring(scoring, history.weight is not None)
    seed = _seed(random_state)
    folds = make_folds(history, cv, repeats, seed)
    task = Task(
        places / pool.n_rows,
        len(history),
        pool.n_rows,
        sparse.issparse(history.X),
        pool.streamed,
        seed,
    )
    competing, left_out = contestants(models, task)
    race = Race(
        competing,
        history,
        folds,
        default_features(history.X) if features is None else features,
        task.rate,
        forecast_budgets(pool.n_rows, places) / pool.n_rows,
        value,
    )
    run_race(race, n_jobs, progress)
    chosen, kept = choose_model(race)
    outlook = _outlook(race, pool.n_rows, kept)
    pipeline, problems = _refit(race, chosen, pool, places)
    scores = _score(pipeline, pool)
    winner = competing[chosen].name
    weak = _weak_points(race, outlook, winner, places, problems)
    for text in weak:
        warnings.warn(text, UserWarning, stacklevel=2)
    settings = {
        "k": places,
        "seed": seed,
        "cv": folds.text,
        "repeats": len(folds.splits) // folds.first,
        "scoring": "hits at the budget" if scoring is None else str(scoring),
        "features": str(race.features),
        "models": [model.name for model in competing],
        "n_fits": len(race.runs) + 1,
        "seconds": time.perf_counter() - start,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "sklearn": sklearn.__version__,
            "shortlist": __version__,
        },
        "warnings": weak + _fit_problems(race),
    }
    return Shortlist(
        n_candidates=pool.n_rows,
        n_history=len(history),
        n_positive=history.mass(np.flatnonzero(history.positive)),
        positive_label=history.positive_label,
        scores=scores,
        model=pipeline,
        winner=winner,
        baseline=competing[0].name,
        held_out=_held_out(race, chosen),
        certificate=getattr(pipeline[-1], "certificate_", None),
        settings=settings,
        outlook=outlook,
        **at_budget(places, outlook, winner, scores, left_out, places),
    )


def _seed(random_state: Any) -> int:
    """Return a seed that repeats the call when it is passed as `random_state`."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _outlook(race: Race, n_candidates: int, kept: float) -> Outlook:
    history, folds = race.history, race.folds
    tested = np.unique(np.concatenate([test for _, test in folds.splits]))
    mass = history.mass(tested)
    models = tuple(
        Evidence(
            model.name,
            model.family,
            race.met(i),
            race.share(i, race.met(i)),
            sum(race.runs[i, fold].seconds for fold in race.met(i)),
        )
        for i, model in enumerate(race.models)
        if len(race.met(i)) and i not in race.failed
    )
    prevalence = history.mass(tested[history.positive[tested]]) / mass
    return Outlook(
        models, race.rates, n_candidates, mass, prevalence, folds.weight, folds.ratio, kept
    )


def _refit(
    race: Race, chosen: int, pool: Candidates, places: int
) -> tuple[Pipeline, tuple[str, ...]]:
    """Fit features and winner to the whole history."""
    history, model = race.history, race.models[chosen]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, made = fit_features(race.features, history, np.arange(len(history)))
        known = transformer.transform(pool.whole()) if model.transductive else None
    target = history.positive.astype(int)
    fitted, problems = fit_model(model, made, target, history.weight, known, places)
    return Pipeline([("features", transformer), ("model", fitted)]), problems


def _score(pipeline: Pipeline, pool: Candidates) -> np.ndarray:
    scores = [positive_scores(pipeline, block, 1) for block in pool.blocks()]
    found = sum(map(len, scores))
    if found != pool.n_rows:
        raise ValueError(
            f"candidates() gave {pool.n_rows} rows the first time and {found} the second; it must "
            "return a fresh iterator over the same rows at every call."
        )
    return np.concatenate(scores)


def _held_out(race: Race, model: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and weights of every tested row, on the first fold that tests it."""
    history = race.history
    fresh = np.ones(len(history), dtype=bool)
    parts = []
    for fold, (_, test) in enumerate(race.folds.splits):
        scores = race.runs[model, fold].scores
        weight = np.ones(len(test)) if history.weight is None else history.weight[test]
        order = np.argsort(-scores, kind="stable")
        place = int(np.searchsorted(np.cumsum(weight[order]), race.rate * weight.sum()))
        cut = scores[order[min(place, len(order) - 1)]]
        spread = float(scores.std())
        new = fresh[test]
        fresh[test] = False
        parts.append(
            (
                history.positive[test][new].astype(int),
                ((scores - cut) / (spread if spread > 0.0 else 1.0))[new],
                weight[new],
            )
        )
    labels, scores, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return labels, scores, weights


def _weak_points(
    race: Race, outlook: Outlook, winner: str, k: int, problems: tuple[str, ...]
) -> list[str]:
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
    return found + [f"{winner}, fitted to the whole history, {text}." for text in problems]


def _fit_problems(race: Race) -> list[str]:
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
