# No __init__.py in this folder: tests/ is on the path, and a package tests/dask would
# hide dask itself.
import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from forking import forked

# A busy machine may take its time to connect; the profiler of idle workers takes ours.
CALM = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.multiprocessing-method": "forkserver",
}


@pytest.fixture(scope="module")
def client():
    """A real cluster: two worker processes of one thread each.

    It ends with its module: where a client exists, dask shuffles through it even if asked
    to compute in this thread.
    """
    forked()
    with (
        dask.config.set(CALM),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def local():
    """Compute in this thread: values do not depend on where, and this is faster."""
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def few_positives():
    rng = np.random.default_rng(3)
    y = rng.random(2000) < 0.1
    X = rng.normal(size=(2000, 8)) + 1.2 * y[:, None]
    return X, y.astype(int)
