"""Tasks on a cluster: how they are started, how answers come back, and what its loss means.

With a client, tasks are Dask futures; without one they are delayed and run in Dask's own
threads. Scheduling, transport and recovery are Dask's.

A task costs Dask a few milliseconds, whatever it does. So parts that stay on the workers are
visited in :class:`Groups`: all parts of a worker's thread by one task, unless they are more
than it can be expected to hold at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

# Of a worker's memory, for the parts that its tasks visit at a time. Dask begins to spill at 0.6.
_TASK_SHARE = 0.125
# Seconds between looks at the connection, and between questions to the scheduler.
_LOOK = 1.0
_QUESTION = 5.0
# For how long nobody may be at work; dask's setting "shortlist.patience" says otherwise.
_PATIENCE = "10 minutes"
# Results of this many parts are added on a worker before they travel on.
FAN_IN = 8
_SMALL_BYTES = 100_000
# Visits whose results are let go of together. A lost worker's are computed again.
_HELD = 8


def _client() -> Any:
    import dask

    return getattr(dask.base.get_scheduler(), "__self__", None)


def keep(delayed: Sequence[Any]) -> list[Any]:
    """Start delayed computations whose results stay where they are computed."""
    import dask

    client = _client()
    return list(dask.persist(*delayed)) if client is None else client.compute(list(delayed))


def each(function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
    """Call `function` once for every row of `columns`, which are kept results.

    On a cluster this starts the tasks. They are futures, because building, optimising and
    sending a graph of delayed calls takes twice the time, once in every pass.
    """
    import dask

    client = _client()
    if client is not None:
        return client.map(function, *columns, pure=False)
    call = dask.delayed(function, pure=False)
    return [call(*row) for row in zip(*columns, strict=True)]


class Place(NamedTuple):
    """Kept parts of one worker, and the bytes that one of its tasks may hold."""

    parts: list[int]
    n_threads: int
    task_bytes: float


def places(parts: list[Any]) -> list[Place]:
    """Return which of the kept parts every worker has.

    Without a cluster, or where Dask does not know, a part is by itself.
    """
    client = _client()
    if client is None:
        return [Place([i], 1, np.inf) for i in range(len(parts))]
    ask = client.scheduler
    where = client.sync(_watched, client, lambda: ask.who_has(keys=[p.key for p in parts]))
    threads = client.sync(_watched, client, lambda: ask.ncores())
    # Some versions of Dask tell of a few workers only; a limit of zero is none.
    told = client.scheduler_info()["workers"].values()
    memory = min((w["memory_limit"] for w in told if w.get("memory_limit")), default=np.inf)
    held: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        workers = where.get(part.key) or (f"part {i}",)
        held.setdefault(workers[0], []).append(i)
    found = [(some, threads.get(worker, 1)) for worker, some in held.items()]
    return [Place(some, n, _TASK_SHARE * memory / n) for some, n in found]


def shared(value: Any) -> Any:
    """Return a value as a task: it travels once to a worker, not once per task there."""
    import dask

    client = _client()
    if client is not None:
        return client.submit(_same, value, pure=False)
    return dask.delayed(value, traverse=False, pure=False)


def _same(value: Any) -> Any:
    return value


def gather(results: Sequence[Any]) -> list[Any]:
    """Return delayed results or futures as values, from a cluster or from Dask's own threads.

    A lost worker's share is Dask's business; that somebody is at work at all is watched.
    """
    import dask

    client = _client()
    if client is None:
        return list(dask.compute(*results))
    from distributed import wait

    delayed = any(dask.is_dask_collection(result) for result in results)
    futures = client.compute(list(results)) if delayed else list(results)

    async def answers() -> list[Any]:
        with client.as_current():
            await _watched(client, lambda: wait(futures))
            return await _watched(client, lambda: client.gather(futures, asynchronous=True))

    return client.sync(answers)


async def _watched(client: Any, ask: Callable[[], Awaitable[Any]]) -> Any:
    """Wait for an answer as long as it can come.

    What was asked of a scheduler that has died is never answered, nor what is asked through a
    network that swallows it, nor where every worker has paused because its memory and its disk
    are full: between looks at the answer this looks at the connection and asks who is at work.
    """
    import dask

    patience = dask.utils.parse_timedelta(dask.config.get("shortlist.patience", _PATIENCE))
    asked = asyncio.ensure_future(ask())
    heard = worked = questioned = time.monotonic()
    question: asyncio.Future[Any] | None = None
    try:
        while not (await asyncio.wait([asked], timeout=_LOOK))[0]:
            if client.status != "running":
                raise ConnectionError(f"the client is {client.status}")
            now = time.monotonic()
            if question is None and now - questioned > _QUESTION:
                question = asyncio.ensure_future(client.scheduler.ncores_running())
                questioned = now
            elif question is not None and question.done():
                # An error is an answer, too: of the connection, which is looked at, or of an
                # old scheduler that does not know the question.
                heard = now
                if question.exception() is not None or question.result():
                    worked = now
                question = None
            _check_patience(now - heard, now - worked, patience)
        return asked.result()
    finally:
        for waiting in (asked, question):
            if waiting is not None and not waiting.cancel() and not waiting.cancelled():
                waiting.exception()  # somebody has looked at it


def _check_patience(silent: float, idle: float, patience: float) -> None:
    remedy = (
        "The work was stopped. To wait longer, set dask's configuration "
        f'"shortlist.patience", which is {patience:g} s.'
    )
    if silent > patience:
        raise RuntimeError(
            f"The Dask scheduler has not answered for {silent:.0f} s: it hangs, or the network "
            f"does. {remedy}"
        )
    if idle > patience:
        raise RuntimeError(
            f"No worker of the Dask cluster has been running for {idle:.0f} s: they are lost, or "
            "paused because their memory is full and their disk takes no more. Give them memory, "
            f"disk or smaller partitions. {remedy}"
        )


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


@contextmanager
def lost_cluster() -> Iterator[None]:
    """Say plainly that the scheduler is gone.

    Dask reports it as a cancelled future, a closed connection or a closed client. An error
    of the user's own files is left as it is: the connection is then alive.
    """
    client = _client()
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if client is None or not _tells_of_loss(error, client):
            raise
        # Dask goes on to list every task that was waited for.
        said = ": ".join([type(error).__name__, *str(error).splitlines()[:1]]).rstrip(":")
        raise RuntimeError(
            f"The connection to the Dask scheduler was lost ({said}). "
            "The work was stopped. Start a scheduler, connect a Client to it and try again."
        ) from error


def _tells_of_loss(error: BaseException, client: Any) -> bool:
    from distributed import CancelledError, comm

    if isinstance(error, (comm.CommClosedError, CancelledError, asyncio.CancelledError)):
        return True
    return client.status != "running" and not isinstance(error, (ValueError, TypeError))
