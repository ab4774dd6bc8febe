"""AutoGluon's ``best_quality`` on the splits of the benchmark of `pick`, in as many CPU seconds.

    python -m benchmarks.pick_autogluon --store FOLDER --sets "wine red" "ada" --first 5 --splits 6

Run it where ``autogluon.tabular`` is installed; shortlist need not be. The budget of a split is
what its contestants cost together in the folds and on the whole history, at least ten seconds.
AutoGluon counts seconds on the wall: how many of them a CPU second takes on this machine is
measured before each split, or said by ``--crowd``. What it used is kept beside its scores of the
list. `benchmarks.pick` shows them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.pick_sets import SETS, PickSet

LEAST = 10.0
# CPU seconds that tell how crowded the machine is.
SPIN = 1.0


def cpu() -> float:
    return sum(os.times()[:4])


def affordable(folder: Path) -> float:
    """CPU seconds of all contestants of a split."""
    total = 0.0
    for path in folder.glob("*.npz"):
        with np.load(path) as kept:
            if "cost" in kept and str(kept["family"]) != "tried":
                total += float(kept["cost"].sum())
    return max(LEAST, total)


def crowded() -> float:
    """Seconds on the wall of a CPU second, now."""
    wall, start = time.monotonic(), time.process_time()
    while time.process_time() - start < SPIN:
        sum(range(10_000))
    return max(1.0, (time.monotonic() - wall) / SPIN)


def run(one: PickSet, seed: int, folder: Path, crowd: float | None) -> None:
    from autogluon.tabular import TabularPredictor

    path = folder / "whole_job_AutoGluon.npz"
    if path.exists() or not (folder / "done").exists():
        return
    X, y, X_list, _ = one.deal(seed)
    learn = pd.DataFrame(X.toarray() if hasattr(X, "toarray") else X)
    ask = pd.DataFrame(X_list.toarray() if hasattr(X_list, "toarray") else X_list)
    learn.columns = ask.columns = [f"x{i}" for i in range(learn.shape[1])]
    seconds = affordable(folder)
    start = cpu()
    with tempfile.TemporaryDirectory() as models:
        found = TabularPredictor(
            "label",
            problem_type="binary",
            eval_metric="average_precision",
            path=models,
            verbosity=0,
        ).fit(
            learn.assign(label=y.astype(int)),
            presets="best_quality",
            time_limit=seconds * (crowded() if crowd is None else crowd),
            num_cpus=1,
            num_gpus=0,
            dynamic_stacking=False,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        used = cpu() - start
        scores = found.predict_proba(ask)[1].to_numpy()
    print(f"{one.name} {seed}: {used:.0f} of {seconds:.0f} s", flush=True)
    np.savez_compressed(
        path,
        name="whole job: AutoGluon",
        family="whole job",
        listed=scores.astype(np.float32),
        seconds=np.array([used, seconds]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--crowd", type=float)
    parser.add_argument("--store", type=Path, default=Path("build/pick"))
    arguments = parser.parse_args()
    for seed in range(arguments.first, arguments.splits):
        for one in SETS:
            if not arguments.sets or one.name in arguments.sets:
                folder = arguments.store / one.name.replace(" ", "_") / str(seed)
                run(one, seed, folder, arguments.crowd)


if __name__ == "__main__":
    main()
