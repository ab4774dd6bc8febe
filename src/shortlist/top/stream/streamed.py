"""The top of a two-class list, its rows read block by block from wherever they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._losses import Loss
from ..sweeps import Sweep, Wanted
from ..thresholds import Threshold
from .parts import FEW_AT_TOP, Extremes, Part, PartScores, top_part
from .visits import BlockLayout, BlockProblem, Found, Model, Summary, find, free, score


class StreamedProblem(BlockProblem):
    """Every sweep reads all blocks once.

    A pass leaves 8 bytes per row of the threshold, its score, unless the mean of at most
    1000 rows is all that is asked for. The solver keeps two passes: the last and the best.

    Parameters
    ----------
    read : callable
        Returns an iterator over the blocks, always the same, validated.
    layouts : list of BlockLayout
        One per block.
    summary, C, loss, threshold, start_passes
        As in :class:`~shortlist.top.stream.visits.BlockProblem`.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[Any]],
        layouts: list[BlockLayout],
        summary: Summary,
        C: float,
        loss: Loss,
        threshold: Threshold,
        start_passes: int,
    ) -> None:
        super().__init__(summary, C, loss, threshold, start_passes)
        self._read = read
        self._layouts = layouts
        # Weight of the highest scores that are all a pass needs to keep; None: keep all.
        kept = threshold.kept(self.capped)
        self._top = kept if kept is not None and kept <= FEW_AT_TOP else None

    def sweep(self, w: np.ndarray, wanted: Wanted) -> Sweep:
        """Score every row once."""
        parts: list[Part] = []
        extremes: list[Extremes] = []
        best, model = _Best(wanted), Model(w, self.centre)
        for X, layout in zip(self._read(), self._layouts, strict=True):
            part = score(X, layout, model)
            best.offer(X, layout, part)
            extremes.append(Extremes.of(part))
            if self._top is None:
                parts.append(part)
            elif self._top > 0.0:
                parts.append(top_part(part, self._top))
        scores = PartScores(
            lambda function, *arguments: [function(part, *arguments) for part in parts],
            self.threshold,
            self.capped,
            Extremes.merged(extremes),
        )
        found = best.found()
        return Sweep(self.positives.scores(w), scores, lambda: found.ranked_rows(self.centre))


class _Best:
    """The rows wanted among the blocks seen so far, and at most as many again."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._known = np.sort(wanted.known)
        self._cut = wanted.cut
        self._found: list[Found] = []
        self._count = 0

    def offer(self, X: Any, layout: BlockLayout, part: Part) -> None:
        """Keep the rows of a block that may be among the highest."""
        index = free(layout, part, self._cut, self._known)
        if len(index) or not self._found:
            self._found.append(find(X, layout, part, index, self._wanted))
            self._count += len(self._found[-1].position)
        if self._count > 2 * max(self._wanted.count, len(self._found[0].position)):
            kept = self.found()
            self._found, self._count = [kept], len(kept.position)
            if float(kept.weight.sum()) >= self._wanted.weight:
                self._cut = max(self._cut, float(kept.scores.min()))

    def found(self) -> Found:
        """Return the rows wanted."""
        return Found.best(self._found, self._wanted)
