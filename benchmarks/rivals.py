"""The papers' rivals: seconds to a certified gap, against naive versions of themselves.

    python -m benchmarks.rivals            about ten minutes
    python -m benchmarks.rivals --quick    a small part in about a minute

One thread, CPU seconds. Naive means what a paper's formula says: every pair or every count of a
labelling written out (NumPy) inside the same solver, or the whole problem given to cvxpy and
Clarabel. Where one naive fit would take hours, one of its programmes is timed and the number of
programmes multiplied; the table says so.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import folder, load_binary
from benchmarks.linear import blobs
from benchmarks.summary import Summary, parser_of
from shortlist import RankSVM, TopPush
from shortlist.rivals import (
    AATP,
    F1,
    ROCAUC,
    AveragePrecision,
    InfinitePush,
    MetricSVM,
    PartialAUC,
    PrecisionAtK,
    RecallAtK,
    TransductiveSVM,
    Violation,
)
from shortlist.rivals.metric_svm import METRICS

TOL = 1e-3


def cpu(run: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """CPU seconds of the quickest run, and its result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return best, result


def few_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Spambase where it is at hand, otherwise two clouds of points."""
    if not folder():
        return blobs(n_rows)
    X, y = load_binary("spambase")
    kept = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[kept], y[kept] > 0


class NaiveAUC(PartialAUC):
    """All pairs of positives and highest negatives, written out."""

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        count = int(self.max_fpr * n + 1e-9)
        order = np.argsort(-negative, kind="stable")[:count]
        swapped = 1.0 + negative[None, order] - positive[:, None] > 0.0
        to_negative = np.zeros(n)
        to_negative[order] = swapped.sum(axis=0) / (m * count)
        return Violation(float(swapped.mean()), -swapped.sum(axis=1) / (m * count), to_negative)


class NaivePrecision(PrecisionAtK):
    """Every number of hits, its list sorted and its sums added up anew."""

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n, k = len(positive), len(negative), int(self.k)
        best, found = -np.inf, None
        for a in range(max(0, k - n), min(k, m)):
            high = np.argsort(-positive, kind="stable")
            listed = np.argsort(-negative, kind="stable")[: k - a]
            e = (min(k, m) - a) / self._unit(k, m)
            value = e * (1.0 + negative[listed].mean() - positive[high[a:]].mean())
            if value > best:
                to_positive, to_negative = np.zeros(m), np.zeros(n)
                to_positive[high[a:]] = -e / (m - a)
                to_negative[listed] = e / (k - a)
                best, found = value, Violation(e, to_positive, to_negative)
        assert found is not None
        return found


class NaiveRecall(NaivePrecision, RecallAtK):
    """The same in another unit."""

    _unit = RecallAtK._unit


class NaiveAP(AveragePrecision):
    """Every place of every negative: Yue et al.'s table."""

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        best, first = np.argsort(-positive, kind="stable"), np.argsort(-negative, kind="stable")
        i, j = np.arange(1.0, m + 1)[:, None], np.arange(1.0, n + 1)[None, :]
        gain = i / (i + j - 1.0) - i / (i + j)
        gain += (negative[first][None, :] - positive[best][:, None]) / n
        sums = np.concatenate([np.cumsum(gain[::-1], axis=0)[::-1], np.zeros((1, n))])
        place = m - np.argmax(sums[::-1], axis=0)
        above = (place[None, :] < i).sum(axis=1)
        to_positive, to_negative = np.empty(m), np.empty(n)
        to_positive[best] = -above / (m * n)
        to_negative[first] = (m - place) / (m * n)
        loss = float((above / (i[:, 0] + above)).mean())
        return Violation(loss, to_positive, to_negative)


class NaiveF1(F1):
    """Every count of right and wrong labels: Joachims' table."""

    def worst(self, positive: np.ndarray, negative: np.ndarray) -> Violation:
        m, n = len(positive), len(negative)
        best, first = np.argsort(-positive, kind="stable"), np.argsort(-negative, kind="stable")
        a, b = np.arange(m + 1.0)[:, None], np.arange(n + 1.0)[None, :]
        right = np.concatenate([[0.0], np.cumsum(positive[best])]) - positive.sum()
        wrong = np.concatenate([[0.0], np.cumsum(negative[first])])
        value = 1.0 - 2.0 * a / (a + b + m) + right[:, None] / m + wrong[None, :] / m
        p, q = np.unravel_index(int(np.argmax(value)), value.shape)
        to_positive, to_negative = np.zeros(m), np.zeros(n)
        to_positive[best[p:]] = -1.0 / m
        to_negative[first[:q]] = 1.0 / m
        return Violation(float(1.0 - 2.0 * p / (p + q + m)), to_positive, to_negative)


def oracles(n_rows: int, strengths: tuple[float, ...], summary: Summary) -> None:
    """Print oracle against oracle, and fit against fit."""
    X, y = few_rows(n_rows)
    k = n_rows // 10
    print(f"\n{n_rows} rows, {int(y.sum())} positive, gap {TOL:g}")
    head = ("metric", "lambda", "oracle", "naive", "ratio", "fit", "naive", "ratio", "planes")
    print("{:<20}{:>8}{:>10}{:>10}{:>8}{:>9}{:>9}{:>8}{:>8}".format(*head))
    pairs = {
        "roc_auc": (ROCAUC(), NaiveAUC(1.0)),
        "partial_auc 0.1": (PartialAUC(0.1), NaiveAUC(0.1)),
        f"precision_at_k {k}": (PrecisionAtK(k), NaivePrecision(k)),
        f"recall_at_k {k}": (RecallAtK(k), NaiveRecall(k)),
        "average_precision": (AveragePrecision(), NaiveAP()),
        "f1": (F1(), NaiveF1()),
    }
    for name, (ours, naive) in pairs.items():
        single, whole = [], []
        for lam in strengths:
            C = 1.0 / (lam * int(y.sum()))
            seconds, model = cpu(partial(MetricSVM(ours, C=C, tol=TOL).fit, X, y), 2)
            slow, other = cpu(partial(MetricSVM(naive, C=C, tol=TOL).fit, X, y))
            assert abs(other.certificate_.primal / model.certificate_.primal - 1.0) < 3 * TOL
            scores = model.decision_function(X)
            parts = scores[y], scores[~y]
            one, _ = cpu(partial(ours.worst, *parts), 50)
            many, _ = cpu(partial(naive.worst, *parts), 2)
            single.append(many / one)
            whole.append(slow / seconds)
            print(
                f"{name:<20}{lam:>8g}{one:>10.5f}{many:>10.4f}{single[-1]:>8.0f}"
                f"{seconds:>9.3f}{slow:>9.2f}{whole[-1]:>8.0f}{model.n_iter_:>8}",
                flush=True,
            )
        mean = [float(np.exp(np.mean(np.log(values)))) for values in (single, whole)]
        result = f"oracle {mean[0]:.0f}x, whole fit {mean[1]:.0f}x faster"
        summary.add(
            f"`MetricSVM`, {name}", "its table or pairs written out", result, f"{n_rows} rows"
        )


def programmes(n_rows: int, summary: Summary) -> None:
    """Print the rivals whose naive version is cvxpy."""
    X, y = few_rows(n_rows)
    sign = np.where(y, 1.0, -1.0)
    C = 0.1

    def svm(*constraints: Callable[[Any, Any], Any]) -> float:
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        loss = cp.sum(cp.pos(1.0 - cp.multiply(sign, X @ w + b)))
        asked = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(w) + C * loss), [made(w, b) for made in constraints]
        )
        return float(asked.solve(solver=cp.CLARABEL, tol_gap_rel=1e-5))

    print(f"\n{n_rows} rows, C = {C:g}: CPU seconds, cvxpy times the number of programmes")
    few = min(n_rows, 60)
    ours, _ = cpu(lambda: AATP(0.1, C=C, max_iter=few).fit(X, y))
    one, _ = cpu(lambda: svm(lambda w, b: X[0] @ w + b == 0.0))
    ratio = few * one / ours
    print(
        f"AATP, {few} boundary rows: {ours:.2f}, naive {few * one:.1f} ({few} x {one:.2f}): "
        f"{ratio:.0f}x"
    )
    summary.add(
        "`AATP`",
        f"cvxpy, one programme timed, times {few}",
        f"{ratio:.0f}x faster",
        f"{n_rows} rows",
    )
    half = n_rows // 2
    ours, tsvm = cpu(lambda: TransductiveSVM(C).fit(X[:half], y[:half], candidates=X[half:]))
    ratio = tsvm.n_iter_ * one / ours
    print(
        f"TransductiveSVM, {tsvm.n_iter_} programmes: {ours:.2f}, naive "
        f"{tsvm.n_iter_ * one:.1f}: {ratio:.0f}x"
    )
    summary.add(
        "`TransductiveSVM`", f"cvxpy, one programme of the rows timed, times {tsvm.n_iter_}",
        f"{ratio:.0f}x faster", f"{n_rows} rows",
    )  # fmt: skip


def all_pairs(X: np.ndarray, y: np.ndarray, C: float, what: str) -> float:
    """Optimum of a pairwise rival with every pair written out, by cvxpy."""
    P, N = X[y], X[~y]
    m, n = len(P), len(N)
    w = cp.Variable(X.shape[1])
    slack = cp.Variable((m, n), nonneg=True)
    high = cp.reshape(P @ w, (m, 1), order="C") @ np.ones((1, n))
    low = np.ones((m, 1)) @ cp.reshape(N @ w, (1, n), order="C")
    sums = cp.sum(slack, axis=0)
    loss = {
        "InfinitePush l2": cp.max(sums),
        "InfinitePush l1": cp.max(sums),
        "partial_auc": cp.sum_largest(sums, n // 10) / (n // 10),
        "roc_auc": cp.sum(sums) / n,
    }[what]
    penalty = cp.norm1(w) if what.endswith("l1") else 0.5 * cp.sum_squares(w)
    asked = cp.Problem(cp.Minimize(penalty + C * loss), [high - low >= 1.0 - slack])
    return float(asked.solve(solver=cp.CLARABEL, tol_gap_rel=TOL))


def pairwise(n_rows: int, n_positive: int, summary: Summary) -> None:
    """Print the rivals that are sums over pairs against all pairs in cvxpy."""
    X, y = blobs(n_rows + 1000)
    kept = np.concatenate([np.flatnonzero(y)[:n_positive], np.flatnonzero(~y)])[:n_rows]
    X, y = X[kept], y[kept]
    C = 100.0 / n_positive
    print(f"\n{n_rows} rows, {n_positive} positive, gap {TOL:g}: CPU seconds")
    rivals: dict[str, Any] = {
        "InfinitePush l2": InfinitePush("l2", C=C, tol=TOL),
        "InfinitePush l1": InfinitePush("l1", C=C, tol=TOL),
        "partial_auc": MetricSVM("partial_auc", max_fpr=0.1, C=C, tol=TOL),
        "roc_auc": MetricSVM("roc_auc", C=C, tol=TOL),
    }
    for what, rival in rivals.items():
        ours, model = cpu(partial(rival.fit, X, y), 3)
        slow, value = cpu(partial(all_pairs, X, y, C, what))
        apart = abs(value / model.certificate_.primal - 1.0)
        weights = int((model.coef_ != 0.0).sum())
        assert weights, f"{what}: a zero model is no problem to be fast at"
        print(
            f"{what:<16} {ours:.3f}, all pairs in cvxpy {slow:.1f}: {slow / ours:.0f}x "
            f"(values {apart:.0e} apart, {weights} weights)",
            flush=True,
        )
        size = f"{n_rows} rows, {n_positive * (n_rows - n_positive)} pairs"
        name = f"`MetricSVM`, {what}" if what in METRICS else f"`{what}`"
        summary.add(name, "all pairs in cvxpy", f"{slow / ours:.0f}x faster", size)


def large(names: tuple[str, ...], strengths: tuple[float, ...], summary: Summary) -> None:
    """Print large sets against TopPush, to the same gap."""
    print(f"\nAt most 100,000 rows to a certified {TOL:g}: CPU seconds, and in units of TopPush's")
    worst: dict[str, float] = {}
    for name in names:
        X, y = load_binary(name)
        X, y = X[:100_000], y[:100_000] > 0
        for lam in strengths:
            C = 1.0 / (lam * int(y.sum()))
            top, _ = cpu(partial(TopPush(C=C, tol=TOL).fit, X, y), 2)
            line = f"{name:<10}{X.shape[0]:>8}{lam:>8g}  TopPush {top:.3f}"
            for metric, options in (
                ("precision_at_k", {"k": 0.01}),
                ("partial_auc", {"max_fpr": 0.01}),
                ("average_precision", {}),
            ):
                rival = MetricSVM(metric, C=C, tol=TOL, **options)
                seconds, model = cpu(partial(rival.fit, X, y), 2)
                ratio = seconds / top
                worst[metric] = max(worst.get(metric, 0.0), ratio)
                status = model.certificate_.status
                line += f"; {metric} {seconds:.2f} ({ratio:.1f}x, {model.n_iter_} planes, {status})"
            print(line, flush=True)
    for metric, ratio in worst.items():
        summary.add(
            f"`MetricSVM`, {metric}, to {TOL:g}", "`TopPush`, the slowest of all cells",
            f"{ratio:.1f}x its time", f"{', '.join(names)}, lambda {strengths}",
        )  # fmt: skip


_MEMORY = """
import re
import sys
from benchmarks.rivals import InfinitePush, blobs

def peak():
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])

def apart(n_rows):
    X, y = blobs(n_rows)
    X[y] += 3.0 / X.shape[1] ** 0.5  # further, or no weight is worth its penalty
    return X, y

InfinitePush(sys.argv[2]).fit(*apart(1000))
base = peak()
X, y = apart(int(sys.argv[1]))
model = InfinitePush(sys.argv[2], C=10.0 / int(y.sum())).fit(X, y)
assert model.coef_.any()
print((peak() - base) / X.nbytes)
"""


def memory(sizes: tuple[int, ...], summary: Summary) -> None:
    """Print the peak memory of a fresh process, in units of the data (Linux)."""
    print("\nInfinitePush: peak memory in units of the data (5 % positives, 30 columns)")
    for kind in ("l2", "l1"):
        found = []
        for n_rows in sizes:
            command = [sys.executable, "-W", "ignore", "-c", _MEMORY, str(n_rows), kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(float(done.stdout))
        print(
            f"{kind}: " + ", ".join(f"{n} rows {f:.2f}" for n, f in zip(sizes, found, strict=True))
        )
        result = f"{found[0]:.1f} to {found[-1]:.1f} x the data"
        summary.add(f'memory of `InfinitePush("{kind}")`', "the number of rows", result,
                    f"{sizes[0]:,} to {sizes[-1]:,} rows")  # fmt: skip


def pair_kernel(X: np.ndarray, y: np.ndarray) -> float:
    """Optimum of exterior products from the kernel of all pairs, by cvxpy."""
    i, j = np.nonzero(y[:, None] > y[None, :])
    K = X @ X.T
    G = K[np.ix_(i, i)] * K[np.ix_(j, j)] - K[np.ix_(i, j)] * K[np.ix_(j, i)]
    root = np.linalg.cholesky(G + 1e-9 * np.trace(G) / len(i) * np.eye(len(i)))
    alpha = cp.Variable(len(i))
    asked = cp.Problem(
        cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum_squares(root.T @ alpha)),
        [alpha >= 0.0, alpha <= len(y) / len(i)],
    )
    return float(asked.solve(solver=cp.CLARABEL, tol_gap_rel=TOL))


def exterior(sizes: tuple[int, ...], more: int, summary: Summary) -> None:
    """Print exterior products against the kernel of all pairs in cvxpy."""
    print("\nRankSVM(pairwise_features='exterior')")
    for n_rows in (*sizes, more):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n_rows, 5)), rng.normal(size=n_rows)
        rival = RankSVM(pairwise_features="exterior", tol=TOL)
        ours, model = cpu(partial(rival.fit, X, y), 1 if n_rows == more else 2)
        if n_rows == more:
            pairs = n_rows * (n_rows - 1) // 2
            print(
                f"{n_rows} rows, {pairs} pairs: {ours:.2f}, {model.certificate_.status}; the "
                f"kernel of pairs would hold {8e-9 * pairs**2:.0f} GB"
            )
            break
        slow, value = cpu(partial(pair_kernel, X, y))
        gap = abs(value / model.certificate_.primal - 1.0)
        print(
            f"{n_rows} rows, {n_rows * (n_rows - 1) // 2} pairs: {ours:.3f}, "
            f"kernel of pairs in cvxpy {slow:.1f} "
            f"({slow / ours:.0f}x), values {gap:.0e} apart",
            flush=True,
        )
        summary.add(
            "`RankSVM`, exterior products", "the kernel of pairs in cvxpy",
            f"{slow / ours:.0f}x faster", f"{n_rows} rows",
        )  # fmt: skip


def main() -> None:
    options = parser_of(__doc__).parse_args()
    warnings.simplefilter("ignore")
    summary = Summary(options.summary)
    quick = options.quick
    with threadpool_limits(1):
        oracles(1_000 if quick else 4_000, (0.01,) if quick else (0.1, 0.01), summary)
        programmes(500 if quick else 4_000, summary)
        pairwise(400 if quick else 4_000, 20, summary)
        exterior((30,) if quick else (30, 60), 300 if quick else 1_000, summary)
        if folder():
            names = ("w8a",) if quick else ("w8a", "nsl_kdd")
            large(names, (0.01,) if quick else (0.1, 0.01, 0.001), summary)
        memory((5_000, 20_000) if quick else (20_000, 80_000, 320_000), summary)
    summary.close()


if __name__ == "__main__":
    main()
