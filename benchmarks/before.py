"""Fits of this version against those of an older one, side by side.

    python -m benchmarks.before PYTHON              about five minutes
    python -m benchmarks.before PYTHON "linear"     only the cases whose name holds this

PYTHON is the interpreter of an environment in which the older version is installed, for
example from ``git worktree add ../older REV``. Both sides stay alive and fit in turns, one
thread each; the ratio is that of the medians of their CPU times.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

# The worker imports nothing of this folder: it runs in the older environment as well.
import numpy as np
from scipy import sparse

_SECONDS, _LEAST, _MOST = 2.0, 7, 60


def two_classes(n: int, d: int, seed: int, dtype: Any = np.float64) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.1).astype(int)
    X = random.normal(size=(n, d))
    X[:, :5] += 1.5 * y[:, None]
    return X.astype(dtype), y


def words(n: int, d: int, seed: int) -> tuple[Any, np.ndarray]:
    """Sparse rows of thirty words or so, some words more common in positives."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.1).astype(int)
    X = sparse.random(n, d, 30 / d, format="csr", random_state=seed)
    signal = sparse.random(n, 40, 0.1, format="csr", random_state=seed + 1)
    X = X + sparse.hstack([signal.multiply(y[:, None]), sparse.csr_matrix((n, d - 40))])
    return sparse.csr_matrix(X), y


def grades(n: int, d: int, seed: int) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + random.normal(size=n), [-1, 0, 1]).astype(float)


def many_classes(n: int, d: int, seed: int) -> tuple[Any, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 10, n)
    return random.normal(size=(n, d)) + 2.0 * np.eye(d)[y], y


def _cases() -> dict[str, tuple[Callable[[], Any], tuple[Any, np.ndarray]]]:
    from shortlist import PatMat, RankSVM, TopKSVC, TopPush

    large, middle, small = (
        two_classes(150_000, 30, 0),
        two_classes(20_000, 20, 1),
        two_classes(2_000, 30, 2),
    )
    narrow = two_classes(150_000, 30, 0, np.float32)
    text, few_words = words(10_000, 500, 5), words(3_000, 500, 6)
    kernel, graded = two_classes(4_000, 20, 3), grades(60_000, 20, 4)
    few_graded = graded[0][:1500], graded[1][:1500]
    continuous = graded[0][:20_000], graded[0][:20_000, 1] + graded[1][:20_000]
    graded_text = text[0], np.asarray(text[0][:, :40].sum(axis=1)).ravel().round(1)
    classes, few_classes = many_classes(2_000, 20, 7), many_classes(1_200, 20, 8)
    text_classes = text[0][:5000], np.asarray(text[0][:5000, :10].todense()).argmax(axis=1)
    return {
        "linear, TopPush(0.01), 150,000 x 30": (lambda: TopPush(k=0.01), large),
        "linear, TopPush(0.01), 150,000 x 30 float32": (lambda: TopPush(k=0.01), narrow),
        "linear, PatMat(0.01), 150,000 x 30": (lambda: PatMat(0.01), large),
        "linear, TopPush(1), 20,000 x 20": (lambda: TopPush(), middle),
        "linear, TopPush(0.05), 20,000 x 20": (lambda: TopPush(k=0.05), middle),
        "linear, PatMat(0.05) hinge, 20,000 x 20": (lambda: PatMat(0.05, loss="hinge"), middle),
        "linear, TopPush(0.05), 2,000 x 30": (lambda: TopPush(k=0.05), small),
        "linear, TopPush(0.01), 10,000 x 500 sparse": (lambda: TopPush(k=0.01), text),
        "linear, PatMat(0.05), 10,000 x 500 sparse": (lambda: PatMat(0.05), text),
        "kernel, TopPush(0.02) rbf, 4,000 x 20": (lambda: TopPush(kernel="rbf", k=0.02), kernel),
        "kernel, PatMat(0.05) rbf, 4,000 x 20": (lambda: PatMat(0.05, kernel="rbf"), kernel),
        "kernel, TopPush(0.02) rbf, 3,000 x 500 sparse": (
            lambda: TopPush(kernel="rbf", k=0.02), few_words,
        ),
        "ranking, RankSVM, 60,000 x 20, 4 grades": (lambda: RankSVM(), graded),
        "ranking, RankSVM squared hinge, 20,000 x 20, times": (
            lambda: RankSVM(loss="squared_hinge"), continuous,
        ),
        "ranking, RankSVM, 20,000 x 20, times": (lambda: RankSVM(), continuous),
        "ranking, RankSVM, 10,000 x 500 sparse": (lambda: RankSVM(tol=1e-2), graded_text),
        "ranking, RankSVM rbf, 1,500 x 20": (
            lambda: RankSVM(kernel="rbf", tol=1e-3), few_graded,
        ),
        "top-k, TopKSVC(3), 2,000 x 20, 10 classes": (lambda: TopKSVC(k=3), classes),
        "top-k, TopKSVC(3), 5,000 x 500 sparse": (lambda: TopKSVC(k=3), text_classes),
        "top-k, TopKSVC(3) rbf, 1,200 x 20": (
            lambda: TopKSVC(k=3, kernel="rbf", tol=1e-3), few_classes,
        ),
    }  # fmt: skip


def work(names: list[str]) -> None:
    """Fit what the other side asks for, line by line; answer with CPU seconds."""
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    cases = _cases()
    with threadpool_limits(1):
        for line in sys.stdin:
            make, (X, y) = cases[line.strip()]
            start = time.process_time()
            model = make().fit(X, y)
            seconds = time.process_time() - start
            assert model.certificate_.status == "converged"
            print(seconds, flush=True)


class Side:
    """One of the two versions, in a process of its own."""

    def __init__(self, python: str, *command: str) -> None:
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [python, *(command or (os.path.abspath(__file__), "--work"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | one_thread,
        )

    def seconds(self, case: str) -> float:
        """CPU seconds of one fit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(older: Side, newer: Side, case: str) -> tuple[float, float, int]:
    """Median seconds of either side, and of how many fits."""
    first = [(older.seconds(case), newer.seconds(case)) for _ in range(2)][1]
    count = int(min(max(_SECONDS / sum(first), _LEAST), _MOST))
    times = []
    for turn in range(count):
        sides = (older, newer) if turn % 2 else (newer, older)
        pair = {side: side.seconds(case) for side in sides}
        times.append((pair[older], pair[newer]))
    return (*(statistics.median(side) for side in zip(*times, strict=True)), count)


def main(arguments: list[str]) -> None:
    if arguments == ["--work"]:
        return work(arguments)
    if not arguments:
        sys.exit(__doc__)
    older, newer = Side(arguments[0]), Side(sys.executable)
    print("| fit | before, ms | now, ms | now / before | fits |\n|---|---|---|---|---|", flush=True)
    for case in _cases():
        if all(word in case for word in arguments[1:]):
            before, now, count = compare(older, newer, case)
            print(
                f"| {case} | {1e3 * before:.1f} | {1e3 * now:.1f} | {now / before:.2f} | {count} |",
                flush=True,
            )
    for side in (older, newer):
        side.close()


if __name__ == "__main__":
    main(sys.argv[1:])
