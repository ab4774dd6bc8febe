"""Thousands of fits, hundreds of picks: memory, files and threads stay as they are."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK, pick
from shortlist.rivals import MetricSVM

# Megabytes that may be added after the first tenth; what leaks grows with every call.
ROOM = 20.0


def resident() -> float:
    """Return the megabytes that this process holds."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1e3
    raise RuntimeError("no VmRSS in /proc/self/status")


def run(what: str, count: int | None) -> int:
    """Call many times; return 0 where nothing grew."""
    call, usual = (one_fit, 10_000) if what == "fits" else (one_pick, 200)
    count = usual if count is None else count
    return watched(what, call, count)


def watched(what: str, call: Callable[[int], None], count: int) -> int:
    """Print what the process holds on the way; return 1 where it grew."""
    settled = max(1, count // 10)
    before = (0.0, 0, 0)
    for number in range(1, count + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(number)
        if number % settled == 0:
            held = (resident(), len(os.listdir("/proc/self/fd")), threading.active_count())
            print(f"{number:7,d} {what}: {held[0]:7.1f} MB, {held[1]} files, {held[2]} threads",
                  flush=True)  # fmt: skip
            before = held if number == settled else before
    grown = held[0] - before[0]
    held_on = grown <= ROOM and held[1:] == before[1:]
    print(f"{count:,} {what}: {grown:+.1f} MB after the first {settled:,}; "
          f"{'flat' if held_on else 'GROWN'}")  # fmt: skip
    return int(not held_on)


def one_fit(number: int) -> None:
    """Fit one of many estimators to a small problem."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(50, 4))
    y = (X[:, 0] + rng.normal(size=50) > 0.5).astype(int)
    y[:2] = 0, 1
    models = (
        lambda: TopPush().fit(X, y),
        lambda: TopPush(0.1, loss="hinge").fit(X, y),
        lambda: PatMat(0.2).fit(X, y),
        lambda: PatMat(0.2, kernel="rbf").fit(X, y),
        lambda: TopPush(kernel="rbf", loss="hinge").fit(X, y),
        lambda: TopKSVC(1).fit(X, y + (X[:, 1] > 1)),
        lambda: RankSVM().fit(X, y),
        lambda: RankSVM(kernel="rbf").fit(X, y),
        lambda: TransductiveTopK(3).fit(X[:30], y[:30], candidates=X[30:]),
        lambda: MetricSVM("precision_at_k", k=3).fit(X, y),
    )
    models[number % len(models)]()


def one_pick(number: int) -> None:
    """Make a small list, with its reasons."""
    rng = np.random.default_rng(number)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=80) > 0.7
    y[:4] = False, True, False, True
    found = pick(X, y, new, 5, models=["PatMat", "logistic regression"], cv=2, repeats=1)
    found.reasons(1)
