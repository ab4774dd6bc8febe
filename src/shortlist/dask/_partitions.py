"""Partitions of dask collections: aligned blocks in, sums of small results out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._cluster import FAN_IN
from ._lazy import is_collection, is_frame


def aligned_blocks(X: Any, name: str = "X", **per_row: Any) -> list[tuple[Any, ...]]:
    """Return the delayed blocks of `X` with those of arrays that have one value per row.

    Parameters
    ----------
    X : dask array, data frame or series
        Rows. Column chunks are joined.
    name : str
        What to call `X` in an error.
    **per_row : dask array, series, array-like or None
        Values of the rows. A collection must be partitioned as `X`; an array with known
        chunks is rechunked. None stays None. Other arrays are cut as `X` is.

    Returns
    -------
    list of tuple
        One tuple per partition: the block of `X`, then those of `per_row` in order.

    Examples
    --------
    >>> import dask, dask.array as da
    >>> from shortlist.dask._partitions import aligned_blocks
    >>> X, y = da.ones((4, 2), chunks=(3, 2)), da.arange(4, chunks=2)
    >>> [len(block) for block in dask.compute(*[y for _, y in aligned_blocks(X, y=y)])]
    [3, 1]
    """
    blocks = _delayed(X)
    columns = [blocks]
    for label, values in per_row.items():
        if values is None:
            columns.append([None] * len(blocks))
            continue
        parts = _delayed(_cut_like(X, name, label, values))
        if len(parts) != len(blocks):
            raise ValueError(
                f"{label} has {len(parts)} partitions and {name} {len(blocks)}: they must be "
                f"partitioned alike. Take {label} and {name} from one data frame, or rechunk "
                f"{label} to the chunks of {name} after compute_chunk_sizes()."
            )
        columns.append(parts)
    return list(zip(*columns, strict=True))


def _cut_like(X: Any, name: str, label: str, values: Any) -> Any:
    """Return `values` as a collection, cut where `X` is if the lengths are known."""
    import dask.array as da

    chunks = None if is_frame(X) else X.chunks[0]
    known = chunks is not None and not np.isnan(chunks).any()
    if not is_collection(values):
        if not known:
            raise ValueError(
                f"{label} is a {type(values).__name__} in memory, and the lengths of the "
                f"partitions of {name} are not known, so it cannot be cut to match. Pass "
                f"{label} as a dask collection partitioned as {name}."
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if is_frame(values) or not known or np.isnan(values.chunks[0]).any():
        return values
    if values.shape[0] != X.shape[0]:
        raise ValueError(
            f"{label} has {values.shape[0]} rows and {name} {X.shape[0]}: they must describe the "
            "same rows (inconsistent numbers of samples)."
        )
    return values if values.chunks[0] == chunks else values.rechunk({0: chunks})


def _delayed(X: Any) -> list[Any]:
    if not is_frame(X) and X.ndim == 2:
        X = X.rechunk({1: -1})
    # Optimised one by one, rows and labels that come from one table would be computed apart:
    # twice, and in another order each where a shuffle does not fix it.
    blocks = X.to_delayed(optimize_graph=False)
    return blocks if isinstance(blocks, list) else list(blocks.ravel())


def bytes_of(X: Any) -> int:
    """Return the size of the rows of a partition, dense or sparse."""
    if hasattr(X, "indptr"):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def reduce_blocks(results: Sequence[Any], join: Callable[..., Any], **params: Any) -> Any:
    """Join delayed results in a tree, in the order of the partitions.

    Parameters
    ----------
    results : sequence of Delayed
        One per partition, at least one.
    join : callable
        Takes a list of results and returns one; must be associative.
    **params : object
        Passed to `join`, delayed or not.

    Returns
    -------
    Delayed
        The joined result.
    """
    from dask import delayed

    results = list(results)
    first = True
    while first or len(results) > 1:
        first = False
        results = [
            delayed(join, pure=False)(results[start : start + FAN_IN], **params)
            for start in range(0, len(results), FAN_IN)
        ]
    return results[0]
