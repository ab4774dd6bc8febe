"""Rows in blocks: what is computed on each, and the problem they make together.

The functions here see one block; where blocks live and who visits them is the business
of the callers. Nothing that a visit leaves behind grows with the number of features times
the number of rows of the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ... import _core
from ..._losses import Loss
from ...rows.operators import Rows, as_rows
from ...rows.rounding import Reach
from ..problem import TopObjective
from ..sweeps import RankedRows, Start, Wanted, highest
from ..thresholds import Threshold
from .parts import Part


@dataclass(frozen=True)
class BlockLayout:
    """Which rows of a block belong to the threshold.

    Attributes
    ----------
    first : int
        Number of the block's first row among all rows.
    n_rows : int
        Rows of the block.
    skipped : ndarray of int
        Rows that do not: positives, and rows of weight zero. Few, and sorted.
    weight : ndarray or None
        Multiplicities of those that do, None where all are one.
    """

    first: int
    n_rows: int
    skipped: np.ndarray
    weight: np.ndarray | None

    def index_of(self, position: np.ndarray) -> np.ndarray:
        """Return where rows, given by number, are among the threshold's rows of this block."""
        row = position - self.first
        return row - np.searchsorted(self.skipped, row)

    def rows_of(self, index: np.ndarray) -> np.ndarray:
        """Return rows of the block, given where they are among those of the threshold."""
        before = self.skipped - np.arange(len(self.skipped))
        return index + np.searchsorted(before, index, side="right")


@dataclass(frozen=True)
class Summary:
    """What a first visit keeps of one block or of all.

    Attributes
    ----------
    positives : ndarray or csr matrix
        The rows with a loss.
    positive_weight : ndarray
        Their multiplicities.
    negative_weight : float
        Multiplicity of all negatives.
    ranked_weight, least_weight : float
        Sum and minimum over the rows of the threshold.
    n_ranked : int
        How many these are.
    ranked_sum : ndarray
        Weighted sum of these rows.
    reach : Reach
        Of all rows.
    """

    positives: Any
    positive_weight: np.ndarray
    negative_weight: float
    ranked_weight: float
    least_weight: float
    n_ranked: int
    ranked_sum: np.ndarray
    reach: Reach

    @classmethod
    def merged(cls, parts: Sequence[Summary]) -> Summary:
        """Return the summary of all blocks."""
        return cls(
            stacked([part.positives for part in parts]),
            np.concatenate([part.positive_weight for part in parts]),
            sum(part.negative_weight for part in parts),
            sum(part.ranked_weight for part in parts),
            min(part.least_weight for part in parts),
            sum(part.n_ranked for part in parts),
            np.sum([part.ranked_sum for part in parts], axis=0),
            Reach.merged([part.reach for part in parts]),
        )


def stacked(blocks: Sequence[Any], chosen: Sequence[np.ndarray] | None = None) -> Any:
    """Return the rows of several blocks in one; a dense block makes all dense.

    `chosen` names the rows of every block that are wanted, all if None.
    """
    if chosen is not None and any(sparse.issparse(block) for block in blocks):
        blocks = [block[index] for block, index in zip(blocks, chosen, strict=True)]
        chosen = None
    if all(sparse.issparse(block) for block in blocks):
        return sparse.vstack(blocks, format="csr")
    if chosen is None:
        return np.concatenate([b.toarray() if sparse.issparse(b) else b for b in blocks])
    # Copied once: these may be most of what a fit holds in memory.
    dtype = np.result_type(*blocks)
    out = np.empty((sum(map(len, chosen)), blocks[0].shape[1]), dtype)
    start = 0
    for block, index in zip(blocks, chosen, strict=True):
        out[start : start + len(index)] = block[index]
        start += len(index)
    return out


def summarise(
    X: Any,
    code: np.ndarray,
    weight: np.ndarray | None,
    first: int,
    everything: bool,
) -> tuple[Summary, BlockLayout]:
    """Visit a block for the first time.

    Parameters
    ----------
    X : ndarray or csr matrix
        Validated rows.
    code : ndarray of bool
        Whether a row is positive.
    weight : ndarray or None
        Multiplicities.
    first : int
        Number of the first row.
    everything : bool
        Whether the positives belong to the threshold as well.
    """
    n_rows, positive = len(code), np.flatnonzero(code)
    if weight is None:
        v = np.ones(n_rows)
        negative_weight = float(n_rows - len(positive))
    else:
        v = weight.copy()
        negative_weight = float(v[code == 0].sum())
        positive = positive[v[positive] > 0.0]
    positive_weight = v[positive]
    if not everything:
        v[positive] = 0.0
    skipped = np.flatnonzero(v == 0.0)
    ranked = v[:0] if weight is None else np.delete(v, skipped)
    plain = bool((ranked == 1.0).all())
    least = 1.0 if plain else float(ranked.min())
    summary = Summary(
        X[positive],
        positive_weight,
        negative_weight,
        float(v.sum()),
        least if len(skipped) < n_rows else np.inf,
        n_rows - len(skipped),
        as_rows(X).combine(v),
        Reach.of(X),
    )
    return summary, BlockLayout(first, n_rows, skipped, None if plain else ranked)


@dataclass(frozen=True)
class Model:
    """Weights of the features, and the centre from which rows are scored, None at the origin."""

    w: np.ndarray
    centre: np.ndarray | None = None


def score(X: Any, layout: BlockLayout, model: Model, out: np.ndarray | None = None) -> Part:
    """Score the rows of the threshold; `out`, where given, is memory for all rows."""
    scores = as_rows(X, model.centre).scores(model.w, out)
    if len(layout.skipped):
        # In place: new memory takes longer than the scores.
        _core.drop(scores, layout.skipped)
    return Part(scores[: layout.n_rows - len(layout.skipped)], layout.weight)


@dataclass(frozen=True)
class Found:
    """Some rows of the threshold as plain arrays: what travels."""

    position: np.ndarray
    scores: np.ndarray
    weight: np.ndarray
    rows: Any

    def ranked_rows(self, centre: np.ndarray | None) -> RankedRows:
        """Return them as the solver takes them, seen from the centre."""
        return RankedRows(self.position, self.scores, self.weight, centred(self.rows, centre))

    def floor(self, wanted: Wanted) -> float:
        """Return the score that another row must exceed to belong to those wanted."""
        if len(self.scores) < wanted.count or float(self.weight.sum()) < wanted.weight:
            return -np.inf
        return float(self.scores.min())

    @classmethod
    def merged(cls, parts: Sequence[Found]) -> Found:
        """Return the rows of all."""
        return cls.best(parts, Wanted(max(1, sum(len(part.position) for part in parts))))

    @classmethod
    def best(cls, parts: Sequence[Found], wanted: Wanted) -> Found:
        """Return the highest rows of all parts that are wanted, in the order of the parts."""
        position, scores, weight = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("position", "scores", "weight")
        )
        index = np.sort(highest(scores, weight, wanted))
        ends = np.cumsum([0, *(len(part.position) for part in parts)])
        cuts = np.searchsorted(index, ends)
        chosen = [
            index[a:b] - start for start, a, b in zip(ends[:-1], cuts[:-1], cuts[1:], strict=True)
        ]
        rows = stacked([part.rows for part in parts], chosen)
        return cls(position[index], scores[index], weight[index], rows)


def free(layout: BlockLayout, part: Part, cut: float, known: np.ndarray) -> np.ndarray:
    """Return where rows above the cut are that are not known, among those of the threshold.

    `known` holds sorted row numbers, of all blocks.
    """
    index = np.flatnonzero(part.scores > cut)
    ends = (layout.first, layout.first + layout.n_rows)
    own = known[slice(*np.searchsorted(known, ends))]
    if not len(own) or not len(index):
        return index
    return index[~np.isin(index, layout.index_of(own), assume_unique=True)]


def find(X: Any, layout: BlockLayout, part: Part, index: np.ndarray, wanted: Wanted) -> Found:
    """Return the highest rows that are wanted of some, given where these are.

    `index` counts the rows of the threshold.
    """
    some = part.take(index)
    best = highest(some.scores, some.weight, wanted)
    rows, some = layout.rows_of(index[best]), some.take(best)
    return Found(layout.first + rows, some.scores, some.weights(), X[rows])


def centred(X: Any, centre: np.ndarray | None) -> Rows:
    """Return a few rows less the centre, once and for all."""
    rows = as_rows(X, centre)
    return rows if centre is None else rows.take(np.arange(rows.n_rows))


class BlockProblem(TopObjective):
    """The top of a two-class list whose rows are visited block by block.

    Parameters
    ----------
    summary : Summary
        Of all blocks.
    C, loss, threshold
        As in :class:`~shortlist.top.problem.TopObjective`.
    start_passes : int
        Passes that the summary cost.

    Attributes
    ----------
    centre, reach, start
        As in :class:`~shortlist.top.problem.TopProblem`.
    """

    offers = frozenset({"working set of linear rows"})

    def __init__(
        self,
        summary: Summary,
        C: float,
        loss: Loss,
        threshold: Threshold,
        start_passes: int = 1,
    ) -> None:
        ranked = (summary.ranked_weight, summary.n_ranked)
        super().__init__(summary.positive_weight, C, loss, threshold, *ranked)
        self.centre = summary.reach.centre()
        self.reach = summary.reach.shifted(self.centre)
        self.positives: Rows = centred(summary.positives, self.centre)
        self.n_features = self.positives.n_features
        self.capped = threshold.caps(np.array([summary.least_weight])) is not None
        self.start_passes = start_passes
        self.start: Start | None = None
        self._ranked_mean = summary.ranked_sum / summary.ranked_weight
        if self.centre is not None:
            self._ranked_mean -= self.centre

    def mean_difference(self) -> np.ndarray:
        """Mean of the positives minus mean of the rows of the threshold."""
        share = self.positive_weight / self.positive_weight.sum()
        return self.positives.combine(share) - self._ranked_mean

    def row_number(self, position: int) -> int:
        """Return the number of a row among the training rows."""
        return position
