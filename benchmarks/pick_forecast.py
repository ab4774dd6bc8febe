"""Whether the intervals of `pick` hold what they promise, on many splits of real sets.

    python -m benchmarks.pick_forecast --splits 6

Calls `pick` itself with three cheap contestants (logistic regression, thirty extra trees, fifty
boosted trees), so that many splits can be afforded: history of 800 rows, list of 1,000, budgets
of 2, 5, 10 and 20 %. One CSV line a list; a rerun goes on where it ended. ``by folds``: the
interval if the error of the precision were the larger of the corrected error over the folds and
v/N, as it is where rows were not dealt at random.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.pick_sets import SETS
from benchmarks.store import Store
from shortlist import pick

STORE = Path("build/pick_forecast.csv")
RATES = (0.02, 0.05, 0.1, 0.2)
HISTORY, LIST = 800, 1_000


def contestants() -> dict[str, object]:
    return {
        "logistic regression": LogisticRegression(C=0.1, max_iter=1000),
        "extra trees": ExtraTreesClassifier(30, min_samples_leaf=3, random_state=0),
        "boosting": HistGradientBoostingClassifier(
            max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0
        ),
    }


def run(store: Store, name: str, X: object, y: np.ndarray, seed: int) -> None:
    # Other splits than those of the hits.
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    size = min(HISTORY, 2 * len(y) // 3)
    past, now = order[:size], order[size : size + LIST]
    found = pick(X[past], y[past], X[now], RATES[0], models=contestants(), random_state=seed)
    folds = replace(found.outlook, drawn=0)
    for rate in RATES:
        here = found.at(rate)
        expected = here.expected_hits
        _, low, high = folds.hits(folds.find(found.winner), here.k)
        store.add(
            set=name,
            seed=seed,
            rate=rate,
            expected=expected.value,
            low=expected.low,
            high=expected.high,
            folds_low=low,
            folds_high=high,
            actual=int(y[now][here.selected].sum()),
        )


def summarise(store: Store) -> None:
    columns = {key: np.array([float(row[key]) for row in store.rows]) for key in store.rows[0]
               if key != "set"}  # fmt: skip
    sets = np.array([row["set"] for row in store.rows])
    actual, expected = columns["actual"], columns["expected"]
    below, above = actual < columns["low"], actual > columns["high"]
    inside = ~(below | above)
    print(f"{len(np.unique(sets))} sets, {len(actual) // len(RATES)} splits.\n")
    print("| budget | lists | covered | below | above | width | bias | by folds | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for rate in (*RATES, None):
        some = np.ones(len(actual), bool) if rate is None else columns["rate"] == rate
        width, other = (
            np.median((columns[high] - columns[low])[some] / np.maximum(1.0, expected[some]))
            for low, high in (("low", "high"), ("folds_low", "folds_high"))
        )
        held = (columns["folds_low"] <= actual) & (actual <= columns["folds_high"])
        bias = expected[some].sum() / actual[some].sum() - 1.0
        print(
            f"| {'all' if rate is None else f'{rate:.0%}'} | {some.sum()} | "
            f"{inside[some].mean():.1%} | {below[some].mean():.1%} | {above[some].mean():.1%} | "
            f"{width:.0%} | {bias:+.1%} | {held[some].mean():.1%} | {other:.0%} |"
        )
    by_set = {name: inside[sets == name].mean() for name in np.unique(sets)}
    print("\nCovered, by set: " + ", ".join(f"{k} {v:.0%}" for k, v in by_set.items()) + ".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    store = Store(arguments.store, ("set", "seed", "rate"))
    with threadpool_limits(1):
        for seed in range(arguments.splits):
            for one in SETS:
                # Wide sets take too long for many splits.
                if one.wide:
                    continue
                if store.has(set=one.name, seed=seed, rate=RATES[-1]):
                    continue
                try:
                    X, y = one.load()
                except (FileNotFoundError, ImportError, AssertionError):
                    continue
                run(store, one.name, X.toarray() if hasattr(X, "toarray") else X, y, seed)
    summarise(store)


if __name__ == "__main__":
    main()
