"""TopKSVC: seconds to a certified gap, against Frank-Wolfe and LIBLINEAR's Crammer-Singer.

    python -m benchmarks.topk            every cell, about an hour
    python -m benchmarks.topk --quick    two cells in about a minute
    python -m benchmarks.topk --classes  growth in classes only, five minutes

One thread but where it says two. Times are CPU seconds of this process, so that other
programs on the machine do not count; ``fw`` gives up after a limit in CPU seconds that is counted in full.
LIBLINEAR takes part where ``liblinear-official`` is installed: our time is then the time
to an objective no higher than its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import folder, load_multiclass
from benchmarks.linear import cpu_limit
from benchmarks.summary import Summary, parser_of
from shortlist import TopKSVC

SETS = ("letter", "satimage", "news20_orange")
TOL = 1e-3


def seconds(model: Any, X: Any, y: np.ndarray) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def against_frank_wolfe(
    names: tuple[str, ...], ks: tuple[int, ...], limit: float, summary: Summary
) -> None:
    print(f"Seconds to a relative gap of {TOL:g}; fw stops at {limit:g} s.\n")
    print(
        f"{'set':<15}{'k':>3}{'C':>6}{'auto':>9}{'passes':>8}{'fw':>9}{'its gap':>10}{'ratio':>8}"
    )
    ratios, growth = [], []
    for name in names:
        X, y = load_multiclass(name)
        for k in ks:
            times = {}
            for C in (1, 10, 100):
                ours = TopKSVC(k, C=C, tol=TOL)
                times[C] = seconds(ours, X, y)
                slow = TopKSVC(k, C=C, tol=TOL, solver="fw", callback=cpu_limit(limit))
                peer = seconds(slow, X, y)
                if slow.certificate_.status != "converged":
                    peer = limit
                ratios.append(peer / times[C])
                print(
                    f"{name:<15}{k:>3}{C:>6}{times[C]:>9.2f}{ours.certificate_.passes:>8}"
                    f"{peer:>9.2f}{slow.certificate_.relative_gap:>10.1e}{ratios[-1]:>8.1f}"
                    f"{'' if ours.certificate_.status == 'converged' else '  not converged'}",
                    flush=True,
                )
            growth.append((times[100] / times[1], name, k))
    print(f"\nfw / auto, geometric mean: {geometric_mean(ratios):.1f}")
    mean = geometric_mean([ratio for ratio, *_ in growth])
    worst, name, k = max(growth)
    print(f"C = 100 / C = 1: geometric mean {mean:.1f}, worst {worst:.1f} ({name}, k = {k})")
    what = f"`TopKSVC` to a gap of {TOL:g}"
    size = f"{', '.join(names)}, k = {', '.join(map(str, ks))}"
    summary.add(
        what,
        "standard Frank-Wolfe (its limit counted in full)",
        f"{geometric_mean(ratios):.0f}x faster",
        f"{size}, limit {limit:g} s",
    )
    summary.add(what, "C = 100 against C = 1", f"{mean:.1f}x the time, at worst {worst:.1f}x", size)


def against_liblinear(names: tuple[str, ...], summary: Summary) -> None:
    try:
        from liblinear.liblinearutil import parameter, problem, train
    except ImportError:
        print("\nliblinear-official is not installed: no comparison with Crammer-Singer.")
        return
    print("\nk = 1: seconds of LIBLINEAR (-s 4), and ours to an objective no higher\n")
    print(
        f"{'set':<15}{'C':>6}{'liblinear':>11}{'objective':>13}{'ours':>9}{'objective':>13}{'ratio':>8}"
    )
    ratios = []
    for name in names:
        X, y = load_multiclass(name)
        data = problem(y.astype(float), sparse.csr_matrix(X))
        for C in (1, 10, 100):
            start = time.process_time()
            peer = train(data, parameter(f"-s 4 -c {C} -q"))
            theirs = time.process_time() - start
            goal = crammer_singer(X, y, liblinear_weights(peer, X.shape[1]), C)
            ours = TopKSVC(1, C=C, tol=1e-5, callback=lambda c, goal=goal: c.primal <= goal)
            mine = seconds(ours, X, y)
            ratios.append(mine / theirs)
            print(
                f"{name:<15}{C:>6}{theirs:>11.2f}{goal:>13.6g}{mine:>9.2f}"
                f"{ours.certificate_.primal:>13.6g}{ratios[-1]:>8.2f}",
                flush=True,
            )
    print(
        f"\nours / liblinear: geometric mean {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}"
    )
    summary.add(
        "`TopKSVC(1)` to an objective no higher",
        "LIBLINEAR `-s 4`",
        f"{geometric_mean(ratios):.2f}x its time, at worst {max(ratios):.2f}x",
        ", ".join(names),
    )


def liblinear_weights(model: Any, n_features: int) -> np.ndarray:
    labels = np.array(model.get_labels())
    flat = np.ctypeslib.as_array(model.w, shape=(n_features * len(labels),))
    return flat.reshape(n_features, len(labels))[:, np.argsort(labels)]


def crammer_singer(X: Any, y: np.ndarray, W: np.ndarray, C: float) -> float:
    scores = X @ W
    rows = np.arange(len(y))
    margins = 1.0 + scores - scores[rows, y][:, None]
    margins[rows, y] = 0.0
    return 0.5 * float(np.vdot(W, W)) + C * float(margins.max(axis=1).sum())


def accuracies() -> None:
    """Test accuracies on letter, laid out as in Table 6 of Kato and Hirohashi (2019)."""
    root = folder()
    assert root is not None
    with np.load(root / "letter.npz") as parts:
        scaler = StandardScaler().fit(parts["X_train"])
        train, test = scaler.transform(parts["X_train"]), scaler.transform(parts["X_test"])
        y_train, y_test = parts["y_train"], parts["y_test"]
    print("\nletter, C = 1, flat weights: top-1, top-3, top-5 and top-10 accuracy on the test part")
    for k in (1, 3, 5, 10):
        model = TopKSVC(k, tol=TOL).fit(train, y_train)
        shares = [model.top_k_score(test, y_test, shown) for shown in (1, 3, 5, 10)]
        print(f"k = {k:>2}: " + " ".join(f"{share:.3f}" for share in shares))


_MANY = """
import re, sys, time
import numpy as np
from threadpoolctl import threadpool_limits
from shortlist import TopKSVC

n_classes, threads = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
y = np.arange(20_000) % n_classes
X = rng.normal(size=(n_classes, 128))[y] + 2.0 * rng.normal(size=(20_000, 128))
with threadpool_limits(threads):
    cpu, wall = time.process_time(), time.perf_counter()
    model = TopKSVC(5, tol=1e-3, C=0.01).fit(X, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
with open("/proc/self/status") as status:
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024**2
proved = model.certificate_
print(cpu, wall, proved.passes, model.n_iter_, proved.relative_gap, proved.primal, peak)
"""


def many_classes(counts: tuple[int, ...], threads: tuple[int, ...], summary: Summary) -> None:
    """Time and peak memory of fresh processes (Linux), the median of three by CPU time."""
    print("\n20,000 rows x 128 features, k = 5, C = 0.01, to a gap of 0.001")
    print("classes  threads  CPU s  wall s  passes  surveys      gap  objective  peak GB")
    seconds = []
    for n_classes in counts:
        for count in threads:
            command = [sys.executable, "-c", _MANY, str(n_classes), str(count)]
            runs = []
            for _ in range(3):
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                runs.append([float(value) for value in run.stdout.split()])
            cpu, wall, passes, surveys, gap, primal, peak = sorted(runs)[1]
            if count == 1:
                seconds.append(cpu)
            print(
                f"{n_classes:>7}{count:>9}{cpu:>7.1f}{wall:>8.1f}{passes:>8.0f}{surveys:>9.0f}"
                f"{gap:>9.1e}{primal:>11.5g}{peak:>9.2f}",
                flush=True,
            )
    slope = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
    print(f"log-log slope of the CPU seconds of one thread: {slope:.2f}")
    summary.add(
        "`TopKSVC(5)`, many classes, gap 1e-3",
        "the number of classes",
        f"{seconds[-1]:.0f} s at {counts[-1]:,}, log-log slope {slope:.2f}",
        f"{counts[0]:,} to {counts[-1]:,} classes, 20,000 rows",
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for fw")
    parser.add_argument("--sets", nargs="*", help="only the comparisons on these sets")
    parser.add_argument("--classes", action="store_true", help="only the growth in classes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.quick:
        names: tuple[str, ...] = ("satimage",) if folder() else ("digits",)
        ks: tuple[int, ...] = (3,)
        limit = min(options.limit, 5.0)
    else:
        names, ks, limit = (SETS if folder() else ("digits",)), (1, 3, 5), options.limit
    if options.sets:
        names = tuple(options.sets)
    summary = Summary(options.summary)
    if not options.classes:
        with threadpool_limits(1):
            against_frank_wolfe(names, ks, limit, summary)
            against_liblinear(names, summary)
            if folder() and not options.quick and not options.sets:
                accuracies()
    if not options.quick and not options.sets:
        many_classes((250, 500, 1000, 2000), (1, 2), summary)
    summary.close()


if __name__ == "__main__":
    main()
