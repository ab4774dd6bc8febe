"""Two-class estimators for the top of the list."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._fit import ROW_DTYPES, check_choice, check_number, solve, validate_binary
from .certificate import Certificate, Check
from .problems.losses import LOSSES
from .problems.operators import as_rows
from .problems.thresholds import TopMean
from .problems.top import TopProblem

# Added to the threshold, relative to the largest score: the negatives that define it
# stay on its lower side however their scores are summed up.
_ON_THRESHOLD = 1e-10


class CollapsedWarning(UserWarning):
    """The optimal model is zero: every row gets the same score."""


class TopPush(ClassifierMixin, BaseEstimator):
    r"""Linear classifier that pushes positives above the highest negatives.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_{i \in pos} \ell\Bigl(
              \frac1k \sum_{j=1}^{k} s^-_{(j)} - w \cdot x_i \Bigr)

    where :math:`s^-_{(1)} \ge s^-_{(2)} \ge \dots` are the scores of the negatives.
    ``k=1`` is TopPush, an integer ``k > 1`` is TopPushK, a fraction is
    :math:`\tau`-FPL. No intercept is learned: the threshold moves with the scores.
    Every fit ends with a duality-gap certificate and stops on it.

    Parameters
    ----------
    k : int or float, default=1
        How many of the highest negatives make the threshold: an integer counts
        rows, a float in (0, 1) is that fraction of the negatives, rounded up.
        A larger `k` is more robust to a few hard or mislabelled negatives.
    C : float, default=1.0
        Weight of the loss. The published :math:`\lambda` is ``1 / (C * n_positives)``.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        :math:`\ell(z) = \max(0, 1+z)^2` or :math:`\max(0, 1+z)`.
    solver : {"auto", "newton", "accelerated"}, default="auto"
        ``"newton"``: interior-point Newton steps on a working set of negatives.
        ``"accelerated"``: the published dual method, slow, as a reference.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features.
    threshold_ : float
        The threshold: mean score of the top `k` negatives of the training data, raised
        by 1e-10 of the largest score so that rounding does not lift those rows above it.
    intercept_ : ndarray of shape (1,)
        ``-threshold_``, so that linear-model tools work.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    certificate_ : Certificate
        Primal, dual, gap, status and the trace of the fit.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    sklearn.svm.LinearSVC : Trained for all rows instead of the top.

    Notes
    -----
    ``sample_weight`` is multiplicity: weight 2 is the row twice, weight 0 is the
    row gone, and `k` counts weight. Rows exactly on the threshold, such as the top
    negative itself when ``k=1``, are predicted negative, as everywhere in scikit-learn
    where a decision value is zero.

    References
    ----------
    N. Li, R. Jin, Z.-H. Zhou, "Top rank optimization in linear time", NIPS 2014.

    V. Mácha, L. Adam, V. Šmídl, "Nonlinear classifiers for ranking problems based on
    kernelized SVM", 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist import TopPush
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = TopPush().fit(scale(X), y)
    >>> model.certificate_.status
    'converged'
    >>> bool(model.certificate_.relative_gap <= 1e-4)
    True
    """

    def __init__(
        self,
        k: int | float = 1,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
    ) -> None:
        self.k = k
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TopPush:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64 are used as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; the one that sorts last is positive.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : TopPush
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        check_choice("loss", self.loss, LOSSES)
        data = validate_binary(self, X, y, sample_weight)
        problem = TopProblem(
            as_rows(data.X),
            data.positive,
            data.negative,
            data.weight,
            float(self.C),
            LOSSES[self.loss],
            TopMean(top_count(self.k, data.weight[data.negative])),
        )
        solution, certificate, n_iter = solve(self, problem)
        if certificate.status == "converged" and not solution.w.any():
            self._warn_collapsed(solution.top_negative)
        self.classes_ = data.classes
        self.coef_ = solution.w[None, :]
        self.threshold_ = solution.threshold + _ON_THRESHOLD * solution.score_scale
        self.intercept_ = np.array([-self.threshold_])
        self.certificate_: Certificate = certificate
        self.n_iter_ = n_iter
        return self

    def _warn_collapsed(self, row: int) -> None:
        warnings.warn(
            f"{type(self).__name__}(k={self.k!r}) collapsed: the zero model is optimal "
            "within tol, because the positives' mean lies among the highest negatives. "
            f"The negative that weighs most is row {row}: is it mislabelled? A larger k "
            "(for example k=0.05, a fraction of the negatives) or PatMat is robust to "
            "such rows.",
            CollapsedWarning,
            stacklevel=3,
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Score minus threshold of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where the row ranks above the threshold.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_DTYPES, reset=False)
        return as_rows(X).scores(self.coef_[0]) - self.threshold_

    def predict(self, X: Any) -> np.ndarray:
        """Label of every row: positive where the score exceeds the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def top_count(k: Any, weight: np.ndarray) -> float:
    """Return how many negatives, counted by `weight`, `k` stands for."""
    total = float(weight.sum())
    if isinstance(k, Integral) and not isinstance(k, bool | np.bool_):
        check_number("k", k, least=1, integer=True)
        if int(k) > total * (1.0 + 1e-12):
            raise ValueError(
                f"k={k!r} exceeds the {total:g} negatives (counted by sample_weight): "
                "choose a smaller k, or a fraction such as k=0.05. Weights are "
                "multiplicities; scale them up if they were normalised."
            )
        return float(int(k))
    if not isinstance(k, Real) or isinstance(k, bool | np.bool_) or not 0.0 < float(k) < 1.0:
        raise ValueError(
            f"k must be an integer of at least 1 or a fraction in (0, 1), got k={k!r}."
        )
    # The tolerance keeps 0.1 * 30 at 3, not at 4 through rounding.
    return min(max(1.0, math.ceil(float(k) * total * (1.0 - 1e-12))), total)
