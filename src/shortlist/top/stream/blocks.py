"""Training data that is read block by block: for rows that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._checks import check_number
from .segments import KINDS, Block, CallSegment, Values, segment

__all__ = ["Blocks"]


class Blocks:
    r"""Rows with their labels, read block by block as often as a fit needs them.

    Pass it to ``fit`` of :class:`~shortlist.TopPush` or :class:`~shortlist.PatMat` (linear
    kernel) in the place of `X` and `y`. The fit is that of the same rows in memory, with
    the same certificate. It keeps in memory

    - the positives,
    - 8 bytes per row of the threshold, its score, for the last pass and for the best one;
      nothing for ``TopPush(k)`` up to ``k=1000``. 8 bytes more where there are sample
      weights,
    - a working set of the highest rows: usually some thousand; at least `2 k` for
      ``TopPush(k)``; for ``PatMat`` the rows that score above
      :math:`t - 1/\theta`, which are many where the model separates little,
    - one block.

    Parameters
    ----------
    source : array, CSR matrix, path, function, or list of these
        Where the rows are. A path names a ``.npy`` or ``.parquet`` file. A function
        without arguments returns a fresh iterator, over the same blocks each time, of
        ``(X, y)`` or ``(X, y, sample_weight)``. An array may be a ``numpy.memmap``: its
        file is read, not mapped, so that its pages do not add to the process.
    y : array, label, column name, or list of these
        Labels: an array with one per row, one label for all rows, or the name of a Parquet
        column. With a list of sources, a list of these, or the name of a column that all
        have. Left out for functions, which bring theirs.
    sample_weight : array, column name, or list of these, default=None
        Multiplicities, given like `y`.
    block_bytes : int, default=8388608
        Size of the blocks that files and arrays are cut into, as float64.

    See Also
    --------
    shortlist.dask : The same estimators on a cluster.

    Notes
    -----
    Labels that come from a function cost one pass more: which class is positive must be
    known first. An ordinary ``numpy.memmap`` may also be passed to ``fit`` as `X`. It is not
    copied; the operating system then decides how much of it stays in memory.

    Examples
    --------
    Few positives in memory, negatives in a file:

    >>> import os, tempfile
    >>> import numpy as np
    >>> from shortlist import TopPush
    >>> from shortlist.blocks import Blocks
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(1.0, size=(50, 4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "negatives.npy")
    ...     np.save(path, rng.normal(size=(5000, 4)))
    ...     model = TopPush(k=0.01).fit(Blocks([positives, path], y=[1, 0]))
    >>> model.certificate_.status
    'converged'
    """

    def __init__(
        self,
        source: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        block_bytes: int = 1 << 23,
    ) -> None:
        check_number("block_bytes", block_bytes, least=1, integer=True)
        self.block_bytes = block_bytes
        sources, labels, weights = [source], [y], [sample_weight]
        if isinstance(source, list | tuple):
            sources = list(source)
            if not sources:
                raise ValueError(f"source is an empty list: it must hold {KINDS}.")
            labels = _one_each("y", y, len(sources))
            weights = _one_each("sample_weight", sample_weight, len(sources))
        self._segments = [
            segment(place, Values("y", label), Values("sample_weight", weight))
            for place, label, weight in zip(sources, labels, weights, strict=True)
        ]
        self.label_passes = int(any(isinstance(s, CallSegment) for s in self._segments))

    def read(self) -> Iterator[Block]:
        """Return an iterator over the blocks; each is valid until the next is asked for."""
        for part in self._segments:
            yield from part.read(self.block_bytes)

    def classes(self) -> np.ndarray:
        """Return the distinct labels.

        Returns
        -------
        ndarray
            Sorted.
        """
        found = [np.unique(y) for part in self._segments for y in part.labels()]
        return np.unique(np.concatenate(found)) if found else np.empty(0)


def _one_each(name: str, value: Any, count: int) -> list[Any]:
    if value is None or isinstance(value, str):
        return [value] * count
    if isinstance(value, list | tuple) and len(value) == count:
        return list(value)
    raise ValueError(
        f"{name} must be a list with one entry for each of the {count} sources: the values of "
        "its rows, one value for all of them, or the name of a column."
    )
