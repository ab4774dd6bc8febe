r"""Whether the candidates are like the history, and what follows where they are not.

Two tests of half the level each: a classifier tries to tell rows of the one from rows of the other
(:mod:`shortlist.picking.drift.telling`), and columns are compared one by one
(:mod:`shortlist.picking.drift.changes`).

Where they can be told apart, the odds of a cross-fitted classifier say how much more frequent a
row is among the candidates than in the history,

.. math:: w(x) = \frac{n}{m} \frac{P(\text{candidate} \mid x)}{P(\text{history} \mid x)}

and the forecast is that of the history so weighted. It rests on
:math:`(\sum w)^2 / \sum w^2` rows, and holds as long as what a row is like decides how likely
it is a hit as it did before.

References
----------
M. Sugiyama, M. Krauledat, K.-R. Müller, "Covariate shift adaptation by importance weighted
cross validation", JMLR 8, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..._scores import take_rows
from ..._written import percent
from ..forecast.outlook import Evidence, Outlook
from ..race.combining import HeldOut
from ..race.history import History, stacked
from ..race.race import Race
from ..reasons.subject import Shown
from .changes import changed_columns
from .telling import Codes, Judge, told_apart

# Rows of either side that are compared, at most and at least.
_ROWS = 2_000
_LEAST_ROWS = 20
# Chance of an alarm without drift, at most. Below the 5 % that are promised, so that the share that
# one counts in some hundred lists stays there, too.
LEVEL = 0.04
# Part of the candidates that may be unlike anything seen, and of the history's rows that the
# weighted forecast must rest on, before it is refused.
_OUTSIDE = 0.2
_RESTS_ON = 0.05
_FEWEST = 30.0


@dataclass(frozen=True, eq=False)
class Drift:
    """Whether the candidates are like the history.

    Attributes
    ----------
    p_value : float
        Chance that rows from one place look as different; NaN where it was not tested.
    auc : float
        How well held-out rows were told apart; a half is not at all.
    columns : list of str
        What has changed, the most first; empty without drift.
    effective : float
        Rows of the history that the weighted forecast rests on; their number without drift.
    weight : ndarray or None
        Weight of each row of the history in the forecast; None where it is not weighted.
    refused : str or None
        Why there is no forecast.
    """

    p_value: float
    auc: float
    columns: list[str]
    effective: float
    weight: np.ndarray | None = None
    refused: str | None = None

    @property
    def found(self) -> bool:
        """Whether the candidates differ from the history."""
        return bool(self.p_value < LEVEL)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the weights; None where it was not tested."""
        tested = self.p_value == self.p_value
        return {
            "found": self.found,
            "p_value": self.p_value if tested else None,
            "auc": self.auc if tested else None,
            "columns": self.columns,
            "effective": self.effective,
            "refused": self.refused,
        }

    def take(self, rows: np.ndarray) -> Drift:
        """Return it for some rows of the history."""
        return self if self.weight is None else replace(self, weight=self.weight[rows])

    def sentences(self) -> list[str]:
        """Say it in words; nothing where nothing was found."""
        if not self.found:
            return []
        what = (
            "; ".join(self.columns)
            if self.columns
            else "no single column, but how they go together"
        )
        said = [f"The candidates are not like the history ({what})."]
        if self.refused is not None:
            return [*said, f"No forecast: {self.refused}. Any number of hits is possible."]
        return [
            *said,
            "The forecast weighs the history's rows as they occur among the candidates; it rests "
            f"on {self.effective:,.0f} of them.",
        ]


def no_drift(n_rows: float) -> Drift:
    """Return what is said where nothing can be tested."""
    return Drift(np.nan, 0.5, [], n_rows)


def drawn_rows(n_candidates: int, seed: int) -> np.ndarray:
    """Return the candidates that are compared with the history, in order."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_candidates, min(n_candidates, _ROWS), False))


def find_drift(
    history: History,
    shown: Shown,
    seed: int,
    base_rate: float | None = None,
    whose: tuple[np.ndarray | None, np.ndarray | None] | None = (None, None),
) -> Drift:
    """Compare the history with candidates.

    Parameters
    ----------
    history : History
        Labelled rows.
    shown : Shown
        These rows and some candidates, in the columns that people know.
    seed : int
        Of the samples, blocks and folds.
    base_rate : float or None
        Share of positives among the candidates; None: as in the history.
    whose : pair of ndarray or None
        The entity of each row of the history and of each candidate; None where every row is by
        itself. One row of each is compared: rows of an entity are alike, and would be told apart
        without any drift. Without the pair rows belong together in a way that only the history
        tells, and nothing is tested.
    """
    if whose is None or len(history) < _LEAST_ROWS:
        return no_drift(len(history))
    past, new = _drawn_past(history, seed, base_rate), shown.new()
    if whose[0] is not None and whose[1] is not None:
        past = past[_one_each(whose[0][past], seed)]
        new = take_rows(new, _one_each(whose[1][drawn_rows(len(whose[1]), seed)], seed))
    old = take_rows(shown.history, past)
    n_new = int(new.shape[0])
    if min(len(past), n_new) < _LEAST_ROWS:
        return no_drift(len(history))
    codes = Codes.of(old, new)
    M = stacked([codes.make(old), codes.make(new)])
    label = np.repeat([0, 1], [len(past), n_new])
    # So few rows: threads gain nothing, and on a busy machine they wait for one another.
    with threadpool_limits(1):
        p_value, auc = told_apart(M, label, seed)
    smallest, columns = changed_columns(old, new, shown.columns, 0.5 * LEVEL)
    # Bonferroni's: the classifier sees columns together, the tests of columns each alone.
    p_value = min(1.0, 2.0 * p_value, 2.0 * smallest)
    if not p_value < LEVEL:
        return Drift(p_value, auc, [], len(history))
    with threadpool_limits(1):
        judge = Judge.fit(M, label, seed)
        weight = judge.weights(_odds(judge, codes, shown.history, past))
    outside = float(np.mean(judge.odds[label == 1] > judge.odds[label == 0].max()))
    effective = float(weight.sum() ** 2 / (weight @ weight))
    refused = None
    if outside > _OUTSIDE:
        refused = f"{percent(outside)} of the candidates are unlike every row of the history"
    elif effective < max(_FEWEST, _RESTS_ON * len(history)):
        refused = (
            f"only {effective:,.0f} of {len(history):,} rows of the history are like the candidates"
        )
    return Drift(p_value, auc, columns, effective, None if refused else weight, refused)


def _drawn_past(history: History, seed: int, base_rate: float | None) -> np.ndarray:
    """Return rows of the history, in order: drawn by their weights, none of them twice.

    Each is kept with a chance in proportion to its weight, so that those kept are as rows of
    weight one would be.
    """
    # A stream of its own: labels may have been drawn from the same seed.
    rng = np.random.default_rng([seed, len(history)])
    weight = np.ones(len(history)) if history.weight is None else history.weight
    if base_rate is not None:
        seen = float(weight[history.positive].sum() / weight.sum())
        factor = np.where(history.positive, base_rate / seen, (1.0 - base_rate) / (1.0 - seen))
        weight = weight * factor
    kept = np.flatnonzero(rng.random(len(history)) < weight / weight.max())
    return np.sort(rng.choice(kept, min(len(kept), _ROWS), False))


def _one_each(entity: np.ndarray, seed: int) -> np.ndarray:
    """Return a random row of every entity, in order."""
    order = np.random.default_rng([seed, len(entity)]).permutation(len(entity))
    return np.sort(order[np.unique(entity[order], return_index=True)[1]])


def _odds(judge: Judge, codes: Codes, rows: Any, past: np.ndarray) -> np.ndarray:
    """Return the log odds of all rows of the history, each by models that did not see it."""
    odds = np.empty(int(rows.shape[0]))
    odds[past] = judge.odds[: len(past)]
    rest = np.setdiff1d(np.arange(len(odds)), past)
    for some in np.array_split(rest, len(rest) // 20_000 + 1):
        if len(some):
            odds[some] = judge.of(codes.make(take_rows(rows, some)))
    return odds


def weighted_rows(held_out: HeldOut, drift: Drift) -> HeldOut:
    """Return the held-out rows with the weights of the drift."""
    if drift.weight is None:
        return held_out
    return replace(held_out, weight=held_out.weight * drift.weight[held_out.row])


def weighted_outlook(
    outlook: Outlook, race: Race, held_out: HeldOut, drift: Drift, winner: str
) -> Outlook:
    """Return the outlook with the folds' rows weighted as they occur among the candidates.

    Parameters
    ----------
    outlook : Outlook
        From the folds as they are.
    race : Race
        Scores of every model on every fold.
    held_out : HeldOut
        The combination's, already weighted.
    drift : Drift
        The weights.
    winner : str
        The model whose evidence is that of the combination.
    """
    if drift.weight is None:
        return outlook
    names = {model.name: place for place, model in enumerate(race.models)}
    weight = drift.weight if race.history.weight is None else drift.weight * race.history.weight
    history = replace(race.history, weight=weight)
    splits = [test for _, test in race.folds.splits]
    models: list[Evidence] = []
    for model in outlook.models:
        scores = [
            held_out.log_odds[held_out.fold == fold]
            if model.name == winner
            else race.runs[names[model.name], fold].scores
            for fold in range(len(splits))
        ]
        share = [
            history.shares(test, score, race.rates)
            for test, score in zip(splits, scores, strict=True)
        ]
        models.append(replace(model, share=np.array(share)))
    folds = np.array([weight[test].sum() for test in splits])
    first = held_out.fold < held_out.first
    mass, square = held_out.weight[first].sum(), (held_out.weight[first] ** 2).sum()
    brought = held_out.weight[first] @ held_out.outcome[first]
    return replace(
        outlook,
        models=tuple(models),
        mass=float(mass**2 / square),
        prevalence=float(brought / mass),
        fold_weight=folds,
        plain=outlook,
    )
