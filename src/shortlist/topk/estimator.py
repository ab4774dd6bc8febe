"""Multi-class estimator for a page that shows k suggestions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_choice, check_number, check_weight, outside
from .._fit import ROW_DTYPES, MulticlassData, atomic, solve, validate_multiclass
from ..certificate import Certificate, Check
from ..rows.kernels import KernelMatrix, kernel_function
from .problem import WEIGHTS, TopKProblem, rank_weights
from .scores import KernelScores, LinearScores, linear_scores
from .selected import scores_of

LOSSES = ("hinge", "pseudo")
# Kernel entries that scoring holds at a time: 32 MB.
_ENTRIES = 1 << 22


class TopKSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector machine for "is the right class among the k suggestions?".

    Minimises

    .. math:: \tfrac12 \|W\|^2 + C \sum_i \Phi_i , \qquad
              \Phi_i = \Bigl[ \sum_{j=1}^{m} \rho_j \, a_{(j)} \Bigr]_+ , \quad
              a = 1 - e_{y_i} + s - s_{y_i} 1, \; s = W^T x_i,

    where :math:`a_{(1)} \ge a_{(2)} \ge \dots` are the margins that the classes lack
    against the true one. A row costs nothing once its true class is safely among the
    first k. ``k=1`` is the Crammer-Singer SVM. Every fit ends with a duality-gap
    certificate and stops on it.

    Parameters
    ----------
    k : int, default=5
        How many suggestions are shown. With m classes, k >= m cannot fail; then m - 1
        is used, with a warning.
    weights : {"flat", "linear", "exp"} or array-like, default="flat"
        :math:`\rho`: flat :math:`1/k`, linear :math:`2(k+1-j)/(k(k+1))`, exp
        :math:`\propto e^{-j/k}`, for the first k, zero beyond. An array gives
        :math:`\rho` itself, not increasing, and replaces k.
    C : float, default=1.0
        Weight of the loss against the norm.
    smoothing : float, default=0.0
        :math:`\gamma` of the Moreau envelope
        :math:`\min_z \Phi(z) + \|s - z\|^2 / (2\gamma)` that replaces :math:`\Phi(s)`.
    loss : {"hinge", "pseudo"}, default="hinge"
        ``"pseudo"`` leaves the true class out of the order: the loss that earlier
        solvers minimise under the name of the top-k hinge. A baseline.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax",
        "precomputed", or a function of two row matrices. It should be
        positive semi-definite ("sigmoid" is not in general): where it turns out not to be,
        a warning says so and the certificate claims nothing (status ``"local"``).
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in :class:`sklearn.svm.SVC`.
    degree : int, default=3
        Degree of the "poly" kernel.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=False
        True adds a constant feature 1, so the intercepts are regularised with the
        other weights; in the dual, 1 is added to every kernel value and
        ``intercept_[j]`` is :math:`\sum_i \alpha_{ij}`.
    solver : str, default="auto"
        ``"proximal_newton"``: linear models with few coefficients, fast at any C.
        ``"block"``: exact block-coordinate ascent, for everything else; where a linear model
        has many classes, over a few of them for each row.
        ``"block_fw"``, ``"fw"``, ``"away"``, ``"pairwise"``: Frank-Wolfe methods, as
        references. ``"auto"`` takes the first of these that fits.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    cache_size : float, default=500
        Megabytes for kernel rows.
    random_state : int, RandomState instance or None, default=0
        Order in which block steps visit the rows.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights of the features (linear kernel).
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Intercepts, zero unless `fit_intercept`.
    support_ : ndarray of int
        Rows with a non-zero dual variable (other kernels).
    support_vectors_ : ndarray or csr matrix of shape (n_support, n_features)
        Those rows; for ``kernel="precomputed"`` empty, of shape (0, 0).
    dual_coef_ : csr array of shape (n_classes, n_support), or (1, n_support)
        Their dual variables, a row for each class as in `coef_`: there is one set of weights
        for each class, not one for each two as in :class:`sklearn.svm.SVC`.
    k_ : int
        The number of suggestions trained for.
    weights_ : ndarray
        The non-zero :math:`\rho`.
    certificate_ : Certificate
        Primal, dual, gap, status and the trace of the fit, in the unit of the formula
        above.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    sklearn.svm.LinearSVC : ``multi_class="crammer_singer"`` is the case ``k=1``.

    Notes
    -----
    ``sample_weight`` is multiplicity: weight 2 is the row twice, weight 0 is the row
    gone. Kernel fits keep the scores of all rows, n x m numbers, and the sparse dual.

    Without an intercept a shift of the columns changes the model; with one, too, since it is
    regularised. Kernels of distances do not depend on it. The mean form of the literature,
    :math:`\lambda/2 \|W\|^2 + (1/n) \sum_i \Phi_i`, is this one divided by :math:`nC`.

    References
    ----------
    T. Kato, Y. Hirohashi, "Learning weighted top-k support vector machine", ACML 2019.

    M. Lapin, M. Hein, B. Schiele, "Top-k multiclass SVM", NIPS 2015 (the pseudo loss).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shortlist import TopKSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TopKSVC(k=3).fit(X / 16.0, y)
    >>> model.certificate_.status
    'converged'
    >>> model.predict_top_k(X[:1] / 16.0, k=2).shape
    (1, 2)
    >>> bool(model.top_k_score(X / 16.0, y) > 0.99)
    True
    """

    def __init__(
        self,
        k: int = 5,
        *,
        weights: Any = "flat",
        C: float = 1.0,
        smoothing: float = 0.0,
        loss: str = "hinge",
        kernel: str | Callable[[Any, Any], np.ndarray] = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float = 500,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
    ) -> None:
        self.k = k
        self.weights = weights
        self.C = C
        self.smoothing = smoothing
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TopKSVC:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or the kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : TopKSVC
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        check_number("smoothing", self.smoothing, least=0.0)
        check_number("cache_size", self.cache_size, above=0.0)
        check_choice("loss", self.loss, LOSSES)
        data = validate_multiclass(self, X, y, sample_weight)
        n_classes = len(data.classes)
        rho = self._rank_weights(n_classes)
        problem = TopKProblem(
            self._scores(data, len(rho)),
            data.code,
            float(self.C) * data.weight,
            n_classes,
            rho,
            float(self.smoothing),
            self.loss == "pseudo",
            check_random_state(self.random_state),
        )
        if isinstance(problem.scores, KernelScores):
            problem.indefinite = not problem.scores.kernel.is_positive(centred=False)
        solution, certificate, n_iter = solve(self, problem)
        self.classes_ = data.classes
        self.weights_ = rho
        self.k_ = len(rho)
        self.certificate_: Certificate = certificate
        self.n_iter_ = n_iter
        if self.kernel == "linear":
            self._store_linear(solution)
        else:
            self._store_kernel(solution, data)
        return self

    def _rank_weights(self, n_classes: int) -> np.ndarray:
        if not isinstance(self.weights, str):
            return _checked_weights(self.weights, n_classes)
        check_choice("weights", self.weights, WEIGHTS)
        check_number("k", self.k, least=1, integer=True)
        k = int(self.k)
        if k >= n_classes:
            k = n_classes - 1
            warnings.warn(
                f"k={self.k} suggestions out of {n_classes} classes always hold the right one: "
                f"trained for k={k}. Choose k below the number of classes.",
                UserWarning,
                stacklevel=outside(),
            )
        return rank_weights(self.weights, k)

    def _scores(self, data: MulticlassData, k: int) -> LinearScores | KernelScores:
        bias = 1.0 if self.fit_intercept else 0.0
        n_classes = len(data.classes)
        if self.kernel == "linear":
            # The references step over all classes.
            if self.solver not in ("auto", "block"):
                return LinearScores(data.X, bias, n_classes)
            return scores_of(data.X, bias, n_classes, k)
        if self.kernel == "precomputed":
            if data.n_passed != self.n_features_in_:
                raise ValueError(
                    f"kernel='precomputed' needs a square kernel matrix, got X of shape "
                    f"({data.n_passed}, {self.n_features_in_}): pass kernel(X_train, X_train)."
                )
            self._kernel_ = None
            whole = len(data.rows) == data.n_passed and (np.diff(data.rows) == 1).all()
            rows = data.X if whole else data.X[:, data.rows]
            matrix = KernelMatrix(rows.toarray() if sparse.issparse(rows) else rows, None)
        else:
            self._kernel_ = kernel_function(
                self.kernel,
                data.X,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                weight=data.weight,
            )
            matrix = KernelMatrix(data.X.astype(np.float64, copy=False), self._kernel_)
        return KernelScores(matrix, bias, n_classes, float(self.cache_size))

    def _store_linear(self, W: np.ndarray) -> None:
        n_features = self.n_features_in_
        if len(self.classes_) == 2:
            W = W[:, 1:] - W[:, :1]
        self.coef_ = np.ascontiguousarray(W[:n_features].T)
        self.intercept_ = W[n_features].copy() if self.fit_intercept else np.zeros(W.shape[1])

    def _store_kernel(self, alpha: Any, data: MulticlassData) -> None:
        used = np.flatnonzero(np.diff(alpha.indptr))
        coef = alpha[used].T.tocsr()
        if len(self.classes_) == 2:
            coef = (coef[[1]] - coef[[0]]).tocsr()
        self.dual_coef_ = coef
        self.support_ = data.rows[used]
        if self._kernel_ is None:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = data.X[used].astype(np.float64, copy=False)
        sums = np.asarray(coef.sum(axis=1)).ravel()
        self.intercept_ = sums if self.fit_intercept else np.zeros(len(sums))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; for ``kernel="precomputed"`` their kernel with the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            One score per class; for two classes the second minus the first, as
            everywhere in scikit-learn.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_DTYPES, reset=False)
        if self.kernel == "linear":
            scores = linear_scores(X, self.coef_.T, 0.0) + self.intercept_
        else:
            scores = self._kernel_scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _kernel_scores(self, X: Any) -> np.ndarray:
        """Scores of the rows, a bounded number of kernel entries at a time."""
        n_support = len(self.support_)
        scores = np.tile(self.intercept_, (X.shape[0], 1))
        step = max(_ENTRIES // max(n_support, 1), 1)
        for first in range(0, X.shape[0] if n_support else 0, step):
            rows = X[first : first + step]
            if self._kernel_ is None:
                entries = rows[:, self.support_]
                entries = entries.toarray() if sparse.issparse(entries) else entries
            else:
                entries = self._kernel_(rows.astype(np.float64, copy=False), self.support_vectors_)
            scores[first : first + step] += (self.dual_coef_ @ entries.T).T
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Most likely class of every row.

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
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.0).astype(np.intp)
        return self.classes_[best]

    def predict_top_k(self, X: Any, k: int | None = None) -> np.ndarray:
        """Suggestions for every row, the best first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to label.
        k : int or None, default=None
            How many; None is the number trained for. Ties keep the order of ``classes_``.

        Returns
        -------
        ndarray of shape (n_samples, k)
            Labels from ``classes_``.
        """
        check_is_fitted(self)
        k = self.k_ if k is None else k
        check_number("k", k, least=1, integer=True)
        if k > len(self.classes_):
            raise ValueError(f"k must be at most {len(self.classes_)}, the classes, got k={k!r}.")
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        return self.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :k]]

    def top_k_score(self, X: Any, y: Any, k: int | None = None, sample_weight: Any = None) -> float:
        """Share of rows whose true class is among the `k` suggestions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to label.
        y : array-like of shape (n_samples,)
            True labels; a label never seen in training is a miss.
        k : int or None, default=None
            How many suggestions; None is the number trained for.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row.

        Returns
        -------
        float
            Between 0 and 1.
        """
        suggestions = self.predict_top_k(X, k)
        hit = (suggestions == np.asarray(y)[:, None]).any(axis=1)
        return float(np.average(hit, weights=check_weight(sample_weight, len(hit))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _checked_weights(weights: Any, n_classes: int) -> np.ndarray:
    """Return the weights without the zeros at their end."""
    rho = np.asarray(weights, dtype=np.float64)
    if rho.ndim != 1 or len(rho) == 0 or not np.isfinite(rho).all():
        raise ValueError(f"weights must be a name or a 1-D array of numbers, got {weights!r}.")
    if (rho < 0.0).any() or (np.diff(rho) > 0.0).any() or rho[0] == 0.0:
        raise ValueError(
            "weights must be non-negative, not increasing and not all zero, "
            f"got weights={weights!r}."
        )
    rho = rho[: np.flatnonzero(rho)[-1] + 1]
    if len(rho) > n_classes:
        raise ValueError(
            f"weights holds {len(rho)} non-zero numbers for {n_classes} classes: pass at most "
            "one per class."
        )
    return rho
