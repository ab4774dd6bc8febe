"""Hits of `pick` against what its user could have run, and whether it keeps its promises.

    python -m benchmarks.pick_members --first 60 --splits 80   fit every contestant
    python -m benchmarks.pick                                  judge: heads, pools, forecasts
    python -m benchmarks.pick --page                           and write results/pick.md
    python -m benchmarks.pick --speed                          CPU of one call
    python -m benchmarks.pick --long 100000 --worlds 5         CPU, memory, forecast: long history

The first command keeps the scores of every contestant on held-out rows and on the list. Here
they are combined by the code of `pick` itself (:mod:`benchmarks.pick_judge`), so that leaving a
contestant out, or another head, costs nothing.

- Hits: share of the reachable hits (the positives of the list, at most the budget) among the
  first 1 % and 5 %, ties in proportion. Against a method: the relative difference of the means
  over a set's splits, averaged over sets; 95 % interval by bootstrap over sets. A set is level
  within 1 %.
- Contestants, heads and rules were chosen on splits 0 to 59: those of the page begin at 60.
- Rivals: a forest of 500 trees, LightGBM and logistic regression, each with the setting of the
  best average precision in the same folds.
- Behind the forest: the 95 % interval (Student's) of the mean difference over a set's splits is
  below zero. Overlap counted: the same with what the lists of a set share, as `pick` itself counts
  what its folds share.
- Forecast: of the first 2,000 candidates of a split. Covered: how often the 90 % interval held
  the hits, ends included. Width: of the interval, in percent of the expected hits. Bias:
  expected less actual hits, in percent of the actual ones.
"""

from __future__ import annotations

import argparse
import re
import resource
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import t
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.pick_judge import FOREST, PICK, judged
from benchmarks.pick_members import STORE, WHOLE
from benchmarks.pick_sets import LIST, SETS
from shortlist import pick

PAGE = Path("benchmarks/results/pick.md")
Table = dict[str, dict[str, np.ndarray]]
# By set: rate, expected hits, ends of their interval, actual hits.
Promised = dict[str, list[list[float]]]
Say = Callable[[str], None]


def relative(table: Table, method: str, to: str) -> np.ndarray:
    """Percent more of the reachable hits, by set and rate; on the splits that have both."""
    gains = []
    for row in table.values():
        if method in row and to in row:
            both = np.isfinite(row[method][:, 0]) & np.isfinite(row[to][:, 0])
            gains.append(row[method][both].mean(axis=0) / row[to][both].mean(axis=0) - 1.0)
    return 100.0 * np.array(gains)


def interval(values: np.ndarray) -> str:
    """Mean over sets and its bootstrap interval."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(4000)]
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{values.mean():+.1f} % ({low:+.1f} to {high:+.1f})"


def verdicts(values: np.ndarray) -> str:
    wins, losses = int((values > 1.0).sum()), int((values < -1.0).sum())
    return f"{wins}/{len(values) - wins - losses}/{losses}"


def read_all(store: Path) -> tuple[Table, Promised]:
    """Hits of every method on every split of every set, NaN where it is missing; forecasts."""
    by_set: dict[str, list[dict[str, list[float]]]] = defaultdict(list)
    promised: Promised = defaultdict(list)
    known = {one.name.replace(" ", "_") for one in SETS}
    for labels in sorted(store.glob("*/*/labels.npz")):
        if not (labels.parent / "done").exists() or labels.parent.parent.name not in known:
            continue
        found = judged(labels.parent)
        by_set[labels.parent.parent.name].append(found["hits"])
        promised[labels.parent.parent.name] += found["forecasts"]
    table: Table = {}
    for name, splits in by_set.items():
        methods = dict.fromkeys(method for split in splits for method in split)
        missing = [np.nan, np.nan]
        table[name] = {m: np.array([split.get(m, missing) for split in splits]) for m in methods}
    return table, promised


def judge(table: Table, promised: Promised, say: Say) -> None:
    counts = [len(row[FOREST]) for row in table.values()]
    names = list(dict.fromkeys(method for row in table.values() for method in row))
    say(f"{sum(counts)} splits of {len(table)} sets, {min(counts)} to {max(counts)} each.\n")
    head = "first 1 % | win/level/loss | first 5 % | win/level/loss | sets |"
    say(f"| `pick`, normal, against | {head}")
    say("|---|---|---|---|---|---|")
    for method in (FOREST, *(name for name in names if name.endswith("tuned"))):
        gain = relative(table, PICK, method)
        cells = " | ".join(f"{interval(g)} | {verdicts(g)}" for g in gain.T)
        say(f"| {method} | {cells} | {len(gain)} |")
    alone = [name for name in names if name.endswith(" alone")]
    say(f"\n| against the forest | {head}")
    say("|---|---|---|---|---|---|")
    for method in [PICK, "best single model by the folds", *alone]:
        gain = relative(table, method, FOREST)
        cells = [f"{interval(g)} | {verdicts(g)}" for g in gain.T]
        say(f"| {method} | {' | '.join(cells)} | {len(gain)} |")
    say("\n| against `pick`, on the same splits | first 1 % | first 5 % | splits | sets |")
    say("|---|---|---|---|---|")
    first = ("head", "without", "with", "the models", WHOLE)
    for method in sorted((n for n in names if n.startswith(first)), key=lambda n: _rank(n, first)):
        gain = relative(table, method, PICK)
        rows = [row[method][:, 0] for row in table.values() if method in row]
        splits = sum(int(np.isfinite(values).sum()) for values in rows)
        cells = " | ".join(interval(g) for g in gain.T)
        say(f"| {method.removeprefix(WHOLE)} | {cells} | {splits} | {len(gain)} |")
    by_set(table, [FOREST, *names[1:4]], say)
    coverage(promised, say)


def _rank(name: str, first: tuple[str, ...]) -> int:
    """Return the place of the longest beginning that a name has."""
    return max(
        (place for place, text in enumerate(first) if name.startswith(text)),
        key=lambda place: len(first[place]),
    )


def by_set(table: Table, shown: list[str], say: Say) -> None:
    columns = [*shown, "behind", "overlap counted"]
    say(f"\n| share of the reachable hits, 1 % / 5 % | splits | {' | '.join(columns)} |")
    say(f"|---|---|{'---|' * len(columns)}")
    sets = {one.name.replace(" ", "_"): one for one in SETS}
    for name, row in sorted(table.items()):
        cells = []
        for method in shown:
            one, five = np.nanmean(row[method], axis=0)
            cells.append(f"{one:.3f} / {five:.3f}")
        difference = row[PICK] - row[FOREST]
        n = len(sets[name].load()[1])
        shared = min(LIST, n - sets[name].history) / n
        for part in (0.0, shared):
            rates = zip(("1 %", "5 %"), difference.T, strict=True)
            cells.append(", ".join(rate for rate, values in rates if below_zero(values, part)))
        say(f"| {name} | {len(difference)} | {' | '.join(cells)} |")


def below_zero(values: np.ndarray, shared: float) -> bool:
    """Whether the 95 % interval of a mean over splits lies below zero.

    Two lists of a set share this part of their rows on average, and what they share does not
    average out: Nadeau and Bengio's correction, whose term is the test part over the training
    part where these are all rows.
    """
    if len(values) < 2:
        return False
    error = values.std(ddof=1) * np.sqrt(1.0 / len(values) + shared / (1.0 - shared))
    return bool(values.mean() < -t.ppf(0.975, len(values) - 1) * error)


def coverage(promised: Promised, say: Say) -> None:
    rates, value, low, high, actual = np.concatenate([*promised.values()]).T
    say("\n| forecast | lists | covered | below | above | median width | bias |")
    say("|---|---|---|---|---|---|---|")
    for rate in (*np.unique(rates), None):
        some = np.ones(len(rates), bool) if rate is None else rates == rate
        # Ties in proportion may leave parts of a hit.
        under = np.round(actual[some]) < low[some]
        over = np.round(actual[some]) > high[some]
        width = np.median((high - low)[some] / np.maximum(value[some], 1.0))
        bias = (value[some].sum() - actual[some].sum()) / actual[some].sum()
        label = "all" if rate is None else f"k = {rate:.0%}"
        inside = 1.0 - under.mean() - over.mean()
        say(
            f"| {label} | {some.sum()} | {inside:.1%} | {under.mean():.1%} | {over.mean():.1%} | "
            f"{width:.0%} | {bias:+.1%} |"
        )
    by_set = []
    for name, lists in promised.items():
        _, _, low, high, actual = np.array(lists).T
        inside = (np.round(actual) >= low) & (np.round(actual) <= high)
        by_set.append(f"{name.replace('_', ' ')} {inside.mean():.0%}")
    say(f"\nCovered, by set: {', '.join(by_set)}.")


def speed(say: Say) -> None:
    X, y = make_classification(
        4000, 30, n_informative=8, weights=[0.9], flip_y=0.05, random_state=0
    )
    start = time.process_time()
    RandomForestClassifier(500, random_state=0).fit(X[:2000], y[:2000])
    forest = time.process_time() - start
    say("\nCPU of one call, 2,000 rows of 30 columns, 2,000 candidates, one thread:\n")
    say("| | seconds | forests of 500 trees |\n|---|---|---|")
    say(f"| forest of 500 trees | {forest:.1f} | 1 |")
    for effort in ("quick", "normal"):
        start = time.process_time()
        pick(X[:2000], y[:2000], X[2000:], 100, effort=effort)
        seconds = time.process_time() - start
        say(f"| effort {effort} | {seconds:.1f} | {seconds / forest:.1f} |")


def long(n_rows: int, seeds: int, say: Say) -> None:
    """Choose 1,000 of 20,000 made candidates by a long history, at each effort below thorough."""
    say(f"\n{n_rows:,} rows of 30 columns, 7 % positive; 1,000 of 20,000 candidates:\n")
    say("| effort | world | CPU seconds | peak memory, GB | hits found | forecast | yardstick |")
    say("|---|---|---|---|---|---|---|")
    for seed in range(seeds):
        X, y = make_classification(
            n_rows + 20_000, 30, n_informative=8, weights=[0.95], flip_y=0.05, random_state=seed
        )
        new, truth = X[n_rows:], y[n_rows:]
        for effort in ("quick", "normal"):
            start = time.process_time()
            found = pick(X[:n_rows], y[:n_rows], new, 1_000, effort=effort)
            seconds = time.process_time() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            promise = found.expected_hits
            say(
                f"| {effort} | {seed} | {seconds:.0f} | {memory:.1f} | "
                f"{truth[found.selected].sum()} | "
                f"{promise.value:.0f} ({promise.low:.0f} to {promise.high:.0f}) | "
                f"{found.comparison.baseline.hits:.0f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--speed", action="store_true", help="measure CPU instead")
    parser.add_argument("--long", type=int, metavar="ROWS", help="measure a long history instead")
    parser.add_argument("--worlds", type=int, default=1, help="made sets of a long history")
    parser.add_argument("--page", action="store_true", help=f"replace the tables of {PAGE}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    with threadpool_limits(1):
        if arguments.speed:
            speed(say)
            return
        if arguments.long:
            long(arguments.long, arguments.worlds, say)
            return
        table, promised = read_all(arguments.store)
        if not table:
            print(f"no scores in {arguments.store}: run python -m benchmarks.pick_members first")
            return
        judge(table, promised, say)
    if arguments.page:
        page = PAGE.read_text(encoding="utf-8")
        tables = "<!-- tables -->\n" + "\n".join(lines) + "\n<!-- end -->"
        PAGE.write_text(
            re.sub("<!-- tables -->.*<!-- end -->", lambda _: tables, page, flags=re.DOTALL),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
