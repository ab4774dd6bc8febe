"""A cut-off in the user's terms on top of any scorer: `BudgetClassifier`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._checks import check_k, check_rate, list_length, plain_positive, positive_index
from ._cutoff import first_k, threshold_for_fpr, threshold_for_precision
from ._scores import positive_scores, take_rows

# Ends of the range of each rate that are left out.
_RATES = {
    "fraction": {"low_open": True},
    "fpr": {"high_open": True},
    "precision": {"low_open": True},
}
_RULES = {"fpr": threshold_for_fpr, "precision": threshold_for_precision}


def tie_message(left_out: int, taken: int) -> str:
    """Say that a tie at the cut left rows out."""
    return (
        f"{left_out} rows were left out although their score equals the last of the {taken} "
        "taken. Earlier rows of the batch went first; a finer score or another list length "
        "avoids the tie."
    )


def _is_per_row(value: Any, n: int) -> bool:
    if isinstance(value, str | bytes | dict):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n
    return hasattr(value, "__len__") and len(value) == n


def _fit_and_score(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray],
    fit_params: dict[str, Any],
    pos_label: Any,
) -> tuple[Any, np.ndarray]:
    train, test = split
    params = {
        name: take_rows(value, train) if _is_per_row(value, len(y)) else value
        for name, value in fit_params.items()
    }
    X_train, X_test = take_rows(X, train), take_rows(X, test)
    if get_tags(estimator).input_tags.pairwise and not isinstance(estimator, FrozenEstimator):
        X_train, X_test = X_train[:, train], X_test[:, train]
    model = clone(estimator).fit(X_train, y[train], **params)
    return model, positive_scores(model, X_test, pos_label)


class BudgetClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Any scorer with a cut-off in the user's terms.

    Give exactly one of `k`, `fraction`, `fpr` and `precision`. With scores
    :math:`s` and the threshold :math:`t` learned in ``fit``,

    .. math:: \hat y = \text{positive} \iff s > t

    for `fpr` and `precision`; for `k` and `fraction` there is no threshold, and
    ``predict`` marks the first k rows of the batch it is given.

    Parameters
    ----------
    estimator : estimator
        Ranks the rows by ``decision_function`` or, without one, by
        ``predict_proba``. An estimator that is not a classifier is fitted to
        1 for positives and 0 for the rest and ranks by its ``predict``. Wrap a
        fitted model in :class:`sklearn.frozen.FrozenEstimator` to keep it as it
        is; ``fit`` then needs rows the model has not seen.
    k : int, optional
        Predict positive for exactly the first `k` rows of the batch; for all of
        them if the batch has fewer.
    fraction : float in (0, 1], optional
        The same with :math:`k = \lceil \mathrm{fraction} \cdot n \rceil` of the n rows of the
        batch.
    fpr : float in [0, 1), optional
        Largest share of negatives that may be predicted positive.
    precision : float in (0, 1], optional
        Smallest share of positives among the rows predicted positive.
    confidence : float in (0, 1), optional
        Only with `fpr` or `precision`: choose the threshold such that the wish
        holds for new rows with this probability, for any score distribution, as
        long as new rows come from the same source as the held-out ones. It takes
        scores of the very model that is kept, on rows it has not seen: a
        held-out part or a frozen model, not several folds. See
        :func:`threshold_for_fpr` and :func:`threshold_for_precision` for the
        rules. Without it the wish holds on the held-out scores, and on new rows about
        half of the time: on average, not with a confidence.
    cv : float, int, splitter or iterable of splits, optional
        Only for `fpr` and `precision`: where the held-out scores come from. A
        float holds out that fraction, stratified; the model fitted to the rest
        is kept. For `fpr` with `confidence` it is a fraction of the negatives:
        positives tell nothing of that rate, so the model learns from all of them.
        Several folds give a held-out score to every row, and the model is then
        refitted on all rows. The default is five stratified folds; with
        `confidence`, 0.5 of the negatives for `fpr` and 0.2 for `precision`. Not
        used with a frozen model, which scores every row it gets.
    pos_label : label, optional
        The class to look for. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes
        or false/true; otherwise ``classes_[1]``, with a warning if the labels are text.
    n_jobs : int, optional
        Folds fitted at the same time.
    random_state : int, RandomState instance or None, default=0
        Draws the held-out part when `cv` is a float.

    Attributes
    ----------
    estimator_ : estimator
        The fitted scorer.
    classes_ : ndarray of shape (2,)
        The class labels.
    threshold_ : float
        Learned for `fpr` and `precision`: rows scored above it are positive. It is
        infinite, and ``fit`` has warned, when no list on the held-out rows keeps
        the wish: the empty list is then the only honest one.
    n_features_in_ : int
        Number of features, if the scorer tells it.
    feature_names_in_ : ndarray of str
        Feature names, if the scorer tells them.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : Threshold that maximises
        a metric.

    Notes
    -----
    **Ties.** Among equal scores the row that comes first in the batch is taken
    first, so the same batch always gives the same list. ``predict`` warns when
    rows were left out although their score equals the last one taken.

    **Batches.** With `k` or `fraction` a row's label depends on the other rows
    of its batch. That is what "the first 100 of today" means, and it is why
    ``decision_function`` then returns the plain scores, with no zero to compare
    with. Two of scikit-learn's estimator checks assume the contrary and do not
    apply to these two modes: ``check_methods_subset_invariance`` (labels row by
    row) and ``check_classifiers_train`` (label = sign of the decision value). The
    threshold modes pass every check.

    **Weights.** ``sample_weight`` and other arguments of ``fit`` go to the
    scorer, through metadata routing when it is enabled. In the choice of the
    threshold a row of weight zero is absent and every other row counts once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shortlist import BudgetClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> today = BudgetClassifier(model, k=10).fit(X[:400], y[:400])
    >>> int(today.predict(X[400:]).sum())
    10
    >>> careful = BudgetClassifier(model, fpr=0.1, confidence=0.9, random_state=0)
    >>> careful = careful.fit(X[:400], y[:400])
    >>> flagged = careful.predict(X[400:]) == 1
    >>> float(flagged[y[400:] == 0].mean()) <= 0.1
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        k: int | None = None,
        fraction: float | None = None,
        fpr: float | None = None,
        precision: float | None = None,
        confidence: float | None = None,
        cv: float | int | Any | Iterable | None = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.fraction = fraction
        self.fpr = fpr
        self.precision = precision
        self.confidence = confidence
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the scorer and, for `fpr` and `precision`, learn the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; for a frozen scorer, rows it has not seen.
        y : array-like of shape (n_samples,)
            Two classes.
        **params : dict
            Passed to the scorer's ``fit``, cut to the rows of each fold where
            there is one value per row. ``groups`` goes to the splitter.

        Returns
        -------
        self
        """
        cut, wish = self._cut_off()
        if self.confidence is not None:
            self._check_confidence(cut)
        X, y = indexable(X, y)
        fit_params, split_params = self._route(params)
        y = self._check_target(y)
        counts = self._counting_rows(y, fit_params)
        positive = y == self._positive()
        target = y if is_classifier(self.estimator) else positive.astype(float)
        threshold = None
        if cut not in _RULES:
            model = clone(self.estimator).fit(X, target, **fit_params)
        else:
            splits = self._splits(X, y, cut, split_params)
            model, scores = self._held_out_scores(X, target, splits, fit_params)
            rows = np.concatenate([test for _, test in splits])
            positive, scores = positive[rows][counts[rows]], scores[counts[rows]]
            if cut == "fpr" and positive.all():
                raise ValueError(
                    f"fpr={wish} needs held-out negatives, and all {len(positive)} held-out rows "
                    f"are positive. Choose cv={self.cv!r} differently, or stratify the split."
                )
            threshold = _RULES[cut](positive, scores, wish, self.confidence)
        self._keep(model, threshold)
        return self

    def _keep(self, model: Any, threshold: float | None) -> None:
        """Store the fitted scorer, what it tells of the features, and the threshold."""
        fitted: dict[str, Any] = {} if threshold is None else {"threshold_": threshold}
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                fitted[name] = getattr(model, name)
        for name in ("threshold_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, minus the threshold where one was learned.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Higher for ``classes_[1]``, as scikit-learn expects, also when
            `pos_label` is the other class.
        """
        margin = self._margin(X)
        if self._positive() == self.classes_[1]:
            return margin
        # A score equal to the threshold is not flagged: keep it on that side.
        return np.where(margin == 0, np.finfo(float).tiny, -margin)

    def predict(self, X: Any) -> np.ndarray:
        """Label the rows of one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels; with `k` or `fraction` exactly that many are positive.
        """
        margin = self._margin(X)
        if hasattr(self, "threshold_"):
            chosen = margin > 0
        else:
            chosen, left_out = first_k(margin, self._places(len(margin)))
            if left_out:
                warnings.warn(tie_message(left_out, int(chosen.sum())), UserWarning, stacklevel=2)
        return self._labels_of_places()[chosen.astype(np.intp)]

    def _labels_of_places(self) -> np.ndarray:
        """Labels of a row that is not chosen and of one that is."""
        return self.classes_ if self._positive() == self.classes_[1] else self.classes_[::-1]

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata goes to the scorer's ``fit`` and to the splitter.

        Returns
        -------
        MetadataRouter
            scikit-learn's record of the routing.
        """
        router = MetadataRouter(owner=self.__class__.__name__).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        return router.add(
            splitter=self.cv,
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _cut_off(self) -> tuple[str, Any]:
        """Name and value of the one cut-off that is set."""
        names = ("k", *_RATES)
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if len(given) != 1:
            found = ", ".join(f"{n}={v!r}" for n, v in given.items()) or "none of them"
            raise ValueError(
                f"Exactly one of k, fraction, fpr and precision sets the cut-off; got {found}. "
                + ("Keep one and leave out the others." if given else "Give one, such as k=100.")
            )
        name, value = given.popitem()
        if name != "k":
            check_rate(value, name, **_RATES[name])
        elif not isinstance(check_k(value), int):
            raise ValueError(
                f"k={value!r} must be an integer of at least 1; for a share of the batch "
                "use fraction."
            )
        return name, value

    def _check_confidence(self, name: str) -> None:
        if name not in _RULES:
            raise ValueError(
                f"confidence={self.confidence!r} has no meaning with {name}, which fixes the "
                "length of the list. Drop it, or cut by fpr or precision."
            )
        check_rate(self.confidence, "confidence", low_open=True, high_open=True)

    def _check_target(self, y: Any) -> np.ndarray:
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. "
                f"Unknown label type: {kind}."
            )
        y = column_or_1d(y, warn=True)
        known = self.estimator if isinstance(self.estimator, FrozenEstimator) else None
        self.classes_ = np.asarray(getattr(known, "classes_", np.unique(y)))
        if len(self.classes_) != 2:
            raise ValueError(
                f"y holds 1 class, {self.classes_.tolist()}: give rows of both classes."
            )
        if not np.isin(y, self.classes_).all():
            raise ValueError(
                f"y has labels {np.unique(y).tolist()}, but the frozen estimator was fitted on "
                f"{self.classes_.tolist()}. Use the same labels."
            )
        positive_index(self.classes_, self.pos_label)
        return y

    def _counting_rows(self, y: np.ndarray, fit_params: dict[str, Any]) -> np.ndarray:
        """Rows of non-zero weight."""
        weight = fit_params.get("sample_weight")
        counts = np.ones(len(y), bool) if weight is None else np.asarray(weight) != 0
        if not isinstance(self.estimator, FrozenEstimator) and len(np.unique(y[counts])) < 2:
            raise ValueError(
                "sample_weight is zero for every row of one class. Give rows of both classes some "
                "weight."
            )
        return counts

    def _positive(self) -> Any:
        if self.pos_label is not None:
            return self.pos_label
        place = plain_positive(self.classes_.tolist())
        return self.classes_[1 if place is None else place]

    def _route(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments of the scorer's ``fit`` and of the splitter."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return dict(routed["estimator"]["fit"]), dict(routed["splitter"]["split"])
        fit_params = {name: value for name, value in params.items() if name != "groups"}
        return fit_params, {"groups": params.get("groups")}

    def _splits(
        self, X: Any, y: np.ndarray, cut: str, split_params: dict[str, Any]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        if isinstance(self.estimator, FrozenEstimator):
            rows = np.arange(len(y))
            return [(rows, rows)]
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv={self.cv!r} is not a way to split. For a fitted model pass "
                "estimator=FrozenEstimator(model); otherwise a fraction, a number of folds or a "
                "splitter."
            )
        fewest = int(min(np.unique(y, return_counts=True)[1]))
        if fewest < 2:
            raise ValueError(
                f"y has only {fewest} row of one class, so none can be held out to learn a "
                "threshold. Use k or fraction, or give more rows of that class."
            )
        cv = self.cv
        rate_of_negatives = cut == "fpr" and self.confidence is not None
        if cv is None and self.confidence is not None:
            cv = 0.5 if rate_of_negatives else 0.2
        if isinstance(cv, float):
            if not 0 < cv < 1:
                raise ValueError(
                    f"cv={cv!r} must lie between 0 and 1 to hold out a fraction of the rows; for "
                    "folds give an integer."
                )
            if rate_of_negatives:
                return [self._some_negatives(y, cv)]
            splitter = StratifiedShuffleSplit(1, test_size=cv, random_state=self.random_state)
            return list(splitter.split(X, y))
        splits = list(check_cv(cv, y, classifier=True).split(X, y, **split_params))
        if self.confidence is not None and len(splits) > 1:
            raise ValueError(
                f"confidence={self.confidence} cannot be kept with {len(splits)} folds (cv={cv!r}):"
                " the model is refitted afterwards and its scores shift. Hold out one part, such "
                "as cv=0.2, or freeze a fitted model."
            )
        return splits

    def _some_negatives(self, y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Hold out a share of the negatives; all positives stay to be learned from."""
        negative = np.flatnonzero(y != self._positive())
        count = min(max(1, round(share * len(negative))), len(negative) - 1)
        drawn = check_random_state(self.random_state).permutation(negative)[:count]
        held_out = np.zeros(len(y), dtype=bool)
        held_out[drawn] = True
        return np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def _held_out_scores(
        self,
        X: Any,
        target: np.ndarray,
        splits: list[tuple[np.ndarray, np.ndarray]],
        fit_params: dict[str, Any],
    ) -> tuple[Any, np.ndarray]:
        """Fit on every split; return the model to keep and the scores of the test rows."""
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_score)(self.estimator, X, target, split, fit_params, self._positive())
            for split in splits
        )
        scores = np.concatenate([scores for _, scores in results])
        if len(splits) == 1:
            return results[0][0], scores
        return clone(self.estimator).fit(X, target, **fit_params), scores

    def _margin(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        scores = positive_scores(self.estimator_, X, self._positive())
        return scores - self.threshold_ if hasattr(self, "threshold_") else scores

    def _places(self, n: int) -> int:
        cut, wish = self._cut_off()
        return int(wish) if cut == "k" else int(list_length(float(wish), n, whole=True))
