r"""A classifier that tells rows of two tables apart, and whether it can.

Rows are dealt into blocks. Each block but the first is ranked by a classifier that learned from
the blocks before it. If both tables come from one place, then, given these blocks, the labels of
the block are in random order: its area under the curve has mean 1/2 and the variance of a sum of
ranks, ties included. So the standardised areas :math:`z_t` are martingale differences of variance
one, and :math:`\sum_t \sqrt t z_t / \sqrt{\sum_t t}` is a standard normal variable (Brown's
theorem), whatever the classifier is. Later blocks count more: more was learned before them.

Folds that take turns would not do. Their training parts overlap: what sets two folds apart by
chance counts in the area of the one and again in that of the other. For a classifier that is
linear in the labels, areas of K folds correlate by 1/(K - 1), and the variance of their mean is
twice that of independent ones, for every K.

For the same reason columns are coded by both tables together. Features that were learned from one
of them (directions of text, values of a category) fit its rows better, and that alone tells the
tables apart.

References
----------
D. Lopez-Paz, M. Oquab, "Revisiting classifier two-sample tests", ICLR 2017.
A. P. Dawid, "Present position and potential developments: the prequential approach", JRSS A 147,
1984.
B. M. Brown, "Martingale central limit theorems", Annals of Mathematical Statistics 42, 1971.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm, rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from ..reasons.subject import column_values
from .changes import frequent_words, has_words, kind_of_column, missing

_BLOCKS = 5
_FOLDS = 3
# How often rows are dealt into folds; the mean of so many odds is less noisy, and noise in the odds
# takes from the weights.
_DEALS = 3
# More columns than this are looked at by a linear model.
_WIDE = 500
# Values of a category that are told apart.
_VALUES = 60
_TREES = 40


@dataclass(frozen=True, eq=False)
class Codes:
    """How the columns of two tables become numbers.

    Attributes
    ----------
    columns : list
        One entry a column: None for numbers, a dict from values to codes for categories, a list
        of words for texts. Dates have no words, only gaps.
    """

    columns: list[dict[str, int] | list[str] | None]

    @classmethod
    def of(cls, old: Any, new: Any) -> Codes:
        """Learn them from both tables, whose rows count alike."""
        if sparse.issparse(old):
            return cls([])
        made: list[dict[str, int] | list[str] | None] = []
        for place in range(int(old.shape[1])):
            both = np.append(column_values(old, place), column_values(new, place))
            both = both[~missing(both)]
            kind = kind_of_column(both)
            if kind == "number":
                made.append(None)
            elif kind != "category":
                made.append(frequent_words(both) if kind == "text" else [])
            else:
                values, counts = np.unique(both.astype(str), return_counts=True)
                often = np.argsort(-counts, kind="stable")[:_VALUES]
                made.append({str(values[at]): code for code, at in enumerate(often)})
        return cls(made)

    def make(self, table: Any) -> Any:
        """Return numbers; gaps are NaN."""
        if sparse.issparse(table):
            return table
        made = [_coded(column_values(table, at), how) for at, how in enumerate(self.columns)]
        return np.column_stack(made)


def _coded(values: np.ndarray, how: dict[str, int] | list[str] | None) -> np.ndarray:
    gap = missing(values)
    if isinstance(how, list):
        return np.column_stack([has_words(values, how), gap]).astype(float)
    made = np.full(len(values), np.nan)
    if how is None:
        made[~gap] = values[~gap].astype(float)
    else:
        made[~gap] = [how.get(str(value), len(how)) for value in values[~gap]]
    return made


def told_apart(M: Any, label: np.ndarray, seed: int) -> tuple[float, float]:
    """Return the chance to tell the rows apart as well without a difference, and how well it was.

    Parameters
    ----------
    M : array or sparse matrix
        Rows of both tables.
    label : ndarray of int
        0 or 1: the table of each row.
    seed : int
        Of the blocks and the classifier.
    """
    dealt = StratifiedKFold(_BLOCKS, shuffle=True, random_state=seed)
    blocks = [block for _, block in dealt.split(np.zeros((len(label), 1)), label)]
    areas, total, variance = [], 0.0, 0.0
    for number in range(1, _BLOCKS):
        known, block = np.concatenate(blocks[:number]), blocks[number]
        model = _classifier(M, seed).fit(M[known], label[known])
        area, spread = area_of(model.decision_function(M[block]), label[block])
        areas.append(area)
        # Where all scores are equal, the block says nothing.
        if spread > 0.0:
            total += np.sqrt(number / spread) * (area - 0.5)
            variance += number
    p_value = float(norm.sf(total / np.sqrt(variance))) if variance else 1.0
    return p_value, float(np.mean(areas))


@dataclass(frozen=True, eq=False)
class Judge:
    """Classifiers on folds, and what they say of rows they did not see.

    Attributes
    ----------
    models : list
        One a fold of each deal.
    odds : ndarray
        Log odds of each row to be of table 1, by the models that did not see it.
    slope, intercept : float
        Calibration of these log odds.
    """

    models: list[Any]
    odds: np.ndarray
    slope: float
    intercept: float

    @classmethod
    def fit(cls, M: Any, label: np.ndarray, seed: int) -> Judge:
        """Tell rows of label 1 from those of label 0."""
        models, odds = [], np.zeros(len(label))
        folds = RepeatedStratifiedKFold(n_splits=_FOLDS, n_repeats=_DEALS, random_state=seed)
        for train, test in folds.split(np.zeros((len(label), 1)), label):
            models.append(_classifier(M, seed).fit(M[train], label[train]))
            odds[test] += models[-1].decision_function(M[test]) / _DEALS
        fitted = LogisticRegression(class_weight="balanced").fit(odds[:, None], label)
        slope = max(0.0, float(fitted.coef_[0, 0]))
        return cls(models, odds, slope, float(fitted.intercept_[0]))

    def of(self, M: Any) -> np.ndarray:
        """Return the log odds of other rows."""
        return np.asarray(np.mean([model.decision_function(M) for model in self.models], axis=0))

    def weights(self, odds: np.ndarray) -> np.ndarray:
        """Return how much more frequent rows of such log odds are in table 1, one on average."""
        weight = np.exp(np.clip(self.slope * odds + self.intercept, -8.0, 8.0))
        return np.asarray(weight / weight.mean())


def _classifier(M: Any, seed: int) -> Any:
    if sparse.issparse(M):
        return make_pipeline(MaxAbsScaler(), LogisticRegression(C=0.1, max_iter=500))
    if M.shape[1] > _WIDE:
        scaled = (SimpleImputer(keep_empty_features=True), MaxAbsScaler())
        return make_pipeline(*scaled, LogisticRegression(C=0.1, max_iter=500))
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_leaf_nodes=6,
        min_samples_leaf=10,
        learning_rate=0.15,
        early_stopping=False,
        random_state=seed,
    )
    # Below all numbers: some versions of these trees fail at a column of which a block has none.
    gaps = SimpleImputer(strategy="constant", fill_value=-1e300, keep_empty_features=True)
    return make_pipeline(gaps, trees)


def area_of(scores: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Return the area under the curve, and its variance where the order is random."""
    n1 = int(label.sum())
    n0 = len(label) - n1
    rank = rankdata(scores)
    area = (rank[label == 1].sum() - n1 * (n1 + 1) / 2) / (n0 * n1)
    # Ties lower the variance of a sum of ranks.
    spread = rank.var() * len(rank) / (len(rank) - 1)
    return float(area), float(spread / (len(rank) * n0 * n1))
