"""Ordering by pairs of rows that lie in partitions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .. import pairs
from .._fit import atomic
from .._losses import LOSSES
from ..metrics._pairs import count_pairs
from ._cluster import each, gather, keep, lost_cluster
from ._lazy import LazyPredict, check_features, is_collection
from ._pairs import DaskPairs, PartitionFacts, facts, prepare
from ._partitions import aligned_blocks, reduce_blocks


class RankSVM(LazyPredict, pairs.RankSVM):
    r"""Ranking support vector machine on dask collections.

    The problem, parameters, fitted attributes and certificate are those of
    :class:`shortlist.RankSVM` with ``kernel="linear"``:

    .. math:: \tfrac12 \|w\|^2 + c \sum_b \sum_{(i, j) \in P_b} \omega_i \omega_j \,
              \ell\bigl( w \cdot (x_i - x_j) \bigr)

    with one inner sum per partition b. A group (`qid`) must lie in one partition; this is
    checked. On rows in memory the estimator is :class:`shortlist.RankSVM` itself. The
    fitted model is an ordinary one: it predicts, pickles and is loaded without dask.

    Parameters
    ----------
    C, loss, kernel, gamma, degree, coef0, max_rank_distance, normalize, pairwise_features
        As in :class:`shortlist.RankSVM`; dask collections need ``kernel="linear"``.
    solver, tol, max_iter, time_limit, cache_size, verbose, callback
        As in :class:`shortlist.RankSVM`.

    Attributes
    ----------
    coef_, n_pairs_, certificate_, n_iter_, n_features_in_, feature_names_in_
        As in :class:`shortlist.RankSVM`.

    See Also
    --------
    shortlist.RankSVM : The same in memory, with kernels.

    Notes
    -----
    During the fit the workers keep the rows, float32 or float64 as they are given, and 33
    bytes per row for targets, groups, weights and their order (up to 51 with
    `max_rank_distance`). While a pass runs it takes 40 bytes more per row of a partition,
    and 130 per row of its largest group. A pass sends the model to every partition and
    brings one vector of that length back. The client holds a few such vectors, one value
    per group while it checks that no group is split, and a sample of the rows (64 MB at
    most) that starts the fit and preconditions its steps. A lost worker's share is
    computed again by dask; a lost scheduler ends the fit with a ``RuntimeError``.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.dask import RankSVM
    >>> X, y = load_diabetes(return_X_y=True)
    >>> qid = da.arange(len(y), chunks=100) // 50
    >>> X, y = da.from_array(scale(X), chunks=(100, 10)), da.from_array(y, chunks=100)
    >>> model = RankSVM().fit(X, y, qid=qid)
    >>> model.certificate_.status
    'converged'
    >>> model.predict(X)
    dask.array<_of_block, shape=(442,), dtype=float64, chunksize=(100,), chunktype=numpy.ndarray>
    """

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Training rows, dense or sparse chunks. Rows in memory are fitted in memory.
        y : dask array or series of shape (n_samples,)
            Numbers that order the rows, higher first; partitioned as `X`.
        qid : dask array or series of shape (n_samples,), default=None
            Group of every row; no group may have rows in two partitions. None: one group,
            so that all rows must be in one partition.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : RankSVM
            Fitted estimator.
        """
        if not is_collection(X):
            return super().fit(X, y, qid, sample_weight)
        return self._fit_collections(X, y, qid, sample_weight)

    @atomic
    def _fit_collections(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        from dask import delayed

        self._check_parameters()
        if not self._linear:
            raise ValueError(
                f"kernel={self.kernel!r} needs the kernel of all pairs of rows, which dask "
                "collections do not have at hand. Use kernel='linear', or fit a sample in "
                "memory; sklearn.kernel_approximation makes features for a linear fit."
            )
        if self.pairwise_features != "difference":
            raise ValueError(
                f"pairwise_features={self.pairwise_features!r} needs all pairs of rows, which dask "
                "collections do not have at hand. Use pairwise_features='difference', or fit a "
                "sample in memory."
            )
        check_features(self, X, reset=True)
        loss = LOSSES[self.loss]
        blocks = aligned_blocks(X, y=y, qid=qid, sample_weight=sample_weight)
        make = delayed(prepare, pure=False)
        with lost_cluster():
            parts = keep(
                [make(i, *block, loss, self.max_rank_distance) for i, block in enumerate(blocks)]
            )
            known = gather(each(facts, parts))
            _check_whole(known, qid is None)
            problem = DaskPairs(
                parts,
                known,
                X.shape[1],
                float(self.C),
                loss,
                self.max_rank_distance,
                bool(self.normalize),
            )
            # Any point near the rows keeps the digits of their scores.
            self._centre_ = next((fact.centre for fact in known if fact.centre is not None), None)
            self._solve(problem)
        return self

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Share of the pairs of different `y` in one group that the scores order rightly.

        Parameters
        ----------
        X, y, qid, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        float
            Pairwise accuracy, ties in the scores counting half.
        """
        if not is_collection(X):
            return super().score(X, y, qid, sample_weight)
        from dask import delayed

        blocks = aligned_blocks(X, y=y, qid=qid, sample_weight=sample_weight)
        model, count = delayed(self, traverse=False), delayed(_count, pure=False)
        counted = [count(model, *block) for block in blocks]
        asked = [reduce_blocks([pair[0] for pair in counted], np.sum, axis=0)]
        with lost_cluster():
            counts, *groups = gather([*asked, *(pair[1] for pair in counted)])
        _check_whole([PartitionFacts(some, len(some)) for some in groups], qid is None)
        if not counts[1]:
            raise ValueError("There is no pair to score: y is constant in every group of qid.")
        return float(counts[0] / counts[1])


def _count(
    model: RankSVM, X: Any, y: Any, qid: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the rightly ordered pairs and of all pairs of a partition, and its groups."""
    if not X.shape[0]:
        return np.zeros(2), np.empty(0)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    group, groups = None, np.zeros(1)
    if qid is not None:
        groups, group = np.unique(np.asarray(qid), return_inverse=True)
    return np.array(count_pairs(np.asarray(y), model.predict(X), group, weight)), groups


def _check_whole(known: list[PartitionFacts], one_group: bool) -> None:
    """Raise if a group has rows in two partitions."""
    filled = [i for i, fact in enumerate(known) if fact.n_rows]
    if len(filled) < 2:
        return
    if one_group:
        raise ValueError(
            f"qid=None makes all rows one group, and they lie in {len(filled)} partitions: pairs "
            "between partitions would be lost. Pass qid, or put all rows in one partition: "
            "X.rechunk(-1) of an array, df.repartition(npartitions=1) of a data frame."
        )
    labels = np.concatenate([known[i].groups for i in filled])
    groups, count = np.unique(labels, return_counts=True)
    split = count > 1
    if split.any():
        group = groups[split].tolist()[0]
        where = [i for i in filled if (known[i].groups == group).any()]
        raise ValueError(
            f"qid={group!r} has rows in partitions {where[0]} and {where[1]}, and "
            f"{int(split.sum())} of {len(groups)} groups are split like that: pairs between "
            "partitions would be lost. Bring every group into one partition: "
            "df.shuffle(on='qid') or df.set_index('qid') of a data frame, or rechunk arrays "
            "that are sorted by qid at the ends of groups."
        )
