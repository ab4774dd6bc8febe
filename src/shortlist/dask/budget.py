"""The first k of all partitions: `BudgetClassifier` on dask collections."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier

from .. import budget
from ._cluster import gather, lost_cluster
from ._first_rows import FirstRows, first_rows, merge, rows_of_block
from ._lazy import LazyClassifier, is_collection, is_frame, lazily
from ._partitions import aligned_blocks, reduce_blocks


class BudgetClassifier(LazyClassifier, budget.BudgetClassifier):
    r"""Any scorer with a budget, on dask collections: the first k of *all* rows.

    With `k` or `fraction`, ``predict`` marks exactly

    .. math:: k \quad\text{or}\quad \lceil \mathrm{fraction} \cdot n \rceil

    rows of the whole collection, not of each partition: every partition sends its k best,
    the merged list goes back, and each partition marks its share. A classifier whose
    threshold was learned in memory (`fpr`, `precision`) labels row by row. On rows in
    memory the estimator is :class:`shortlist.BudgetClassifier` itself.

    Parameters
    ----------
    estimator : estimator
        Ranks the rows. ``fit`` hands dask collections to its ``fit``, so it must be one
        that takes them, such as those of :mod:`shortlist.dask`, or a fitted model of any
        library in :class:`sklearn.frozen.FrozenEstimator`.
    k, fraction, fpr, precision, confidence, cv, pos_label, n_jobs, random_state
        As in :class:`shortlist.BudgetClassifier`. ``fit`` on dask collections takes `k`
        or `fraction`.

    Attributes
    ----------
    estimator_, classes_, threshold_, n_features_in_, feature_names_in_
        As in :class:`shortlist.BudgetClassifier`.

    See Also
    --------
    shortlist.dask.metrics.top_k : Positions and scores of the k best.

    Notes
    -----
    ``predict`` is lazy. Rows are scored once; nothing proportional to the rows is kept but
    the labels, and for data frames their index. Among equal scores the earlier row comes
    first, and rows left out by a tie are reported by a warning when the labels are
    computed.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shortlist.dask import BudgetClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(max_iter=5000).fit(X, y)
    >>> X, y = da.from_array(X, chunks=(200, 30)), da.from_array(y, chunks=200)
    >>> today = BudgetClassifier(FrozenEstimator(model), k=10).fit(X, y)
    >>> int(today.predict(X).sum().compute())
    10
    """

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the scorer; in memory also learn the threshold of `fpr` and `precision`.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Training rows. Rows in memory are fitted in memory.
        y : dask array or series of shape (n_samples,)
            Two classes; partitioned as `X`.
        **params : dict
            Passed to the scorer's ``fit``.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, **params)
        cut, wish = self._cut_off()
        if cut not in ("k", "fraction"):
            raise ValueError(
                f"{cut}={wish!r} learns a threshold from held-out rows, which is done in memory. "
                "Fit the scorer on the collection, then pass "
                "estimator=FrozenEstimator(scorer) and held-out rows in memory to fit; predict "
                "then takes dask collections."
            )
        if self.confidence is not None:
            self._check_confidence(cut)
        fit_params, _ = self._route(params)
        self._check_target(_labels(X, y))
        target = y if is_classifier(self.estimator) else (y == self._positive()).astype(float)
        self._keep(clone(self.estimator).fit(X, target, **fit_params), None)
        return self

    def predict(self, X: Any) -> Any:
        """Label the rows of one batch; lazy for a dask collection.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array, dask data frame}
            The batch: all partitions together.

        Returns
        -------
        ndarray, dask array or dask series of shape (n_samples,)
            Class labels; with `k` or `fraction` exactly that many are positive.
        """
        if not is_collection(X) or hasattr(self, "threshold_"):
            return super().predict(X)
        from dask import delayed

        scores = lazily(self, "_margin", X, np.float64)
        blocks = [block for (block,) in aligned_blocks(scores, "scores")]
        places: Any = self.k
        if self.fraction is not None:
            places = delayed(self._places)(delayed(sum)([delayed(len)(block) for block in blocks]))
        find = delayed(first_rows, pure=False)
        found = [find(number, block, places) for number, block in enumerate(blocks)]
        best = reduce_blocks(found, merge, k=places)
        best = delayed(_report_ties, pure=False)(best)
        label = delayed(partial(_label, labels=self._labels_of_places()), pure=False)
        labels = [label(best, number) for number in range(len(blocks))]
        return _joined(labels, X, scores, self.classes_.dtype)


@lost_cluster()
def _labels(X: Any, y: Any) -> np.ndarray:
    """Return the distinct labels."""
    from dask import delayed

    find = delayed(_distinct, pure=False)
    found = gather([find(block) for _, block in aligned_blocks(X, y=y)])
    return np.unique(np.concatenate([labels for labels in found if len(labels)]))


def _distinct(y: Any) -> np.ndarray:
    return np.unique(np.asarray(y))


def _report_ties(best: FirstRows) -> FirstRows:
    if best.left_out:
        message = budget.tie_message(best.left_out, len(best.score))
        try:
            from distributed import warn
        except ImportError:
            warnings.warn(message, UserWarning, stacklevel=2)
        else:
            # On a worker this one is also shown where the client is.
            warn(message, UserWarning)
    return best


def _label(best: FirstRows, number: int, labels: np.ndarray) -> np.ndarray:
    return labels[rows_of_block(best, number).astype(np.intp)]


def _joined(labels: list[Any], X: Any, scores: Any, dtype: np.dtype) -> Any:
    """Return delayed labels of the partitions of `X` as one collection."""
    from dask import delayed

    if is_frame(X):
        import dask.dataframe as dd

        indexed = delayed(_with_index, pure=False)
        series = [
            indexed(part, index)
            for part, (index,) in zip(labels, aligned_blocks(X.index, "X"), strict=True)
        ]
        meta = scores._meta.astype("object" if dtype.kind in "OSU" else dtype)
        return dd.from_delayed(series, meta=meta, divisions=X.divisions, verify_meta=False)
    import dask.array as da

    parts = [
        da.from_delayed(part, shape=(length,), dtype=dtype)
        for part, length in zip(labels, scores.chunks[0], strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _with_index(labels: np.ndarray, index: Any) -> Any:
    from pandas import Series

    return Series(labels, index=index)
