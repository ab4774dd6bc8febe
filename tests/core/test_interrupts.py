"""Ctrl-C and time limits end every long loop, and leave what they worked on consistent.

Signals come from a timer that counts processor time, and lateness is counted in pieces of work
that took this processor as long: neither how busy the machine is nor how fast it is matters.
"""

import contextlib
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from shortlist import _core

from .long_fits import ENDLESS, LONG, classes
from .made import dual

ENOUGH = 0.05  # seconds of processor time before the signal
BETWEEN = 0.05  # seconds between two looks of the core at the signals
# Of 2^26 multiplications each. Loops and fits are late by few; pair steps without looks by
# hundreds.
PIECES = 25


@pytest.fixture(scope="module")
def soon():
    """Seconds of processor time that are soon enough, for the core as it was compiled."""
    X, out = np.ones((1 << 14, 64), dtype=np.float32), np.zeros(1 << 14)
    taken = []
    for _ in range(3):
        begin = time.process_time()
        for _ in range(64):
            _core.dense_scores(X, np.ones(64), out)
        taken.append(time.process_time() - begin)
    return 2 * BETWEEN + PIECES * float(np.median(taken))


@pytest.fixture(scope="module", params=LONG)
def long(request):
    """A fit that does not end; both ways to end it share its rows."""
    return LONG[request.param][0], *LONG[request.param][1]()


@contextlib.contextmanager
def interrupt_after(seconds):
    """Raise KeyboardInterrupt in the main thread once that much processor time is spent."""
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def interrupted(call, soon):
    """Call again and again until the interrupt, which must come soon."""
    begin = time.process_time()
    with contextlib.suppress(KeyboardInterrupt), interrupt_after(ENOUGH):
        while True:
            call()
    assert time.process_time() - begin < ENOUGH + soon


@contextlib.contextmanager
def deadline(seconds):
    _core.set_deadline(seconds)
    try:
        yield
    finally:
        _core.set_deadline(None)


@pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="no timer of processor time")
def test_interrupt(long, soon):
    model, X, y = long
    model = clone(model).set_params(**ENDLESS)
    begin = time.process_time()
    with pytest.raises(KeyboardInterrupt), interrupt_after(ENOUGH):
        model.fit(X, y)
    assert time.process_time() - begin < ENOUGH + soon
    assert not hasattr(model, "certificate_")


def test_time_limit(long, soon):
    model, X, y = long
    model = clone(model).set_params(**ENDLESS, time_limit=ENOUGH)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    # Processor time is at most the time on the wall, unless a library uses threads.
    assert time.process_time() - begin < ENOUGH + 2 * soon
    assert model.certificate_.status == "time_limit"


def test_an_interrupted_loop_can_go_on(soon):
    """Dual point and model still belong together."""
    X, y = classes(20_000, 30, 20)
    n, m = len(y), 20
    point = _core.TopKDual(
        np.array([0.5, 0.5]),
        m,
        False,
        y.astype(np.int32),
        np.full(n, 10.0),
        (X**2).sum(1),
        np.zeros(n),
    )
    W = np.zeros((30, m))
    order = np.arange(n)
    interrupted(lambda: point.sweep_dense(X, W, 0.0, order, True, 0), soon)
    start = np.zeros(n + 1, np.int64)
    point.count(start)
    label, value = np.zeros(start[-1], np.int32), np.zeros(start[-1])
    point.read(label, value)
    row = np.repeat(order, np.diff(start))
    expected = np.zeros_like(W)
    np.subtract.at(expected.T, label, value[:, None] * X[row])
    np.add.at(expected.T, y[row], value[:, None] * X[row])
    np.testing.assert_allclose(W, expected, atol=1e-8 * np.abs(expected).max())


def pair_problem(n=3000):
    X, _ = classes(n, 8, 2)
    gram = np.exp(-0.1 * ((X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))
    half = n // 2
    alpha, beta = np.full(half, 0.1), np.full(half, 0.1)
    f = gram @ np.concatenate([alpha, -beta])
    return gram, alpha, np.zeros(half), np.ones(half), beta, np.ones(half), f, np.zeros(n)


@pytest.mark.parametrize("seed", [0, 5])
def test_pair_steps_keep_the_deadline(seed):
    problem = pair_problem()
    gram, alpha, _, _, beta, _, f, _ = problem
    with deadline(0.0):
        steps, _ = _core.pair_steps(*problem, np.zeros(7), 0, 1.0, 0.0, 0.0, 10**6, seed)
    assert 0 <= steps < 1000
    assert alpha.sum() == pytest.approx(beta.sum())
    np.testing.assert_allclose(f, gram @ np.concatenate([alpha, -beta]), atol=1e-9)


def test_an_interrupted_run_writes_its_state(soon):
    """In the middle of two million steps, which would take hundreds of pieces of work."""
    problem = pair_problem()
    gram, alpha, _, _, beta, _, f, _ = problem
    state = np.zeros(7)
    state[0] = beta @ beta
    interrupted(lambda: _core.pair_steps(*problem, state, 1, 1.0, 1.0, 0.0, 2 * 10**6, 5), soon)
    assert state[0] == pytest.approx(beta @ beta)
    np.testing.assert_allclose(f, gram @ np.concatenate([alpha, -beta]), atol=1e-8)


def test_a_sweep_keeps_the_deadline():
    X, y = classes(20_000, 30, 20)
    n = len(y)
    point = _core.TopKDual(
        np.array([1.0]), 20, False, y.astype(np.int32), *np.ones((2, n)), np.zeros(n)
    )
    arguments = (X, np.zeros((30, 20)), 0.0, np.arange(n), True, 3)
    with deadline(0.0):
        early = point.sweep_dense(*arguments)
    assert early < n
    # Those that did not move rest.
    assert n - early <= point.sweep_dense(*arguments) <= n


def test_an_active_set_keeps_the_deadline():
    X, y = classes(6_000, 60, 2)
    n = len(y)
    qp = _core.ActiveSet(X, np.arange(n), 2.0 * y - 1.0, np.ones(n), np.full(n, 100.0))
    with deadline(0.0):
        assert qp.optimise(np.inf, 10**9) == 2
    gamma = qp.multipliers()
    assert (gamma * (2 * y - 1)).sum() == pytest.approx(0.0, abs=1e-8)


def test_sums_are_never_cut_short():
    X = np.ones((60_000, 40), dtype=np.float32)
    out, total = np.zeros(len(X)), np.zeros(40)
    with deadline(0.0):
        _core.dense_scores(X, np.ones(40), out)
        _core.dense_combine(X, np.ones(len(X)), total)
    assert (out == 40.0).all()
    assert (total == len(X)).all()


def test_the_deadline_is_that_of_a_thread():
    seen = []
    with deadline(0.0):
        assert _core.late()
        other = threading.Thread(target=lambda: seen.append(_core.late()))
        other.start()
        other.join()
    assert seen == [False]
    assert not _core.late()
    with deadline(1e300):
        assert not _core.late()
    with deadline(-1.0):
        assert _core.late()


def test_a_loop_in_another_thread_is_left_alone():
    """Signals belong to the main thread; a loop elsewhere goes on."""
    done = []

    def run():
        point, X = dual(), np.random.default_rng(0).normal(size=(12, 5))
        point.sweep_dense(X, np.zeros((5, 4)), 0.0, np.arange(12), True, 3)
        steps, _ = _core.pair_steps(*pair_problem(1000), np.zeros(7), 0, 1.0, 0.0, 0.0, 3000)
        done.append(steps)

    worker = threading.Thread(target=run)
    worker.start()
    with contextlib.suppress(KeyboardInterrupt), interrupt_after(0.01):
        worker.join()
    worker.join()
    assert done == [3000] or 0 < done[0] < 3000
