"""The promises of `pick` against what comes: intervals, bias, and the worth of the choice.

    python -m benchmarks.pick            every set, 40 splits each
    python -m benchmarks.pick --quick    two sets, 4 splits each

Each split deals rows of a real set into a history and candidates. `pick` sees the labels of
the history only. Then the labels of the candidates are uncovered:

- covered: how often the 90 % interval held the actual hits, at the budget and, from the same
  call, at half and twice the budget (`Shortlist.at`);
- bias: expected minus actual hits, in percent of the budget; `raw` is before the correction
  for having chosen the best of many;
- gain: hits of the chosen model minus those of plain logistic regression fitted to the same
  history, in percent of the budget, and how often something else was chosen.

± is one standard error over splits, which overlap: they share the rows of one set. History and
candidates are dealt from one finite set, so that more positives in one are fewer in the other:
where the two take most of the set, the truth is covered less often than with fresh candidates.
Sets need ``SHORTLIST_DATA``; without it the bundled sets stand in.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.data import folder, load_binary
from shortlist import Shortlist, pick


@dataclass(frozen=True)
class Setting:
    """How one set is dealt."""

    name: str
    history: int
    candidates: int
    share: float


REAL = (
    Setting("spambase", 400, 1000, 0.10),
    Setting("spambase", 200, 2000, 0.40),
    Setting("mammography", 2000, 4000, 0.02),
    Setting("magic04", 400, 2000, 0.30),
    Setting("german_numer", 400, 600, 0.20),
    Setting("diabetes", 384, 384, 0.10),
    Setting("winequality_red", 500, 1000, 0.10),
    Setting("letter", 1000, 3000, 0.03),
    Setting("a9a", 500, 2000, 0.10),
    Setting("ionosphere", 150, 200, 0.30),
)
BUNDLED = (
    Setting("breast_cancer", 250, 319, 0.30),
    Setting("digits_8", 700, 1097, 0.10),
)


@dataclass(frozen=True)
class Outcome:
    """One split: what was promised and what came."""

    k: int
    covered: tuple[bool, bool, bool]
    width: float
    expected: float
    raw: float
    actual: int
    baseline: int
    changed: bool
    seconds: float


def hits(found: Shortlist, truth: np.ndarray) -> int:
    return int(truth[found.selected].sum())


def inside(found: Shortlist, truth: np.ndarray) -> bool:
    return found.expected_hits.low <= hits(found, truth) <= found.expected_hits.high


def run(setting: Setting, seed: int, families: list[str] | str) -> Outcome:
    X, y = load_binary(setting.name)
    order = np.random.default_rng(seed).permutation(len(y))
    learn = order[: setting.history]
    choose = order[setting.history : setting.history + setting.candidates]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pick(
            X[learn], y[learn], X[choose], setting.share, models=families, random_state=seed
        )
        seconds = time.process_time() - start
        plain = make_pipeline(clone(found.model[0]), LogisticRegression(max_iter=1000))
        scores = plain.fit(X[learn], y[learn]).decision_function(X[choose])
    truth, k = y[choose], found.k
    others = (found.at(max(1, k // 2)), found.at(min(2 * k, setting.candidates)))
    return Outcome(
        k,
        (inside(found, truth), inside(others[0], truth), inside(others[1], truth)),
        found.expected_hits.high - found.expected_hits.low,
        found.expected_hits.value,
        found.comparison.winner.hits,
        hits(found, truth),
        int(truth[np.argsort(-scores, kind="stable")[:k]].sum()),
        found.winner != found.baseline,
        seconds,
    )


def summary(name: str, outcomes: list[Outcome]) -> str:
    covered = np.array([o.covered for o in outcomes]).mean(axis=0)
    k = np.array([o.k for o in outcomes])
    actual = np.array([o.actual for o in outcomes])
    bias = 100 * (np.array([o.expected for o in outcomes]) - actual) / k
    raw = 100 * (np.array([o.raw for o in outcomes]) - actual) / k
    gain = 100 * (actual - np.array([o.baseline for o in outcomes])) / k
    error = np.sqrt(len(outcomes))
    cells = [
        f"{name:<28}{k.mean():>5.0f}",
        "".join(f"{100 * c:>6.0f}" for c in covered),
        f"{100 * np.mean([o.width for o in outcomes] / k):>7.0f}",
        f"{bias.mean():>+7.1f} ±{bias.std(ddof=1) / error:>4.1f}{raw.mean():>+7.1f}",
        f"{gain.mean():>+7.1f} ±{gain.std(ddof=1) / error:>4.1f}",
        f"{100 * np.mean([o.changed for o in outcomes]):>8.0f}",
        f"{np.mean([o.seconds for o in outcomes]):>8.1f}",
    ]
    return "".join(cells)


HEAD = (
    f"{'set (history/candidates)':<28}{'k':>5}{'cover':>6}{'k/2':>6}{'2k':>6}{'width':>7}"
    f"{'bias':>13}{'raw':>7}{'gain':>13}{'changed':>8}{'cpu s':>8}"
)


def calibration(settings: tuple[Setting, ...], splits: int, families: list[str] | str) -> None:
    print(f"Coverage, width, bias, gain and changed in percent; {splits} splits per set.\n\n{HEAD}")
    everything: list[Outcome] = []
    for setting in settings:
        outcomes = [run(setting, seed, families) for seed in range(splits)]
        name = f"{setting.name} ({setting.history}/{setting.candidates})"
        print(summary(name, outcomes), flush=True)
        everything += outcomes
    print(summary("all", everything))
    changed = [o for o in everything if o.changed]
    if len(changed) > 1:
        print(summary("where the baseline lost", changed))


def speed(sizes: tuple[int, ...]) -> None:
    print("\nTime of one call, 30 made features, 10 % positives, k = 100 of 2,000 candidates")
    for n in sizes:
        X, y = make_classification(
            n + 2000, 30, n_informative=8, weights=[0.9], flip_y=0.05, random_state=0
        )
        wall, cpu = time.perf_counter(), time.process_time()
        found = pick(X[:n], y[:n], X[n:], 100)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        fits = found.settings["n_fits"]
        print(f"{n:>8} rows: {wall:6.1f} s, cpu {cpu:6.1f} s, {fits} fits", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--models", nargs="*", default="auto", help="families; all by default")
    arguments = parser.parse_args()
    quick = arguments.quick
    settings = REAL if folder() else BUNDLED
    if arguments.sets:
        settings = tuple(s for s in settings if s.name in arguments.sets)
    with threadpool_limits(1):
        settings, splits = (settings[:2], 4) if quick else (settings, arguments.splits)
        calibration(settings, splits, arguments.models)
        speed((500,) if quick else (2_000, 100_000))


if __name__ == "__main__":
    main()
