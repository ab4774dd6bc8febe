r"""From the race to one ranking: the combination, and its held-out scores without flattery.

The head that combines the members (:mod:`shortlist.stacking.heads`) is fitted to their
held-out scores. For the forecast of a fold it is fitted again, without the rows of that
fold: members and weights that score a row have then not learned from its label. Refitting
the head costs next to nothing, because no member is fitted again.

With a scoring of the user's the members are not combined: the one that is best by it is
taken, and for the forecast of a fold the one that is best on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...stacking.estimator import cut
from ...stacking.heads import Head, calibrate
from ..forecast.comparison import COMBINATION
from ..forecast.outlook import Evidence, Outlook
from .race import Race


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the combination says of rows it did not learn from.

    A row that is tested in several repeats is there once a repeat.

    Attributes
    ----------
    row : ndarray of int
        Row of the history: of its rows of positive weight, in their order.
    fold : ndarray of int
        The fold that held it out; folds below `first` make the first repeat.
    positive : ndarray of bool
        Whether it is positive.
    weight : ndarray
        Its weight.
    log_odds : ndarray
        Log odds, comparable between folds; of numeric outcomes, the outcome that is expected.
    first : int
        Folds of the first repeat.
    outcome : ndarray
        What the row brought: one for a hit.
    """

    row: np.ndarray
    fold: np.ndarray
    positive: np.ndarray
    weight: np.ndarray
    log_odds: np.ndarray
    first: int
    outcome: np.ndarray


@dataclass(frozen=True, eq=False)
class Combination:
    """The combination of the members, fitted to all folds.

    Attributes
    ----------
    members : list of int
        Positions of the models that were combined, those of weight zero among them.
    head : Head
        Their weights.
    threshold : float
        Log odds at the budget.
    held_out : HeldOut
        Cross-fitted log odds of the tested rows.
    share : ndarray of shape (n_folds, n_rates)
        Hits per row of the cross-fitted combination.
    """

    members: list[int]
    head: Head
    threshold: float
    held_out: HeldOut
    share: np.ndarray


def combine(race: Race, seed: int) -> Combination:
    """Fit the head to all folds, and for each fold to the rows outside of it."""
    history, splits = race.history, race.folds.splits
    members = race.finishers()
    every = range(len(splits))
    scores = [race.scores(members, fold) for fold in every]
    head = _head(race, members, scores, list(every), None, seed)
    log_odds, share = [], []
    for fold, (_, test) in enumerate(splits):
        others = [other for other in every if other != fold]
        nested = head if not others else _head(race, members, scores, others, test, seed)
        log_odds.append(nested.log_odds(scores[fold]))
        share.append(history.shares(test, log_odds[-1], race.rates))
    rows = np.concatenate([test for _, test in splits])
    weight = np.ones(len(rows)) if history.weight is None else history.weight[rows]
    held_out = HeldOut(
        rows,
        np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
        history.positive[rows],
        weight,
        np.concatenate(log_odds),
        race.folds.first,
        history.outcome[rows],
    )
    threshold = cut(head.log_odds(np.concatenate(scores)), weight, race.rate)
    return Combination(members, head, threshold, held_out, np.array(share))


def _head(
    race: Race,
    members: list[int],
    scores: list[np.ndarray],
    folds: list[int],
    without: np.ndarray | None,
    seed: int,
) -> Head:
    """Fit the head to the rows of some folds, without some rows."""
    history = race.history
    allowed = np.ones(len(history), dtype=bool)
    if without is not None:
        allowed[without] = False
    parts = [allowed[race.folds.splits[fold][1]] for fold in folds]
    rows = np.concatenate(
        [race.folds.splits[f][1][p] for f, p in zip(folds, parts, strict=True)]
    ).astype(int)
    known = np.concatenate([scores[f][p] for f, p in zip(folds, parts, strict=True)])
    positive = history.positive[rows]
    if race.value is not None and 0 < positive.sum() < len(positive):
        weight = None if history.weight is None else history.weight[rows]
        return _best_alone(race, members, folds, known, positive, weight)
    return history.head(rows, known, race.rate, seed)


def _best_alone(
    race: Race,
    members: list[int],
    folds: list[int],
    known: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray | None,
) -> Head:
    """Give all weight to the member with the best mean value; of equals the first."""
    values = np.array([[race.runs[i, fold].value for fold in folds] for i in members])
    defined = np.isfinite(values).all(axis=0)
    if not defined.any():
        raise ValueError("scoring has no value on any fold; each fold may hold too few positives.")
    mass = race.folds.weight[folds][defined]
    best = int(np.argmax(values[:, defined] @ mass))
    slope, intercept = calibrate(known[:, best], positive, weight)
    ones, weights = np.ones(len(members)), np.zeros(len(members))
    weights[best] = 1.0
    return Head(ones, 0.0 * ones, weights, slope, intercept)


def outlook_of(
    race: Race, combination: Combination, n_candidates: int, kind: type[Outlook]
) -> tuple[Outlook, str]:
    """Return what the folds say of every model and of the combination, and the latter's name."""
    history, folds = race.history, race.folds
    tested = np.unique(np.concatenate([test for _, test in folds.splits]))
    mass = history.mass(tested)
    weights = combination.head.weights
    models = [
        Evidence(
            race.models[i].name,
            race.models[i].family,
            race.share(i),
            float(weight),
            race.seconds(i),
        )
        for i, weight in zip(combination.members, weights, strict=True)
    ]
    used = [position for position, model in enumerate(models) if model.weight != 0.0]
    if len(used) == 1:
        # Alone it keeps its name; what is forecast is what would have been taken fold by fold.
        models[used[0]] = replace(models[used[0]], share=combination.share)
        winner = models[used[0]].name
    else:
        winner = COMBINATION
        seconds = sum(model.seconds for model in models)
        models.append(Evidence(winner, COMBINATION, combination.share, 1.0, seconds))
    weight = None if history.weight is None else history.weight[tested]
    prevalence = float(np.average(history.outcome[tested], weights=weight))
    outlook = kind(
        tuple(models),
        race.rates,
        n_candidates,
        mass,
        prevalence,
        folds.weight,
        folds.ratio,
        folds.first if folds.at_random else 0,
    )
    return outlook, winner
