"""Stratified resampling of ranked rows, at the cost of the rows that matter.

A resample draws as many positives and as many negatives as there are, with
replacement. The scores are sorted once: a resample is a weight per rung, and
a metric is its formula on those weights. Rows that no metric can tell apart are one
cell, drawn together: runs of one class, and for a metric of the top of the list
everything that lies deeper than a resample can reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._measure import Measure
from ._rungs import Rungs, descending
from ._sample import FloatArray, Sample

# One binomial per cell costs about as much as this many single rows.
_ROWS_PER_BINOMIAL = 20


def margin(rows: float) -> float:
    """Return how many rows beyond the m-th a resample's m-th row may come from.

    The number of draws among the first m + 8 sqrt(m) + 60 rows stays below m with
    probability under 1e-14 (Chernoff); the last rung then stands in for them.
    """
    return 8 * math.sqrt(rows) + 60


@dataclass(frozen=True, slots=True)
class _Stratum:
    """One class: cells of equal rows, with their rung under each scoring."""

    count: NDArray[np.intp]
    rungs: tuple[NDArray[np.intp], ...]
    weight: FloatArray | None
    cell_of_row: NDArray[np.intp] | None

    def draw(self, rng: np.random.Generator, n_rungs: Sequence[int]) -> list[FloatArray]:
        """Return the weight per rung of one resample, for each scoring."""
        if self.cell_of_row is None:
            size = int(self.count.sum())
            drawn = rng.multinomial(size, self.count / size).astype(np.float64)
        else:
            size = len(self.cell_of_row)
            rows = self.cell_of_row[rng.integers(0, max(size, 1), size=size)]
            drawn = np.bincount(rows, minlength=len(self.count)).astype(np.float64)
        if self.weight is not None:
            drawn *= self.weight
        return [
            np.bincount(rung, drawn, minlength=n).astype(np.float64, copy=False)
            for rung, n in zip(self.rungs, n_rungs, strict=True)
        ]


def resamples(
    sample: Sample,
    scores: Sequence[NDArray[Any]],
    n_resamples: int,
    rng: np.random.Generator,
    measure: Measure | None = None,
    **params: Any,
) -> Iterator[tuple[Rungs, ...]]:
    """Yield resamples as rungs, the same rows under each of the scorings.

    With a ``measure`` the rows that it cannot reach are one rung.
    """
    rungs = []
    for score in scores:
        scored = sample.replace_score(score)
        threshold = None
        if measure is not None and measure.cut is not None and sample.weight is None:
            threshold = measure.cut(scored, margin, **params)
        rungs.append(_rung_of_row(scored, threshold))
    n_rungs = [int(rung.max()) + 1 for rung in rungs]
    strata = [
        _stratum(member, rungs, n_rungs, sample.weight)
        for member in (sample.positive, ~sample.positive)
    ]
    for _ in range(n_resamples):
        drawn = zip(*(stratum.draw(rng, n_rungs) for stratum in strata), strict=True)
        yield tuple(Rungs(hits, misses, sample.whole) for hits, misses in drawn)


def _rung_of_row(sample: Sample, threshold: Any) -> NDArray[np.intp]:
    """Return each row's rung, best first; the rows below the threshold are the last."""
    head = slice(None) if threshold is None else np.flatnonzero(sample.score >= threshold)
    score, positive = sample.score[head], sample.positive[head]
    order, start = descending(score)
    hits = np.add.reduceat(positive[order], start, dtype=np.intp)
    size = np.diff(start, append=len(score))
    # 1: only positives, 0: only negatives, -1: both, which never joins its neighbour.
    kind = np.where(hits == size, 1, np.where(hits == 0, 0, -1))
    joins = np.concatenate([[False], (kind[1:] == kind[:-1]) & (kind[1:] >= 0)])
    ranked = np.empty(len(score), dtype=np.intp)
    ranked[order] = np.repeat(np.cumsum(~joins) - 1, size)
    rung = np.full(sample.size, ranked.max() + 1, dtype=np.intp)
    rung[head] = ranked
    return rung


def _stratum(
    member: NDArray[np.bool_],
    rungs: Sequence[NDArray[np.intp]],
    n_rungs: Sequence[int],
    weight: FloatArray | None,
) -> _Stratum:
    """Gather the rows of a class that share their rung under every scoring."""
    own = [rung[member] for rung in rungs]
    size = len(own[0])
    if weight is not None:
        each = np.arange(size)
        return _Stratum(np.ones(size, dtype=np.intp), tuple(own), weight[member], each)
    cell = np.ravel_multi_index(own, n_rungs)
    cells, count = np.unique(cell, return_counts=True)
    few = _ROWS_PER_BINOMIAL * len(cells) < size
    cell_of_row = None if few else np.repeat(np.arange(len(cells)), count)
    return _Stratum(count, tuple(np.unravel_index(cells, n_rungs)), None, cell_of_row)


def row_resamples(
    y_true: NDArray[Any],
    qid: NDArray[Any] | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp] | None]]:
    """Yield resampled rows, for metrics that are not a function of rungs.

    Whole groups are drawn when there are groups, each copy a group of its own;
    otherwise rows, within each label when there are two.
    """
    if qid is not None:
        group = np.unique(qid, return_inverse=True)[1]
        order = np.argsort(group, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        for _ in range(n_resamples):
            drawn = [members[i] for i in rng.integers(0, len(members), size=len(members))]
            copies = np.repeat(np.arange(len(drawn)), [len(rows) for rows in drawn])
            yield np.concatenate(drawn), copies
        return
    first = y_true == y_true[0]
    two_labels = not first.all() and np.all(y_true[~first] == y_true[~first][0])
    strata = (
        [np.flatnonzero(first), np.flatnonzero(~first)] if two_labels else [np.arange(len(y_true))]
    )
    for _ in range(n_resamples):
        drawn = [rows[rng.integers(0, len(rows), size=len(rows))] for rows in strata]
        yield np.concatenate(drawn), None


def generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator from a seed, a ``RandomState``, a generator or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    return np.random.default_rng(random_state)
