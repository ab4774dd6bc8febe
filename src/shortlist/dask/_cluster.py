"""Waiting for a cluster, and what it means to the user that it is lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_PATIENCE = 1.0


def gather(results: Sequence[Any]) -> list[Any]:
    """Return delayed results as values, from a cluster or from Dask's own threads.

    What was asked of a scheduler that has died is never answered: between looks at the
    answers this looks at the connection. A lost worker's share is Dask's business.
    """
    import dask

    client = getattr(dask.base.get_scheduler(), "__self__", None)
    if client is None:
        return list(dask.compute(*results))
    from distributed import wait

    futures = client.compute(list(results))
    while True:
        try:
            wait(futures, timeout=_PATIENCE)
        except TimeoutError:
            if client.status != "running":
                raise ConnectionError(f"the client is {client.status}") from None
        else:
            return client.gather(futures)


@contextmanager
def lost_cluster() -> Iterator[None]:
    """Say plainly that the scheduler is gone.

    Dask reports it as a cancelled future or a closed connection.
    """
    try:
        yield
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise RuntimeError(
            f"The connection to the Dask scheduler was lost ({type(error).__name__}: {error}). "
            "The fit was stopped. Start a scheduler, connect a Client to it and fit again."
        ) from error
