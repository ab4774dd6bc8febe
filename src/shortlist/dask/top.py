"""TopPush and PatMat on Dask arrays and dataframes."""

from __future__ import annotations

from typing import Any, Self

from .. import top
from .._fit import atomic
from ..top.classifier import TopClassifier
from ._cluster import lost_cluster
from ._lazy import LazyClassifier, check_features, is_collection
from ._partitioned import read_partitions


class _PartitionedFit(LazyClassifier, TopClassifier):
    """The fit path over partitions; that of the parent for everything else."""

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask array or dask dataframe of shape (n_samples, n_features)
            Training rows, in dense or sparse chunks; a partition may be empty or hold one
            class only. Data in memory is fitted in memory.
        y : dask array, dask series or array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to push up. Partitioned as `X`.
        sample_weight : dask array, dask series or array-like, default=None
            Multiplicity of every row, fractions allowed. Partitioned as `X`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if not is_collection(X):
            self._learn(X, y, sample_weight)
            return self
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        recipe = self._check_parameters(in_blocks=True)
        with lost_cluster():
            check_features(self, X, reset=True)
            data = read_partitions(self, X, y, sample_weight, recipe.everything)
            self._fit_blocks(recipe, data)
        return self


class TopPush(_PartitionedFit, top.TopPush):
    r"""Classifier that pushes positives above the highest negatives, on a cluster.

    The problem, the parameters, the fitted attributes and the certificate are those of
    :class:`shortlist.TopPush` with a linear kernel:

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_{i \in pos} \ell\Bigl(
              \frac1k \sum_{j=1}^{k} s^-_{(j)} - s_i \Bigr), \qquad s = w \cdot x .

    Each pass sends `w` to the workers; the positives and the highest rows (at least
    `2 k` of them) come to the client once, everything else stays where it is. The fitted
    model is an ordinary one: it pickles, and it predicts without Dask.

    Parameters
    ----------
    k, rows, smoothing, C, loss, tol, max_iter, time_limit, warm_start, verbose, callback
        As in :class:`shortlist.TopPush`, as are the others, which concern kernels.

    See Also
    --------
    shortlist.blocks.Blocks : Rows on disk, one machine.

    Notes
    -----
    The validated partitions stay in the workers' memory during the fit, with 8 bytes per
    row and kept pass (the last and the best). A lost worker's share is computed again by
    Dask; a lost scheduler ends the fit with a ``RuntimeError``.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.dask import TopPush
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(scale(X), chunks=(200, 30)), da.from_array(y, chunks=200)
    >>> model = TopPush().fit(X, y)
    >>> model.certificate_.status
    'converged'
    >>> model.decision_function(X)[:2].compute().shape
    (2,)
    """


class PatMat(_PartitionedFit, top.PatMat):
    r"""Classifier for the top :math:`\tau` of a list, on a cluster.

    The problem, the parameters, the fitted attributes and the certificate are those of
    :class:`shortlist.PatMat` with a linear kernel:

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_{i \in pos} \ell(t - s_i)
              \quad\text{with } t \text{ from}\quad
              \sum_{j \in Q} \ell(\theta (s_j - t)) = \tau |Q|, \qquad s = w \cdot x .

    Each pass sends `w` to the workers; the positives and the rows that score above
    :math:`t - 1/\theta` come to the client once, everything else stays where it is. The
    fitted model is an ordinary one: it pickles, and it predicts without Dask.

    Parameters
    ----------
    tau, quantile, theta, cutoff, C, loss, tol, max_iter, time_limit, warm_start, verbose, callback
        As in :class:`shortlist.PatMat`, as are the others, which concern kernels.

    See Also
    --------
    shortlist.blocks.Blocks : Rows on disk, one machine.

    Notes
    -----
    As in :class:`shortlist.dask.TopPush`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.dask import PatMat
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(scale(X), chunks=(200, 30)), da.from_array(y, chunks=200)
    >>> model = PatMat(tau=0.02).fit(X, y)
    >>> model.certificate_.status
    'converged'
    """
