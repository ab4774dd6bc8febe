"""Two-class estimators for the top of the list: TopPush and PatMat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..certificate import Check, CollapsedWarning
from ..rows.kernels import KernelFunction
from .classifier import TopClassifier
from .soft_maximum import SoftHighest
from .surrogate_quantile import TopRate
from .top_mean import HighestRows

__all__ = ["CollapsedWarning", "PatMat", "TopPush"]


class TopPush(TopClassifier):
    r"""Classifier that pushes positives above the highest negatives.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_{i \in pos} \ell\Bigl(
              \frac1k \sum_{j=1}^{k} s^-_{(j)} - s_i \Bigr)

    where :math:`s = w \cdot \phi(x)` are the scores, with :math:`\phi` the features or
    the feature map of a kernel, and :math:`s^-_{(1)} \ge s^-_{(2)} \ge \dots` those of
    the negatives.
    ``k=1`` is TopPush, an integer ``k > 1`` is TopPushK, a fraction is
    :math:`\tau`-FPL. No intercept is learned: the threshold moves with the scores.
    Every fit ends with a duality-gap certificate and stops on it.

    Parameters
    ----------
    k : int or float, default=1
        How many of the highest negatives make the threshold: an integer counts
        rows, a float in (0, 1) is that fraction of the negatives, rounded up.
        A larger `k` is more robust to a few hard or mislabelled negatives.
    rows : {"negatives", "all"}, default="negatives"
        Rows among which the `k` highest are taken. "all" is TopMean: the threshold is the
        mean score of the whole list's top, positives included, and a float `k` is a
        fraction of all rows.
    smoothing : float, default=0.0
        With ``k=1`` and linear scores, softens the maximum: the threshold becomes
        :math:`\max_p \, p \cdot s - \frac\sigma2 (\sum_j p_j^2 - \frac1n)` over shares
        :math:`p` of the `n` rows, between the highest score (0) and the mean score (large).
        Each row counts by how far it lies above a level, the sum of these distances being
        :math:`\sigma`.
    C : float, default=1.0
        Weight of the loss. The published :math:`\lambda` is
        ``1 / (C * n_positives)``.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        :math:`\ell(z) = \max(0, 1+z)^2` or :math:`\max(0, 1+z)`.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax",
        "precomputed", or a function of two row matrices that returns their kernel
        matrix. The kernel should be positive semi-definite ("sigmoid" is not in
        general): where it turns out not to be, a warning says so and the certificate claims
        nothing (status ``"local"``).
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly", "sigmoid", "laplacian" and "chi2": "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    solver : {"auto", "newton", "accelerated", "smo", "coordinate"}, default="auto"
        ``"newton"``: interior-point Newton steps on a working set of negatives.
        ``"accelerated"``: the published linear dual method, slow, as a reference.
        ``"smo"``: pair steps in a working set, for kernels. ``"coordinate"``: the
        published kernel method, slow, as a reference.
        Both also take ``kernel="linear"``.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    cache_size : float, default=500
        Megabytes for kernel entries. With less than the model needs, rows are
        computed again and again: slower, the same result.
    warm_start : bool, default=False
        Start from the last fit where the rows are the same; for paths over `C` or
        `k`. Kernel rows are kept between the fits.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample that a kernel fit starts from.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.
    pos_label : label or None, default=None
        The label to push up. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes
        or false/true; otherwise the one that sorts last, as everywhere in scikit-learn, with
        a warning if the labels are text.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, where the kernel is linear.
    support_ : ndarray of shape (n_support,)
        Training rows in the model, with a kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    support_vectors_ : {ndarray, csr matrix}
        These rows; empty with ``kernel="precomputed"``.
    threshold_ : float
        The threshold: mean score of the top `k` negatives of the training data, raised
        by 1e-10 of the largest score so that rounding does not lift those rows above it.
    intercept_ : ndarray of shape (1,)
        ``-threshold_``, so that linear-model tools work; linear kernel only.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class, which has positive decision values:
        where `pos_label` is the label that sorts first, the order is turned round.
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
    PatMat : Threshold at a quantile instead: think in rates.
    sklearn.svm.LinearSVC : Trained for all rows instead of the top.

    Notes
    -----
    ``sample_weight`` is multiplicity: weight 2 is the row twice, weight 0 is the
    row gone, and `k` counts weight. Rows exactly on the threshold, such as the top
    negative itself when ``k=1``, are predicted negative, as everywhere in scikit-learn
    where a decision value is zero.

    There is no ``predict_proba``: scores are made to order, not to be odds. Wrap the
    estimator in :class:`sklearn.calibration.CalibratedClassifierCV` for probabilities.

    References
    ----------
    N. Li, R. Jin, Z.-H. Zhou, "Top rank optimization in linear time", NIPS 2014.

    V. Mácha, L. Adam, V. Šmídl, "Nonlinear classifiers for ranking problems based on
    kernelized SVM", 2020.

    L. Adam, V. Mácha, V. Šmídl, T. Pevný, "General framework for binary classification on
    top samples", Optimization Methods and Software 37 (2022): TopMean.

    A. Martins, R. Astudillo, "From softmax to sparsemax", ICML 2016: the softened maximum.

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

    _recipe = HighestRows
    _recipes_by_parameter: ClassVar = {"smoothing": SoftHighest}

    def __init__(
        self,
        k: int | float = 1,
        *,
        rows: str = "negatives",
        smoothing: float = 0.0,
        C: float = 1.0,
        loss: str = "squared_hinge",
        kernel: str | KernelFunction = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float = 500.0,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        super().__init__(
            C=C,
            loss=loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            cache_size=cache_size,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
            pos_label=pos_label,
        )
        self.k = k
        self.rows = rows
        self.smoothing = smoothing


class PatMat(TopClassifier):
    r"""Classifier for the top :math:`\tau` of a list: a threshold at a quantile.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_{i \in pos} \ell(t - s_i)
              \quad\text{with } t \text{ from}\quad
              \sum_{j \in Q} \ell(\theta (s_j - t)) = \tau |Q|

    where :math:`s = w \cdot \phi(x)` are the scores. The equation makes :math:`t` a convex
    surrogate of the top :math:`\tau`-quantile of the rows :math:`Q`: the negatives
    (bounds the false-positive rate) or all rows (the top :math:`\tau` of the list).
    Every fit ends with a duality-gap certificate and stops on it.

    Parameters
    ----------
    tau : float, default=0.05
        The rate, in (0, 1).
    quantile : {"negatives", "all"}, default="negatives"
        Rows of the quantile. "negatives" is the Neyman-Pearson variant with
        :math:`N = n^-`, "all" the original with :math:`N = n`. The model printed in the
        reference (negatives, :math:`N = n`) is "negatives" at
        :math:`\tau n / n^-`.
    theta : float, default=1.0
        Slope :math:`\theta` of the surrogate; larger is closer to the true quantile
        and harder to fit.
    cutoff : {"quantile", "surrogate"}, default="quantile"
        What `decision_function` subtracts. "quantile": ``quantile_``, the exact
        empirical one, so that at most the asked rate of the training rows is
        predicted positive. It is the default because a rate is what users ask for;
        the surrogate :math:`t` always lies above it and may flag far fewer rows.
        "surrogate": ``threshold_``.
    C : float, default=1.0
        Weight of the loss.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        :math:`\ell(z) = \max(0, 1+z)^2` or :math:`\max(0, 1+z)`, for the positives and
        for the surrogate.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax",
        "precomputed", or a function of two row matrices that returns their kernel
        matrix. The kernel should be positive semi-definite ("sigmoid" is not in
        general): where it turns out not to be, a warning says so and the certificate claims
        nothing (status ``"local"``).
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly", "sigmoid", "laplacian" and "chi2": "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    solver : {"auto", "newton", "smo", "coordinate"}, default="auto"
        ``"newton"``: interior-point Newton steps on a working set of rows.
        ``"smo"``: pair steps in a working set, for kernels. ``"coordinate"``: the
        published kernel method, slow, as a reference.
        Both also take ``kernel="linear"``.
    tol : float, default=1e-4
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Iteration limit; None leaves it to the solver.
    time_limit : float or None, default=None
        Seconds after which the fit stops with what it has.
    cache_size : float, default=500
        Megabytes for kernel entries. With less than the model needs, rows are
        computed again and again: slower, the same result.
    warm_start : bool, default=False
        Start from the last fit where the rows are the same; for paths over `C` or
        `tau`. Kernel rows are kept between the fits.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample that a kernel fit starts from.
    verbose : int, default=0
        1 prints one line per evaluation of the certificate.
    callback : callable or None, default=None
        Receives each :class:`~shortlist.certificate.Check`; a true return value
        stops the fit.
    pos_label : label or None, default=None
        The label to push up. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes
        or false/true; otherwise the one that sorts last, as everywhere in scikit-learn, with
        a warning if the labels are text.

    Attributes
    ----------
    threshold_ : float
        The surrogate threshold :math:`t`, the one of the certificate. Because
        :math:`\ell(z) \ge 1` for :math:`z \ge 0`, at most the rate `tau` of the training
        rows lies above it: it is an upper bound of ``quantile_``.
    quantile_ : float
        A score with as much of the training rows above it as `tau` allows, halfway
        to the next row; ``threshold_`` where `tau` allows less than one row.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, where the kernel is linear.
    support_ : ndarray of shape (n_support,)
        Training rows in the model, with a kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    support_vectors_ : {ndarray, csr matrix}
        These rows; empty with ``kernel="precomputed"``.
    intercept_ : ndarray of shape (1,)
        Minus the cutoff, so that linear-model tools work; linear kernel only.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class, which has positive decision values:
        where `pos_label` is the label that sorts first, the order is turned round.
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
    TopPush : Threshold at the highest negatives instead.

    Notes
    -----
    ``sample_weight`` is multiplicity: weight 2 is the row twice, weight 0 is the row
    gone, and `tau` is a share of weight. The zero model is always feasible, and any
    `tau` in (0, 1) has an optimum.

    There is no ``predict_proba``: scores are made to order, not to be odds. Wrap the
    estimator in :class:`sklearn.calibration.CalibratedClassifierCV` for probabilities.

    References
    ----------
    V. Mácha, L. Adam, V. Šmídl, "Nonlinear classifiers for ranking problems based on
    kernelized SVM", 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist import PatMat
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PatMat(tau=0.02, kernel="rbf").fit(scale(X), y)
    >>> model.certificate_.status
    'converged'
    >>> bool(model.predict(scale(X))[y == 0].mean() <= 0.02)
    True
    """

    _recipe = TopRate

    def __init__(
        self,
        tau: float = 0.05,
        *,
        quantile: str = "negatives",
        theta: float = 1.0,
        cutoff: str = "quantile",
        C: float = 1.0,
        loss: str = "squared_hinge",
        kernel: str | KernelFunction = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float = 500.0,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        super().__init__(
            C=C,
            loss=loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            cache_size=cache_size,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
            pos_label=pos_label,
        )
        self.tau = tau
        self.quantile = quantile
        self.theta = theta
        self.cutoff = cutoff
