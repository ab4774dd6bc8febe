"""Threads of a fit: as many as BLAS may use where it starts.

One limit holds for both. ``threadpoolctl.threadpool_limits(n)``, ``OPENBLAS_NUM_THREADS``
and the like say it, and joblib's workers and Dask's set it so that processes together do not
take more than the machine has. While a fit works with threads of its own, BLAS has one: the
work is cut into the same parts whatever the number of threads, every part is computed by one
of them in one order, and so the results are the same to the last digit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Value = TypeVar("Value")

_END = object()


class _Limit:
    """BLAS at one thread for as long as any fit of the process asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fits = 0
        self._held: object = None

    def enter(self) -> int:
        """Take hold; return how many threads BLAS had until then."""
        blas = _blas()
        with self._lock:
            # A second fit meets the limit of the first: together they take no more.
            count = min((library["num_threads"] for library in blas.info()), default=1)
            if self._fits == 0:
                self._held = blas.limit(limits=1)
            self._fits += 1
        return max(1, count)

    def leave(self) -> None:
        """Let go; the last to do so gives BLAS its threads back."""
        with self._lock:
            self._fits -= 1
            if self._fits == 0:
                self._held.restore_original_limits()  # type: ignore[attr-defined]
                self._held = None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


_LIMIT = _Limit()


class _Team(threading.local):
    pool: ThreadPoolExecutor | None = None
    size = 0


_TEAM = _Team()


@contextmanager
def team() -> Iterator[int]:
    """Give :func:`each` the threads that this fit may use; inside another team, that one's.

    Yields
    ------
    int
        How many there are.
    """
    if _TEAM.size:
        yield _TEAM.size
        return
    _TEAM.size = _LIMIT.enter()
    try:
        if _TEAM.size == 1:
            yield 1
            return
        with ThreadPoolExecutor(_TEAM.size, "shortlist") as pool:
            _TEAM.pool = pool
            yield _TEAM.size
    finally:
        _TEAM.pool, _TEAM.size = None, 0
        _LIMIT.leave()


def team_size() -> int:
    """Return how many threads the team of this thread has; one where there is none."""
    return max(1, _TEAM.size)


def each(function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
    """Apply a function to every item, on the threads of the team; results in order.

    Parameters
    ----------
    function : callable
        What it writes must not overlap from item to item, and it must let go of the
        interpreter for most of its time.
    items : iterable
        Its arguments; at most as many results are under way as there are threads, and two.
    """
    pool = _TEAM.pool
    if pool is None:
        yield from map(function, items)
        return
    waiting: list = []
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _TEAM.size + 1:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        # Where one failed, or nobody wants the rest: nothing is left running.
        for future in waiting:
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()


def every(function: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Apply a function to every item, for what it writes.

    The calling thread works, too, and whoever is free takes the next item: handing over one at
    a time costs as much as a small one takes.

    Parameters
    ----------
    function, items
        As for :func:`each`. Where one raises an error, no further item is begun.
    """
    pool, source = _TEAM.pool, iter(items)
    first = list(islice(source, 2))
    if pool is None or len(first) < 2:
        for item in chain(first, source):
            function(item)
        return
    left, lock, failed = chain(first, source), threading.Lock(), threading.Event()

    def work() -> None:
        try:
            while True:
                with lock:
                    if failed.is_set():
                        return
                    item = next(left, _END)
                if item is _END:
                    return
                function(item)  # type: ignore[arg-type]
        except BaseException:
            failed.set()
            raise

    helpers = [pool.submit(work) for _ in range(_TEAM.size - 1)]
    _TEAM.pool = None  # what an item divides again is its thread's own work
    try:
        work()
    finally:
        _TEAM.pool = pool
        wait(helpers)
    for helper in helpers:
        helper.result()
