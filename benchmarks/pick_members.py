"""Every contestant of `pick`, fitted once per split of every set, its scores kept on disk.

    python -m benchmarks.pick_members --splits 10 --tried 1 --whole 2 --store FOLDER

What is combined, and how, is then judged from the scores (:mod:`benchmarks.pick`): leaving a
contestant out, or another head, costs nothing. The first split of all sets comes first, then
the second; a rerun goes on where it ended. ``--tried`` adds what is not, or no longer, among
the contestants, ``--whole`` runs `pick` itself, ``--how`` with which effort.

One file a contestant: ``held_out``, its scores of the folds it did not see; ``listed``, those
of the list by the model of the whole history; ``bagged``, the mean over the models of the
folds, with ``--tried`` only; ``cost``, CPU seconds of the folds and of the whole.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, SplineTransformer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.pick_sets import SETS, PickSet
from shortlist import pick
from shortlist.picking.race.models import EFFORTS, Model, Task, contestants, kind_of
from shortlist.stacking.heads import member_scores
from shortlist.top.estimators import PatMat

STORE = Path("build/pick")
FOLDS = 5
# Jobs from beginning to end, of which there are no held-out scores.
WHOLE = "whole job: "
NO_LIGHTGBM = "normal, without LightGBM"


def task_of(X: object, n_rows: int, seed: int) -> Task:
    return Task(0.05, n_rows, sparse.issparse(X), kind_of(X), "normal", seed)


def pool(task: Task) -> Iterator[Model]:
    """Yield the contestants of the normal effort."""
    yield from contestants("auto", task)[0]


def rivals(task: Task) -> Iterator[Model]:
    """Yield settings that a user would have tried, and that earn no place in a combination."""
    boosted = next(model for model in pool(task) if model.family == "LightGBM").estimator
    for leaves, trees in ((31, 100), (4, 200)):
        one = clone(boosted).set_params(num_leaves=leaves, n_estimators=trees, learning_rate=0.1)
        yield Model(f"LightGBM(leaves={leaves}, trees={trees})", "LightGBM", one, one)
    for C in (0.1, 0.01):
        one = task.scaled(LogisticRegression(C=C, max_iter=1000))
        yield Model(f"logistic regression (C={C:g})", "logistic regression", one, one)
    one = task.scaled(SVC(C=10.0, class_weight="balanced"))
    yield Model("SVC rbf (C=10)", "SVC rbf", one, one)


def tried(task: Task) -> Iterator[Model]:
    """Yield what was measured and is not among the contestants."""
    from lightgbm import LGBMClassifier

    yield from contestants(["PatMat"], task)[0][1:]
    light = {"n_jobs": 1, "verbose": -1, "random_state": task.seed}
    found: list[tuple[str, object]] = []
    for name, params in (
        ("random splits", {"extra_trees": True, "num_leaves": 15, "n_estimators": 300,
                           "learning_rate": 0.05, "min_child_samples": 5,
                           "colsample_bytree": 0.5}),
        ("slow", {"num_leaves": 8, "n_estimators": 400, "learning_rate": 0.02,
                  "min_child_samples": 10, "reg_lambda": 5.0, "colsample_bytree": 0.3,
                  "subsample": 0.7, "subsample_freq": 1}),
    ):  # fmt: skip
        one = LGBMClassifier(**params, **light)
        found.append((f"boosting, {name}", one))
    for name, estimator in (
        ("PatMat rbf C=10", PatMat(task.tau, C=10.0, kernel="rbf")),
        ("SVC rbf C=1", SVC(class_weight="balanced")),
    ):
        found.append((name, task.scaled(estimator)))
    if not task.sparse:
        normal = QuantileTransformer(n_quantiles=100, output_distribution="normal")
        splines = SplineTransformer(5, knots="quantile")
        for name, steps in (
            ("splines C=0.1", (splines, LogisticRegression(C=0.1, max_iter=300))),
            ("normal SVC C=1", (normal, SVC(class_weight="balanced"))),
            ("normal PatMat rbf C=10", (normal, PatMat(task.tau, C=10.0, kernel="rbf"))),
            ("normal naive Bayes", (normal, GaussianNB())),
            ("normal QDA", (normal, QuadraticDiscriminantAnalysis(reg_param=0.1))),
        ):
            one = task.scaled(make_pipeline(*steps))
            found.append((name, one))
    for name, one in found:
        yield Model(f"tried {name}", "tried", one, one)


def file_of(folder: Path, name: str) -> Path:
    return folder / (re.sub(r"[^\w=.]+", "_", name).strip("_") + ".npz")


def run(one: PickSet, seed: int, folder: Path, with_tried: bool) -> float:
    """Fit what is missing of a split; return the CPU seconds."""
    X, y, X_list, y_list = one.deal(seed)
    fold = np.empty(len(y), dtype=np.int8)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y))
    for number, (_, test) in enumerate(folds):
        fold[test] = number
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "labels.npz").exists():
        labels = {"y": y, "y_list": y_list, "fold": fold, "sparse": sparse.issparse(X)}
        np.savez_compressed(folder / "labels.npz", **labels)
    task = task_of(X, len(y), seed)
    models = [*pool(task), *rivals(task), *(tried(task) if with_tried else ())]
    start = time.process_time()
    for model in models:
        path = file_of(folder, model.name)
        if path.exists():
            continue
        began = time.process_time()
        held_out, bagged = np.empty(len(y)), np.zeros(len(y_list))
        try:
            for train, test in folds:
                fitted = clone(model.estimator).fit(X[train], y[train].astype(int))
                held_out[test] = member_scores(fitted, X[test], 1)
                if with_tried:
                    bagged += member_scores(fitted, X_list, 1) / FOLDS
            middle = time.process_time()
            fitted = clone(model.final).fit(X, y.astype(int))
            cost = (middle - began, time.process_time() - middle)
            listed = member_scores(fitted, X_list, 1)
        except Exception as error:
            print(f"{one.name} {seed} {model.name}: {error!r}", flush=True)
            continue
        keep(
            path,
            name=model.name,
            family=model.family,
            held_out=held_out.astype(np.float32),
            listed=listed.astype(np.float32),
            bagged=bagged.astype(np.float32),
            cost=np.array(cost),
        )
    (folder / "done").touch()
    return time.process_time() - start


def run_whole(one: PickSet, seed: int, folder: Path, how: str) -> None:
    """Run `pick` itself: with an effort, or with scikit-learn's boosting."""
    name = f"{WHOLE}pick, {how}"
    path = file_of(folder, name)
    if path.exists():
        return
    X, y, X_list, _ = one.deal(seed)
    effort = "normal" if how == NO_LIGHTGBM else how
    hidden = {"lightgbm": None} if how == NO_LIGHTGBM else {}
    start = time.process_time()
    with patch.dict(sys.modules, hidden):
        found = pick(X, y, X_list, 0.05, effort=effort, random_state=seed)
    cost = time.process_time() - start
    keep(
        path,
        name=name,
        family="whole job",
        listed=found.scores.astype(np.float32),
        seconds=np.array([cost]),
    )


def keep(path: Path, **arrays: Any) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--tried", type=int, default=0, help="splits of what is no contestant")
    parser.add_argument("--whole", type=int, default=0, help="splits of `pick` itself")
    parser.add_argument(
        "--how",
        nargs="*",
        default=["quick", "normal"],
        choices=[*EFFORTS, NO_LIGHTGBM],
        help="how it is run",
    )
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for seed in range(arguments.first, arguments.splits):
            for one in SETS:
                if arguments.sets and one.name not in arguments.sets:
                    continue
                folder = arguments.store / one.name.replace(" ", "_") / str(seed)
                try:
                    seconds = run(one, seed, folder, seed < arguments.tried)
                    for how in arguments.how if seed < arguments.whole else ():
                        run_whole(one, seed, folder, how)
                except (FileNotFoundError, ImportError, AssertionError) as error:
                    print(f"{one.name}: skipped, {error!r}", flush=True)
                    continue
                print(f"{one.name} {seed}: {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
