"""Schedulers that die in the middle of a fit or a metric."""

import asyncio
import os
import threading
import time
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, Scheduler, Worker

from forking import forked
from shortlist import dask as on_dask
from shortlist.dask import _cluster, metrics

GROUP = np.arange(2000) // 25


def serve(kind, settings):
    """Be a scheduler or a worker, quietly, until killed."""

    async def run():
        async with kind(dashboard=False, **settings) as server:
            await server.finished()

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(run())


def started(kind, **settings):
    process = forked().Process(target=serve, args=(kind, settings), daemon=True)
    process.start()
    return process


@contextmanager
def mortal_cluster(folder):
    """Yield a client, and a function that kills its scheduler."""
    file = str(folder / "scheduler.json")
    scheduler = started(Scheduler, host="127.0.0.1", port=0, scheduler_file=file)
    worker = started(Worker, scheduler_file=file, nthreads=1)

    def kill(*_):
        scheduler.kill()
        scheduler.join()

    try:
        while not os.path.exists(file):
            assert scheduler.is_alive()
            time.sleep(0.1)
        with Client(scheduler_file=file, timeout=300, set_as_default=False) as client:
            client.wait_for_workers(1)
            # Only from here on: a busy machine may take its time to connect.
            with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
                yield client, kill
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.join()


def error_of(client, call):
    """Return what a call raises; it must not hang."""
    outcome = []

    def run():
        try:
            with client.as_current():
                outcome.append(call())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(600)
    assert not thread.is_alive()
    return outcome[0]


def assert_clear(error):
    assert isinstance(error, RuntimeError), error
    assert "scheduler was lost" in str(error)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_lost_in_a_fit_is_an_error_and_no_hang(few_positives, tmp_path):
    X, y = few_positives
    with mortal_cluster(tmp_path) as (client, kill):
        model = on_dask.TopPush(20, tol=1e-7, callback=kill)
        assert_clear(error_of(client, lambda: model.fit(da.from_array(X, chunks=(1000, 8)), y)))
        # The next calls find the scheduler gone.
        scores, labels = (da.from_array(v, chunks=1000) for v in (X[:, 0], y))
        for call in (
            lambda: metrics.top_k(scores, 0.1),
            lambda: metrics.precision_at_k(labels, scores, 10),
            lambda: on_dask.TopPush(20).fit(da.from_array(X, chunks=(1000, 8)), labels),
        ):
            assert_clear(error_of(client, call))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_lost_in_a_metric_is_an_error_and_no_hang(few_positives, tmp_path):
    X, y = few_positives
    scores = da.from_array(X[:, 0], chunks=1000)
    labels, rows_ = da.from_array(y, chunks=1000), da.from_array(X, chunks=(1000, 8))
    mark = str(tmp_path / "started")

    def slowly(block):
        open(mark, "w").close()
        time.sleep(30)
        return block

    model = on_dask.RankSVM().fit(X, y, GROUP)
    with mortal_cluster(tmp_path) as (client, kill):

        def kill_when_started():
            while not os.path.exists(mark):
                time.sleep(0.1)
            kill()

        killer = threading.Thread(target=kill_when_started, daemon=True)
        killer.start()
        slow = scores.map_blocks(slowly, dtype=float, meta=np.empty(0))
        assert_clear(error_of(client, lambda: metrics.top_k(slow, 5)))
        # The next calls find the scheduler gone.
        for call in (
            lambda: metrics.top_k(scores, 0.1),
            lambda: metrics.precision_at_k(labels, scores, 10),
            lambda: metrics.positives_at_top(labels, scores),
            lambda: metrics.budget_curve(labels, scores),
            lambda: model.score(rows_, labels, da.from_array(GROUP, chunks=1000)),
            lambda: on_dask.TopPush(20).fit(rows_, labels),
            lambda: on_dask.RankSVM().fit(rows_, labels, da.from_array(GROUP, chunks=1000)),
        ):
            assert_clear(error_of(client, call))


@pytest.mark.filterwarnings("ignore")
def test_where_nobody_is_at_work_it_ends_in_an_error(few_positives, monkeypatch):
    """No workers, and then a scheduler that does not answer; nothing is waited for for ever."""
    X, y = few_positives
    monkeypatch.setattr(_cluster, "_QUESTION", 0.1)
    model = on_dask.TopPush(20)
    with (
        dask.config.set({"shortlist.patience": "3s"}),
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        error = error_of(client, lambda: model.fit(da.from_array(X, chunks=(1000, 8)), y))
        assert isinstance(error, RuntimeError), error
        assert "No worker of the Dask cluster has been running" in str(error)
        assert '"shortlist.patience"' in str(error)

        class Silent:
            def __getattr__(self, name):
                return lambda **_: asyncio.sleep(1000)

        monkeypatch.setattr(client, "scheduler", Silent())
        with pytest.raises(RuntimeError, match="has not answered for"):
            client.sync(_cluster._watched, client, lambda: client.scheduler.who_has())
        monkeypatch.undo()
