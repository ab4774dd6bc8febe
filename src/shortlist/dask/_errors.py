"""What a lost cluster means to the user."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lost_cluster() -> Iterator[None]:
    """Say plainly that the scheduler is gone; a lost worker is Dask's business.

    Dask reports a lost scheduler as a cancelled future or a closed connection.
    """
    try:
        yield
    except (
        OSError,
        asyncio.CancelledError,
        TimeoutError,
        concurrent.futures.CancelledError,
    ) as error:
        raise RuntimeError(
            f"The connection to the Dask scheduler was lost ({type(error).__name__}: {error}). "
            "The fit was stopped and the model is unchanged. Start a scheduler, connect a "
            "Client to it and fit again."
        ) from error
