"""Structural SVMs that optimise a metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .._checks import check_choice, check_number
from .._fit import atomic, solve, validate_binary
from ..certificate import Check
from .linear import LinearRival
from .lists import F1, PrecisionAtK, RecallAtK
from .metric import Metric
from .metric_problem import MetricProblem
from .rankings import ROCAUC, AveragePrecision, PartialAUC

METRICS = {
    "precision_at_k": lambda model: PrecisionAtK(model.k),
    "recall_at_k": lambda model: RecallAtK(model.k),
    "partial_auc": lambda model: PartialAUC(model.max_fpr, model.min_fpr),
    "roc_auc": lambda model: ROCAUC(),
    "average_precision": lambda model: AveragePrecision(),
    "f1": lambda model: F1(),
}


class MetricSVM(LinearRival):
    r"""Structural SVM: a linear classifier trained for a metric of the whole list.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \, n^+ \, [R(Xw)]_+, \qquad
              R(s) = \max_{\bar y} \; \Delta(\bar y) + d(\bar y) \cdot s

    where the labellings :math:`\bar y` are all rankings of the training rows, or all choices of
    rows to be called positive; :math:`\Delta` is one minus the metric, and the product is what
    the scores prefer of :math:`\bar y` to the truth. R is convex and never below the loss of the
    metric. The pages of the metrics have their equations. :math:`n^+`, the number of positives,
    makes C as large as that of :class:`~shortlist.TopPush`.

    Parameters
    ----------
    metric : str or Metric, default="average_precision"
        "precision_at_k", "recall_at_k", "partial_auc", "roc_auc", "average_precision" (SVM-MAP),
        "f1", or a :class:`~shortlist.rivals.Metric` of one's own.
    k : int or float, default=0.05
        Length of the list for "precision_at_k" and "recall_at_k": a number of training rows, or
        a fraction of them, rounded up.
    max_fpr, min_fpr : float, default=0.1, 0.0
        False-positive rates between which "partial_auc" counts.
    C : float, default=1.0
        Weight of the loss.
    solver : {"auto", "cutting_plane"}, default="auto"
        There is one: cutting planes with one slack.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Limit of planes; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    verbose : int, default=0
        1 prints one line per plane.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value stops the fit.
    pos_label : label or None, default=None
        The label to look for. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes or
        false/true; otherwise the one that sorts last, with a warning if the labels are text.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Minus the threshold: the k-th score for "precision_at_k" and "recall_at_k", that of the
        largest false-positive rate for "partial_auc"; for "roc_auc" and "average_precision" as
        many training rows lie above it as are positive. For "f1" it is learned, and regularised.
    certificate_ : Certificate
        Primal, dual, gap, status and the trace of the fit.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_iter_ : int
        Planes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    shortlist.TopPush : Trained for the very top; faster.
    shortlist.RankSVM : "roc_auc" with groups and kernels.

    Notes
    -----
    There is no `sample_weight`: a labelling takes a row or leaves it. Repeat rows instead.

    A metric that tells a ranking from its shift, as "f1" does, gets an intercept that counts in
    the norm, so columns far from zero should be centred first.

    References
    ----------
    T. Joachims, "A support vector method for multivariate performance measures", ICML 2005.

    Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
    precision", SIGIR 2007.

    H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial
    AUC based on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.rivals import MetricSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MetricSVM("precision_at_k", k=100).fit(scale(X), y)
    >>> model.certificate_.status
    'converged'
    >>> first = model.decision_function(scale(X)).argsort()[-100:]
    >>> float(y[first].mean())
    1.0
    """

    def __init__(
        self,
        metric: str | Metric = "average_precision",
        *,
        k: int | float = 0.05,
        max_fpr: float = 0.1,
        min_fpr: float = 0.0,
        C: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.metric = metric
        self.k = k
        self.max_fpr = max_fpr
        self.min_fpr = min_fpr
        super().__init__(
            C=C, solver=solver, tol=tol, max_iter=max_iter, time_limit=time_limit,
            verbose=verbose, callback=callback, pos_label=pos_label,
        )  # fmt: skip

    @atomic
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64 are used as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to look for.

        Returns
        -------
        self : MetricSVM
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        metric = self._metric()
        data = validate_binary(self, X, y, None)
        c = float(self.C) * len(data.positive)
        problem = MetricProblem(data.X, data.positive, data.negative, c, metric)
        solution, certificate, n_iter = solve(self, problem)
        w, offset = solution.w, -solution.threshold
        if problem.intercept:
            w, offset = w[:-1], offset + float(w[-1])
        self._keep(data.classes, w, problem.centre, offset, certificate, n_iter)
        self._warn_if_collapsed(
            "Raise C, scale the features, or choose a metric that looks at more rows."
        )
        return self

    def _metric(self) -> Metric:
        if isinstance(self.metric, Metric):
            return self.metric
        check_choice("metric", self.metric, METRICS)
        return METRICS[self.metric](self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A list of k rows, or of few negatives, is not where accuracy is best.
        tags.classifier_tags.poor_score = self.metric not in ("roc_auc", "average_precision", "f1")
        return tags
