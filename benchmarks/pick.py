"""Hits of `pick` against what its user could have run, and whether it keeps its promises.

    python -m benchmarks.pick_members --splits 10    fit every contestant on every split
    python -m benchmarks.pick                        judge: heads, pools, forecasts
    python -m benchmarks.pick --page                 and write benchmarks/results/pick.md
    python -m benchmarks.pick --speed                CPU of one call against one forest

The first command keeps the scores of every contestant on held-out rows and on the list. Here
they are combined by the code of `pick` itself, so that leaving a contestant out, or another
head, costs nothing.

- Hits: share of the reachable hits (the positives of the list, at most the budget) among the
  first 1 % and 5 %, ties in proportion. Against a method: the relative difference of the means
  over a set's splits, averaged over sets; 95 % interval by bootstrap over sets. A set is level
  within 1 %.
- Rivals: a forest of 500 trees, LightGBM and logistic regression, each with the setting of the
  best average precision in the same folds.
- Forecast: of lists of 1,000 candidates, cut from the list of a split. Covered: how often the
  90 % interval held the hits, ends included. Width: of the interval, in percent of the expected
  hits. Bias: expected less actual hits, in percent of the actual ones.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.pick_members import STORE
from shortlist import pick
from shortlist.picking import combining
from shortlist.picking.comparison import forecast_budgets
from shortlist.picking.history import Folds, History
from shortlist.picking.models import FAMILIES, Model, Task, contestants
from shortlist.picking.noise import shares
from shortlist.picking.outlook import Evidence, Outlook
from shortlist.picking.race import Race, Run
from shortlist.stacking.heads import fit_head

RATES = np.array([0.01, 0.05])
LIST = 1_000
PAGE = Path("benchmarks/results/pick.md")
RIVALS = {"LightGBM": "LightGBM", "logistic regression": "logistic regression"}


class Split:
    """The stored scores of one split."""

    def __init__(self, path: Path) -> None:
        self.name, seed = path.stem.rsplit("-", 1)
        self.seed = int(seed)
        with np.load(path) as kept:
            self.y, self.truth, self.fold = kept["y"], kept["y_list"], kept["fold"]
            self.forest = kept["forest"].astype(float)
            names = [str(name) for name in kept["names"]]
            # scikit-learn's boosting only stands in for LightGBM.
            known = [
                i
                for i, name in enumerate(names)
                if family(name) in FAMILIES and family(name) != "gradient boosting"
            ]
            self.names = [names[i] for i in known]
            self.held_out = np.column_stack([log_odds(kept["held_out"][i]) for i in known])
            self.listed = np.column_stack([log_odds(kept["listed"][i]) for i in known])
        self.families = np.array([family(name) for name in self.names])

    def best(self, family: str) -> np.ndarray | None:
        """Scores on the list of the best setting of a family."""
        among = np.flatnonzero(self.families == family)
        if not len(among):
            return None
        value = [average_precision_score(self.y, self.held_out[:, i]) for i in among]
        return self.listed[:, among[int(np.argmax(value))]]

    def race(self, used: np.ndarray, rates: np.ndarray, rate: float) -> Race:
        """Return the race that the stored scores tell of."""
        tests = [np.flatnonzero(self.fold == f) for f in range(self.fold.max() + 1)]
        rows = np.arange(len(self.y))
        splits = [(np.setdiff1d(rows, test), test) for test in tests]
        weight = np.array([float(len(test)) for test in tests])
        folds = Folds(splits, len(splits), weight, 1.0 / (len(splits) - 1.0), "", None)
        models = [Model(self.names[i], self.families[i], None, None) for i in used]
        race = Race(models, History(None, self.y, None, None, True), folds, None, rate, rates)
        for position, i in enumerate(used):
            for f, test in enumerate(tests):
                scores = self.held_out[test, i]
                race.runs[position, f] = Run(
                    scores, shares(self.y[test], scores, None, rates), np.nan, 0.0, ()
                )
        return race


def family(name: str) -> str:
    return name.partition("(")[0].strip()


def log_odds(scores: np.ndarray) -> np.ndarray:
    """Turn stored probabilities into softened log odds, as `TopStack` does."""
    scores = scores.astype(float)
    if scores.min() < 0.0 or scores.max() > 1.0:
        return scores
    soft = (scores + 0.002) / 1.004
    return np.log(soft / (1.0 - soft))


def reached(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Share of the reachable hits at each rate."""
    hits = shares(truth, scores, None, RATES) * len(truth)
    return hits / np.minimum(np.ceil(RATES * len(truth)), truth.sum())


def combined(split: Split, used: np.ndarray, head: str) -> np.ndarray:
    """Scores on the list of a combination of some contestants."""
    known = split.held_out[:, used], split.y, None
    fitted = fit_head(*known, head=head, budget=0.05, seed=0)
    if head == "greedy":
        fitted = combining._without_crumbs(fitted)
    return fitted.log_odds(split.listed[:, used])


def quick_pool(split: Split) -> np.ndarray:
    """Return the contestants of the quick effort."""
    task = Task(0.05, len(split.y), False, "bits", "quick", 0)
    names = {model.name for model in contestants(list(FAMILIES), task)[0]}
    return np.array([i for i, name in enumerate(split.names) if name in names])


def methods(split: Split, ablate: bool) -> dict[str, np.ndarray]:
    """Scores on the list, by method."""
    every = np.arange(len(split.names))
    found = {"random forest, 500 trees": split.forest}
    for label, name in RIVALS.items():
        scores = split.best(name)
        if scores is not None:
            found[f"{label}, tuned"] = scores
    found["pick, normal"] = combined(split, every, "greedy")
    found["pick, quick"] = combined(split, quick_pool(split), "greedy")
    value = [average_precision_score(split.y, column) for column in split.held_out.T]
    found["best single model by the folds"] = split.listed[:, int(np.argmax(value))]
    if ablate:
        for head in ("patmat", "both", "mean"):
            found[f"head {head}"] = combined(split, every, head)
        for name in dict.fromkeys(split.families):
            left = np.flatnonzero(split.families != name)
            found[f"without {name}"] = combined(split, left, "greedy")
            scores = split.best(name)
            if scores is not None:
                found[f"{name} alone"] = scores
    return found


def forecasts(split: Split) -> list[tuple[float, float, float, float, float]]:
    """Rate, expected, low, high and actual hits of lists of 1,000 candidates."""
    found = []
    size = min(LIST, len(split.truth))
    for rate in (0.02, 0.05, 0.1):
        k = max(1, round(rate * size))
        rates = forecast_budgets(size, k) / size
        race = split.race(np.arange(len(split.names)), rates, k / size)
        made = combining.combine(race, 0)
        mass, share = float(len(split.y)), float(split.y.mean())
        evidence = Evidence("", "", made.share, 1.0, 0.0)
        outlook = Outlook(
            (evidence,), rates, size, mass, share, race.folds.weight, race.folds.ratio, 5
        )
        value, low, high = outlook.hits(evidence, k)
        scores = made.head.log_odds(split.listed)
        # One list a split: lists of one split share the history, and are no new evidence.
        truth = split.truth[:size]
        actual = float(truth[np.argsort(-scores[:size], kind="stable")[:k]].sum())
        found.append((rate, value, low, high, actual))
    return found


def relative(table: dict[str, dict[str, np.ndarray]], method: str, to: str) -> np.ndarray:
    """Percent more of the reachable hits, by set and rate."""
    return np.array(
        [100.0 * (row[method] / row[to] - 1.0) for row in table.values() if method in row]
    )


def interval(values: np.ndarray) -> str:
    """Mean over sets and its bootstrap interval."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(4000)]
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{values.mean():+.1f} % ({low:+.1f} to {high:+.1f})"


def verdicts(values: np.ndarray) -> str:
    wins, losses = int((values > 1.0).sum()), int((values < -1.0).sum())
    return f"{wins}/{len(values) - wins - losses}/{losses}"


def judge(paths: list[Path], ablate: bool, say: Callable[[str], None]) -> None:
    by_set: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    promised = []
    for path in paths:
        split = Split(path)
        for method, scores in methods(split, ablate).items():
            by_set[split.name][method].append(reached(split.truth, scores))
        promised += forecasts(split)
    table = {
        name: {method: np.mean(values, axis=0) for method, values in rows.items()}
        for name, rows in by_set.items()
    }
    names = list(dict.fromkeys(method for row in table.values() for method in row))
    forest = names[0]
    say(f"{len(paths)} splits of {len(table)} sets.\n")
    say("| against the forest | first 1 % | win/level/loss | first 5 % | win/level/loss | sets |")
    say("|---|---|---|---|---|---|")
    for method in names[1:]:
        gain = relative(table, method, forest)
        cells = [f"{interval(g)} | {verdicts(g)}" for g in gain.T]
        say(f"| {method} | {' | '.join(cells)} | {len(gain)} |")
    say("\n| `pick`, normal, against | first 1 % | first 5 % |")
    say("|---|---|---|")
    for method in names[1:3]:
        gain = relative({s: r for s, r in table.items() if method in r}, "pick, normal", method)
        say(f"| {method} | {interval(gain[:, 0])} | {interval(gain[:, 1])} |")
    shown = names[:5]
    say(f"\n| share of the reachable hits, 1 % / 5 % | splits | {' | '.join(shown)} |")
    say(f"|---|---|{'---|' * len(shown)}")
    for name, row in sorted(table.items()):
        cells = [f"{row[m][0]:.3f} / {row[m][1]:.3f}" if m in row else "" for m in shown]
        say(f"| {name} | {len(by_set[name][forest])} | {' | '.join(cells)} |")
    rates, value, low, high, actual = np.array(promised).T
    say("\n| forecast, lists of 1,000 | lists | covered | median width | bias |")
    say("|---|---|---|---|---|")
    for rate in (*np.unique(rates), None):
        some = np.ones(len(rates), bool) if rate is None else rates == rate
        inside = (low[some] <= actual[some]) & (actual[some] <= high[some])
        width = np.median((high - low)[some] / np.maximum(value[some], 1.0))
        bias = (value[some].sum() - actual[some].sum()) / actual[some].sum()
        label = "all" if rate is None else f"k = {rate:.0%}"
        say(f"| {label} | {some.sum()} | {inside.mean():.0%} | {width:.0%} | {bias:+.1%} |")


def speed(say: Callable[[str], None]) -> None:
    X, y = make_classification(
        4000, 30, n_informative=8, weights=[0.9], flip_y=0.05, random_state=0
    )
    start = time.process_time()
    RandomForestClassifier(500, random_state=0).fit(X[:2000], y[:2000])
    forest = time.process_time() - start
    say("\nCPU of one call, 2,000 rows of 30 columns, 2,000 candidates, one thread\n")
    say("| | seconds | forests of 500 trees |\n|---|---|---|")
    say(f"| forest of 500 trees | {forest:.1f} | 1 |")
    for effort in ("quick", "normal"):
        start = time.process_time()
        pick(X[:2000], y[:2000], X[2000:], 100, effort=effort)
        seconds = time.process_time() - start
        say(f"| effort {effort} | {seconds:.1f} | {seconds / forest:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument("--speed", action="store_true", help="measure CPU, too")
    parser.add_argument("--page", action="store_true", help=f"replace the tables of {PAGE}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    paths = sorted(path for path in arguments.store.glob("*.npz") if ".part" not in path.name)
    with threadpool_limits(1):
        if paths:
            judge(paths, not arguments.no_ablation, say)
        else:
            print(f"no scores in {arguments.store}: run python -m benchmarks.pick_members first")
        if arguments.speed:
            speed(say)
    if arguments.page:
        page = PAGE.read_text(encoding="utf-8")
        tables = "<!-- tables -->\n" + "\n".join(lines) + "\n<!-- end -->"
        PAGE.write_text(
            re.sub("<!-- tables -->.*<!-- end -->", lambda _: tables, page, flags=re.DOTALL),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
