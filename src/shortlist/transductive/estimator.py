"""Choose exactly k of the candidates that are known at training time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_choice, check_number, top_count
from .._fit import ROW_DTYPES, BinaryData, atomic, check_sparse, solve, validate_binary
from ..certificate import Certificate, Check
from ..rows.operators import as_rows
from ..rows.rounding import Reach
from .problem import BudgetedSVM

SOLVERS = ("auto", "swap", "feasible_direction", "exact")

# Scores closer than this, relative to the largest, are equal but for rounding.
_SAME = 1e-9


class TransductiveTopK(ClassifierMixin, BaseEstimator):
    r"""Linear classifier that may call only `k` of the given candidates positive.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_i [1 - y_i (w \cdot x_i + b)]_+
              \quad\text{subject to}\quad \#\{ j : w \cdot \hat x_j + b > 0 \} \le k

    over the candidates :math:`\hat x_j`, the rows that will be chosen from. Knowing
    them and `k` while learning gives a better list than a classifier whose cut-off is
    moved afterwards. The problem is not convex: ``"swap"`` and ``"feasible_direction"``
    end in a local optimum, ``"exact"`` proves the global one on small problems.

    Parameters
    ----------
    k : int or float, default=0.05
        How many candidates to choose: an integer, or a fraction in (0, 1) of the
        candidates, rounded up.
    C : float, default=1.0
        Weight of the loss.
    solver : {"auto", "swap", "feasible_direction", "exact"}, default="auto"
        ``"swap"``: local search over the set of positive candidates, with an exact
        warm-started solver inside; what ``"auto"`` takes.
        ``"feasible_direction"``: the published descent method, repaired, as a reference.
        ``"exact"``: branch and bound from the result of ``"swap"``; needs the package
        ``pyscipopt`` (``pip install 'shortlist[exact]'``).
    restarts : int, default=10
        Perturbed restarts of the swap search. The total work is bounded as well.
    tol : float, default=1e-4
        Relative gap at which ``"exact"`` stops.
    max_iter : int or None, default=None
        Limit of quadratic programmes (``"swap"``), steps (``"feasible_direction"``) or
        nodes (``"exact"``); None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    random_state : int, RandomState instance or None, default=0
        Seed of the restarts; None gives others at every fit.
    verbose : int, default=0
        1 prints one line per improvement.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.
    pos_label : label or None, default=None
        The label to look for. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes
        or false/true; otherwise the one that sorts last, as everywhere in scikit-learn, with
        a warning if the labels are text.

    Attributes
    ----------
    selected_ : ndarray of int
        Positions of exactly `k` candidates, best first.
    tied_ : ndarray of int
        Positions of the candidates that share the score of the last one selected, when
        the cut goes through a tie; otherwise empty. Ties go to the first in order.
    scores_ : ndarray of shape (n_candidates,)
        Score of every candidate.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept; at most `k` candidates are above zero.
    objective_ : float
        Value of the objective.
    certificate_ : Certificate
        ``primal`` is the objective, ``dual`` a proven lower bound: the plain SVM's
        optimum, or that of the branch and bound. Status ``"local"`` unless proven.
    k_ : float
        The number `k` stands for.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class, which has positive decision values:
        where `pos_label` is the label that sorts first, the order is turned round.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    TopPush : Trained for the top of the list, candidates unknown.

    Notes
    -----
    Fewer than `k` candidates may end above zero, the others on the boundary; the `k`
    best by score are selected. Where the plain SVM already calls no more than `k`
    candidates positive it is the answer, and proven optimal.

    ``sample_weight`` is multiplicity. Without `candidates` the training rows are the
    candidates, and a row of weight 2 takes two of the `k` places.

    References
    ----------
    L.-P. Liu, T. G. Dietterich, N. Li, Z.-H. Zhou, "Transductive optimization of top k
    precision", IJCAI 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist import TransductiveTopK
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = TransductiveTopK(k=20).fit(X[:300], y[:300], candidates=X[300:])
    >>> len(model.selected_), int((model.decision_function(X[300:]) > 0).sum()) <= 20
    (20, True)
    >>> float(y[300:][model.selected_].mean())
    1.0
    """

    def __init__(
        self,
        k: int | float = 0.05,
        *,
        C: float = 1.0,
        solver: str = "auto",
        restarts: int = 10,
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.k = k
        self.C = C
        self.solver = solver
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.pos_label = pos_label

    @atomic
    def fit(
        self, X: Any, y: Any, candidates: Any = None, sample_weight: Any = None
    ) -> TransductiveTopK:
        """Fit the model and choose the candidates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to look for.
        candidates : {array-like, sparse matrix} of shape (n_candidates, n_features), \
                default=None
            Rows to choose from; None chooses from the training rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every training row, fractions allowed.

        Returns
        -------
        self : TransductiveTopK
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        check_choice("solver", self.solver, SOLVERS)
        check_number("restarts", self.restarts, least=0, integer=True)
        data = validate_binary(self, X, y, sample_weight)
        pool = data.X if candidates is None else self._validate_candidates(candidates, data.X)
        count = data.weight if candidates is None else np.ones(pool.shape[0])
        self.k_ = top_count(self.k, count, what="candidates")
        problem = self._problem(data, None if candidates is None else pool, count)
        options = {}
        if self.solver != "feasible_direction":
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            options = {"restarts": self.restarts, "seed": seed}
        solution, certificate, n_iter = solve(self, problem, **options)
        self.classes_ = data.classes
        self.coef_ = solution.w[None, :]
        self.intercept_ = np.array([solution.intercept])
        self._centre_, self._centred_intercept_ = problem.centre, solution.b
        self.objective_ = certificate.primal
        self.certificate_: Certificate = certificate
        self.n_iter_ = n_iter
        self.scores_ = as_rows(pool, problem.centre).scores(solution.w) + solution.b
        self.selected_, self.tied_ = select(self.scores_, count, self.k_)
        return self

    def _validate_candidates(self, candidates: Any, X: Any) -> Any:
        pool = validate_data(self, candidates, accept_sparse="csr", dtype=X.dtype, reset=False)
        pool = check_sparse(pool)
        if sparse.issparse(X) and not sparse.issparse(pool):
            return sparse.csr_array(pool)
        if sparse.issparse(pool) and not sparse.issparse(X):
            return pool.toarray()
        return pool

    def _problem(self, data: BinaryData, pool: Any, count: np.ndarray) -> BudgetedSVM:
        training = np.concatenate([data.positive, data.negative])
        sign = np.repeat([1.0, -1.0], [len(data.positive), len(data.negative)])
        # The intercept makes up for a shift of the rows: far from zero, they are centred.
        parts = [data.X] if pool is None else [data.X, pool]
        centre = Reach.merged([Reach.of(part) for part in parts]).centre()
        rows = as_rows(data.X, centre)
        chosen_from = np.flatnonzero(count)
        if pool is not None:
            rows = rows.stack(as_rows(pool, centre))
            chosen_from = chosen_from + data.X.shape[0]
        return BudgetedSVM(
            rows,
            training,
            sign,
            self.C * data.weight[training],
            chosen_from,
            count[count > 0.0],
            self.k_,
            centre,
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive above the hyperplane.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_DTYPES, reset=False)
        return as_rows(X, self._centre_).scores(self.coef_[0]) + self._centred_intercept_

    def predict(self, X: Any) -> np.ndarray:
        """Label of every row by the learned hyperplane.

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
        # No more than k candidates may be positive, however many positives there are.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        return tags


def select(scores: np.ndarray, count: np.ndarray, k: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the best scores that fill `k` places, best first, and the tie at the cut.

    Parameters
    ----------
    scores : ndarray
        Score of every candidate.
    count : ndarray
        Places each candidate takes; candidates of count zero are never selected.
    k : float
        Places to fill. A last candidate of count above one may overlap the end.

    Returns
    -------
    selected, tied : ndarray of int
        Ties go to the lower position; `tied` is empty unless the cut splits a tie.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.transductive.estimator import select
    >>> select(np.array([0.0, 2.0, 0.0]), np.ones(3), 2)
    (array([1, 0]), array([0, 2]))
    """
    unit = _SAME * float(np.abs(scores).max())
    level = np.round(scores / unit) if unit > 0.0 else np.zeros(len(scores))
    order = np.lexsort((np.arange(len(scores)), -level))
    order = order[count[order] > 0.0]
    filled = np.cumsum(count[order])
    size = int(np.searchsorted(filled, k * (1.0 - 1e-12))) + 1
    tied = order[level[order] == level[order[size - 1]]]
    split = not np.isin(tied, order[:size]).all()
    return order[:size], tied if split else tied[:0]
