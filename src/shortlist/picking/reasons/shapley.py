r"""Shapley values of a combination of models: which column moves a score by how much.

The value of column j for a row x is the mean, over all orders of the columns and all
candidates b, of what the score changes when column j goes from the value of b to that of x,
the columns before it in the order having gone already. The values of a row sum to the
distance of its score from the mean score of all candidates.

*Linear members* need no orders. A column's value is its part of the score less the mean of
that part over all candidates: exact.

*All others* are sampled, a pair at a time: a candidate, an order and its reverse. The score
less a surrogate that is a sum of functions of one column has the same values up to those of
the surrogate, which are known exactly, and less noise. What is left to sample:

.. math:: \hat\phi_j = \bar h_j(x) + \frac1P \sum_p \bigl( \Delta_{pj} - h_j(x) + h_j(b_p) \bigr)

with :math:`h_j` the surrogate's part of column j and :math:`\bar h_j(x) = h_j(x) - E_b h_j(b)`.
The spread over the pairs gives the error of each value. Because the sum of the values is known,
what the pairs miss of it is shared out in proportion to their variances, which is least squares
under that condition.

References
----------
E. Strumbelj, I. Kononenko, "Explaining prediction models and individual predictions with
feature contributions", Knowledge and Information Systems 41, 2014.
R. Mitchell, J. Cooper, E. Frank, G. Holmes, "Sampling permutations for Shapley value
estimation", JMLR 23, 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import t
from sklearn.base import is_regressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from ...stacking.heads import member_scores

CONFIDENCE = 0.95
# Mixed rows that may be scored for all rows together, and pairs for a row at least and at most.
_SCORED = 40_000
_PAIRS = (4, 60)
_BLOCK = 8_192
# Rows and cuts of the surrogate.
_SURROGATE_ROWS = 2_000
_CUTS = 6
_MOST_FEATURES = 400
_COLUMNWISE = (
    SimpleImputer,
    StandardScaler,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    QuantileTransformer,
)

Score = Callable[[Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Linear:
    """Members that are sums over features: steps before, weights, features behind them."""

    steps: list[Any]
    coef: np.ndarray
    feature: np.ndarray

    def scaled(self, M: Any) -> Any:
        """Return what the weights are applied to."""
        for step in self.steps:
            M = step.transform(M)
        return M

    def parts(self, scaled: Any, n_features: int) -> np.ndarray:
        """Return the part of each feature in the score of each row."""
        if sparse.issparse(scaled):
            scaled = scaled.toarray()
        return grouped(np.asarray(scaled) * self.coef, self.feature, n_features)


def split_members(stack: Any) -> tuple[list[Linear], Score | None]:
    """Return the members of a `TopStack` that are linear, and the score of the others."""
    linear, others = [], []
    for (name, member), slope in zip(stack.estimators_, stack.slopes_, strict=True):
        factor = float(stack.slope_ * stack.weights_[name] * slope)
        found = _linear(member, factor)
        if found is None:
            others.append((member, factor))
        else:
            linear.append(found)
    if not others:
        return linear, None

    def score(M: Any) -> np.ndarray:
        return np.sum([factor * member_scores(one, M, 1) for one, factor in others], axis=0)

    return linear, score


def _linear(member: Any, factor: float) -> Linear | None:
    steps = [step for _, step in getattr(member, "steps", [(None, member)])]
    last = steps.pop()
    coef = getattr(last, "coef_", None)
    if coef is None or not (hasattr(last, "decision_function") or is_regressor(last)):
        return None
    coef = np.ravel(coef.toarray() if sparse.issparse(coef) else coef)
    n = int(getattr(member, "n_features_in_", len(coef)))
    feature = np.arange(n)
    for step in steps:
        if not isinstance(step, _COLUMNWISE):
            return None
        if isinstance(step, SimpleImputer):
            kept = ~np.isnan(np.asarray(step.statistics_, dtype=float)) | step.keep_empty_features
            shown = [] if step.indicator_ is None else step.indicator_.features_
            feature = np.append(feature[kept], feature[np.asarray(shown, dtype=int)])
    if len(feature) != len(coef) or list(getattr(last, "classes_", [0, 1])) != [0, 1]:
        return None
    return Linear(steps, factor * coef, feature)


@dataclass(frozen=True, eq=False)
class Values:
    """Shapley values of some rows.

    Attributes
    ----------
    value : ndarray of shape (n_rows, n_columns)
        What each column adds to the score, against the average candidate.
    error : ndarray of shape (n_rows, n_columns)
        Half the width of its 95 % interval; zero where nothing was sampled.
    """

    value: np.ndarray
    error: np.ndarray


def sampled(
    score: Score,
    rows: Any,
    others: Any,
    mix: Callable[[list[Chain]], Any],
    differ: Callable[[int, int], np.ndarray],
    total: np.ndarray,
    n_columns: int,
    surrogate: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    seed: int,
) -> Values:
    """Return sampled Shapley values whose sums are `total`.

    Parameters
    ----------
    score : callable
        From what the models take to scores.
    rows, others : matrix
        The rows to explain and the background, as the models take them.
    mix : callable
        Makes the mixed rows of some chains, as the models take them.
    differ : callable
        Columns in which a row and a row of the background differ.
    total : ndarray of shape (n_rows,)
        What the values of each row have to sum to.
    n_columns : int
        Columns.
    surrogate : tuple of ndarray or None
        Parts of each column in a score that is a sum over columns: of the rows, of the
        background, and their mean over all candidates.
    seed : int
        Of the orders.
    """
    rng = np.random.default_rng(seed)
    top, base = score(rows), score(others)
    n, m = len(top), len(base)
    widest = max(2, max(len(differ(i, (7 * i) % m)) for i in range(n)) if n else 2)
    pairs = int(np.clip(_SCORED // max(1, n * 2 * (widest - 1)), *_PAIRS))
    pairs = min(pairs, max(2, m))
    found = np.zeros((pairs, n, n_columns))
    waiting: list[Chain] = []

    def settle() -> None:
        inner = score(mix(waiting)) if any(len(chain.mask) for chain in waiting) else np.empty(0)
        first = 0
        for chain in waiting:
            steps = inner[first : first + len(chain.mask)]
            first += len(chain.mask)
            ends = base[chain.other], top[chain.row]
            along = np.diff(np.concatenate([[ends[0]], steps, [ends[1]]]))
            found[chain.pair, chain.row, chain.order] += 0.5 * along
        waiting.clear()

    # Every row meets the background at other places, spread evenly over its scores.
    start = rng.integers(m, size=n)
    size = 0
    for i in range(n):
        for p in range(pairs):
            other = int((start[i] + round(p * m / pairs)) % m)
            columns = differ(i, other)
            if not len(columns):
                continue
            order = rng.permutation(columns)
            for way in (order, order[::-1]):
                waiting.append(Chain(i, other, p, way, _steps(len(way))))
                size += len(way) - 1
            if size >= _BLOCK:
                settle()
                size = 0
            if surrogate is not None:
                mine, theirs, _ = surrogate
                found[p, i] -= mine[i] - theirs[other]
    settle()
    value = found.mean(axis=0)
    variance = found.var(axis=0, ddof=1) / pairs
    if surrogate is not None:
        value += surrogate[0] - surrogate[2]
    share = variance + 1e-12 * np.maximum(1.0, np.abs(value)) * (np.abs(value) > 0)
    share[share.sum(axis=1) == 0] = 1.0
    missed = total - value.sum(axis=1)
    value += share / share.sum(axis=1, keepdims=True) * missed[:, None]
    reach = float(t.ppf(0.5 * (1.0 + CONFIDENCE), pairs - 1))
    return Values(value, reach * np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class Chain:
    """One walk from a row of the background to a row, column by column.

    Attributes
    ----------
    row, other, pair : int
        The row, the row of the background, and the pair of walks that this one belongs to.
    order : ndarray of int
        Columns in the order in which they change.
    mask : ndarray of bool, of shape (len(order) - 1, len(order))
        Which of them have changed, at every step but the first and the last.
    """

    row: int
    other: int
    pair: int
    order: np.ndarray
    mask: np.ndarray


def _steps(length: int) -> np.ndarray:
    return np.tri(length - 1, length, dtype=bool) if length > 1 else np.zeros((0, length), bool)


def additive(
    M: Any, target: np.ndarray, owner: np.ndarray, n_columns: int
) -> Callable[[Any], np.ndarray] | None:
    """Fit a score that is a sum of functions of one column each.

    Piecewise constant and linear in every feature, by ridge regression.

    Parameters
    ----------
    M : matrix
        Rows as the models take them.
    target : ndarray
        Their scores.
    owner : ndarray of int
        Column behind each feature.
    n_columns : int
        Columns.
    """
    if sparse.issparse(M) or M.shape[1] > _MOST_FEATURES or len(M) < 20:
        return None
    M = np.asarray(M, dtype=float)
    known = np.where(np.isfinite(M), M, np.nan)
    levels = np.linspace(0, 1, _CUTS + 2)[1:-1]
    with np.errstate(all="ignore"):
        empty = np.isnan(known).all(axis=0)
        known[:, empty] = 0.0
        cuts = np.nanquantile(known, levels, axis=0)
        centre, spread = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def basis(part: Any) -> np.ndarray:
        part = np.asarray(part, dtype=float)
        gap = ~np.isfinite(part)
        line = np.where(gap, 0.0, np.clip((part - centre) / spread, -5, 5))
        steps = [(part > cut) & ~gap for cut in cuts]
        return np.hstack([line, gap, *steps]).astype(float)

    ridge = Ridge(alpha=1.0).fit(basis(M), target)
    coef = ridge.coef_
    owners = np.tile(owner, 2 + len(cuts))

    def parts(rows: Any) -> np.ndarray:
        terms = basis(rows) * coef
        return grouped(terms, owners, n_columns)

    return parts


def grouped(parts: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Sum columns that belong together."""
    n = len(group)
    to = sparse.csr_matrix((np.ones(n), (np.arange(n), group)), shape=(n, n_groups))
    return np.asarray(parts @ to)
