"""Processes for tests of a cluster, forked from one that has imported what they need, once."""

import dask
from distributed.utils import get_mp_context

NEEDED = ["distributed.nanny", "pandas", "shortlist.dask", "sklearn.frozen"]


def forked():
    """Return the context of such processes."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        context = get_mp_context()
    context.set_forkserver_preload(NEEDED)
    return context
