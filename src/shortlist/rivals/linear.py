"""What the linear rivals share: scores less a threshold, and labels by their sign."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import outside
from .._fit import ROW_DTYPES
from ..certificate import Certificate, Check, CollapsedWarning
from ..rows.operators import as_rows


class LinearRival(ClassifierMixin, BaseEstimator):
    """A linear model; a subclass documents the parameters, learns it and calls :meth:`_keep`."""

    coef_: np.ndarray
    classes_: np.ndarray

    def __init__(
        self,
        *,
        C: float,
        solver: str,
        tol: float,
        max_iter: int | None,
        time_limit: float | None,
        verbose: int,
        callback: Callable[[Check], object] | None,
        pos_label: Any,
    ) -> None:
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.callback = callback
        self.pos_label = pos_label

    def _keep(
        self,
        classes: np.ndarray,
        w: np.ndarray,
        centre: np.ndarray | None,
        offset: float,
        certificate: Certificate,
        n_iter: int,
    ) -> None:
        """Store what was learned; `offset` is added to scores counted from `centre`."""
        self.classes_ = classes
        self.coef_ = w[None, :]
        self._centre_, self._offset_ = centre, offset
        origin = 0.0 if centre is None else float(centre @ w)
        self.intercept_ = np.array([offset - origin])
        self.certificate_ = certificate
        self.n_iter_ = n_iter

    def _warn_if_collapsed(self, remedy: str) -> None:
        """Say that the zero model is the optimum, where it is, and what to do."""
        if self.certificate_.status == "converged" and not self.coef_.any():
            warnings.warn(
                f"{type(self).__name__} collapsed: the zero model is optimal within tol, every row "
                f"has the same score. {remedy}",
                CollapsedWarning,
                stacklevel=outside(),
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of every row, less the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where the row is called positive.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_DTYPES, reset=False)
        # From the centre, rows far from the origin keep their digits.
        return as_rows(X, self._centre_).scores(self.coef_[0]) + self._offset_

    def predict(self, X: Any) -> np.ndarray:
        """Label of every row: positive where the decision function is.

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
