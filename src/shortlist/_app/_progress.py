"""Progress on standard error: a bar on a terminal, a line every ten seconds elsewhere; a clock."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

import click

SECONDS = 10.0
_LAST = "Learning from the whole history"
Progress = Callable[[int, int, str], None]


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Yield a callback ``(done, total, message)`` that tells whoever watches."""
    with _bar() if sys.stderr.isatty() else _lines() as show:
        yield show


@contextlib.contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Comparing models", total=None)

        def show(done: int, total: int, message: str) -> None:
            bar.update(
                task,
                completed=done,
                total=total,
                description=_LAST if done >= total else f"Comparing models: {message}",
            )

        yield show


@contextlib.contextmanager
def _lines() -> Iterator[Progress]:
    start = time.monotonic()
    state = ["Comparing models"]
    over = threading.Event()

    def show(done: int, total: int, message: str) -> None:
        state[0] = f"Comparing models: {message}, {100 * done // max(total, 1)} % done"
        if done >= total:
            state[0] = _LAST

    def tell() -> None:
        while not over.wait(SECONDS):
            click.echo(f"{state[0]} ({time.monotonic() - start:.0f} s)", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield show
    finally:
        over.set()
        teller.join()


class Clock:
    """Seconds of each part of the work, on the wall and of the processor."""

    def __init__(self) -> None:
        self._last = self._first = _now()
        self._parts: dict[str, tuple[float, float]] = {}

    def done(self, part: str) -> None:
        """Put what has passed down to a part."""
        now = _now()
        wall, cpu = self._parts.get(part, (0.0, 0.0))
        self._parts[part] = (wall + now[0] - self._last[0], cpu + now[1] - self._last[1])
        self._last = now

    def all(self) -> tuple[dict[str, float], dict[str, float]]:
        """Every part, and the sum: seconds, and CPU seconds of this process."""
        total = (self._last[0] - self._first[0], self._last[1] - self._first[1])
        every = {**self._parts, "total": total}
        wall, cpu = ({name: t[side] for name, t in every.items()} for side in (0, 1))
        return wall, cpu


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()
