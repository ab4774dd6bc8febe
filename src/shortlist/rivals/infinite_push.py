"""The infinite push: no negative above the positives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._checks import check_choice, check_number
from .._fit import atomic, solve, validate_binary
from .._losses import HINGE
from ..certificate import Check
from ..top.problem import TopProblem
from ..top.top_mean import TopMean
from .linear import LinearRival
from .push_programme import SparsePush

REGULARIZATIONS = ("l2", "l1")
# Added to the threshold, relative to the largest score: the highest negative stays below it
# however its score is summed up.
_ON_THRESHOLD = 1e-10


class InfinitePush(LinearRival):
    r"""Infinite push: the loss of the negative that ranks above the most positives.

    Minimises

    .. math:: \Omega(w) + C \max_j \sum_i \omega_i \, [1 - w \cdot (x_i - x_j)]_+

    over positives i and negatives j, with :math:`\Omega(w) = \tfrac12 \|w\|^2` (Agarwal) or
    :math:`\|w\|_1` (Rakotomamonjy's L1SVIP). The loss of a pair grows with the negative's score,
    so the largest sum is that of the highest negative, and the pairs are never formed: the squared
    penalty gives exactly :class:`~shortlist.TopPush` with the hinge, and runs its solver; the
    absolute one is a linear programme of a few rows at a time. Memory is linear in the rows.

    Parameters
    ----------
    regularization : {"l2", "l1"}, default="l2"
        Penalty. "l1" leaves few features.
    C : float, default=1.0
        Weight of the loss.
    solver : {"auto", "newton", "accelerated", "linear_programme"}, default="auto"
        "newton" and "accelerated" are those of :class:`~shortlist.TopPush`, for "l2";
        "linear_programme" is for "l1".
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
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
        Minus the score of the highest training negative, which is called negative.
    certificate_ : Certificate
        Primal, dual, gap, status and the trace of the fit.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    shortlist.TopPush : The squared hinge, more negatives, kernels, rows on disk.

    Notes
    -----
    ``sample_weight`` is the multiplicity :math:`\omega` of the positives; a negative counts once
    if its weight is not zero.

    References
    ----------
    S. Agarwal, "The infinite push: a new support vector ranking algorithm that directly optimizes
    accuracy at the absolute top of the list", SDM 2011.

    A. Rakotomamonjy, "Sparse support vector infinite push", ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.rivals import InfinitePush
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = InfinitePush("l1").fit(scale(X), y)
    >>> model.certificate_.status
    'converged'
    >>> bool((model.coef_ == 0).sum() > 5)
    True
    """

    def __init__(
        self,
        regularization: str = "l2",
        *,
        C: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.regularization = regularization
        super().__init__(
            C=C, solver=solver, tol=tol, max_iter=max_iter, time_limit=time_limit,
            verbose=verbose, callback=callback, pos_label=pos_label,
        )  # fmt: skip

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64 are used as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to look for.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every positive row, fractions allowed.

        Returns
        -------
        self : InfinitePush
            Fitted estimator.
        """
        check_choice("regularization", self.regularization, REGULARIZATIONS)
        check_number("C", self.C, above=0.0)
        data = validate_binary(self, X, y, sample_weight)
        C = float(self.C)
        if self.regularization == "l2":
            weight = data.weight.copy()
            weight[data.negative] = np.maximum(weight[data.negative], 1.0)
            problem: Any = TopProblem(
                data.X, data.positive, data.negative, weight, C, HINGE, TopMean(1.0)
            )
        else:
            c = C * data.weight[data.positive]
            problem = SparsePush(data.X, data.positive, data.negative, c)
        solution, certificate, n_iter = solve(self, problem)
        above = solution.threshold + _ON_THRESHOLD * solution.score_scale
        self._keep(data.classes, solution.w, problem.centre, -above, certificate, n_iter)
        self._warn_if_collapsed(
            "One negative lies among the positives: use TopPush with a larger k, or PatMat."
        )
        return self
