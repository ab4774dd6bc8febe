"""Labels and scores that lie in partitions, seen through sums and the top of their ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from .._checks import check_weight
from ..metrics._rungs import descending, rungs_around, score_beyond
from ..metrics._sample import FloatArray, Sample, check_positive, check_score, distinct_labels
from ._cluster import gather, lost_cluster
from ._partitions import aligned_blocks, reduce_blocks


@dataclass(frozen=True)
class ScoredPartition:
    """Checked rows of a partition; those of weight zero are gone.

    Attributes
    ----------
    score : ndarray
        Their scores.
    second : ndarray of bool
        Whether the label is the second of `labels`.
    weight : ndarray or None
        Multiplicities.
    labels : list
        The labels found here, two at most.
    """

    score: np.ndarray
    second: NDArray[np.bool_]
    weight: FloatArray | None
    labels: list[Any]

    def __sizeof__(self) -> int:
        """Return the bytes by which Dask reckons where to work and when to spill."""
        weight = 0 if self.weight is None else self.weight.nbytes
        return self.score.nbytes + self.second.nbytes + weight

    def sample(self, label: Any, whole: bool) -> Sample:
        """Return the rows with `label` as the positive one."""
        place = self.labels.index(label) if label in self.labels else None
        none = np.zeros(len(self.score), dtype=bool)
        positive = none if place is None else self.second if place else ~self.second
        return Sample(positive, self.score, self.weight, whole)


class _Facts(NamedTuple):
    labels: list[Any]
    weights: list[float]
    whole: bool


@dataclass(frozen=True)
class Scored:
    """All partitions, and the totals.

    Attributes
    ----------
    parts : tuple
        Delayed :class:`ScoredPartition` records, kept on the workers.
    label : object
        The positive label.
    positive, negative : float
        Weight of either class.
    whole : bool
        Whether all weights are whole numbers.
    """

    parts: tuple[Any, ...]
    label: Any
    positive: float
    negative: float
    whole: bool

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return self.positive + self.negative


@lost_cluster()
def collect(y_true: Any, y_score: Any, sample_weight: Any, pos_label: Any) -> Scored:
    """Check labels, scores and weights where they are, and add them up."""
    import dask
    from dask import delayed

    blocks = aligned_blocks(y_score, "y_score", y_true=y_true, sample_weight=sample_weight)
    check, ask = delayed(_check, pure=False), delayed(_ask, pure=False)
    parts = dask.persist(*[check(number, *block) for number, block in enumerate(blocks)])
    known = [fact for fact in gather([ask(part) for part in parts]) if fact.labels]
    if not known:
        weighed = "" if sample_weight is None else " with a positive sample_weight"
        raise ValueError(f"y_score holds no row{weighed}; at least one is needed.")
    weights: dict[Any, float] = {}
    for fact in known:
        for label, weight in zip(fact.labels, fact.weights, strict=True):
            weights[label] = weights.get(label, 0.0) + weight
    labels = list(weights)
    kinds = {type(label) for label in labels}
    marked = check_positive(np.array(labels, dtype=None if len(kinds) == 1 else object), pos_label)
    positive = [label for label, mark in zip(labels, marked, strict=True) if mark]
    hits = weights[positive[0]] if positive else 0.0
    return Scored(
        parts,
        positive[0] if positive else None,
        hits,
        sum(weights.values()) - hits,
        all(fact.whole for fact in known),
    )


def _check(number: int, y_score: Any, y_true: Any, sample_weight: Any) -> ScoredPartition:
    score = np.asarray(y_score)
    empty = ScoredPartition(score, np.empty(0, dtype=bool), None, [])
    if not len(score):
        return empty
    try:
        score = check_score(score)
        y = column_or_1d(y_true)
        if len(y) != len(score):
            raise ValueError(f"y_true has {len(y)} rows and y_score has {len(score)} rows.")
        weight = None
        if sample_weight is not None:
            given = np.asarray(sample_weight)
            # A partition may weigh nothing; all of them together may not.
            if len(given) == len(score) and not given.any():
                return ScoredPartition(score[:0], empty.second, None, [])
            weight = check_weight(given, len(score))
            kept = weight > 0
            if not kept.all():
                score, y, weight = score[kept], y[kept], weight[kept]
        labels = distinct_labels(y)
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error
    second = np.asarray(y == labels[1]) if len(labels) == 2 else np.zeros(len(y), dtype=bool)
    return ScoredPartition(score, second, weight, labels)


def _ask(part: ScoredPartition) -> _Facts:
    if part.weight is None:
        second = float(np.count_nonzero(part.second))
        return _Facts(part.labels, _two(part, float(len(part.score)) - second, second), True)
    second = float(part.weight[part.second].sum())
    first = float(part.weight[~part.second].sum())
    whole = bool(np.all(part.weight == np.floor(part.weight)))
    return _Facts(part.labels, _two(part, first, second), whole)


def _two(part: ScoredPartition, first: float, second: float) -> list[float]:
    return [first, second][: len(part.labels)]


class Table(NamedTuple):
    """Weight of either class at the highest scores, best first."""

    score: np.ndarray
    positive: FloatArray
    negative: FloatArray


@lost_cluster()
def summed_top(scored: Scored, mass: float, negatives_only: bool = False) -> Table:
    """Return the highest distinct scores until their weight exceeds `mass`.

    A partition whose own rows above some score weigh more than `mass` needs no row below
    it, because all partitions together weigh no less there: what is left out never counts.
    """
    from dask import delayed

    table = delayed(_table, pure=False)
    tables = [
        table(part, scored.label, mass, negatives_only, scored.whole) for part in scored.parts
    ]
    return gather([reduce_blocks(tables, _join, mass=mass)])[0]


def _table(
    part: ScoredPartition, label: Any, mass: float, negatives_only: bool, whole: bool
) -> Table:
    sample = part.sample(label, whole)
    score, positive, weight = sample.score, sample.positive, sample.weight
    kept = ~positive if negatives_only else np.ones(len(score), dtype=bool)
    if not kept.any():
        return Table(score[:0], np.empty(0), np.empty(0))
    kept &= score >= score_beyond(score[kept], mass, None if weight is None else weight[kept])
    weight = np.ones(np.count_nonzero(kept)) if weight is None else weight[kept]
    positive = positive[kept]
    hits, misses = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    return _ties(score[kept], hits, misses)


def _ties(score: np.ndarray, hits: FloatArray, misses: FloatArray) -> Table:
    order, start = descending(score)
    return Table(
        score[order[start]],
        np.add.reduceat(hits[order], start),
        np.add.reduceat(misses[order], start),
    )


def _join(tables: list[Table], mass: float) -> Table:
    score, hits, misses = (np.concatenate(column) for column in zip(*tables, strict=True))
    if not len(score):
        return Table(score, hits, misses)
    table = _ties(score, hits, misses)
    end = np.cumsum(table.positive + table.negative)
    stop = int(np.searchsorted(end, mass, side="right")) + 1
    return Table(*(column[:stop] for column in table))


@lost_cluster()
def summed_around(scored: Scored, cut: Any) -> tuple[FloatArray, FloatArray]:
    """Add up the weight of either class above, at and below one score."""
    from dask import delayed

    around = delayed(_around, pure=False)
    parts = [around(part, scored.label, scored.whole, cut) for part in scored.parts]
    hits, misses = gather([reduce_blocks(parts, np.sum, axis=0)])[0]
    return hits, misses


def _around(part: ScoredPartition, label: Any, whole: bool, cut: Any) -> np.ndarray:
    rungs = rungs_around(part.sample(label, whole), cut)
    return np.stack([rungs.positive, rungs.negative])
