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

from .losses import Loss
from .operators import Rows, as_rows
from .score_parts import Part
from .sweeps import Candidates, Start, Wanted, highest
from .thresholds import Threshold
from .top import TopObjective


@dataclass(frozen=True)
class Layout:
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

    def ranked(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the rows of the threshold, given one per row."""
        return np.delete(values, self.skipped) if len(self.skipped) else values

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
    ranked_sum : ndarray
        Weighted sum of these rows.
    """

    positives: Any
    positive_weight: np.ndarray
    negative_weight: float
    ranked_weight: float
    least_weight: float
    ranked_sum: np.ndarray

    @classmethod
    def merged(cls, parts: Sequence[Summary]) -> Summary:
        """Return the summary of all blocks."""
        return cls(
            stacked([part.positives for part in parts]),
            np.concatenate([part.positive_weight for part in parts]),
            sum(part.negative_weight for part in parts),
            sum(part.ranked_weight for part in parts),
            min(part.least_weight for part in parts),
            np.sum([part.ranked_sum for part in parts], axis=0),
        )


def stacked(blocks: Sequence[Any]) -> Any:
    """Return the rows of several blocks in one; a dense block makes all dense."""
    if all(sparse.issparse(block) for block in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.concatenate([b.toarray() if sparse.issparse(b) else b for b in blocks])


def summarise(
    X: Any,
    code: np.ndarray,
    weight: np.ndarray | None,
    first: int,
    everything: bool,
) -> tuple[Summary, Layout]:
    """Visit a block for the first time.

    Parameters
    ----------
    X : ndarray or csr matrix
        Validated rows.
    code : ndarray of int
        1 for a positive row, 0 for a negative one.
    weight : ndarray or None
        Multiplicities.
    first : int
        Number of the first row.
    everything : bool
        Whether the positives belong to the threshold as well.
    """
    w = np.ones(len(code)) if weight is None else weight
    used = w > 0.0
    positive = np.flatnonzero(used & (code == 1))
    ranked = used if everything else used & (code == 0)
    v = np.where(ranked, w, 0.0)
    plain = weight is None or bool((w[ranked] == 1.0).all())
    layout = Layout(first, len(code), np.flatnonzero(~ranked), None if plain else w[ranked])
    summary = Summary(
        X[positive],
        w[positive],
        float(w[code == 0].sum()),
        float(v.sum()),
        float(w[ranked].min()) if ranked.any() else np.inf,
        as_rows(X).combine(v),
    )
    return summary, layout


def score(X: Any, layout: Layout, w: np.ndarray) -> Part:
    """Score the rows of the threshold."""
    return Part(layout.ranked(as_rows(X).scores(w)), layout.weight)


@dataclass(frozen=True)
class Found:
    """Some rows of the threshold as plain arrays: what travels."""

    position: np.ndarray
    scores: np.ndarray
    weight: np.ndarray
    rows: Any

    def candidates(self) -> Candidates:
        """Return them as the solver takes them."""
        return Candidates(self.position, self.scores, self.weight, as_rows(self.rows))

    def best(self, wanted: Wanted) -> Found:
        """Return the highest that are wanted."""
        index = highest(self.scores, self.weight, wanted)
        return Found(self.position[index], self.scores[index], self.weight[index], self.rows[index])

    @classmethod
    def merged(cls, parts: Sequence[Found]) -> Found:
        """Return the rows of all."""
        return cls(
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.weight for part in parts]),
            stacked([part.rows for part in parts]),
        )


def free(layout: Layout, part: Part, cut: float, known: np.ndarray) -> np.ndarray:
    """Return where rows above the cut are that are not known, among those of the threshold.

    `known` holds sorted row numbers, of all blocks.
    """
    index = np.flatnonzero(part.scores > cut)
    ends = (layout.first, layout.first + layout.n_rows)
    own = known[slice(*np.searchsorted(known, ends))]
    if not len(own) or not len(index):
        return index
    return index[~np.isin(index, layout.index_of(own), assume_unique=True)]


def find(X: Any, layout: Layout, part: Part, index: np.ndarray) -> Found:
    """Return rows, given where they are among those of the threshold."""
    rows = layout.rows_of(index)
    weight = np.ones(len(index)) if part.weight is None else part.weight[index]
    return Found(layout.first + rows, part.scores[index], weight, X[rows])


class BlockProblem(TopObjective):
    """The top of a two-class list whose rows are visited block by block.

    Parameters
    ----------
    summary : Summary
        Of all blocks.
    C, loss, threshold
        As in :class:`~shortlist.problems.top.TopObjective`.
    start_passes : int
        Passes that the summary cost.

    Attributes
    ----------
    start : Start or None
        A solution to start from, where there is one.
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
        total = np.array([summary.ranked_weight])
        at_zero = threshold.value(np.zeros(1), total)
        super().__init__(summary.positive_weight, C, loss, threshold, at_zero)
        self.positives: Rows = as_rows(summary.positives)
        self.n_features = self.positives.n_features
        self.capped = threshold.caps(np.array([summary.least_weight])) is not None
        self.start_passes = start_passes
        self.start: Start | None = None
        self._ranked_mean = summary.ranked_sum / summary.ranked_weight

    def mean_difference(self) -> np.ndarray:
        """Mean of the positives minus mean of the rows of the threshold."""
        share = self.positive_weight / self.positive_weight.sum()
        return self.positives.combine(share) - self._ranked_mean

    def row_number(self, position: int) -> int:
        """Return the number of a candidate among the training rows."""
        return position
