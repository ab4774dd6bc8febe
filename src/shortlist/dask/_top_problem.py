"""The top of a two-class list whose rows lie in partitions on a cluster.

Rows and their scores stay on the workers. A pass sends out a d-vector; back come the
extremes of the scores, sums over the cells of a grid with the few scores around the
threshold (:mod:`shortlist.problems.score_parts`), and the rows that enter the working set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._block_fit import BlockData, as_matrix, first_visit
from .._fit import check_both_count, check_two_classes
from ..problems.block_rows import BlockProblem, Found, Layout, Summary, find, free, score
from ..problems.losses import Loss
from ..problems.score_parts import FEW_AT_TOP, Ask, Extremes, Part, PartScores, top_part
from ..problems.sweeps import Candidates, Sweep, Wanted
from ..problems.thresholds import Threshold, TopMean
from ._cluster import gather
from ._partitions import aligned_blocks

_FEW_ROWS = 100
_SMALL_BYTES = 100_000


@dataclass(frozen=True)
class Prepared:
    """A partition as it stays on its worker: validated rows, and which of them rank."""

    X: Any
    layout: Layout
    summary: Summary


@dataclass(frozen=True)
class Visited:
    """What a pass leaves on the worker: scores, and where rows are that may be wanted."""

    part: Part
    free: np.ndarray

    def wanted(self) -> Part:
        """Return the scores of the rows that may be wanted."""
        weight = None if self.part.weight is None else self.part.weight[self.free]
        return Part(self.part.scores[self.free], weight)


@dataclass(frozen=True)
class Told:
    """What the client hears of a pass at once.

    Attributes
    ----------
    all, new : Extremes
        Of the scores, and of those that may be wanted.
    found : Found or None
        The rows that may be wanted, where they are few.
    top : Part or None
        The highest scores, where a few make the threshold.
    """

    all: Extremes
    new: Extremes
    found: Found | None
    top: Part | None


def read_partitions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, everything: bool
) -> BlockData:
    """Check the training data of a two-class estimator where its partitions are.

    The validated partitions stay in the memory of the workers as long as the fit runs.
    """
    import dask

    blocks = aligned_blocks(X, y=y, sample_weight=sample_weight)
    told = run(_labels, [block[1] for block in blocks])
    found = [labels for labels, _ in told if len(labels)]
    classes = np.unique(np.concatenate(found)) if found else np.empty(0)
    check_two_classes(estimator, classes)
    first = np.cumsum([0, *(count for _, count in told)])
    prepare = dask.delayed(_prepare, pure=False)
    parts = dask.persist(
        *[
            prepare(number, *block, classes, int(first[number]), everything)
            for number, block in enumerate(blocks)
        ]
    )
    total = Summary.merged(run(_summary, parts))
    check_both_count((total.negative_weight, len(total.positive_weight)), classes)

    def problem(C: float, loss: Loss, threshold: Threshold) -> BlockProblem:
        return PartitionedProblem(list(parts), total, C, loss, threshold)

    return BlockData(classes, total, problem)


def run(function: Callable[..., Any], parts: Any, *arguments: Any) -> list[Any]:
    """Return ``function(part, *arguments)`` of every delayed part, run where it is."""
    task = _bound(function, *arguments)
    return gather([task(part) for part in parts])


def _bound(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return a task that gets `arguments` after those it is called with."""
    import dask

    size = sum(getattr(value, "nbytes", 0) for value in arguments)
    if size <= _SMALL_BYTES:
        return dask.delayed(partial(_pass_over_partition, function, arguments), pure=False)
    # One key for large arguments: they travel once to a worker, not once per part.
    shared = dask.delayed(arguments, traverse=False, pure=False)
    task = dask.delayed(partial(_pass_over_partition, function), pure=False)
    return lambda *first: task(shared, *first)


class _Kept:
    """The scores of a pass on the workers, computed when they are first asked for."""

    def __init__(self, parts: list[Any], visit: Callable[..., Any]) -> None:
        self._parts = parts
        self._visit = visit
        self._visited: list[Any] = []

    def visited(self) -> list[Any]:
        """Return delayed :class:`Visited` records, one a partition."""
        import dask

        if not self._visited:
            self._visited = list(dask.persist(*[self._visit(part) for part in self._parts]))
        return self._visited


class PartitionedProblem(BlockProblem):
    """Every sweep visits all partitions once.

    Parameters
    ----------
    parts : list
        Delayed :class:`Prepared` records, kept on the workers.
    summary, C, loss, threshold
        As in :class:`~shortlist.problems.block_rows.BlockProblem`.
    """

    def __init__(
        self, parts: list[Any], summary: Summary, C: float, loss: Loss, threshold: Threshold
    ) -> None:
        super().__init__(summary, C, loss, threshold)
        self._parts = parts

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""
        known = np.sort(wanted.known)
        visit = _bound(_visit, w, wanted.cut, known)
        # What is usually small comes back with the extremes, so that one round will do.
        few = max(_FEW_ROWS, 2 * wanted.count // len(self._parts))
        top = self.threshold.k if isinstance(self.threshold, TopMean) and self.capped else 0.0
        # Where a few scores make the threshold, the others are seldom asked for again.
        kept = _Kept(self._parts, visit)
        if isinstance(self.threshold, TopMean) and top <= FEW_AT_TOP:
            task = _bound(_visit_and_tell, w, wanted.cut, known, few, top)
            told = gather([task(part) for part in self._parts])
        else:
            task = _bound(_tell, few, top)
            parts = zip(self._parts, kept.visited(), strict=True)
            told = gather([task(part, seen) for part, seen in parts])
        new_rows = Extremes.merged([each.new for each in told])

        def ask_all(function: Callable[..., Any], *arguments: Any) -> list[Any]:
            return run(_on_scores, kept.visited(), function, *arguments)

        def ask_new(function: Callable[..., Any], *arguments: Any) -> list[Any]:
            return run(_on_wanted, kept.visited(), function, *arguments)

        def candidates() -> Candidates:
            found = [each.found for each in told if each.found is not None]
            if len(found) == len(told):
                return Found.merged(found).best(wanted).candidates()
            new = PartScores(ask_new, self.threshold, self.capped, new_rows)
            task = _bound(_find, _cut_for(new, wanted))
            parts = zip(self._parts, kept.visited(), strict=True)
            return Found.merged(gather([task(part, seen) for part, seen in parts])).candidates()

        extremes = Extremes.merged([each.all for each in told])
        tops = [each.top for each in told if each.top is not None]
        ask = _ask_here(tops) if len(tops) == len(told) else ask_all
        scores = PartScores(ask, self.threshold, self.capped, extremes)
        return Sweep(self.positives.scores(w), scores, candidates)


def _ask_here(parts: list[Part]) -> Ask:
    return lambda function, *arguments: [function(part, *arguments) for part in parts]


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


def _pass_over_partition(
    function: Callable[..., Any], arguments: tuple[Any, ...], *first: Any
) -> Any:
    return function(*first, *arguments)


def _labels(y: Any) -> tuple[np.ndarray, int]:
    y = np.asarray(y)
    return np.unique(y), len(y)


def _prepare(
    number: int,
    X: Any,
    y: Any,
    weight: Any,
    classes: np.ndarray,
    first: int,
    everything: bool,
) -> Prepared:
    try:
        X = as_matrix(X)
        summary, layout = first_visit(X, y, weight, classes, first, everything)
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error
    return Prepared(X, layout, summary)


def _summary(part: Prepared) -> Summary:
    return part.summary


def _visit(part: Prepared, w: np.ndarray, cut: float, known: np.ndarray) -> Visited:
    scores = score(part.X, part.layout, w)
    return Visited(scores, free(part.layout, scores, cut, known))


def _tell(part: Prepared, visited: Visited, few: int, top: float) -> Told:
    wanted, ranked = visited.wanted(), visited.part
    found = highest_part = None
    if len(visited.free) <= few:
        found = find(part.X, part.layout, ranked, visited.free)
    if 0.0 < top <= FEW_AT_TOP:
        highest_part = top_part(ranked, top)
    return Told(Extremes.of(ranked), Extremes.of(wanted), found, highest_part)


def _visit_and_tell(
    part: Prepared, w: np.ndarray, cut: float, known: np.ndarray, few: int, top: float
) -> Told:
    return _tell(part, _visit(part, w, cut, known), few, top)


def _on_scores(visited: Visited, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(visited.part, *arguments)


def _on_wanted(visited: Visited, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(visited.wanted(), *arguments)


def _find(part: Prepared, visited: Visited, cut: float) -> Found:
    index = visited.free[visited.part.scores[visited.free] > cut]
    return find(part.X, part.layout, visited.part, index)
