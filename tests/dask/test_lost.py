"""Workers and schedulers that die in the middle of a fit."""

import os
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import shortlist
from shortlist import dask as on_dask


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.random(2000) < 0.1
    X = rng.normal(size=(2000, 8)) + 0.6 * y[:, None]
    return X, y.astype(int)


def test_a_killed_worker_changes_nothing(client, rows):
    X, y = rows
    killed = []

    def kill(check):
        if len(killed) < 1 and check.iteration:
            worker, pid = next(iter(client.run(os.getpid).items()))
            killed.append(worker)
            os.kill(pid, signal.SIGKILL)

    model = on_dask.TopPush(20, tol=1e-7, callback=kill)
    model.fit(da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500))
    reference = shortlist.TopPush(20, tol=1e-7).fit(X, y)
    assert killed
    assert model.certificate_.status == "converged"
    primal = reference.certificate_.primal
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    client.wait_for_workers(2, timeout=60)


def started(*command):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.filterwarnings("ignore")
def test_a_lost_scheduler_is_an_error_and_no_hang(rows, tmp_path):
    X, y = rows
    file = str(tmp_path / "scheduler.json")
    scheduler = started(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", file,
    )  # fmt: skip
    worker = started("worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny",
                     "--no-dashboard")  # fmt: skip
    outcome = []
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
            Client(scheduler_file=file, set_as_default=False) as client,
        ):
            client.wait_for_workers(1, timeout=60)

            def kill(check):
                if scheduler.poll() is None:
                    scheduler.send_signal(signal.SIGKILL)
                    scheduler.wait()

            def fit():
                model = on_dask.TopPush(20, tol=1e-7, callback=kill)
                try:
                    with client.as_current():
                        model.fit(da.from_array(X, chunks=(500, 8)), y)
                except Exception as error:
                    outcome.append(error)

            thread = threading.Thread(target=fit, daemon=True)
            thread.start()
            thread.join(60)
            assert not thread.is_alive()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert isinstance(outcome[0], RuntimeError)
    assert "scheduler was lost" in str(outcome[0])
