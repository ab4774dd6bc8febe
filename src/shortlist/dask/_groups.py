"""Parts that stay on the workers, visited in groups.

A task costs Dask a few milliseconds, whatever it does. So all parts of a worker's thread are
visited by one task, unless they are more than it can be expected to hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ._cluster import each, gather, places, shared
from ._partitions import FAN_IN

_SMALL_BYTES = 100_000
# Visits whose results are let go of together. A lost worker's are computed again.
_HELD = 8


@dataclass(frozen=True)
class Groups:
    """Kept parts in groups.

    Attributes
    ----------
    numbers : list of list of int
        The parts of every group.
    members : list
        Their results: for every group a list of kept results, or one kept list.
    held : list
        Results of the last visits. To forget one costs the client and the scheduler as much
        as to ask for it, and the next question waits for that.
    """

    numbers: list[list[int]]
    members: list[Any]
    held: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, parts: list[Any], sizes: Sequence[int]) -> Groups:
        """Group kept parts of known sizes (bytes) by the workers they are on."""
        numbers = []
        for held, n_threads, most in places(parts):
            bytes_ = np.array([sizes[i] for i in held], dtype=float)
            n_groups = max(n_threads, int(np.ceil(bytes_.sum() / most)))
            # By the middle of every part, so that groups are about equally large.
            middle = np.cumsum(bytes_) - 0.5 * bytes_
            group = (middle * (n_groups / max(bytes_.sum(), 1.0))).astype(int)
            numbers += [[held[j] for j in np.flatnonzero(group == g)] for g in np.unique(group)]
        return cls(numbers, [[parts[i] for i in group] for group in numbers])

    def visit(
        self, function: Callable[..., Any], *others: list[Any], args: tuple[Any, ...] = ()
    ) -> list[Any]:
        """Start ``function(part, *rest, *args)`` for every part, where it is.

        `others` hold the `rest`, in groups as well. Returns a kept list for every group.
        """
        return _started(partial(_on_group, function), args, [self.members, *others])

    def add_up(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``function(part, *args)`` over all parts, added where they are."""
        sums = _started(partial(_sum_of_group, function), args, [self.members])
        while len(sums) > FAN_IN:
            sums = each(sum, [sums[i : i + FAN_IN] for i in range(0, len(sums), FAN_IN)])
        return sum(self._gathered(sums))

    def with_members(self, members: list[Any]) -> Groups:
        """Return other results of the same parts."""
        return Groups(self.numbers, members, self.held)

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        """Return one value per part, in groups."""
        return [[values[i] for i in group] for group in self.numbers]

    def told(self, results: list[Any]) -> list[Any]:
        """Wait for the results of a visit; return them in the order of the parts."""
        out = dict(
            pair
            for group, values in zip(self.numbers, self._gathered(results), strict=True)
            for pair in zip(group, values, strict=True)
        )
        return [out[i] for i in sorted(out)]

    def _gathered(self, results: list[Any]) -> list[Any]:
        values = gather(results)
        if len(self.held) >= _HELD:
            self.held.clear()
        self.held.append(results)
        return values


def _started(run: Callable[..., Any], args: tuple[Any, ...], columns: list[list[Any]]) -> list[Any]:
    """Start ``run(args, *row)`` for every row of `columns`."""
    if sum(getattr(value, "nbytes", 0) for value in args) <= _SMALL_BYTES:
        return each(partial(run, args), *columns)
    return each(run, [shared(args)] * len(columns[0]), *columns)


def _on_group(function: Callable[..., Any], args: tuple[Any, ...], *columns: list[Any]) -> list:
    return [function(*row, *args) for row in zip(*columns, strict=True)]


def _sum_of_group(function: Callable[..., Any], args: tuple[Any, ...], parts: list[Any]) -> Any:
    return sum(function(part, *args) for part in parts)
