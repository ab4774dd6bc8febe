r"""Which columns the list rests on: the hits that are lost when one of them is shuffled.

Features and members of weight are fitted again to every fold's training part. In its test part
one column at a time is shuffled, which leaves the column as it is and cuts its tie to the rows;
the hits of the list at the budget, less those with the shuffled column, are what it is worth.
Columns that say the same stand in for each other, so that each of them may be worth little.

References
----------
L. Breiman, "Random forests", Machine Learning 45, 2001.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._scores import take_rows
from ...stacking.heads import Head, member_scores
from ..forecast.outlook import CONFIDENCE, margin, mean_and_error
from ..race.race import Race, fit_features, fit_model


@dataclass(frozen=True, eq=False)
class Study:
    """What was learned from, kept for questions that come later.

    Attributes
    ----------
    race : Race
        The history, its folds and the contestants.
    members : list of int
        Positions of the contestants that were combined.
    head : Head
        Their weights.
    columns : list
        Names of columns.
    owner : ndarray of int
        The column behind each column of the history's table.
    """

    race: Race
    members: list[int]
    head: Head
    columns: list[Any]
    owner: np.ndarray


def find_importance(study: Study, rate: float, n_candidates: int, seed: int) -> Any:
    """Return a pandas frame of columns with the hits they are worth, the dearest first.

    Parameters
    ----------
    study : Study
        The history, the folds and the models.
    rate : float
        The budget as a share of the candidates.
    n_candidates : int
        Their number.
    seed : int
        Of the shuffles.
    """
    import pandas as pd

    race = study.race
    history, folds = race.history, race.folds.splits[: race.folds.first]
    rng = np.random.default_rng(seed)
    used = [i for i, weight in zip(study.members, study.head.weights, strict=True) if weight != 0]
    lost = np.zeros((len(folds), len(study.columns)))
    learned: np.ndarray | None = None
    for number, (train, test) in enumerate(folds):
        if learned is None or not np.array_equal(learned, train):
            score, learned = _scorer(study, used, train), train
        rows = take_rows(history.X, test)

        def hits(table: Any, test: np.ndarray = test, score: Any = score) -> Any:
            return history.shares(test, score(table), np.array([rate]))[0]

        whole = hits(rows)
        for j in range(len(study.columns)):
            places = np.flatnonzero(study.owner == j)
            if len(places):
                order = rng.permutation(len(test))
                lost[number, j] = whole - hits(_shuffled(rows, places, order))
    weights = race.folds.weight[: len(folds)]
    found = []
    for name, values in zip(study.columns, lost.T, strict=True):
        mean, error = mean_and_error(values, weights, race.folds.ratio)
        reach = margin(error, len(values), CONFIDENCE)
        found.append([name, *(n_candidates * np.array([mean, mean - reach, mean + reach]))])
    frame = pd.DataFrame(found, columns=["column", "hits_lost", "low", "high"])
    order = np.argsort(-frame["hits_lost"].to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _scorer(study: Study, used: list[int], train: np.ndarray) -> Any:
    """Fit features and members to some rows; return a function from tables to log odds."""
    race, history = study.race, study.race.history
    weight = None if history.weight is None else history.weight[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformer, made = fit_features(race.features, history, train)
    target = history.target[train]
    fitted = {
        i: fit_model(
            race.models[i].name, race.models[i].for_rows(len(train)), made, target, weight
        )[0]
        for i in used
    }

    def score(table: Any) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = transformer.transform(table)
        n = int(made.shape[0])
        scores = np.column_stack(
            [
                member_scores(fitted[i], made, 1) if i in fitted else np.zeros(n)
                for i in study.members
            ]
        )
        return study.head.log_odds(scores)

    return score


def _shuffled(table: Any, places: np.ndarray, order: np.ndarray) -> Any:
    """Return a table in which some columns belong to other rows."""
    if hasattr(table, "iloc"):
        made = table.copy()
        for place in places:
            made.isetitem(int(place), table.iloc[order, int(place)].array)
        return made
    if hasattr(table, "columns"):
        names = [table.columns[place] for place in places]
        return table.with_columns([table[name].gather(order.tolist()) for name in names])
    if sparse.issparse(table):
        made = table.tolil(copy=True)
        made[:, places] = table[order][:, places]
        return made.tocsr()
    made = np.array(table, copy=True)
    made[:, places] = table[np.ix_(order, places)]
    return made
