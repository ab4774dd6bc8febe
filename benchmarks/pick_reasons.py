"""Reasons: their sum, their cost, and whether planted causes come first.

    python -m benchmarks.pick_reasons

Rows of 50 columns; every hit stands out by four standard deviations in one of five columns, its
cause. `pick` combines all its models (``effort="quick"``); the list has 100 rows. Times are CPU
seconds.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from shortlist import pick

ROWS, COLUMNS, CAUSES, LIST = 3_000, 50, 5, 100


def planted(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, COLUMNS))
    cause, hit = rng.integers(CAUSES, size=ROWS), rng.random(ROWS) < 0.08
    X[hit, cause[hit]] += 4.0
    return X, hit, cause


def main() -> None:
    warnings.simplefilter("ignore")
    print("| seed | models | hits of 100 | cause first | CPU s | sum off by | mean error |")
    print("|---|---|---|---|---|---|---|")
    for seed in range(3):
        X, y, _ = planted(seed)
        candidates, hit, cause = planted(100 + seed)
        with threadpool_limits(1):
            found = pick(X, y, candidates, LIST, effort="quick", random_state=seed)
            start = time.process_time()
            told = found.explained
            seconds = time.process_time() - start
        first = np.abs(told.value).argmax(axis=1)
        real = hit[found.selected]
        right = (first[real] == cause[found.selected][real]).mean()
        off = np.abs(told.value.sum(axis=1) - found.scores[found.selected] + found.scores.mean())
        print(
            f"| {seed} | {len(found.model[-1].estimators_)} | {real.sum()} | {right:.0%} | "
            f"{seconds:.1f} | {off.max():.0e} | {told.error.mean():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
