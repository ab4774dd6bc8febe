"""Several models, one list: `TopStack`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from .._checks import (
    check_both_count,
    check_choice,
    check_number,
    check_two_classes,
    check_weight,
    label_index,
    plain_positive,
    positive_index,
)
from .._scores import take_rows
from .heads import HEADS, Head, fit_head, member_scores

Split = tuple[np.ndarray, np.ndarray]


class TopStack(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Combine several classifiers for the top of the list.

    Every member is fitted on folds of the rows and scores those it did not see. These
    held-out scores become log odds :math:`\ell_j = a_j s_j + b_j`, one logistic regression
    a member, and are weighed,

    .. math:: c(x) = a \sum_j w_j \ell_j(x) + b

    so that the score of a row does not depend on the rows scored with it. The weights are
    the mean of two: a greedy selection with replacement that maximises average precision,
    and the least logistic loss, shrunk towards equal weights. Then the members with a weight
    are fitted to all rows.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members: classifiers with ``decision_function`` or ``predict_proba``. They learn
        1 for the class to find and 0 for the other. One that fails is left out, with a
        warning.
    budget : float, default=0.05
        Part of the list that is acted on, in (0, 1]: ``predict`` says positive for as many
        of the held-out rows, and the Pat&Mat head looks at it.
    head : {"mixed", "greedy", "logistic", "patmat", "both", "mean"}, default="mixed"
        Where the weights come from: the two above, one of them alone, the convex problem of
        :class:`PatMat` at the budget, that and the greedy selection; "mean" weighs all
        members the same.
    cv : int, splitter or iterable of splits, default=5
        Folds of the held-out scores; an integer is a number of stratified, shuffled folds,
        lowered where a class has fewer rows. Training parts without both classes are left
        out.
    pos_label : label, default=None
        The class to find. None is the second of 0/1, -1/1, no/yes or false/true, and otherwise
        ``classes_[1]``, with a warning where that is a string.
    n_jobs : int, default=None
        Fits at the same time; does not change the result.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the parts that the greedy head draws. Members have their
        own.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    estimators_ : list of (str, estimator)
        Members with a weight, fitted to all rows.
    weights_ : dict
        Weight of every member by its name. None is negative, and all sum to one; what is
        below 0.02 is dropped.
    threshold_ : float
        Log odds at the budget.
    certificate_ : Certificate or None
        Of the convex problem that the weights, or half of them, come from; None for
        "greedy" and "mean".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    pick : Combines models for a budget and says how many hits to expect.
    BudgetClassifier : Another cut-off on top of it.

    Notes
    -----
    There is no ``predict_proba``: ``predict`` says which rows are in the budget, not which
    are more likely positive than not, and scikit-learn wants the two to agree. The
    probability is ``scipy.special.expit(stack.log_odds(X))``.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, "Ensemble selection from libraries
    of models", ICML 2004.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shortlist import TopStack
    >>> from shortlist.datasets import load_tumours
    >>> X, y = load_tumours()
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> stack = TopStack([("forest", forest), ("logistic", LogisticRegression(max_iter=5000))])
    >>> stack = stack.fit(X[:300], y[:300])
    >>> sorted(stack.weights_), round(sum(stack.weights_.values()), 6)
    (['forest', 'logistic'], 1.0)
    >>> best = stack.decision_function(X[300:]).argsort()[-20:]
    >>> int(y[300:][best].sum())
    20
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        budget: float = 0.05,
        *,
        head: str = "mixed",
        cv: Any = 5,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimators = estimators
        self.budget = budget
        self.head = head
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the members on folds, the head to their held-out scores, and the members again.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows, passed to the members as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; every member must take them.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group stay in one fold.

        Returns
        -------
        self : TopStack
            The fitted estimator.
        """
        self._check_parameters()
        X, y, groups = indexable(X, y, groups)
        validate_data(self, X, skip_check_array=True)
        y = self._check_target(y)
        weight = None if sample_weight is None else check_weight(sample_weight, len(y))
        # Members learn 1 for the class to find: some of them push up their second class.
        target = (y == self._positive()).astype(int)
        if weight is not None:
            mass = (float(weight[y == label].sum()) for label in self.classes_)
            check_both_count(tuple(mass), self.classes_)  # type: ignore[arg-type]
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        splits = list(self._splits(target, groups, weight, seed))
        rows = np.concatenate([test for _, test in splits])
        names, columns = self._held_out(X, target, weight, splits)
        head = fit_head(
            np.column_stack(columns),
            target[rows] == 1,
            None if weight is None else weight[rows],
            head=self.head,
            budget=self.budget,
            seed=seed,
        )
        log_odds = head.log_odds(np.column_stack(columns))
        held_weight = None if weight is None else weight[rows]
        members = dict(self.estimators)
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(members[name], X, target, weight)
            for name, share in zip(names, head.weights, strict=True)
            if share != 0.0
        )
        return self._assemble(names, fitted, head, cut(log_odds, held_weight, self.budget))

    def _assemble(self, names: list[str], fitted: list[Any], head: Head, threshold: float) -> Self:
        """Set what is learned; `fitted` are the members whose weight is not zero."""
        used = np.flatnonzero(head.weights)
        self.weights_ = dict.fromkeys((name for name, _ in self.estimators), 0.0)
        self.weights_ |= dict(zip(names, head.weights.tolist(), strict=True))
        self.estimators_ = [(names[j], member) for j, member in zip(used, fitted, strict=True)]
        self.slopes_ = head.slopes[used]
        self.intercepts_ = head.intercepts[used]
        self.slope_, self.intercept_ = head.slope, head.intercept
        self.certificate_ = head.certificate
        self.threshold_ = threshold
        return self

    def log_odds(self, X: Any) -> np.ndarray:
        """Return the log odds of the positive class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log odds, calibrated on the held-out rows.
        """
        check_is_fitted(self)
        if getattr(X, "ndim", 2) == 1:
            raise ValueError(
                "X has one dimension; rows and columns are needed. Reshape your data with "
                "reshape(1, -1) for a single row, reshape(-1, 1) for a single feature."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        total = 0.0
        for (name, member), slope, intercept in zip(
            self.estimators_, self.slopes_, self.intercepts_, strict=True
        ):
            scores = member_scores(member, X, 1)
            total = total + self.weights_[name] * (slope * scores + intercept)
        return np.asarray(self.slope_ * total + self.intercept_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds less those at the budget.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Higher for ``classes_[1]``; with another `pos_label`, lower for it.
        """
        margin = self.log_odds(X) - self.threshold_
        return margin if self._positive() == self.classes_[1] else -margin

    def predict(self, X: Any) -> np.ndarray:
        """Say which rows are in the budget.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The positive label where the log odds reach those at the budget.
        """
        inside = self.log_odds(X) >= self.threshold_
        place = label_index(self.classes_, self._positive())
        return self.classes_[np.where(inside, place, 1 - place)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of the members under ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of the members.

        Returns
        -------
        dict
            Values by name.
        """
        params = super().get_params(deep=False)
        for name, member in self._pairs() if deep else ():
            params[name] = member
            if hasattr(member, "get_params"):
                inner = member.get_params(deep=True).items()
                params |= {f"{name}__{key}": value for key, value in inner}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a member's name replaces it, ``name__parameter`` changes it.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self : TopStack
            The estimator.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        names = [name for name, _ in self._pairs()]
        for key in [key for key in params if key in names]:
            member = params.pop(key)
            self.estimators = [(n, member if n == key else m) for n, m in self.estimators]
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        members = [get_tags(m).input_tags for _, m in self._pairs() if hasattr(m, "fit")]
        tags.input_tags.sparse = bool(members) and all(m.sparse for m in members)
        tags.input_tags.allow_nan = bool(members) and all(m.allow_nan for m in members)
        return tags

    def _pairs(self) -> list[tuple[Any, Any]]:
        """Names and members, as far as `estimators` holds such: it is checked in `fit`."""
        if not isinstance(self.estimators, list | tuple):
            return []
        return [pair for pair in self.estimators if isinstance(pair, tuple) and len(pair) == 2]

    def _positive(self) -> Any:
        if self.pos_label is not None:
            return self.pos_label
        place = plain_positive(self.classes_.tolist())
        return self.classes_[1 if place is None else place]

    def _check_parameters(self) -> None:
        check_choice("head", self.head, HEADS)
        check_number("budget", self.budget, above=0.0, below=np.nextafter(1.0, 2.0))
        pairs = self.estimators
        if not self._pairs() or len(self._pairs()) != len(pairs):
            raise ValueError(f"estimators={pairs!r} must be a list of names and estimators.")
        names = [pair[0] for pair in pairs]
        for name, member in pairs:
            if not isinstance(name, str) or not name or "__" in name or names.count(name) > 1:
                raise ValueError(
                    f"estimators has the name {name!r}; names must be distinct strings without "
                    "a double underscore."
                )
            if not hasattr(member, "fit") or not hasattr(member, "get_params"):
                raise ValueError(f"estimators has {name!r}: {member!r}, which is no estimator.")

    def _check_target(self, y: Any) -> np.ndarray:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. "
                f"Unknown label type: {kind}."
            )
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y)
        check_two_classes(self, self.classes_, kind)
        positive_index(self.classes_, self.pos_label)
        return y

    def _splits(
        self, y: np.ndarray, groups: Any, weight: np.ndarray | None, seed: int
    ) -> Iterator[Split]:
        """Yield splits whose training part holds both classes, without rows of no weight."""
        if isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool):
            check_number("cv", self.cv, least=2, integer=True)
            fewest = min(
                len(np.unique(np.flatnonzero(y == c) if groups is None else groups[y == c]))
                for c in (0, 1)
            )
            if fewest < 2:
                raise ValueError(
                    f"y has a class with {fewest} {'row' if groups is None else 'group'} only; at "
                    "least two are needed, one to learn from and one to check. n_samples=1 of a "
                    "class is too few."
                )
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            splitter = kind(min(int(self.cv), fewest), shuffle=True, random_state=seed)
        else:
            splitter = check_cv(self.cv, y, classifier=True)
        counts = np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
        none = True
        for train, test in splitter.split(np.zeros((len(y), 1)), y, groups):
            train, test = train[counts[train]], test[counts[test]]
            if len(np.unique(y[train])) == 2 and len(test):
                none = False
                yield train, test
        if none:
            raise ValueError(
                f"cv={self.cv!r} leaves no training part with both classes. Use fewer folds."
            )

    def _held_out(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, splits: list[Split]
    ) -> tuple[list[str], list[np.ndarray]]:
        """Names and held-out scores of the members that did not fail."""
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_score)(member, X, y, weight, split)
            for _, member in self.estimators
            for split in splits
        )
        names, columns, failed = [], [], []
        for position, (name, _) in enumerate(self.estimators):
            parts = results[position * len(splits) : (position + 1) * len(splits)]
            errors = [part for part in parts if isinstance(part, Exception)]
            if errors:
                failed.append((name, errors[0]))
            else:
                names.append(name)
                columns.append(np.concatenate(parts))
        if not names:
            raise failed[0][1]
        for name, error in failed:
            warnings.warn(
                f"{name} failed and was left out: {type(error).__name__}: {error}",
                UserWarning,
                stacklevel=3,
            )
        return names, columns


def cut(log_odds: np.ndarray, weight: np.ndarray | None, budget: float) -> float:
    """Log odds of the last row of the budget."""
    order = np.argsort(-log_odds, kind="stable")
    mass = np.cumsum(np.ones(len(order)) if weight is None else weight[order])
    place = int(np.searchsorted(mass, budget * mass[-1] * (1.0 - 1e-12)))
    return float(log_odds[order[min(place, len(order) - 1)]])


def _fit(member: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    estimator = clone(member)
    if weight is None:
        return estimator.fit(X, y)
    return estimator.fit(X, y, **weight_options(estimator, weight))


def weight_options(estimator: Any, weight: np.ndarray) -> dict[str, np.ndarray]:
    """How an estimator, or the last step of a pipeline, takes the weights of the rows."""
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} does not take sample_weight. Leave it out, or leave out "
            "sample_weight."
        )
    return {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": weight}


def _fit_and_score(
    member: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    split: Split,
) -> np.ndarray | Exception:
    train, test = split
    part = None if weight is None else weight[train]
    try:
        fitted = _fit(member, take_rows(X, train), y[train], part)
        return member_scores(fitted, take_rows(X, test), 1)
    except Exception as error:
        return error
