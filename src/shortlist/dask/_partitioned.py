"""The top of a two-class list whose rows lie in partitions on a cluster.

Rows and their scores stay on the workers. A pass sends out a d-vector; back come the
extremes of the scores, sums over the cells of a grid with the few scores around the
threshold (:mod:`shortlist.top.stream.parts`), and the rows that enter the working set.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import check_both_count, check_two_classes, positive_last
from .._losses import Loss
from ..top.stream.first_pass import BlockData, as_matrix, first_visit
from ..top.stream.parts import FEW_AT_TOP, Ask, Extremes, Part, PartScores, top_part
from ..top.stream.visits import BlockLayout, BlockProblem, Found, Model, Summary, find, free, score
from ..top.sweeps import RankedRows, Sweep, Wanted
from ..top.thresholds import Threshold
from ._cluster import Groups, each, gather, keep
from ._partitions import aligned_blocks, bytes_of

_FEW_ROWS = 100
_memory = threading.local()
# Of the rows wanted, a partition brings this many times its even share at once.
_SPARE = 2


@dataclass(frozen=True)
class Taken:
    """A partition with validated rows."""

    number: int
    X: Any
    y: np.ndarray
    weight: Any

    def __sizeof__(self) -> int:
        """Return the bytes by which Dask reckons where to work and when to spill."""
        return bytes_of(self.X) + self.y.nbytes


@dataclass(frozen=True)
class Prepared:
    """A partition as it stays on its worker: validated rows, and which of them rank."""

    X: Any
    summary: Summary
    layout: BlockLayout

    def __sizeof__(self) -> int:
        """Return the bytes of the rows."""
        return bytes_of(self.X)


@dataclass(frozen=True)
class Visited:
    """What a pass leaves on the worker: scores, and where rows are that may be wanted."""

    part: Part
    free: np.ndarray

    def __sizeof__(self) -> int:
        """Return the bytes of the scores."""
        return self.part.scores.nbytes + self.free.nbytes

    def wanted(self) -> Part:
        """Return the scores of the rows that may be wanted."""
        return self.part.take(self.free)


@dataclass(frozen=True)
class Told:
    """What the client hears of a pass at once.

    Attributes
    ----------
    all, new : Extremes
        Of the scores, and of those that may be wanted.
    found : Found
        The highest rows that may be wanted, a few.
    top : Part or None
        The highest scores, where a few make the threshold.
    """

    all: Extremes
    new: Extremes
    found: Found
    top: Part | None

    def left_out(self) -> float:
        """Return a bound on the scores that may be wanted and did not come."""
        if len(self.found.scores) == self.new.count:
            return -np.inf
        return float(self.found.scores.min(initial=np.inf))


def read_partitions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, everything: bool
) -> BlockData:
    """Check the training data of a two-class estimator where its partitions are.

    The validated partitions stay in the memory of the workers as long as the fit runs.
    """
    from dask import delayed

    # Rows and labels in one task, so that they are computed together, and once.
    take = delayed(_take, pure=False)
    blocks = enumerate(aligned_blocks(X, y=y, sample_weight=sample_weight))
    taken = keep([take(number, *block) for number, block in blocks])
    asked = each(_labels, taken)
    told = gather(asked)
    found = [labels for labels, _, _ in told if len(labels)]
    classes = np.unique(np.concatenate(found)) if found else np.empty(0)
    check_two_classes(estimator, classes)
    classes = positive_last(classes, estimator.pos_label)
    first = np.cumsum([0, *(count for _, count, _ in told)]).tolist()
    groups = Groups.of(taken, [size for _, _, size in told])
    groups.held.append(asked)
    parts = groups.with_members(
        groups.visit(_prepare, groups.split(first[:-1]), args=(classes, everything))
    )
    asked = parts.visit(_summary)
    # Now, while the workers are busy, and not when the next question is to be sent.
    del taken, groups
    total = Summary.merged(parts.told(asked))
    check_both_count((total.negative_weight, len(total.positive_weight)), classes)

    def problem(C: float, loss: Loss, threshold: Threshold) -> BlockProblem:
        return PartitionedProblem(parts, total, C, loss, threshold)

    return BlockData(classes, total, problem)


class PartitionedProblem(BlockProblem):
    """Every sweep visits all partitions once.

    Parameters
    ----------
    parts : Groups
        Of :class:`Prepared` records.
    summary, C, loss, threshold
        As in :class:`~shortlist.top.stream.visits.BlockProblem`.
    """

    def __init__(
        self, parts: Groups, summary: Summary, C: float, loss: Loss, threshold: Threshold
    ) -> None:
        super().__init__(summary, C, loss, threshold)
        self._parts = parts

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""
        parts, model = self._parts, (Model(w, self.centre), wanted.cut, np.sort(wanted.known))
        # What is usually enough comes back with the extremes, so that one round will do.
        share = _SPARE / sum(len(group) for group in parts.numbers)
        few = Wanted(max(_FEW_ROWS, int(share * wanted.count)), share * wanted.weight)
        top = self.threshold.kept(self.capped)
        kept: list[Any] = []

        def visited() -> list[Any]:
            if not kept:
                kept.extend(parts.visit(_visit, args=model))
            return kept

        if top is not None and top <= FEW_AT_TOP:
            # A few scores make the threshold; the others are seldom asked for again.
            told = parts.told(parts.visit(_visit_and_tell, args=(*model, few, top)))
        else:
            told = parts.told(parts.visit(_tell, visited(), args=(few, top)))
        new_rows = Extremes.merged([one.new for one in told])

        def ask(what: Callable[..., Any], function: Callable[..., Any], *args: Any) -> list[Any]:
            scores = parts.with_members(visited())
            return parts.told(scores.visit(what, args=(function, *args)))

        def ranked_rows() -> RankedRows:
            best = Found.best([one.found for one in told], wanted)
            if max(one.left_out() for one in told) > best.floor(wanted):
                # Some partition has more than its share of the highest rows.
                new = PartScores(partial(ask, _on_wanted), self.threshold, self.capped, new_rows)
                cut = (_cut_for(new, wanted),)
                best = Found.merged(parts.told(parts.visit(_find, visited(), args=cut)))
            return best.ranked_rows(self.centre)

        extremes = Extremes.merged([one.all for one in told])
        tops = [one.top for one in told if one.top is not None]
        ask_all: Ask = partial(ask, _on_scores)
        if len(tops) == len(told):
            here = Part.joined(tops)
            ask_all = _ask_here(here)
            extremes = replace(extremes, count=len(here.scores))
        scores = PartScores(ask_all, self.threshold, self.capped, extremes)
        return Sweep(self.positives.scores(w), scores, ranked_rows)


def _ask_here(part: Part) -> Ask:
    return lambda function, *arguments: [function(part, *arguments)]


def _cut_for(new: PartScores, wanted: Wanted) -> float:
    """Return the cut above which as many rows lie as are wanted, tied ones together."""
    if new.extremes.count <= wanted.count:
        return wanted.cut
    above, scores, weight = new.near(
        lambda m: m.count >= wanted.count and m.weight >= wanted.weight
    )
    rows = above.count + np.arange(1, len(scores) + 1)
    enough = (rows >= wanted.count) & (above.weight + np.cumsum(weight) >= wanted.weight)
    last = int(np.argmax(enough)) if enough.any() else len(scores) - 1
    return float(np.nextafter(scores[last], -np.inf))


def _take(number: int, X: Any, y: Any, weight: Any) -> Taken:
    with _named(number):
        return Taken(number, as_matrix(X), np.asarray(y), weight)


def _labels(taken: Taken) -> tuple[np.ndarray, int, int]:
    y = taken.y
    if y.dtype.kind in "biuf" and len(y):
        ends = np.unique([y.min(), y.max()])
        if ((y == ends[0]) | (y == ends[-1])).all():
            return ends, len(y), sys.getsizeof(taken)
    return np.unique(y), len(y), sys.getsizeof(taken)


def _prepare(taken: Taken, first: int, classes: np.ndarray, everything: bool) -> Prepared:
    with _named(taken.number):
        terms = (taken.X, taken.y, taken.weight, classes, first, everything)
        return Prepared(taken.X, *first_visit(*terms))


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Say in which partition an error is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error


def _summary(part: Prepared) -> Summary:
    return part.summary


def _visit(
    part: Prepared, model: Model, cut: float, known: np.ndarray, out: np.ndarray | None = None
) -> Visited:
    scores = score(part.X, part.layout, model, out)
    return Visited(scores, free(part.layout, scores, cut, known))


def _tell(part: Prepared, visited: Visited, few: Wanted, top: float | None) -> Told:
    ranked, new = visited.part, visited.wanted()
    found = find(part.X, part.layout, ranked, visited.free, few)
    highest_part = None
    if top is not None and 0.0 < top <= FEW_AT_TOP:
        highest_part = top_part(ranked, top)
    return Told(Extremes.of(ranked), Extremes.of(new), found, highest_part)


def _visit_and_tell(
    part: Prepared, model: Model, cut: float, known: np.ndarray, few: Wanted, top: float
) -> Told:
    visited = _visit(part, model, cut, known, _scratch(part.layout.n_rows))
    return _tell(part, visited, few, top)


def _scratch(size: int) -> np.ndarray:
    """Return memory for scores that are not kept, the same for every pass of a thread.

    Workers give freed memory back to the system at once, and to get it again takes as long
    as to compute the scores.
    """
    memory = getattr(_memory, "scores", None)
    if memory is None or len(memory) < size:
        memory = _memory.scores = np.empty(size)
    return memory[:size]


def _on_scores(visited: Visited, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(visited.part, *arguments)


def _on_wanted(visited: Visited, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(visited.wanted(), *arguments)


def _find(part: Prepared, visited: Visited, cut: float) -> Found:
    index = visited.free[visited.part.scores[visited.free] > cut]
    return find(part.X, part.layout, visited.part, index, Wanted(max(1, len(index))))
