"""Threads: the same numbers whatever their count, one limit, nothing left behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from shortlist import PatMat, TopPush
from shortlist.rows import threads
from shortlist.rows.kernels import kernel_function
from shortlist.rows.threads import each, every, team


def blas_threads():
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


def hard_rows(dtype, storage, n=3400):
    """Enough rows for samples, several tiles and several strips."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 6))
    y = X[:, 0] * X[:, 1] + 0.8 * rng.standard_normal(n) > 1.2
    X = X.astype(dtype)
    return (sparse.csr_array(X) if storage == "sparse" else X), y


@pytest.mark.parametrize(
    ("model", "dtype", "storage"),
    [
        (TopPush(), "f4", "dense"),
        (TopPush(0.02), "f8", "sparse"),
        (PatMat(0.05), "f8", "dense"),
    ],
)
def test_the_same_model_whatever_the_threads(model, dtype, storage):
    X, y = hard_rows(dtype, storage)
    model.set_params(kernel="rbf", gamma=0.2, tol=1e-3, cache_size=30.0)
    found = []
    for count in (1, 2, 3):
        with threadpool_limits(count):
            model.fit(X, y)
        found.append((model.support_, model.dual_coef_, model.certificate_.primal, model.n_iter_))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_same_kernel_whatever_the_threads(storage):
    """Its parameters and its centre come before a fit has threads of its own."""
    X, _ = hard_rows("f8", storage, n=40_000)
    weight, rows = np.linspace(1.0, 2.0, 40_000), np.arange(40_000)
    found = []
    for count in (1, 2, 3):
        with threadpool_limits(count):
            made = kernel_function("rbf", X, gamma="scale", degree=3, coef0=0.0,
                                   weight=weight, rows=rows)  # fmt: skip
        found.append((made.parameters["gamma"], *made.centre))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_team_is_as_large_as_blas_may_be_and_gives_it_back(count):
    with threadpool_limits(count):
        before = blas_threads()
        with team() as size, team() as inner:
            assert size == inner == min(before)
            assert set(blas_threads()) <= {1}
        assert blas_threads() == before


def test_fits_side_by_side_share_the_limit():
    """A fit in another thread gets one thread, and both leave BLAS as it was."""
    with threadpool_limits(2):
        before, sizes = blas_threads(), []

        def fit():
            with team() as size:
                sizes.append(size)

        with team():
            other = threading.Thread(target=fit)
            other.start()
            other.join()
        assert sizes == [1]
        assert blas_threads() == before
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: fit(), range(40)))
        assert blas_threads() == before


def test_results_come_in_order_and_errors_come_out():
    with threadpool_limits(2), team():
        assert list(each(lambda x: x * x, range(50))) == [x * x for x in range(50)]

        def fails(x):
            if x == 7:
                raise ValueError("seven")
            return x

        with pytest.raises(ValueError, match="seven"):
            list(each(fails, range(50)))
        assert list(each(abs, [-1, 2])) == [1, 2]
    assert list(each(abs, [-1, 2])) == [1, 2]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("length", [0, 1, 2, 57])
def test_every_item_is_taken_once(count, length):
    with threadpool_limits(count), team():
        taken = []
        every(taken.append, range(length))
        assert sorted(taken) == list(range(length))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_error_ends_the_work_and_comes_out(count):
    """Of an item, whichever thread has it, and of the items themselves."""
    taken = []

    def fails(item):
        taken.append(item)
        if item == 7:
            raise ValueError("seven")

    def items():
        yield from range(7)
        raise TimeoutError("late")

    with threadpool_limits(count), team():
        with pytest.raises(ValueError, match="seven"):
            every(fails, range(10_000))
        assert len(taken) < 10_000
        with pytest.raises(TimeoutError, match="late"):
            every(fails, items())
        every(taken.append, ["after"] * 3)
    assert taken[-3:] == ["after"] * 3


def test_an_error_of_another_thread_comes_out(monkeypatch):
    """Also where BLAS itself was given one thread only."""
    monkeypatch.setattr(threads._LIMIT, "enter", lambda: 2)
    monkeypatch.setattr(threads._LIMIT, "leave", lambda: None)
    caller, taken = threading.current_thread(), threading.Event()

    def fails_elsewhere(_):
        if threading.current_thread() is caller:
            assert taken.wait(60.0)
        else:
            taken.set()
            raise ValueError("elsewhere")

    with team(), pytest.raises(ValueError, match="elsewhere"):
        every(fails_elsewhere, range(1000))


def test_items_may_be_divided_again():
    sums = np.zeros((8, 9))

    def row(i):
        def cell(j):
            sums[i, j] += i + j

        every(cell, range(9))

    with threadpool_limits(3), team():
        every(row, range(8))
        every(row, range(8))
    np.testing.assert_array_equal(sums, 2 * np.add.outer(np.arange(8), np.arange(9)))
