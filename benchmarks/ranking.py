"""RankSVM against explicit pairs and dlib, its growth to a million rows, and real data.

    python -m benchmarks.ranking                about ten minutes
    python -m benchmarks.ranking --quick        about a minute
    python -m benchmarks.ranking --strengths    kernels at large C only, about ten minutes

Ratios of CPU times measured side by side in one run, one thread. Real data are read from
the folder named by SHORTLIST_DATA; those parts are left out without it.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.preprocessing import MaxAbsScaler, scale
from threadpoolctl import threadpool_limits

from shortlist import RankSVM
from shortlist.metrics import pairwise_accuracy

from .data import folder
from .linear import cpu_limit
from .summary import Summary, parser_of


def table(n: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n, d))
    return X, X @ random.standard_normal(d) + 2.0 * random.standard_normal(n)


def explicit_pairs(X: np.ndarray, y: np.ndarray, C: float, tol: float) -> float:
    """Conditional gradient of the ROSVM document, one dual variable per pair.

    Line search and duality gap as published (sign corrected), sparse A, linear kernel
    through the weights so that no n x n matrix is needed. Returns the gap reached.
    """
    order = np.argsort(-y, kind="stable")
    upper, lower = np.triu_indices(len(y), 1)
    m = len(upper)
    A = sparse.csr_array(
        (
            np.tile([1.0, -1.0], m),
            np.column_stack([order[upper], order[lower]]).ravel(),
            np.arange(0, 2 * m + 1, 2),
        ),
        shape=(m, len(y)),
    )
    del upper, lower
    c = C * len(y) / m
    alpha, w = np.zeros(m), np.zeros(X.shape[1])
    best = np.inf
    while True:
        margin = 1.0 - A @ (X @ w)
        primal = 0.5 * w @ w + c * np.maximum(margin, 0.0).sum()
        best = min(best, primal)
        dual = alpha.sum() - 0.5 * w @ w
        if best - dual <= tol * best:
            return (best - dual) / best
        vertex = np.where(margin > 0.0, c, 0.0)
        step = vertex - alpha
        direction = X.T @ (A.T @ step)
        gamma = min(1.0, float(margin @ step) / float(direction @ direction))
        alpha += gamma * step
        w = w + gamma * direction


def ours(X: np.ndarray, y: np.ndarray, C: float, tol: float, **options: Any) -> float:
    model = RankSVM(C=C, tol=tol, **options).fit(X, y)
    return model.certificate_.relative_gap


def peak_megabytes() -> float:
    """Peak memory of this process; Linux only, getrusage would count the parent's peak too."""
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024.0


def _measure(sender: Any, call: Callable[..., float], n: int, arguments: tuple) -> None:
    call(*table(100), *arguments)
    X, y = table(n)
    before = peak_megabytes()
    with threadpool_limits(1):
        start = time.process_time()
        gap = call(X, y, *arguments)
        seconds = time.process_time() - start
    sender.send((seconds, peak_megabytes() - before, gap))


def measured(call: Callable[..., float], n: int, *arguments: Any) -> tuple[float, float, float]:
    """Seconds, peak megabytes beyond the data, and gap, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, call, n, arguments))
    process.start()
    result = receiver.recv()
    process.join()
    return result


def against_explicit_pairs(sizes: tuple[int, ...], C: float, tol: float, summary: Summary) -> None:
    print(f"\nexplicit pairs, both to a relative gap of {tol:g}, C = {C:g}, 20 features")
    print(
        f"{'n':>6} {'explicit s':>11} {'MB':>8} {'ours s':>8} {'MB':>7} {'fw s':>8} "
        f"{'faster':>8} {'less memory':>12}"
    )
    for n in sizes:
        slow = measured(explicit_pairs, n, C, tol)
        fast = min((measured(ours, n, C, tol) for _ in range(3)), key=lambda r: r[0])
        start = time.process_time()
        ours(*table(n), C, tol, solver="fw")
        published = time.process_time() - start
        print(
            f"{n:6d} {slow[0]:11.2f} {slow[1]:8.0f} {fast[0]:8.3f} {fast[1]:7.1f} "
            f"{published:8.2f} {slow[0] / fast[0]:7.0f}x "
            f"{slow[1] / max(fast[1], 0.1):11.0f}x",
            flush=True,
        )
    summary.add(
        f"`RankSVM` to a gap of {tol:g}",
        "conditional gradient on explicit pairs",
        f"{slow[0] / fast[0]:.0f}x faster, {slow[1] / max(fast[1], 0.1):.0f}x less memory",
        f"{n:,} rows",
    )


def growth(sizes: tuple[int, ...], tol: float, summary: Summary) -> None:
    print(f"\ngrowth, one group, 20 features, certified to {tol:g}")
    print(f"{'n':>8} {'pairs':>8} {'data MB':>8} {'peak MB':>8} {'seconds':>8} {'gap':>8}")
    seconds = []
    for n in sizes:
        runs = [measured(ours, n, 1.0, tol) for _ in range(1 if n > 300_000 else 2)]
        best = min(runs, key=lambda r: r[0])
        seconds.append(best[0])
        size = 8 * 20 * n / 2.0**20
        print(
            f"{n:8d} {n * (n - 1) / 2:8.1e} {size:8.0f} {size + best[1]:8.0f} "
            f"{best[0]:8.2f} {best[2]:8.1e}",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"log-log slope of the time: {slope:.2f}")
    summary.add(
        f"growth of `RankSVM`, gap {tol:g}",
        "the number of rows",
        f"{best[0]:.1f} s, {(size + best[1]) / size:.1f} x the data, log-log slope {slope:.2f}",
        f"{n:,} rows, {n * (n - 1) / 2:.0e} pairs",
    )


def queries(repeats: int, summary: Summary) -> None:
    data = np.load(folder() / "mq2008.npz")
    train = np.isin(data["part"], (1, 2, 3))
    X, y, qid = data["X"].astype(float), data["y"].astype(float), data["qid"]
    print("\nMQ2008, S1-S3 train, S5 test")
    test = data["part"] == 5
    for loss in ("hinge", "squared_hinge"):
        for C in (0.1, 1.0, 10.0):
            best = np.inf
            for _ in range(repeats):
                start = time.process_time()
                model = RankSVM(C=C, loss=loss, tol=1e-3).fit(X[train], y[train], qid=qid[train])
                best = min(best, time.process_time() - start)
            print(
                f"RankSVM {loss:14s} C={C:<5g} {best:7.3f} s  gap "
                f"{model.certificate_.relative_gap:.1e}  pairwise accuracy "
                f"{model.score(X[test], y[test], qid=qid[test]):.4f}",
                flush=True,
            )
    start = time.process_time()
    RankSVM(tol=1e-3).fit(X, y, qid=qid)
    print(f"all 784 queries, C=1: {time.process_time() - start:.3f} s")
    try:
        import dlib
    except ImportError:
        print("dlib is not installed (pip install dlib-bin)")
        return
    graded = qid[train]
    pairs = dlib.ranking_pairs()
    for q in np.unique(graded):
        rows = np.flatnonzero(train)[graded == q]
        # dlib knows two grades only: relevant and not.
        relevant = [dlib.vector(x) for x in X[rows[y[rows] > 0]]]
        other = [dlib.vector(x) for x in X[rows[y[rows] == 0]]]
        if relevant and other:
            pair = dlib.ranking_pair()
            for x in relevant:
                pair.relevant.append(x)
            for x in other:
                pair.nonrelevant.append(x)
            pairs.append(pair)
    two = (y > 0).astype(float)
    part = RankSVM(tol=1e-3).fit(X[train], two[train], qid=qid[train])
    trainer = dlib.svm_rank_trainer()
    # dlib minimises |w|^2/2 + c * mean loss of a pair.
    trainer.c = _total_weight(part, qid[train], two[train])
    trainer.epsilon = 1e-3
    start = time.process_time()
    other_model = trainer.train(pairs)
    theirs = time.process_time() - start
    start = time.process_time()
    part = RankSVM(tol=1e-3).fit(X[train], two[train], qid=qid[train])
    mine = time.process_time() - start
    scores = np.array([other_model(dlib.vector(x)) for x in X[test]])
    print(
        f"two grades: dlib {theirs:.3f} s, accuracy "
        f"{pairwise_accuracy(two[test], scores, qid=qid[test]):.4f}; RankSVM {mine:.3f} s, "
        f"accuracy {part.score(X[test], two[test], qid=qid[test]):.4f}; "
        f"ratio {theirs / mine:.1f}x"
    )
    summary.add(
        "`RankSVM`, MQ2008, two grades",
        "dlib's `svm_rank_trainer`",
        f"{theirs / mine:.1f}x faster",
        f"{len(pairs)} queries",
    )


def _total_weight(model: RankSVM, qid: np.ndarray, y: np.ndarray) -> float:
    """Total weight of the loss under ``normalize=True``: C times the rows compared."""
    compared = sum(int((qid == q).sum()) for q in np.unique(qid) if len(np.unique(y[qid == q])) > 1)
    return model.C * compared


def retention() -> None:
    data = np.load(folder() / "retention_eccb2018.npz")
    X, y, system = data["X"].astype(float), data["y"].astype(float), data["group"]
    print("\nretention times, 5-fold, pairwise accuracy per system")
    names = np.unique(system)
    print(
        f"{'':28s}" + "".join(f"{name[:10]:>12}" for name in names) + f"{'all':>9} {'seconds':>8}"
    )
    scaled = MaxAbsScaler().fit_transform(X)
    for label, Z, options in (
        ("linear, standardised", scale(X), {"C": 0.1}),
        ("rbf", scaled, {"kernel": "rbf", "C": 10.0}),
        ("minmax", X, {"kernel": "minmax", "C": 10.0}),
        ("minmax, 16 ranks", X, {"kernel": "minmax", "C": 10.0, "max_rank_distance": 16}),
        ("minmax, squared hinge", X, {"kernel": "minmax", "C": 10.0, "loss": "squared_hinge"}),
    ):
        scores = np.zeros(len(y))
        parts = np.zeros(len(y), dtype=int)
        start = time.process_time()
        for fold, (train, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(X)):
            model = RankSVM(tol=1e-3, **options).fit(Z[train], y[train], qid=system[train])
            scores[test] = model.predict(Z[test])
            parts[test] = fold
        seconds = time.process_time() - start
        cells = "".join(f"{_accuracy(y, scores, parts, system == name):12.4f}" for name in names)
        whole = _accuracy(y, scores, np.unique(system, return_inverse=True)[1] * 5 + parts)
        print(f"{label:28s}{cells}{whole:9.4f} {seconds:8.2f}", flush=True)


# Sets of `strengths`: a name, the kernel, and the rows.
STRONG = (
    ("retention", "minmax"),
    ("retention", "rbf"),
    ("wine, red", "rbf"),
    ("MQ2008, S1", "rbf"),
    ("MQ2008, S1", "minmax"),
)


def _strong_rows(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if name == "retention":
        data = np.load(folder() / "retention_eccb2018.npz")
        return data["X"].astype(float), data["y"].astype(float), data["group"]
    if name == "wine, red":
        data = np.load(folder() / "winequality_red.npz")
        return data["X"].astype(float), data["y"].astype(float), np.zeros(len(data["y"]))
    data = np.load(folder() / "mq2008.npz")
    first = data["part"] == 1
    return data["X"][first].astype(float), data["y"][first].astype(float), data["qid"][first]


def strengths(limit: float, summary: Summary) -> None:
    """Seconds to a relative gap of 1e-4, a loss of C for each pair, against ``fw``."""
    print(f"\nkernels, C for each pair, relative gap 1e-4; fw stops at {limit:g} CPU s")
    print(f"{'set':<12}{'rows':>6} {'kernel':<8}{'C':>6}{'seconds':>9}{'gap':>9}", end="")
    print(f"{'fw':>9}{'its gap':>9}{'fw / ours':>11}")
    ratios = []
    for name, kernel in STRONG:
        X, y, group = _strong_rows(name)
        X = X if kernel == "minmax" else MaxAbsScaler().fit_transform(X)
        for C in (0.25, 4.0, 64.0):
            options: dict[str, Any] = {"kernel": kernel, "C": C, "normalize": False, "tol": 1e-4}
            times = []
            for _ in range(3):
                start = time.process_time()
                ours = RankSVM(**options).fit(X, y, qid=group).certificate_
                times.append(time.process_time() - start)
            slow = RankSVM(**options, solver="fw", callback=cpu_limit(limit))
            start = time.process_time()
            peer = slow.fit(X, y, qid=group).certificate_
            theirs = time.process_time() - start
            mine = sorted(times)[1]
            done = "" if peer.status == "converged" else ">"
            ratios.append(theirs / mine)
            print(
                f"{name:<12}{len(y):>6} {kernel:<8}{C:>6g}{mine:>9.2f}{ours.relative_gap:>9.0e}"
                f"{done + f'{theirs:.2f}':>9}{peer.relative_gap:>9.0e}"
                f"{done + f'{ratios[-1]:.1f}':>11}",
                flush=True,
            )
    summary.add(
        "`RankSVM`, kernels, to a gap of 1e-4",
        "solver `fw` (its limit counted in full)",
        f"{min(ratios):.1f}x to {max(ratios):.0f}x faster",
        "three sets, C = 1/4, 4, 64",
    )


def _accuracy(
    y: np.ndarray, scores: np.ndarray, parts: np.ndarray, rows: np.ndarray | None = None
) -> float:
    rows = np.ones(len(y), dtype=bool) if rows is None else rows
    return pairwise_accuracy(y[rows], scores[rows], qid=parts[rows])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--strengths", action="store_true", help="only kernels at large C")
    parser.add_argument("--limit", type=float, help="CPU seconds allowed to fw at large C")
    options = parser.parse_args()
    limit = options.limit or (10.0 if options.quick else 100.0)
    summary = Summary(options.summary)
    with threadpool_limits(1):
        if not options.strengths:
            run(options.quick, summary)
        if folder() is not None:
            strengths(limit, summary)
    summary.close()


def run(quick: bool, summary: Summary) -> None:
    against_explicit_pairs((500, 1000) if quick else (1000, 2000, 4000), 0.1, 1e-3, summary)
    small = (10_000, 30_000, 100_000)
    growth(small if quick else (*small, 300_000, 1_000_000), 1e-2, summary)
    if folder() is None:
        print("\nSHORTLIST_DATA is not set: MQ2008 and retention times left out")
        return
    queries(1 if quick else 3, summary)
    retention()


if __name__ == "__main__":
    main()
