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
from shortlist.metrics import conformal_selection
from shortlist.picking.guarantee import Wish, guarantee, reserve
from shortlist.picking.history import History

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
    return Forest(100, min_samples_leaf=2, random_state=0)


def lists(
    X: np.ndarray, y: np.ndarray, C: np.ndarray, seed: int, model: Callable[[], Any]
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield the rows that each method takes for each target."""
    half = len(y) // 2
    wish = Wish(TARGETS[-1], "expected", 0.9)
    _, left, kept = reserve(History(X, y, None, None, True), wish, seed)
    ours = model().fit(X[left], y[left])
    scores = ours.decision_function(C)
    order = np.argsort(-scores, kind="stable")
    promise = guarantee(
        wish, ours.decision_function(kept.rows), kept.drawn, scores, kept.counts, None, seed
    )
    plain = model().fit(X[:half], y[:half])
    checked, plain_scores = plain.decision_function(X[half:]), plain.decision_function(C)
    probability = model().fit(X, y).predict_proba(C)[:, 1]
    likely = np.argsort(-probability, kind="stable")
    mean = np.cumsum(probability[likely]) / np.arange(1, len(likely) + 1)
    for target in TARGETS:
        yield METHODS[0], target, order[: promise.lengths[target]]
        yield METHODS[1], target, order[: promise.band.longest(target)]
        yield METHODS[2], target, conformal_selection(y[half:], checked, plain_scores, target)
        yield METHODS[3], target, likely[: int((mean >= target).sum())]


def rules(splits: int, model: Callable[[], Any] = linear) -> list[str]:
    lines = [
        "| set | target | ours: lost, rows | 90 % sure: broken, rows | half held out: lost, rows "
        "| naive: lost, rows |",
        "|---|---|---|---|---|---|",
    ]
    for name, deal, n, m in cases():
        lost = {(method, t): [] for method in METHODS for t in TARGETS}
        size = {key: [] for key in lost}
        for split in range(splits):
            rng = np.random.default_rng([split, 7])
            X, y = deal(rng, n, m)
            past, now = y[:n], y[n:]
            if min(past[: n // 2].sum(), (~past[: n // 2]).sum()) < 2:
                continue
            for method, target, rows in lists(X[:n], past, X[n:], split, model):
                lost[method, target].append(1 - now[rows].mean() if len(rows) else 0.0)
                size[method, target].append(len(rows))
        for target in TARGETS:
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
    return lines


def whole(splits: int) -> list[str]:
    """`pick` itself: the promise after a race of three families."""
    lines = ["| set | target | lists | lost | rows |", "|---|---|---|---|---|"]
    for name in ("spambase", "mammography", "wine white 7"):
        deal = stored(name)
        for target in (0.7, 0.9):
            lost, size = [], []
            for split in range(splits):
                X, y = deal(np.random.default_rng([split, 8]), 600, 400)
                found = pick(
                    X[:600],
                    y[:600],
                    X[600:],
                    precision=target,
                    models=["extra trees", "PatMat"],
                    effort="quick",
                    cv=3,
                    random_state=split,
                )
                lost.append(1 - y[600:][found.selected].mean() if found.k else 0.0)
                size.append(found.k)
            share, error = _mean(np.array(lost))
            lines.append(
                f"| {name} | {target:.0%} | {splits} | {share:.1%} ± {error:.1%} "
                f"| {np.mean(size):.0f} |"
            )
            print(lines[-1], flush=True)
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
    rows = [line.strip("| ").split(" | ") for line in text.strip().splitlines()[2:]]
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
    parser.add_argument("--whole", type=int, help="splits of three sets for pick itself")
    parser.add_argument("--page", action="store_true", help="write the tables to the page")
    parser.add_argument("--draw", action="store_true", help="draw the picture of the page")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for heading, splits, run in (
            ("rules", args.splits, rules),
            ("forest", args.forest, partial(rules, model=forest)),
            ("pick", args.whole, whole),
        ):
            if splits:
                lines = run(splits)
                if args.page:
                    write(heading, lines)
    if args.draw:
        draw()


if __name__ == "__main__":
    main()
