"""Ordering by pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_choice, check_number, check_weight, outside
from .._fit import ROW_DTYPES, atomic, solve, validate_rows
from .._losses import LOSSES
from ..certificate import Certificate, CertificateError, Check, CollapsedWarning
from ..metrics import pairwise_accuracy
from ..rows.kernels import KernelFunction, KernelMatrix, kernel_function
from ..rows.operators import as_rows
from ..rows.rounding import Reach
from .exterior import ExteriorProblem, ExteriorSpace
from .problem import PairProblem, Pairs
from .spaces import KernelSpace, LinearSpace, Point, Space

# Each is a space of models; see pairs/spaces.py and pairs/exterior.py.
PAIRWISE_FEATURES = ("difference", "exterior")
# Kernels that are positive semi-definite whatever the rows.
_POSITIVE = ("linear", "rbf", "laplacian")


class RankSVM(BaseEstimator):
    r"""Ranking support vector machine: scores that order rows as `y` does.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + c \sum_{(i, j) \in P} \omega_i \omega_j \,
              \ell\bigl( w \cdot (\phi_i - \phi_j) \bigr), \qquad
              P = \{ (i, j) : y_i > y_j \text{ in one group} \}

    with :math:`\ell(m) = \max(0, 1 - m)` or its square, :math:`\phi` the features or the
    map of a kernel and :math:`\omega` the sample weights. The pairs are never formed:
    a pass costs :math:`O(n \log n)` time and :math:`O(n)` memory. Every fit ends with a
    duality-gap certificate and stops on it.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss; `normalize` says of which sum.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of a pair. The squared hinge is about twice as fast and punishes gross
        inversions more.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax",
        "precomputed", or a function of two row matrices that returns their kernel
        matrix. Where the kernel turns out not to be positive semi-definite, the model is zero,
        with a warning.
    gamma, degree, coef0
        Parameters of the kernel, as in :class:`sklearn.svm.SVC`.
    max_rank_distance : int or None, default=None
        Compare only rows at most that many ranks apart. Ranks count the distinct
        values of `y` in a group. None compares all.
    normalize : bool, default=True
        True: :math:`c = C n / |P|`, with n the rows that are part of a pair and
        :math:`|P|` the pairs, counted by weight. The loss is then C times n times the
        mean loss of a pair, so that a good C stays good when groups, ties or
        `max_rank_distance` change the number of pairs, and is of the size known from
        other support vector machines. False: :math:`c = C`, the published sum, where a
        good C shrinks as the pairs grow.
    pairwise_features : {"difference", "exterior"}, default="difference"
        Features of a pair. "difference": :math:`\phi_i - \phi_j`, so that rows have scores.
        "exterior": :math:`\phi_i \wedge \phi_j`, preferences that may depend on the other row
        and may run in circles; :meth:`decision_pairs` has them. It takes several matrices
        of the training rows squared, and where the origin lies matters: centre the
        columns first.
    solver : {"auto", "newton", "interior_point", "fw"}, default="auto"
        ``"newton"``: Newton steps with implicit pairs, both losses. ``"interior_point"``: a
        variable for every pair, for kernels with the hinge up to 2,500 rows; "auto" takes
        it where C is large. ``"fw"``: the published conditional gradient, hinge only,
        slow, as a reference.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    cache_size : float, default=500
        Megabytes for the kernel matrix of the training rows, 8 bytes per entry. A
        larger matrix is computed again for every product: slow, but it runs.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, where the kernel is linear.
    support_ : ndarray of int
        Training rows in the model, where the kernel is not linear.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    support_vectors_ : {ndarray, csr matrix} of shape (n_support, n_features)
        These rows; of shape (0, 0) with ``kernel="precomputed"``.
    pair_coef_ : ndarray of shape (n_support, n_support)
        The antisymmetric matrix U, with ``pairwise_features="exterior"``: the model prefers
        row a to row b by :math:`k_a^T U k_b`. ``dual_coef_`` then orders rows by their mean
        preference to the training rows.
    n_pairs_ : float
        Pairs compared, counted by weight.
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
    TopPush : Two classes, trained for the top of the list.

    Notes
    -----
    ``sample_weight`` is multiplicity: weight 2 is the row twice, weight 0 is the row
    gone, and a pair weighs the product of its rows. Scores have no offset: only their
    differences inside a group mean anything. So a shift of the columns changes nothing; of
    columns far from zero, compared with their spread, the centre is subtracted before
    anything is computed, in :meth:`predict` as well.

    References
    ----------
    T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002.

    E. Bach, "ROSVM package, mathematical background", 2020.

    C.-P. Lee, C.-J. Lin, "Large-scale linear RankSVM", Neural Computation 26, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from shortlist import RankSVM
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RankSVM().fit(scale(X), y)
    >>> model.certificate_.status
    'converged'
    >>> round(model.score(scale(X), y), 2)
    0.76
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        kernel: str | KernelFunction = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_rank_distance: int | None = None,
        normalize: bool = True,
        pairwise_features: str = "difference",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float = 500,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_rank_distance = max_rank_distance
        self.normalize = normalize
        self.pairwise_features = pairwise_features
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.verbose = verbose
        self.callback = callback

    @atomic
    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> RankSVM:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64 are used as they are. With
            ``kernel="precomputed"`` their square kernel matrix.
        y : array-like of shape (n_samples,)
            Numbers that order the rows, higher first: grades, times, measurements.
        qid : array-like of shape (n_samples,), default=None
            Group of every row, such as the query or the instrument; rows are compared
            inside a group. None: one group.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : RankSVM
            Fitted estimator.
        """
        self._check_parameters()
        precomputed = self._precomputed
        accepted = False if precomputed else "csr"
        options = {"accept_sparse": accepted, "y_numeric": True, "ensure_min_samples": 2}
        reach: Reach | None
        X, y, reach = validate_rows(self, X, y, **options)
        weight = check_weight(sample_weight, X.shape[0], some=True)
        group = group_numbers(qid, X)
        used = np.arange(len(y))
        if not weight.all():
            used = np.flatnonzero(weight)
            X, y, group, weight = X[used], y[used], group[used], weight[used]
            reach = None
        terms = (
            np.asarray(y, dtype=np.float64),
            group,
            weight,
            float(self.C),
            LOSSES[self.loss],
            self.max_rank_distance,
            bool(self.normalize),
        )
        if self.pairwise_features == "exterior":
            self._fit_exterior(X, used, weight, terms)
            return self
        point = self._solve(PairProblem(self._space(X, reach, used, weight), *terms))
        if not self._linear:
            support = np.flatnonzero(point.u)
            self.support_ = used[support]
            self.dual_coef_ = point.u[None, support]
            self.support_vectors_ = np.empty((0, 0)) if precomputed else X[support]
        return self

    def _fit_exterior(self, X: Any, used: np.ndarray, weight: np.ndarray, terms: tuple) -> None:
        """Fit preferences, and scores that order rows by their mean preference."""
        if 8.0 * len(used) ** 2 > self.cache_size * 2.0**20:
            raise ValueError(
                f"pairwise_features='exterior' needs the kernel matrix of all {len(used)} rows in "
                f"memory: raise cache_size={self.cache_size!r} to {len(used) ** 2 / 2**17:.0f} "
                "(megabytes) or more, or train on fewer rows."
            )
        if self._linear:
            space = ExteriorSpace(KernelMatrix(as_rows(X).inner(), None), X.shape[1])
        else:
            space = ExteriorSpace(self._kernel_matrix(X, used, weight))
        point = self._solve(ExteriorProblem(space, *terms))
        U = space.square_matrix(point.u)
        support = np.flatnonzero(U.any(axis=1))
        self.support_ = used[support]
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else X[support]
        self.pair_coef_ = U[np.ix_(support, support)]
        # The mean preference to the training rows.
        scores = U @ (space.matrix @ (weight / weight.sum()))
        self.dual_coef_ = scores[None, support]
        if self._linear:
            self._centre_: np.ndarray | None = None
            self.coef_ = as_rows(X).combine(scores)[None, :]

    def _solve(self, problem: Pairs) -> Point:
        """Solve the problem and keep everything but the support of a kernel model."""
        if not problem.n_pairs:
            raise ValueError(
                "There is no pair to order: y is constant in every group of qid (rows of "
                "sample_weight 0 left out). Check y, or pass a coarser qid."
            )
        try:
            if problem.space.indefinite:
                raise CertificateError("The kernel is not positive.")
            point, certificate, n_iter = solve(self, problem)
        except CertificateError:
            if self.kernel in _POSITIVE:
                raise
            # Without a positive kernel there may be no optimum: the zero model claims nothing.
            point, n_iter = problem.zero(), 0
            certificate = Certificate(problem.value_at_zero, 0.0, "local", float(self.tol))
            warnings.warn(
                f"kernel={self.kernel!r} is not positive semi-definite on these rows: nothing "
                "bounds the objective from below, so the model is zero and every row has the "
                "same score. Choose another kernel or other parameters of it, or shift or clip "
                "the negative eigenvalues of the matrix.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        if certificate.status == "converged" and not point.u.any():
            self._warn_collapsed()
        if self._linear and self.pairwise_features == "difference":
            self.coef_ = point.u[None, :]
        self.n_pairs_ = problem.n_pairs
        self.certificate_: Certificate = certificate
        self.n_iter_ = n_iter
        return point

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self) -> None:
        check_number("C", self.C, above=0.0)
        check_choice("loss", self.loss, LOSSES)
        check_choice("pairwise_features", self.pairwise_features, PAIRWISE_FEATURES)
        check_number("cache_size", self.cache_size, above=0.0)
        if self.max_rank_distance is not None:
            check_number("max_rank_distance", self.max_rank_distance, least=1, integer=True)

    def _space(self, X: Any, reach: Reach | None, used: np.ndarray, weight: np.ndarray) -> Space:
        if self._linear:
            space = LinearSpace.of(X, reach)
            self._centre_ = space.centre
            return space
        return KernelSpace(self._kernel_matrix(X, used, weight), self.cache_size)

    def _kernel_matrix(self, X: Any, used: np.ndarray, weight: np.ndarray) -> KernelMatrix:
        if self._precomputed:
            if self.n_features_in_ < len(used) or X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"kernel='precomputed' needs a square matrix, got X of shape {X.shape}."
                )
            return KernelMatrix(X[:, used], None)
        # In float64 the matrix is symmetric and positive to rounding, as the dual assumes.
        self._kernel_ = kernel_function(
            self.kernel,
            X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            weight=weight,
        )
        wide = X.astype(np.float64, copy=False)
        return KernelMatrix(wide, self._kernel_)

    def _warn_collapsed(self) -> None:
        warnings.warn(
            f"{type(self).__name__}(C={self.C!r}) gave the zero model: every row has the same "
            "score. Either the features do not tell the rows of a group apart on average, "
            "or C is too small to be told from zero: raise C or scale the features.",
            CollapsedWarning,
            stacklevel=outside(),
        )

    def predict(self, X: Any) -> np.ndarray:
        """Score of every row: higher ranks first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; with ``kernel="precomputed"`` their kernel with all training
            rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        X = self._rows_to_score(X)
        if "coef_" in vars(self):
            return as_rows(X, self._centre_).scores(self.coef_[0])
        step = max(1, (1 << 23) // max(1, len(self.support_)))
        out = np.zeros(X.shape[0])
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            out[part] = self._entries(X[part]) @ self.dual_coef_[0]
        return out

    def decision_pairs(self, A: Any, B: Any) -> np.ndarray:
        r"""Preference of every row of `A` to the row of `B` beside it.

        With ``pairwise_features="exterior"`` it is :math:`k_a^T U k_b`; with differences it is
        the difference of the scores. Turning the two round turns the sign.

        Parameters
        ----------
        A, B : {array-like, sparse matrix} of shape (n_pairs, n_features)
            Rows to compare; with ``kernel="precomputed"`` their kernel with all training rows.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Positive where the row of `A` ranks above that of `B`.
        """
        check_is_fitted(self)
        A, B = self._rows_to_score(A), self._rows_to_score(B)
        check_consistent_length(A, B)
        if "pair_coef_" not in vars(self):
            return self.predict(A) - self.predict(B)
        step = max(1, (1 << 22) // max(1, len(self.support_)))
        out = np.zeros(A.shape[0])
        for start in range(0, A.shape[0], step):
            part = slice(start, start + step)
            first, second = self._entries(A[part]), self._entries(B[part])
            out[part] = np.einsum("ij,ij->i", first @ self.pair_coef_, second)
        return out

    def _rows_to_score(self, X: Any) -> Any:
        return validate_data(
            self,
            X,
            accept_sparse=False if self._precomputed else "csr",
            dtype=ROW_DTYPES,
            reset=False,
        )

    def _entries(self, X: Any) -> np.ndarray:
        """Kernel of some rows with the rows of the model."""
        if not len(self.support_):
            return np.zeros((X.shape[0], 0))
        if self._precomputed:
            return X[:, self.support_].astype(np.float64)
        rows = X.astype(np.float64, copy=False)
        support = self.support_vectors_.astype(np.float64, copy=False)
        if self._linear:
            product = rows @ support.T
            return product.toarray() if sparse.issparse(product) else np.asarray(product)
        return self._kernel_(rows, support)

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Share of the pairs of different `y` in one group that the scores order rightly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            Numbers that order the rows.
        qid : array-like of shape (n_samples,), default=None
            Group of every row.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row.

        Returns
        -------
        float
            Pairwise accuracy, ties in the scores counting half: the mean over the
            groups weighted by their pairs.
        """
        return pairwise_accuracy(y, self.predict(X), qid=qid, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        return tags


def group_numbers(qid: Any, X: Any) -> np.ndarray:
    """Return the groups of `qid` as numbers; one group where there is none."""
    if qid is None:
        return np.zeros(X.shape[0], dtype=np.intp)
    qid = column_or_1d(qid)
    check_consistent_length(X, qid)
    return np.unique(qid, return_inverse=True)[1]
