"""Several models, one expected outcome: `SumStack`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from .._scores import take_rows
from .heads import Head, member_scores, settled


class SumStack(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    r"""A weighted mean of models that predict a number, or only its order.

    .. math:: \hat y(x) = a \sum_j w_j (a_j s_j(x) + b_j) + b

    with the score :math:`s_j` of each member. The lines are those of least squares on scores
    of held-out rows, the weights non-negative least squares. Then the members with a weight
    are fitted to all rows. :func:`shortlist.pick` makes one for numeric outcomes.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members.
    cv : int, default=5
        Folds of the held-out scores, shuffled.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Attributes
    ----------
    estimators_ : list of (str, estimator)
        Members with a weight, fitted.
    weights_ : dict
        Weight of every member by its name.

    References
    ----------
    L. Breiman, "Stacked regressions", Machine Learning 24, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from shortlist import pick
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = pick(X[:300], y[:300], X[300:], k=20, goal="sum", models=["RankSVM"])
    >>> found.model.predict(X[300:]).shape
    (142,)
    """

    def __init__(
        self, estimators: list[tuple[str, Any]], *, cv: int = 5, random_state: Any = 0
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.random_state = random_state

    def assemble(self, X: Any, names: list[str], fitted: list[Any], head: Head) -> Self:
        """Set what was learned elsewhere.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows the members were fitted to.
        names : list of str
            Members that the head weighs.
        fitted : list of estimator
            Those of them whose weight is not zero, fitted.
        head : Head
            Their weights.

        Returns
        -------
        self : SumStack
            The fitted estimator.
        """
        validate_data(self, X, skip_check_array=True)
        used = np.flatnonzero(head.weights)
        self.weights_ = dict.fromkeys((name for name, _ in self.estimators), 0.0)
        self.weights_ |= dict(zip(names, head.weights.tolist(), strict=True))
        self.estimators_ = [(names[j], member) for j, member in zip(used, fitted, strict=True)]
        self.slopes_, self.intercepts_ = head.slopes[used], head.intercepts[used]
        self.slope_, self.intercept_ = head.slope, head.intercept
        self.certificate_ = head.certificate
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the members on folds, the weights to their held-out scores, and the members again.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows, passed to the members as they are.
        y : array-like of shape (n_samples,)
            Outcomes.

        Returns
        -------
        self : SumStack
            The fitted estimator.
        """
        y = column_or_1d(y).astype(np.float64)
        check_consistent_length(X, y)
        scores = np.empty((len(y), len(self.estimators)))
        folds = KFold(self.cv, shuffle=True, random_state=self.random_state)
        for train, test in folds.split(y):
            learn, ask = take_rows(X, train), take_rows(X, test)
            for j, (_, member) in enumerate(self.estimators):
                scores[test, j] = member_scores(clone(member).fit(learn, y[train]), ask, 1)
        head = fit_sum_head(scores, y, None)
        fitted = [
            clone(member).fit(X, y)
            for (_, member), weight in zip(self.estimators, head.weights, strict=True)
            if weight != 0.0
        ]
        return self.assemble(X, [name for name, _ in self.estimators], fitted, head)

    def predict(self, X: Any) -> np.ndarray:
        """Return the expected outcome of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimators_")
        validate_data(self, X, skip_check_array=True, reset=False)
        total = np.zeros(X.shape[0])
        for (name, member), slope, intercept in zip(
            self.estimators_, self.slopes_, self.intercepts_, strict=True
        ):
            total += self.weights_[name] * (slope * member_scores(member, X, 1) + intercept)
        return np.asarray(self.slope_ * total + self.intercept_)


def fit_sum_head(scores: np.ndarray, outcome: np.ndarray, weight: np.ndarray | None) -> Head:
    """Fit a combiner of held-out scores, of shape (n_rows, n_members), to the outcomes."""
    n = scores.shape[1]
    slopes, intercepts = np.array([line(column, outcome, weight) for column in scores.T]).T
    calibrated = scores * slopes + intercepts
    root = np.ones(len(outcome)) if weight is None else np.sqrt(weight)
    centre = float(np.average(outcome, weights=weight))
    found = nnls((calibrated - centre) * root[:, None], (outcome - centre) * root)[0]
    weights = settled(found / found.sum() if found.sum() > 0.0 else np.full(n, 1.0 / n))
    slope, intercept = line(calibrated @ weights, outcome, weight)
    return Head(slopes, intercepts, weights, slope, intercept)


def line(scores: np.ndarray, outcome: np.ndarray, weight: np.ndarray | None) -> tuple[float, float]:
    """Slope and intercept of least squares; the slope is not negative."""
    centre, mean = (float(np.average(values, weights=weight)) for values in (scores, outcome))
    spread = float(np.average((scores - centre) ** 2, weights=weight))
    if not spread > 1e-24 * max(1.0, centre**2):
        return 0.0, mean
    both = float(np.average((scores - centre) * (outcome - mean), weights=weight))
    # A score that tells nothing, or the wrong way round, still ranks a little.
    least = 1e-3 * float(np.sqrt(np.average((outcome - mean) ** 2, weights=weight) / spread))
    slope = max(both / spread, least)
    return slope, mean - slope * centre
