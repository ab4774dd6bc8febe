"""Speed of the metrics against the usual ways, on the same arrays in one run.

Run ``python -m benchmarks.metrics`` (ten million scores), or with ``--quick``.
A ratio above 1 means that shortlist is that many times faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score

from benchmarks.summary import Summary, parser_of
from shortlist import metrics


def sorted_precision(y: np.ndarray, score: np.ndarray, k: int) -> float:
    return float(y[np.argsort(-score)[:k]].mean())


def sorted_recall_at_fpr(y: np.ndarray, score: np.ndarray, fpr: float) -> float:
    ranked = y[np.argsort(-score)]
    allowed = int(fpr * np.count_nonzero(y == 0))
    return float(ranked[np.cumsum(1 - ranked) <= allowed].sum() / ranked.sum())


def curve_precision_at_recall(y: np.ndarray, score: np.ndarray, recall: float) -> float:
    precision, reached, _ = precision_recall_curve(y, score)
    return float(precision[reached >= recall].max())


def sorted_bedroc(y: np.ndarray, score: np.ndarray, alpha: float = 20.0) -> float:
    n, hits = len(y), int(y.sum())
    rank = np.flatnonzero(y[np.argsort(-score)]) + 1.0
    gained = np.exp(-alpha * rank / n).sum()
    best = np.exp(-alpha * np.arange(1, hits + 1) / n).sum()
    worst = np.exp(-alpha * np.arange(n - hits + 1, n + 1) / n).sum()
    return float((gained - worst) / (best - worst))


def looped_curve(y: np.ndarray, score: np.ndarray, ks: np.ndarray) -> list[float]:
    return [sorted_precision(y, score, k) for k in ks]


def bootstrap_loop(
    metric: Callable[[np.ndarray, np.ndarray], float], y: np.ndarray, score: np.ndarray, n: int
) -> list[float]:
    """Resample the rows of each class and call the metric, once per resample."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(y == label) for label in (0, 1)]
    values = []
    for _ in range(n):
        rows = np.concatenate([rng.choice(rows, len(rows)) for rows in classes])
        values.append(metric(y[rows], score[rows]))
    return values


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return float(best)


def make(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.01).astype(np.int64)
    return y, y + rng.normal(size=n)


Case = tuple[str, Callable[[], Any], str, Callable[[], Any], float]


def single_values(n: int) -> Iterator[Case]:
    y, s = make(n)
    k = 1000
    yield (
        "precision_at_k",
        lambda: metrics.precision_at_k(y, s, k),
        "argsort, first k",
        lambda: sorted_precision(y, s, k),
        1,
    )
    yield (
        "recall_at_fpr",
        lambda: metrics.recall_at_fpr(y, s, 0.01),
        "argsort, cumsum",
        lambda: sorted_recall_at_fpr(y, s, 0.01),
        1,
    )
    yield (
        "precision_at_recall",
        lambda: metrics.precision_at_recall(y, s, 0.5),
        "precision_recall_curve",
        lambda: curve_precision_at_recall(y, s, 0.5),
        1,
    )
    yield (
        "partial_auc(0.1)",
        lambda: metrics.partial_auc(y, s, max_fpr=0.1),
        "roc_auc_score(0.1)",
        lambda: roc_auc_score(y, s, max_fpr=0.1),
        1,
    )
    yield (
        "pairwise_accuracy",
        lambda: metrics.pairwise_accuracy(y, s),
        "roc_auc_score",
        lambda: roc_auc_score(y, s),
        1,
    )
    yield (
        "bedroc",
        lambda: metrics.bedroc(y, s),
        "argsort, exp",
        lambda: sorted_bedroc(y, s),
        1,
    )
    few = np.array([100, 10_000])
    yield (
        "budget_curve (all k)",
        lambda: metrics.budget_curve(y, s),
        f"argsort per k, for {len(few)} k",
        lambda: looped_curve(y, s, few),
        1,
    )


def resampled_values(n: int, resamples: int, loop: int) -> Iterator[Case]:
    y, s = make(n)
    other = s + np.random.default_rng(1).normal(size=n)
    for name in ("precision_at_100", "recall_at_5%", "recall_at_fpr_0.01", "partial_auc_0.1"):
        metric = {
            "precision_at_100": lambda a, b: sorted_precision(a, b, 100),
            "recall_at_5%": lambda a, b: sorted_precision(a, b, len(a) // 20) * 0.05 / a.mean(),
            "recall_at_fpr_0.01": lambda a, b: sorted_recall_at_fpr(a, b, 0.01),
            "partial_auc_0.1": lambda a, b: roc_auc_score(a, b, max_fpr=0.1),
        }[name]
        yield (
            f"interval {name}",
            lambda name=name: metrics.interval(name, y, s, n_resamples=resamples, random_state=0),
            f"loop ({loop} timed)",
            lambda metric=metric: bootstrap_loop(metric, y, s, loop),
            resamples / loop,
        )
    yield (
        "compare precision_at_100",
        lambda: metrics.compare(
            y, s, other, "precision_at_100", n_resamples=resamples, random_state=0
        ),
        f"two loops ({loop} timed)",
        lambda: [
            bootstrap_loop(lambda a, b: sorted_precision(a, b, 100), y, score, loop)
            for score in (s, other)
        ],
        resamples / loop,
    )


def show(
    title: str, size: str, cases: Iterator[Case], repeats: int, against: str, summary: Summary
) -> None:
    print(f"\n{title}, {size}")
    ratios = []
    print(f"{'shortlist':<30}{'s':>9}  {'against':<28}{'s':>9}{'ratio':>9}")
    for name, ours, peer, theirs, scale in cases:
        value = ours()
        if isinstance(value, float):
            assert np.isclose(value, theirs()), name
        mine = seconds(ours, repeats)
        other = seconds(theirs, repeats) * scale
        print(f"{name:<30}{mine:>9.4f}  {peer:<28}{other:>9.3f}{other / mine:>8.1f}x")
        ratios.append(other / mine)
    summary.add(title, against, f"{min(ratios):.0f}x to {max(ratios):.0f}x faster", size)


def main() -> None:
    options = parser_of(__doc__).parse_args()
    quick, summary = options.quick, Summary(options.summary)
    n = 1_000_000 if quick else 10_000_000
    show(
        "metrics",
        f"{n:,} scores",
        single_values(n),
        3,
        "sorting in NumPy, scikit-learn's curves",
        summary,
    )
    n, resamples, loop = (20_000, 1000, 5) if quick else (100_000, 1000, 20)
    show(
        "intervals",
        f"{resamples:,} resamples of {n:,} rows",
        resampled_values(n, resamples, loop),
        1 if quick else 2,
        "a loop in Python",
        summary,
    )
    summary.close()


if __name__ == "__main__":
    main()
