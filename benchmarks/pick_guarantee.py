"""Whether guaranteed lists keep their promise, and how long they are.

    python -m benchmarks.pick_guarantee --splits 1000     # the rules, with one cheap model
    python -m benchmarks.pick_guarantee --forest 100      # the same with extra trees
    python -m benchmarks.pick_guarantee --whole 100       # `pick` itself, after a race

Random splits of real sets and of three simulations (ties, duplicates, rare positives). Of each
split: the list of `pick`'s rule on average and with 90 % confidence, that of plain
split-conformal selection (half of the history learns, half checks), and the naive one, the
longest list whose mean predicted probability is the target. All use one
model. ``lost``: mean share of misses. ``!``: above its target by two standard errors.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.pick_sets import PickSet
from shortlist import pick
from shortlist._scores import positive_scores
from shortlist.metrics import conformal_selection
from shortlist.metrics.discoveries import expected_list
from shortlist.picking.forecast.guarantee import Wish, guarantee, reserve
from shortlist.picking.race.history import History

TARGETS = (0.5, 0.7, 0.8, 0.9, 0.95)
REAL = {
    found.name: found
    for found in (
        PickSet("spambase", "stored:spambase", lambda y: y > 0, 600),
        PickSet("magic04", "stored:magic04", lambda y: y < 0, 600),
        PickSet("mammography", "stored:mammography", lambda y: y > 0, 600),
        PickSet("wine white 7", "stored:winequality_white", lambda y: y >= 7, 600),
        PickSet("german", "stored:german_numer", lambda y: y > 0, 600),
        PickSet("satimage 4", "stored:satimage", lambda y: y == 4, 600),
        PickSet("phoneme", "keel:balanced:phoneme", lambda y: y == "1", 600),
    )
}
WHOLE = (
    "spambase",
    "magic04",
    "mammography",
    "wine white 7",
    "satimage 4",
    "simulated, 3 % positive",
)
METHODS = ("ours", "ours, 90 % sure", "half held out", "naive")
PAGE = Path(__file__).parent / "results" / "guarantee.md"
Deal = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


def simulated(share: float, digits: int | None, copies: bool) -> Deal:
    """Two normal classes in three dimensions; scores tie and rows repeat on request."""

    def deal(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.random(n + m) < share
        X = rng.normal(size=(n + m, 3)) + 1.4 * y[:, None]
        if digits is not None:
            X = np.round(X, digits)
        if copies:
            again = rng.integers(n + m, size=n + m)
            X, y = X[again], y[again]
        return X, y

    return deal


def stored(name: str) -> Deal:
    X, y = REAL[name].load()

    def deal(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        rows = rng.permutation(len(y))[: n + m]
        return X[rows], y[rows]

    return deal


def cases() -> Iterator[tuple[str, Deal, int, int]]:
    """Name, rows, labelled rows and candidates."""
    for name in REAL:
        yield name, stored(name), 600, 400
    yield "mammography, long", stored("mammography"), 4000, 4000
    yield "simulated, 100 rows", simulated(0.3, None, False), 100, 200
    yield "simulated, ties", simulated(0.2, 0, False), 500, 500
    yield "simulated, copies", simulated(0.2, None, True), 500, 500
    yield "simulated, 3 % positive", simulated(0.03, None, False), 1500, 1000


class Forest(ExtraTreesClassifier):
    """A model that gains from more positives; its ties are broken by their order."""

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self.predict_proba(X)[:, 1]


def linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))


def forest() -> Any:
    return make_pipeline(Forest(100, min_samples_leaf=2, random_state=0))


def lists(
    X: np.ndarray, y: np.ndarray, C: np.ndarray, seed: int, model: Callable[[], Any]
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield the rows that each method takes for each target."""
    half = len(y) // 2
    fitted: dict[int, Any] = {}
    plain = model().fit(X[:half], y[:half])
    checked, plain_scores = plain.decision_function(X[half:]), plain.decision_function(C)
    probability = model().fit(X, y).predict_proba(C)[:, 1]
    likely = np.argsort(-probability, kind="stable")
    mean = np.cumsum(probability[likely]) / np.arange(1, len(likely) + 1)
    for target in TARGETS:
        wish = Wish(target, "expected", 0.9)
        rest, _, kept = reserve(History(X, y, None, None, True), wish, seed)
        if kept.drawn not in fitted:
            ours = model()
            weight = {f"{ours.steps[-1][0]}__sample_weight": rest.weight}
            ours.fit(rest.X, rest.positive, **weight)
            aside, scores = ours.decision_function(kept.rows), ours.decision_function(C)
            made = guarantee(wish, aside, kept.drawn, scores, kept.counts, None, seed)
            fitted[kept.drawn] = aside, scores, made.band
        aside, scores, band = fitted[kept.drawn]
        order = np.argsort(-scores, kind="stable")
        yield METHODS[0], target, expected_list(aside, kept.drawn, scores, 1.0 - target)
        yield METHODS[1], target, order[: band.longest(target)]
        yield METHODS[2], target, conformal_selection(y[half:], checked, plain_scores, target)
        yield METHODS[3], target, likely[: int((mean >= target).sum())]


def rules(splits: int, model: Callable[[], Any] = linear) -> list[str]:
    lines = [
        "| set | target | ours: lost, rows | 90 % sure: broken, rows | half held out: lost, rows "
        "| naive: lost, rows |",
        "|---|---|---|---|---|---|",
    ]
    power: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {t: [] for t in TARGETS}
    for name, deal, n, m in cases():
        lost = {(method, t): [] for method in METHODS for t in TARGETS}
        size = {key: [] for key in lost}
        for split in range(splits):
            rng = np.random.default_rng([split, 11])
            X, y = deal(rng, n, m)
            past, now = y[:n], y[n:]
            if min(past[: n // 2].sum(), (~past[: n // 2]).sum()) < 2:
                continue
            for method, target, rows in lists(X[:n], past, X[n:], split, model):
                lost[method, target].append(1 - now[rows].mean() if len(rows) else 0.0)
                size[method, target].append(len(rows))
        for target in TARGETS:
            power[target].append(
                (np.array(size[METHODS[0], target]), np.array(size[METHODS[2], target]))
            )
            cells = [name, f"{target:.0%}"]
            for method in METHODS:
                values = np.array(lost[method, target])
                rows = np.mean(size[method, target])
                if method == METHODS[1]:
                    share, error = _mean(values > 1 - target + 1e-9)
                    limit = 0.1
                else:
                    share, error = _mean(values)
                    limit = 1 - target
                late = " **!**" if share > limit + 2 * error else ""
                cells.append(f"{share:.1%} ± {error:.1%}{late}, {rows:.0f}")
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return [*lines, "", *longer(power)]


def whole(splits: int, only: str = "") -> list[str]:
    """`pick` itself, after a race of three families, and the same `pick` on half of the rows."""
    lines = [
        "| set | target | lists | pick: lost, rows | half held out: lost, rows |",
        "|---|---|---|---|---|",
    ]
    said = {"models": ["extra trees", "PatMat"], "effort": "quick", "cv": 3}
    targets = (0.7, 0.9)
    power: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {t: [] for t in targets}
    for name, deal, n, m in cases():
        if name not in WHOLE or not re.search(only, name):
            continue
        lost = {(who, t): [] for who in (0, 1) for t in targets}
        size = {key: [] for key in lost}
        for split in range(splits):
            X, y = deal(np.random.default_rng([split, 12]), n, m)
            X, y, C, truth = X[:n], y[:n], X[n:], y[n:]
            half = n // 2
            if min(y[:half].sum(), (~y[:half]).sum()) < 6:
                continue
            places = max(1, round(m * y[:half].mean()))
            plain = pick(X[:half], y[:half], C, places, random_state=split, **said)
            checked = positive_scores(plain.model, X[half:], 1)
            for target in targets:
                ours = pick(X, y, C, precision=target, random_state=split, **said)
                held = conformal_selection(y[half:], checked, plain.scores, target)
                for who, rows in enumerate((ours.selected, held)):
                    lost[who, target].append(1 - truth[rows].mean() if len(rows) else 0.0)
                    size[who, target].append(len(rows))
        for target in targets:
            power[target].append((np.array(size[0, target]), np.array(size[1, target])))
            cells = [name, f"{target:.0%}", f"{len(size[0, target])}"]
            for who in (0, 1):
                share, error = _mean(np.array(lost[who, target]))
                late = " **!**" if share > 1 - target + 2 * error else ""
                rows = np.mean(size[who, target])
                cells.append(f"{share:.1%} ± {error:.1%}{late}, {rows:.1f}")
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return [*lines, "", *longer(power)]


def longer(power: dict[float, list[tuple[np.ndarray, np.ndarray]]]) -> list[str]:
    """Say how much longer our lists are, over all sets: geometric mean, splits drawn again.

    Half a row is added to every mean, so that sets without a list count, and count little.
    """
    rng = np.random.default_rng(0)
    lines = ["| target | rows, ours to half held out | 95 % interval |", "|---|---|---|"]
    logs = {}
    for target, sets in power.items():
        drawn = []
        for ours, half in sets:
            rows = np.concatenate(
                [np.arange(len(ours))[None], rng.integers(len(ours), size=(2000, len(ours)))]
            )
            drawn.append(np.log((ours[rows].mean(axis=1) + 0.5) / (half[rows].mean(axis=1) + 0.5)))
        logs[f"{target:.0%}"] = np.mean(drawn, axis=0)
    logs["all"] = np.mean(list(logs.values()), axis=0)
    for name, values in logs.items():
        low, high = np.percentile(values[1:], [2.5, 97.5])
        lines.append(
            f"| {name} | {np.exp(values[0]) - 1:+.1%} | {np.exp(low) - 1:+.1%} to "
            f"{np.exp(high) - 1:+.1%} |"
        )
    print("\n".join(lines), flush=True)
    return lines


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def write(heading: str, lines: list[str]) -> None:
    """Put a table in its place on the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(f"<!-- {heading} -->\n")
    after = rest.partition("<!-- end -->")[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}<!-- {heading} -->\n{table}\n<!-- end -->{after}", encoding="utf-8")


def draw() -> None:
    """Draw promise against truth, from the first table of the page."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    text = PAGE.read_text(encoding="utf-8").split("<!-- rules -->")[1].split("<!-- end -->")[0]
    table = text.split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    target = np.array([1 - float(row[1].rstrip("%")) / 100 for row in rows])
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    for ax, column, title in ((axes[0], 2, "pick(precision=...)"), (axes[1], 5, "naive cut")):
        share, error = (
            np.array([float(row[column].split("%")[part].strip(" ±")) / 100 for row in rows])
            for part in (0, 1)
        )
        jitter = np.linspace(-0.012, 0.012, len(rows) // len(TARGETS)).repeat(len(TARGETS))
        late = share > target + 2 * error
        for some, colour in ((~late, "#0072b2"), (late, "#d55e00")):
            ax.errorbar(
                (target + jitter)[some], share[some], 2 * error[some], fmt="o", color=colour, ms=4
            )
        ax.plot([0, 0.55], [0, 0.55], color="black", linewidth=0.8)
        ax.set(title=title, xlabel="share of misses promised", xlim=(0, 0.55), ylim=(0, 0.55))
    axes[0].set_ylabel("mean share of misses found")
    figure.savefig(PAGE.with_suffix(".png"), dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, help="splits of every set for the rules")
    parser.add_argument("--forest", type=int, help="the same, with extra trees")
    parser.add_argument("--whole", type=int, help="splits of six sets for pick itself")
    parser.add_argument("--only", default="", help="sets for pick itself, a regular expression")
    parser.add_argument("--page", action="store_true", help="write the tables to the page")
    parser.add_argument("--draw", action="store_true", help="draw the picture of the page")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for heading, splits, run in (
            ("rules", args.splits, rules),
            ("forest", args.forest, partial(rules, model=forest)),
            ("pick", args.whole, partial(whole, only=args.only)),
        ):
            if splits:
                lines = run(splits)
                if args.page:
                    write(heading, lines)
    if args.draw:
        draw()


if __name__ == "__main__":
    main()
