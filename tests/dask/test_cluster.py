"""The same on a real cluster of two worker processes, of which one may die."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
from distributed import wait
from sklearn.frozen import FrozenEstimator

import shortlist
from shortlist import dask as on_dask
from shortlist.dask import BudgetClassifier, RankSVM, _cluster, metrics


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n = 12_000
    X = random.normal(size=(n, 6)).astype(np.float32)
    y = np.round(X[:, 0] + random.normal(size=n))
    return X, y, np.arange(n) // 10


def lazy(table, step=3000):
    return tuple(da.from_array(v, chunks=(step, 6)[: v.ndim]) for v in table)


def test_ranking_is_that_of_memory(client, table):
    X, y, qid = lazy(table)
    X = X.persist()
    wait(X)
    client.run(_forget_transfers)
    there = RankSVM(loss="squared_hinge", tol=1e-7).fit(X, y, qid)
    here = shortlist.RankSVM(loss="squared_hinge", tol=1e-7).fit(*table)
    assert there.certificate_.status == "converged"
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
    # Dask may move rows as few as these once, and their labels, but not in every pass.
    assert sum(client.run(_bytes_received).values()) < 2 * table[0].nbytes
    assert there.score(X, y, qid) == pytest.approx(here.score(*table), abs=1e-4)


def test_passes_over_pairs_stay_where_the_rows_are(client):
    rng, size = np.random.default_rng(0), 10_000
    rows = [rng.standard_normal((size, 20)) for _ in range(8)]
    X = da.concatenate([da.from_array(part, chunks=-1) for part in rows]).persist()
    y = (X[:, 0] + X[:, 1] > 1.0).astype(float).persist()
    qid = (da.arange(8 * size, chunks=size) // 50).persist()
    wait([X, y, qid])
    client.run(_forget_transfers)
    client.get_task_stream()
    model = RankSVM(C=1e-3, tol=1e-6).fit(X, y, qid)
    assert model.certificate_.status == "converged"
    # To a sum over pairs each worker contributes one task; the rows do not move for it.
    sums = [task for task in client.get_task_stream() if "_sum_of_group" in str(task["key"])]
    assert len(sums) > 2
    assert {task["worker"] for task in sums} <= set(client.nthreads())
    assert len(sums) % len({task["worker"] for task in sums}) == 0
    # Dask may balance a partition or two at the start; the passes move no rows.
    assert sum(client.run(_bytes_received).values()) < 3 * rows[0].nbytes


def _bytes_received(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def _forget_transfers(dask_worker):
    dask_worker.transfer_incoming_log.clear()


def test_the_k_best_and_metrics(client, table):
    X, _, _ = table
    scores = lazy(table)[0][:, 1].round(1)
    want = np.argsort(-X[:, 1].round(1), kind="stable")[:500]
    np.testing.assert_array_equal(metrics.top_k(scores, 500).row, want)
    label = X[:, 0] > 1.0
    there = metrics.precision_at_k(da.from_array(label, chunks=3000), scores, 0.05)
    assert there == pytest.approx(shortlist.metrics.precision_at_k(label, X[:, 1].round(1), 0.05))


def test_labels_are_made_where_the_rows_are(client, table):
    X, y, qid = table
    scorer = FrozenEstimator(shortlist.RankSVM().fit(X, y, qid))
    rows = lazy(table)[0]
    target = (rows[:, 0] > 1.0).astype(int)
    labels = BudgetClassifier(scorer, k=100).fit(rows, target).predict(rows).persist()
    wait(labels)
    where = {worker for workers in client.who_has(labels).values() for worker in workers}
    assert where
    assert where <= set(client.scheduler_info()["workers"])
    best = np.argsort(-scorer.predict(X), kind="stable")[:100]
    np.testing.assert_array_equal(np.flatnonzero(labels.compute()), np.sort(best))


def test_a_tie_reaches_the_client(client):
    X = da.zeros((40, 1), chunks=(10, 1))
    scorer = FrozenEstimator(shortlist.RankSVM().fit([[0.0], [1.0]], [0, 1]))
    model = BudgetClassifier(scorer, k=3).fit(X, da.arange(40, chunks=10) % 2)
    with pytest.warns(UserWarning, match="37 rows were left out"):
        labels = model.predict(X).compute()
    np.testing.assert_array_equal(labels, np.arange(40) < 3)


def test_an_error_of_a_partition_reaches_the_user(client, table):
    X, y, qid = lazy(table)
    with pytest.raises(ValueError, match=r"qid=299 has rows in partitions 0 and 1"):
        RankSVM().fit(X, y, qid=qid // 299 * 299)
    with pytest.raises(ValueError, match=r"Partition \d: .*NaN"):
        RankSVM().fit(X, y * np.nan, qid)


def test_a_task_holds_a_share_of_the_least_memory(client, monkeypatch):
    parts = client.map(np.zeros, [3, 4, 5], pure=False)
    wait(parts)
    found = _cluster.places(parts)
    assert sorted(i for place in found for i in place.parts) == [0, 1, 2]
    # The workers of this cluster have no limit.
    assert {(place.n_threads, place.task_bytes) for place in found} == {(1, np.inf)}
    workers = client.scheduler_info()["workers"]
    limits = {name: {"memory_limit": 800 * (i + 1)} for i, name in enumerate(workers)}
    monkeypatch.setattr(client, "scheduler_info", lambda: {"workers": limits})
    assert {place.task_bytes for place in _cluster.places(parts)} == {100.0}


@pytest.mark.parametrize(
    "name",
    [
        "TopPush",
        pytest.param("PatMat", marks=pytest.mark.slow),
        pytest.param("RankSVM", marks=pytest.mark.slow),
    ],
)
def test_a_killed_worker_changes_nothing(client, few_positives, name):
    X, y = few_positives
    terms, group = {"k": 20}, ()
    if name == "PatMat":
        terms = {"tau": 0.05}
    elif name == "RankSVM":
        terms, group = {"loss": "squared_hinge"}, (np.arange(2000) // 25,)
    killed, passes_before = [], []

    def kill(check):
        if not killed and check.iteration:
            worker, pid = next(iter(client.run(os.getpid).items()))
            killed.append(worker)
            passes_before.append(check.iteration)
            os.kill(pid, signal.SIGKILL)

    model = getattr(on_dask, name)(tol=1e-7, callback=kill, **terms)
    reference = getattr(shortlist, name)(tol=1e-7, **terms).fit(X, y, *group)
    model.fit(*(da.from_array(v, chunks=(500, 8)[: v.ndim]) for v in (X, y, *group)))
    assert killed
    assert model.n_iter_ > passes_before[0]
    assert model.certificate_.status == "converged"
    primal = reference.certificate_.primal
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    assert np.linalg.norm(model.coef_) > 0.1
    client.wait_for_workers(2)


def test_a_missing_file_is_not_a_lost_scheduler(client):
    def missing(block):
        raise FileNotFoundError("transactions-7.parquet")

    scores = da.zeros(10, chunks=5).map_blocks(missing, dtype=float, meta=np.empty(0))
    with pytest.raises(FileNotFoundError, match="transactions-7"):
        metrics.top_k(scores, 3)
    with pytest.raises(FileNotFoundError, match="transactions-7"):
        on_dask.TopPush().fit(scores[:, None], da.arange(10, chunks=5) % 2)
