r"""Whether the candidates are like the history, and what follows where they are not.

A classifier learns to tell history from candidates on folds of both, and ranks the rows that
it did not see. If both come from the same place, its area under the curve on a fold is that of
a random order: mean 1/2 and variance :math:`(n + m + 1) / (12 n m)`.

Where it can tell them apart, its odds say how much more frequent a row is among the candidates
than in the history,

.. math:: w(x) = \frac{n}{m} \frac{P(\text{candidate} \mid x)}{P(\text{history} \mid x)}

and the forecast is that of the history so weighted. It rests on
:math:`(\sum w)^2 / \sum w^2` rows, and holds as long as what a row is like decides how likely
it is a hit as it did before.

References
----------
D. Lopez-Paz, M. Oquab, "Revisiting classifier two-sample tests", ICLR 2017.
M. Sugiyama, M. Krauledat, K.-R. Müller, "Covariate shift adaptation by importance weighted
cross validation", JMLR 8, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import chi2_contingency, ks_2samp, norm, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from .._scores import take_rows
from .._written import percent
from .combining import HeldOut
from .history import History
from .outlook import Evidence, Outlook
from .race import Race
from .subject import Subject, column_values

# Rows of either side that are compared, at most and at least.
_ROWS = 2_000
_LEAST_ROWS = 20
_FOLDS = 3
# Chance of an alarm without drift, at most.
LEVEL = 0.025
# Part of the candidates that may be unlike anything seen, and of the history's rows that the
# weighted forecast must rest on, before it is refused.
_OUTSIDE = 0.2
_RESTS_ON = 0.05
_FEWEST = 30.0
_NAMED = 3


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


def find_drift(history: History, new: Any, subject: Subject, seed: int) -> Drift:
    """Compare the history with candidates.

    Parameters
    ----------
    history : History
        Labelled rows, with the columns of the candidates.
    new : table
        Some candidates.
    subject : Subject
        How features are made of them.
    seed : int
        Of the samples and folds.
    """
    n_new = int(new.shape[0])
    if min(len(history), n_new) < _LEAST_ROWS or history.groups is not None:
        # Rows of a group are alike: they would be told apart without any drift.
        return no_drift(len(history))
    rng = np.random.default_rng(seed)
    past = np.sort(rng.choice(len(history), min(len(history), _ROWS), False, _chances(history)))
    old = take_rows(history.X, past)
    M = _stacked(subject.make(old), subject.make(new))
    label = np.repeat([0, 1], [len(past), n_new])
    # So few rows: threads gain nothing, and on a busy machine they wait for one another.
    with threadpool_limits(1):
        judge = _Judge.fit(M, label, seed)
    smallest, columns = changed_columns(old, new, subject.columns)
    # Bonferroni's: the classifier sees columns together, the tests of columns values it knows not.
    p_value, auc = min(1.0, 2.0 * judge.p_value, 2.0 * smallest), judge.auc
    if not p_value < LEVEL:
        return Drift(p_value, auc, [], len(history))
    outside = float(np.mean(judge.odds[label == 1] > judge.odds[label == 0].max()))
    weight = judge.weights(subject, history, past)
    effective = float(weight.sum() ** 2 / (weight @ weight))
    refused = None
    if outside > _OUTSIDE:
        refused = f"{percent(outside)} of the candidates are unlike every row of the history"
    elif effective < max(_FEWEST, _RESTS_ON * len(history)):
        refused = (
            f"only {effective:,.0f} of {len(history):,} rows of the history are like the candidates"
        )
    return Drift(p_value, auc, columns, effective, None if refused else weight, refused)


def _chances(history: History) -> np.ndarray | None:
    return None if history.weight is None else history.weight / history.weight.sum()


def _stacked(old: Any, new: Any) -> Any:
    if sparse.issparse(old):
        return sparse.vstack([old, new], "csr")
    return np.vstack([np.asarray(old, dtype=float), np.asarray(new, dtype=float)])


@dataclass(frozen=True, eq=False)
class _Judge:
    """Classifiers on folds, and what they say of rows they did not see.

    Attributes
    ----------
    models : list
        One a fold.
    odds : ndarray
        Log odds of each row to be a candidate, by the model that did not see it.
    slope, intercept : float
        Calibration of these log odds.
    auc, p_value : float
        How well held-out rows were told apart, and the chance of it without drift.
    """

    models: list[Any]
    odds: np.ndarray
    slope: float
    intercept: float
    auc: float
    p_value: float

    @classmethod
    def fit(cls, M: Any, label: np.ndarray, seed: int) -> _Judge:
        """Tell rows of label 1 from those of label 0."""
        models, odds, areas, variances = [], np.empty(len(label)), [], []
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(np.zeros((len(label), 1)), label):
            model = _classifier(M, seed).fit(M[train], label[train])
            models.append(model)
            odds[test] = _log_odds(model, M[test])
            area, variance = _area(odds[test], label[test])
            areas.append(area)
            variances.append(variance)
        auc = float(np.mean(areas))
        error = np.sqrt(np.sum(variances)) / len(areas)
        p_value = float(norm.sf((auc - 0.5) / error)) if error > 0 else 1.0
        fitted = LogisticRegression(class_weight="balanced").fit(odds[:, None], label)
        slope = max(0.0, float(fitted.coef_[0, 0]))
        return cls(models, odds, slope, float(fitted.intercept_[0]), auc, p_value)

    def weights(self, subject: Subject, history: History, past: np.ndarray) -> np.ndarray:
        """Return how much more frequent each row of the history is among the candidates."""
        known = np.full(len(history), -1)
        known[past] = np.arange(len(past))
        odds = np.empty(len(history))
        odds[past] = self.odds[: len(past)]
        rest = np.flatnonzero(known < 0)
        for some in np.array_split(rest, max(1, len(rest) // 20_000 + 1)):
            if len(some):
                M = subject.make(take_rows(history.X, some))
                M = M if sparse.issparse(M) else np.asarray(M, dtype=float)
                odds[some] = np.mean([_log_odds(model, M) for model in self.models], axis=0)
        weight = np.exp(np.clip(self.slope * odds + self.intercept, -8.0, 8.0))
        return np.asarray(weight / weight.mean())


def _classifier(M: Any, seed: int) -> Any:
    if sparse.issparse(M) or M.shape[1] > 500:
        return LogisticRegression(C=0.1, max_iter=500)
    return HistGradientBoostingClassifier(
        max_iter=40,
        max_leaf_nodes=6,
        min_samples_leaf=10,
        learning_rate=0.15,
        early_stopping=False,
        random_state=seed,
    )


def _log_odds(model: Any, M: Any) -> np.ndarray:
    return np.asarray(model.decision_function(M))


def _area(scores: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Return the area under the curve, and its variance where the order is random."""
    n1 = int(label.sum())
    n0 = len(label) - n1
    rank = rankdata(scores)
    area = (rank[label == 1].sum() - n1 * (n1 + 1) / 2) / (n0 * n1)
    # Ties lower the variance of a sum of ranks.
    spread = rank.var() * len(rank) / (len(rank) - 1)
    return float(area), float(spread / (len(rank) * n0 * n1))


def changed_columns(old: Any, new: Any, names: list[Any]) -> tuple[float, list[str]]:
    """Return the chance of the largest change without drift, and the columns that have changed.

    The most changed column is named first.
    """
    found, smallest = [], 1.0
    for place, name in enumerate(names):
        # Of gaps and of values.
        changes = _changes(column_values(old, place), column_values(new, place))
        size, p_value, text = min(changes, key=lambda entry: (entry[1], -entry[0]))
        p_value *= len(names) * len(changes)
        smallest = min(smallest, p_value)
        if p_value < LEVEL:
            found.append((size, f"{name}: {text}"))
    named = [text for _, text in sorted(found, key=lambda entry: -entry[0])[:_NAMED]]
    return smallest, named


Change = tuple[float, float, str]


def _changes(old: np.ndarray, new: np.ndarray) -> list[Change]:
    """Return the size of a column's changes, their p-values, and the changes in words."""
    gaps = [_missing(side) for side in (old, new)]
    shares_missing = [float(gap.mean()) for gap in gaps]
    table = [[int(gap.sum()), int((~gap).sum())] for gap in gaps]
    told = (
        f"missing in {percent(shares_missing[1])} of the candidates, "
        f"{percent(shares_missing[0])} of the history"
    )
    gaps_more = (abs(shares_missing[1] - shares_missing[0]), _chi2(table), told)
    old, new = (side[~gap] for side, gap in zip((old, new), gaps, strict=True))
    if not len(old) or not len(new):
        return [gaps_more]
    other = _numbers(old, new) if old.dtype.kind in "iufb" else _categories(old, new)
    return [gaps_more, other] if any(gap.any() for gap in gaps) else [other]


def _numbers(old: np.ndarray, new: np.ndarray) -> Change:
    old, new = old.astype(float), new.astype(float)
    test = ks_2samp(old, new, method="asymp")
    low, middle, high = (np.quantile([*side], [0.25, 0.5, 0.75]) for side in (old, old, new))
    spread = max(low[2] - low[0], 1e-300)
    wider = (high[2] - high[0]) / spread
    outside = float(np.mean((new < old.min()) | (new > old.max())))
    if outside > 0.2:
        text = f"{percent(outside)} of the candidates lie outside of what was seen"
    elif abs(high[1] - middle[1]) < 0.25 * spread and not 2 / 3 < wider < 1.5:
        text = f"spread {wider:.2g} times what it was"
    else:
        text = f"usually {high[1]:.4g}, was {middle[1]:.4g}"
    return float(test.statistic), float(test.pvalue), text


def _categories(old: np.ndarray, new: np.ndarray) -> Change:
    old, new = old.astype(str), new.astype(str)
    values, code = np.unique(np.append(old, new), return_inverse=True)
    before = np.bincount(code[: len(old)], minlength=len(values))
    after = np.bincount(code[len(old) :], minlength=len(values))
    unseen = float(after[before == 0].sum() / len(new))
    # Rare values together: the test counts on cells that are not nearly empty.
    often = before + after >= 10
    table = np.array([np.append(side[often], side[~often].sum()) for side in (before, after)])
    p_value = _chi2(table[:, table.sum(axis=0) > 0])
    gap = after / len(new) - before / len(old)
    if len(values) > 0.5 * (len(old) + len(new)):
        # Nearly all values differ: those of the candidates are new as those of the history were.
        return 0.0, 1.0, ""
    if unseen > 0.05:
        text = f"{percent(unseen)} of the candidates have values never seen"
    else:
        most = int(np.argmax(np.abs(gap)))
        text = (
            f"{str(values[most])[:40]!r} is {percent(after[most] / len(new))} of the candidates, "
            f"was {percent(before[most] / len(old))}"
        )
    return float(0.5 * np.abs(gap).sum()), p_value, text


def _chi2(table: Any) -> float:
    table = np.asarray(table)
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table)[1])


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=bool)
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


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
    )
