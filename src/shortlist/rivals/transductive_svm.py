"""The transductive SVM, with the share of the positives fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._checks import check_number, check_rate
from .._fit import ROW_DTYPES, atomic, check_sparse, solve, validate_binary
from ..certificate import Check, Monitor, Proof
from ..rows.operators import Rows, as_rows
from .aatp import labelled_rows
from .anchored import OPTIMAL, LabelledRows, Plane, Programme
from .linear import LinearRival


@dataclass
class CandidateProblem:
    """Training rows, candidates without labels, and the mean score of these.

    Attributes
    ----------
    labelled : LabelledRows
        Training rows.
    pool : Rows
        Candidates.
    weight : float
        Weight of the loss of a candidate.
    share : float
        Mean score of the candidates: twice the share of positives, less one.
    mean : ndarray
        Mean of the candidates.
    """

    labelled: LabelledRows
    pool: Rows
    weight: float
    share: float
    mean: np.ndarray
    offers = frozenset({"candidates with a balance"})

    def anchored(self, plane: Plane) -> Plane:
        """Return the model with the intercept that the balance demands."""
        return Plane(plane.w, self.share - float(self.mean @ plane.w))

    def objective(self, plane: Plane) -> float:
        """Value of a model."""
        unlabelled = np.maximum(1.0 - np.abs(plane.scores(self.pool)), 0.0)
        return self.labelled.objective(plane) + self.weight * float(unlabelled.sum())

    def error(self, plane: Plane) -> float:
        """Bound the rounding error of :meth:`objective`."""
        off = self.labelled.score_error(plane) + 1e-15 * self.pool.n_rows
        return self.labelled.objective_error(plane) + self.weight * self.pool.n_rows * off

    def prove(self, plane: Plane, lower: float) -> Proof:
        """Prove a model against a bound whose rounding is subtracted already."""
        return Proof(plane, self.objective(plane), lower, self.error(plane))


def concave_convex(problem: CandidateProblem, monitor: Monitor) -> None:
    r"""Replace the concave part by its tangent at the last model, until no sign changes.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i [1 - y_i f(x_i)]_+
              + C^* \sum_j [1 - |f(\hat x_j)|]_+
              \quad\text{s.t.}\quad \frac1m \sum_j f(\hat x_j) = v

    With :math:`l_j` the sign of :math:`f(\hat x_j)` at the last model, candidate j costs
    :math:`[1 - l_j f]_+ + [-1 - l_j f]_+`, an upper bound up to a constant, so the objective never
    rises. The first model has no such terms; its dual point bounds the optimum of all, for the
    candidates cost nothing less than zero.

    References: T. Joachims, "Transductive inference for text classification using support vector
    machines", ICML 1999; R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale transductive
    SVMs", JMLR 7, 2006.
    """
    labelled = problem.labelled
    n, m = len(labelled.sign), problem.pool.n_rows
    here = np.arange(n, n + m)
    blocks = [(here, sign, target, 0.0) for sign in (1.0, -1.0) for target in (1.0, -1.0)]
    balance = [
        ([n + m], 1.0, problem.share, np.inf),
        ([n + m], -1.0, -problem.share, np.inf),
    ]
    stored = labelled.rows.stack(problem.pool)
    stored = stored.stack(problem.pool.merged(np.full(m, 1.0 / m)))
    programme = Programme(
        stored, [(np.arange(n), labelled.sign, 1.0, labelled.c), *blocks, *balance]
    )
    label = np.zeros(m)
    lower = -np.inf
    while True:
        status = programme.solve()
        plane = problem.anchored(programme.plane())
        if lower == -np.inf:
            multipliers = np.asarray(programme.qp.multipliers())[:n]
            lower = labelled.lower_bound(multipliers, problem.mean, problem.share)
        primal = problem.objective(plane)
        monitor.iteration += 1
        if monitor.check(primal, lower, partial(problem.prove, plane, lower)):
            break
        new = np.where(plane.scores(problem.pool) < 0.0, -1.0, 1.0)
        if status != OPTIMAL or (new == label).all():
            break
        for j in np.flatnonzero(new != label).tolist():
            first = n + j if new[j] > 0.0 else n + 2 * m + j
            for row in (first, first + m):
                programme.qp.bound(row, problem.weight)
            if label[j]:
                other = n + j if label[j] > 0.0 else n + 2 * m + j
                for row in (other, other + m):
                    programme.qp.release(row)
        label = new
    if monitor.status is None:
        monitor.status = "local"


class TransductiveSVM(LinearRival):
    r"""Transductive SVM: candidates without labels push the boundary into a gap.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_i [1 - y_i f(x_i)]_+ + C^* \sum_j [1 - |f(\hat x_j)|]_+
              \quad\text{s.t.}\quad \frac1m \sum_j f(\hat x_j) = 2p - 1

    over the m candidates :math:`\hat x_j`, with :math:`f(x) = w \cdot x + b`. The last condition
    keeps the share of the positives near p; without it all candidates may end on one side. The
    problem is not convex: what is found is a local optimum, and the certificate says so.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss of the training rows.
    candidate_C : float or None, default=None
        Weight :math:`C^*` of that of the candidates; None: C times the training rows per candidate.
    positive_share : float or None, default=None
        Share p of positives among the candidates; None: that of the training rows.
    solver : {"auto", "concave_convex"}, default="auto"
        There is one.
    tol : float, default=1e-4
        Relative gap to the plain SVM's bound at which the model is called optimal.
    max_iter : int or None, default=None
        Limit of convex programmes; None is 20, as in the program UniverSVM.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    verbose : int, default=0
        1 prints one line per programme.
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
        Intercept.
    labels_ : ndarray of shape (n_candidates,)
        Labels of the candidates.
    certificate_ : Certificate
        ``primal`` is the objective, ``dual`` a proven lower bound: that of the SVM without the
        candidates' losses. Status "local", or "converged" where the two meet.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_iter_ : int
        Convex programmes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    shortlist.TransductiveTopK : At most k candidates may be positive.

    Notes
    -----
    ``sample_weight`` is the multiplicity of the training rows. Without `candidates` the training
    rows are the candidates, each once.

    References
    ----------
    T. Joachims, "Transductive inference for text classification using support vector machines",
    ICML 1999.

    R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale transductive SVMs", JMLR 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.rivals import TransductiveSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = TransductiveSVM(C=0.1).fit(X[::10], y[::10], candidates=X[1::5])
    >>> model.certificate_.status
    'local'
    >>> bool((model.labels_ == y[1::5]).mean() > 0.9)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        candidate_C: float | None = None,
        positive_share: float | None = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        super().__init__(
            C=C, solver=solver, tol=tol, max_iter=max_iter, time_limit=time_limit,
            verbose=verbose, callback=callback, pos_label=pos_label,
        )  # fmt: skip
        self.candidate_C = candidate_C
        self.positive_share = positive_share

    @atomic
    def fit(self, X: Any, y: Any, candidates: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to look for.
        candidates : {array-like, sparse matrix} of shape (n_candidates, n_features), \
                default=None
            Rows without labels; None takes the training rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every training row, fractions allowed.

        Returns
        -------
        self : TransductiveSVM
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        data = validate_binary(self, X, y, sample_weight)
        pool = self._pool(data.X, candidates)
        labelled, used, centre = labelled_rows(data, float(self.C), (pool,))
        if candidates is None:
            pool = pool[used]
        rows = as_rows(pool, centre)
        total = float(data.weight[used].sum())
        share = float(data.weight[data.positive].sum()) / total
        if self.positive_share is not None:
            share = check_rate(self.positive_share, "positive_share")
        weight = float(self.C) * total / rows.n_rows
        if self.candidate_C is not None:
            check_number("candidate_C", self.candidate_C, above=0.0)
            weight = float(self.candidate_C)
        mean = rows.combine(np.full(rows.n_rows, 1.0 / rows.n_rows))
        problem = CandidateProblem(labelled, rows, weight, 2.0 * share - 1.0, mean)
        plane, certificate, n_iter = solve(self, problem)
        self._keep(data.classes, plane.w, centre, plane.b, certificate, n_iter)
        self.labels_ = self.classes_[(plane.scores(rows) > 0.0).astype(np.intp)]
        return self

    def _pool(self, X: Any, candidates: Any) -> Any:
        if candidates is None:
            return X
        pool = validate_data(
            self, candidates, accept_sparse="csr", dtype=ROW_DTYPES, reset=False
        ).astype(X.dtype, copy=False)
        check_sparse(pool)
        if sparse.issparse(X) and not sparse.issparse(pool):
            return sparse.csr_array(pool)
        return pool.toarray() if sparse.issparse(pool) and not sparse.issparse(X) else pool
