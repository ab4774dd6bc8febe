"""What the linear rivals share: scores less a threshold, and labels by their sign."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._fit import ROW_DTYPES
from ..rows.operators import as_rows


class LinearRival(ClassifierMixin, BaseEstimator):
    """A fitted linear model; a subclass learns ``coef_`` and calls :meth:`_keep`."""

    coef_: np.ndarray
    classes_: np.ndarray

    def _keep(self, w: np.ndarray, centre: np.ndarray | None, offset: float) -> None:
        """Store weights, and the offset that is added to scores counted from `centre`."""
        self.coef_ = w[None, :]
        self._centre_, self._offset_ = centre, offset
        origin = 0.0 if centre is None else float(centre @ w)
        self.intercept_ = np.array([offset - origin])

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
