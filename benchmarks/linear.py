"""Linear TopPush: seconds to a certified gap, against the reference and the everyday choice.

    python -m benchmarks.linear            every cell, about an hour
    python -m benchmarks.linear --quick    a few cells in about a minute
    python -m benchmarks.linear --before PYTHON    ratios to LinearSVC, this version's and those
                                                   of the one that PYTHON has, in turns

One thread. Times are CPU seconds of this process (the smallest of a few repeats), so
that other programs on the machine do not count; the reference gives up after a limit
that is counted in full, and ``--limit 0`` leaves it out: five minutes. The peers get the
same arrays.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.before import Side
from benchmarks.data import BUNDLED, folder, load_binary
from benchmarks.summary import Summary, parser_of
from shortlist import PatMat, TopPush
from shortlist.certificate import Check

SETS = ("letter", "spambase", "magic04", "w8a", "a9a", "nsl_kdd", "mammography")
LAMBDAS = (1.0, 0.1, 0.01, 0.001)
PEERS = {
    "accelerated": "the published accelerated dual method (its limit counted in full)",
    "LinearSVC": "`LinearSVC(dual=False)`",
    "logistic": '`LogisticRegression(solver="liblinear")`',
}


def seconds(model: Any, X: Any, y: np.ndarray, repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        model.fit(X, y)
        best = min(best, time.process_time() - start)
    return best


def cpu_limit(limit: float) -> Callable[[Check], bool]:
    """Stop a fit after so many CPU seconds: a wall-clock limit would rob it on a busy machine."""
    start = time.process_time()
    return lambda check: time.process_time() - start > limit


def cells(names: tuple[str, ...], limit: float, repeats: int, tol: float, summary: Summary) -> None:
    print(f"Seconds to a certified relative gap of {tol:g}; the reference gets {limit:g} s.\n")
    header = ("set", "k", "lambda", "newton", "passes", "steps")
    reference = f"{'accelerated':>13}{'its gap':>10}" if limit > 0.0 else ""
    print("{:<14}{:>3}{:>8}{:>10}{:>8}{:>7}".format(*header) + reference, end="")
    print(f"{'LinearSVC':>11}{'logistic':>10}{'gap at 1e-6':>13}")
    ratios: dict[str, list[float]] = {"accelerated": [], "LinearSVC": [], "logistic": []}
    reached = reached_tight = total = 0
    for name in names:
        X, y = load_binary(name)
        for k in (1, 10):
            for lam in LAMBDAS:
                C = 1.0 / (lam * int(y.sum()))
                ours = TopPush(k, C=C, tol=tol)
                newton = seconds(ours, X, y, repeats)
                svc = seconds(LinearSVC(dual=False, tol=1e-4, C=C), X, y, repeats)
                logistic = seconds(LogisticRegression(solver="liblinear", C=C), X, y, repeats)
                tight = TopPush(k, C=C, tol=1e-6).fit(X, y).certificate_
                accelerated, reference = np.nan, ""
                if limit > 0.0:
                    slow = TopPush(k, C=C, tol=tol, solver="accelerated", callback=cpu_limit(limit))
                    accelerated = seconds(slow, X, y, 1)
                    if slow.certificate_.status != "converged":
                        accelerated = limit
                    reference = f"{accelerated:>13.3f}{slow.certificate_.relative_gap:>10.1e}"
                total += 1
                reached += ours.certificate_.relative_gap <= tol
                reached_tight += tight.relative_gap <= 1e-6
                for peer, value in (
                    ("accelerated", accelerated),
                    ("LinearSVC", svc),
                    ("logistic", logistic),
                ):
                    ratios[peer].append(value / newton)
                certificate = ours.certificate_
                print(
                    f"{name:<14}{k:>3}{lam:>8g}{newton:>10.4f}{certificate.passes:>8}"
                    f"{ours.n_iter_:>7}{reference}{svc:>11.4f}{logistic:>10.4f}"
                    f"{tight.relative_gap:>13.1e}",
                    flush=True,
                )
    print(f"\ncells at {tol:g}: {reached} of {total}; at 1e-6: {reached_tight} of {total}")
    what = f"linear `TopPush` to a gap of {tol:g}"
    size = f"{len(names)} sets x 4 strengths x k = 1, 10"
    for peer, values in ratios.items():
        if np.isnan(values).any():
            continue
        mean = float(np.exp(np.mean(np.log(values))))
        print(f"geometric mean of time of {peer} / newton: {mean:.2f}")
        result = f"{mean:.0f}x faster" if mean > 5 else f"{1 / mean:.2f}x its time"
        summary.add(what, PEERS[peer], result, size)
    summary.add(what, "cells at 1e-4 and 1e-6", f"{reached} and {reached_tight} of {total}", size)


MODELS = {
    "TopPush": ((1, 10), lambda k, C: TopPush(k, C=C)),
    "PatMat": ((0.01, 0.1), lambda tau, C: PatMat(tau, C=C)),
    "LinearSVC": ((), lambda _, C: LinearSVC(dual=False, tol=1e-4, C=C)),
}


def work() -> None:
    """Fit what the other side asks for, line by line; answer with CPU seconds."""
    loaded: dict[str, Any] = {}
    for line in sys.stdin:
        model, name, value, lam = line.split()
        if name not in loaded:
            loaded = {name: load_binary(name)}
        X, y = loaded[name]
        number = float(value) if "." in value else int(value)
        made = MODELS[model][1](number, 1.0 / (float(lam) * int(y.sum())))
        print(seconds(made, X, y, 1), flush=True)


def turns(python: str, names: tuple[str, ...], repeats: int) -> None:
    """Ratios to LinearSVC's time, smallest of the repeats, geometric means over the cells."""
    older, newer = (
        Side(one, "-m", "benchmarks.linear", "--work") for one in (python, sys.executable)
    )
    print("| set | TopPush before | now | PatMat before | now |\n|---|---|---|---|---|", flush=True)
    rows = []
    for name in names:
        row = []
        for model in ("TopPush", "PatMat"):
            logs = []
            for value in MODELS[model][0]:
                for lam in LAMBDAS:
                    ours, svc = f"{model} {name} {value} {lam}", f"LinearSVC {name} 0 {lam}"
                    asked = ((older, ours), (newer, ours), (newer, svc))
                    times = [[side.seconds(case) for side, case in asked] for _ in range(repeats)]
                    least = np.min(times, axis=0)
                    logs.append(np.log(least[:2] / least[2]))
            row += list(np.mean(logs, axis=0))
        rows.append(row)
        print(
            f"| {name} | " + " | ".join(f"{np.exp(value):.2f}" for value in row) + " |", flush=True
        )
    print("| all | " + " | ".join(f"{np.exp(value):.2f}" for value in np.mean(rows, axis=0)) + " |")
    for side in (older, newer):
        side.close()


def blobs(n_rows: int, n_features: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussian clouds, 5 % positives."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    y = rng.random(n_rows) < 0.05
    X[y] += 3.0 / np.sqrt(n_features)
    return X, y


def growth(sizes: list[int], summary: Summary) -> None:
    print("\nGrowth: the same problem with more rows, k=0.01, C = 1 / (0.01 n_positives)")
    times = []
    for n_rows in sizes:
        X, y = blobs(n_rows)
        model = TopPush(0.01, C=100.0 / int(y.sum()))
        times.append(seconds(model, X, y, 2))
        ratio = peak_memory(n_rows)
        print(
            f"{n_rows:>9} rows {times[-1]:8.3f} s, {model.certificate_.passes} passes, "
            f"{model.n_iter_} steps, peak memory {ratio:.2f} x the data",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"log-log slope of time: {slope:.2f}")
    summary.add(
        "growth of linear `TopPush`",
        "the number of rows",
        f"log-log slope {slope:.2f}, peak memory {ratio:.2f} x the data",
        f"{sizes[0]:,} to {sizes[-1]:,} rows",
    )


_MEMORY = """
import re
import sys
from benchmarks.linear import TopPush, blobs

def peak():
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])

TopPush(2).fit(*blobs(1000))
base = peak()
X, y = blobs(int(sys.argv[1]))
TopPush(0.01, C=100.0 / int(y.sum())).fit(X, y)
print((peak() - base) / X.nbytes)
"""


def peak_memory(n_rows: int) -> float:
    """Peak memory of a fresh process that makes the data and fits, in units of the data.

    Linux only: getrusage would count the peak of the parent process as well.
    """
    run = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(n_rows)], capture_output=True, text=True, check=True
    )
    return float(run.stdout)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="*", help="only these sets")
    parser.add_argument("--limit", type=float, help="seconds allowed to the reference; 0: none")
    parser.add_argument("--tol", type=float, default=1e-4, help="relative gap to reach")
    parser.add_argument("--before", metavar="PYTHON", help="interpreter with an older version")
    parser.add_argument("--repeats", type=int, default=5, help="fits a cell, with --before")
    parser.add_argument("--work", action="store_true", help="answer the other side of --before")
    options = parser.parse_args()
    names = SETS if folder() else tuple(BUNDLED)
    if options.quick:
        names = names[:2]
    if options.sets:
        names = tuple(options.sets)
    limit = (5.0 if options.quick else 60.0) if options.limit is None else options.limit
    warnings.simplefilter("ignore")
    if options.work:
        with threadpool_limits(1):
            return work()
    if options.before:
        return turns(options.before, names, options.repeats)
    summary = Summary(options.summary)
    with threadpool_limits(1):
        cells(names, limit, repeats=3, tol=options.tol, summary=summary)
        smallest = 5_000 if options.quick else 50_000
        growth([smallest * 2**i for i in range(5)], summary)
    summary.close()


if __name__ == "__main__":
    main()
