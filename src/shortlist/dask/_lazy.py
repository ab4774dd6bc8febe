"""Lazy scores: an in-memory model applied to dask collections, block by block.

Nothing here imports dask before a collection is seen, so a model fitted on a cluster
is loaded and used where dask is not installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ._cluster import gather, lost_cluster


def is_collection(X: Any) -> bool:
    """Whether `X` is a dask collection: array, data frame, series or bag."""
    return hasattr(X, "__dask_graph__")


def is_frame(X: Any) -> bool:
    """Whether a collection is a data frame or a series."""
    return hasattr(X, "map_partitions")


def check_features(model: Any, X: Any, *, reset: bool = False) -> None:
    """Compare, or record, number and names of the features without reading a row."""
    if getattr(X, "ndim", None) != 2 or not (is_frame(X) or hasattr(X, "map_blocks")):
        shape = getattr(X, "shape", None)
        raise ValueError(
            f"X must be a two-dimensional dask array or data frame, got a {type(X).__name__} of "
            f"shape {shape}. Reshape your data: X.reshape(-1, 1) for one feature."
        )
    empty = X._meta if is_frame(X) else np.empty((0, X.shape[1]))
    validate_data(model, empty, reset=reset, skip_check_array=True)


def lazily(model: Any, method: str, X: Any, dtype: Any) -> Any:
    """Apply a method of a fitted model to the rows of a collection, when it is computed.

    Parameters
    ----------
    model : estimator
        Fitted. It travels to the workers once.
    method : str
        Its method: one number or label per row.
    X : dask array or data frame
        Dense or sparse chunks; empty ones are allowed.
    dtype : dtype
        Type of the result.

    Returns
    -------
    dask array or series
        One value per row: an array for an array, a series with the frame's index for a
        data frame.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shortlist.dask._lazy import lazily
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> X = da.asarray([[0.0], [1.0], [2.0]]).rechunk((2, 1))
    >>> lazily(model, "predict", X, int).compute()
    array([0, 1, 1])
    """
    from dask import delayed

    check_is_fitted(model)
    check_features(model, X)
    dtype = np.dtype(dtype)
    shipped = delayed(model, traverse=False)
    if is_frame(X):
        meta = X._meta.iloc[:, 0].astype("object" if dtype.kind in "OSU" else dtype).rename(None)
        return X.map_partitions(_of_frame, shipped, method, dtype, meta=meta)
    return X.rechunk({1: -1}).map_blocks(
        _of_block, shipped, method, dtype, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype)
    )


def _of_block(X: Any, model: Any, method: str, dtype: np.dtype) -> np.ndarray:
    if not X.shape[0]:
        return np.empty(0, dtype)
    return getattr(model, method)(X)


def _of_frame(X: Any, model: Any, method: str, dtype: np.dtype) -> Any:
    from pandas import Series

    return Series(_of_block(X, model, method, dtype), index=X.index)


class LazyPredict:
    """Mixin: ``predict`` is lazy on dask collections, the parent's on everything else."""

    def predict(self, X: Any) -> Any:
        """Value of every row; a lazy dask array or series for a dask collection.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array, dask data frame}
            Rows; chunks may be dense or sparse.

        Returns
        -------
        ndarray, dask array or dask series of shape (n_samples,)
            As the in-memory estimator. A data frame gives a series with its index.
        """
        if is_collection(X):
            check_is_fitted(self)
            # Labels where there are classes, else scores.
            return lazily(self, "predict", X, getattr(self, "classes_", np.empty(0)).dtype)
        return super().predict(X)  # type: ignore[misc]


class LazyClassifier(LazyPredict):
    """Mixin: ``predict``, ``decision_function`` and ``score`` are lazy on dask collections."""

    def decision_function(self, X: Any) -> Any:
        """Decision value of every row; lazy for a dask collection.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array, dask data frame}
            Rows; chunks may be dense or sparse.

        Returns
        -------
        ndarray, dask array or dask series of shape (n_samples,)
            As the in-memory estimator. A data frame gives a series with its index.
        """
        if is_collection(X):
            return lazily(self, "decision_function", X, np.float64)
        return super().decision_function(X)  # type: ignore[misc]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows with the right label.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array, dask data frame}
            Rows.
        y : array-like, dask array or dask series
            Their labels, partitioned as `X`.
        sample_weight : array-like, dask array or dask series, default=None
            Multiplicity of every row.

        Returns
        -------
        float
            The accuracy.
        """
        if not is_collection(X):
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        right = self.predict(X) == y
        share = right.mean()
        if sample_weight is not None:
            share = (right * sample_weight).sum() / sample_weight.sum()
        with lost_cluster():
            return float(gather([share])[0])
