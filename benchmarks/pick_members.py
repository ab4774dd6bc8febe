"""Every contestant of `pick`, fitted once per split of every set, its scores kept on disk.

    python -m benchmarks.pick_members --splits 10

What is combined, and how, is then judged from the scores (:mod:`benchmarks.pick`): leaving a
contestant out costs nothing. One file a split; a rerun goes on where it ended.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.pick_sets import SETS, PickSet
from shortlist._scores import positive_scores
from shortlist.picking.models import FAMILIES, Model, Task, _grid, kind_of

STORE = Path("build/pick")
FOLDS = 5


def pool(X: object, n_rows: int, seed: int) -> list[Model]:
    """Return all contestants of the normal effort."""
    is_sparse = sparse.issparse(X)
    task = Task(0.05, n_rows, is_sparse, kind_of(X), "normal", seed)
    found = []
    for family, (_, reason) in FAMILIES.items():
        if reason(task) is None:
            found += _grid(family, task)
    return found


def run(one: PickSet, seed: int, path: Path) -> None:
    X, y, X_list, y_list = one.deal(seed)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y))
    fold = np.empty(len(y), dtype=np.int8)
    for number, (_, test) in enumerate(folds):
        fold[test] = number
    kept: dict[str, np.ndarray] = {"y": y, "y_list": y_list, "fold": fold}
    names, held_out, listed, cost = [], [], [], []
    models = pool(X, len(y), seed)
    grown = {}
    for model in models:
        start = time.process_time()
        scores = np.empty(len(y))
        try:
            for train, test in folds:
                fitted = clone(model.estimator).fit(X[train], y[train].astype(int))
                scores[test] = scored(fitted, X[test])
            middle = time.process_time()
            fitted = clone(model.final).fit(X, y.astype(int))
            seconds = (middle - start, time.process_time() - middle)
            on_list = scored(fitted, X_list)
        except Exception as error:
            print(f"{one.name} {seed} {model.name}: {error!r}", flush=True)
            continue
        if model.family == "random forest":
            grown[model.name] = fitted
        names.append(model.name)
        held_out.append(scores)
        listed.append(on_list)
        cost.append(seconds)
    # The forest to beat: the better leaf by average precision in the folds, 500 trees.
    forests = [i for i, name in enumerate(names) if name.startswith("random forest")]
    best = max(forests, key=lambda i: average_precision_score(y, held_out[i]))
    fitted = grown[names[best]].set_params(n_estimators=500, warm_start=True)
    fitted.fit(X, y.astype(int))
    kept["forest"] = scored(fitted, X_list).astype(np.float32)
    kept |= {
        "names": np.array(names),
        "held_out": np.array(held_out, dtype=np.float32),
        "listed": np.array(listed, dtype=np.float32),
        "cost": np.array(cost),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **kept)
    part.rename(path)


def scored(fitted: object, X: object) -> np.ndarray:
    return positive_scores(fitted, X, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="this one of so many")
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    part, parts = arguments.part
    with threadpool_limits(1):
        for seed in range(arguments.splits):
            for position, one in enumerate(SETS):
                path = arguments.store / f"{one.name.replace(' ', '_')}-{seed}.npz"
                if (arguments.sets and one.name not in arguments.sets) or path.exists():
                    continue
                if (position + seed) % parts != part:
                    continue
                start = time.process_time()
                try:
                    run(one, seed, path)
                except (FileNotFoundError, ImportError, AssertionError) as error:
                    print(f"{one.name}: skipped, {error!r}", flush=True)
                    continue
                print(f"{one.name} {seed}: {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
