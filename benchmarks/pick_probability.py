"""Whether the probabilities of `pick` hold at the top of the list, on many splits of real sets.

    python -m benchmarks.pick_probability --splits 6

Calls `pick` with three cheap contestants on a history of 800 rows and a list of 1,000, keeps the
held-out log odds and those of the list (one file a split; a rerun goes on where it ended), and
compares ways to turn the latter into probabilities. All see the held-out log odds and labels of
the history, and nothing else:

- ``sigmoid``: Platt's, a logistic regression on the log odds.
- ``isotonic``: pooled adjacent violators.
- ``beta``: beta calibration, as :mod:`shortlist.picking.forecast.probability` fits it.
- ``slope``: the slope of the budget curve at the rank of the row.
- ``folds``: beta, shifted so that the list sums to the hits of the folds at this rate.
- ``pick``: what ``found.probability`` is, the mean of beta and isotonic. The forecast is its sum.

Two errors in the first 5 % of the list. *Sum*: hits expected minus hits found, absolute, per row
of the list. *Rows*: the same in five parts of the list by rank, averaged: an error inside the
list that cancels in the sum counts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.pick_forecast import HISTORY, LIST, contestants
from benchmarks.pick_sets import SETS
from shortlist import pick
from shortlist.picking import Shortlist
from shortlist.picking.forecast.probability import calibrate, shifted

FOLDER = Path("build/pick_probability")
RATE, PARTS = 0.05, 5

Saved = dict[str, np.ndarray]


def run(X: object, y: np.ndarray, seed: int) -> Saved:
    order = np.random.default_rng(2000 + seed).permutation(len(y))
    size = min(HISTORY, 2 * len(y) // 3)
    past, now = order[:size], order[size : size + LIST]
    found = pick(X[past], y[past], X[now], RATE, models=contestants(), random_state=seed)
    labels, log_odds, _ = found.held_out
    threshold = found.model[-1].threshold_
    return {
        "labels": labels.astype(bool),
        "held_out": log_odds,
        "scores": found.scores + threshold,
        "hit": y[now],
        "selected": found.selected,
        "expected": np.array(found.expected_hits.value),
        "by_folds": np.array(found.outlook.hits(found.outlook.find(found.winner), found.k)[0]),
        "low": np.array(found.expected_hits.low),
        "high": np.array(found.expected_hits.high),
        "budgets": found.forecast.budgets,
        "hits": _by_folds(found),
    }


def _by_folds(found: Shortlist) -> np.ndarray:
    chosen = found.outlook.find(found.winner)
    return np.array([found.outlook.hits(chosen, int(k))[0] for k in found.forecast.budgets])


def sigmoid(s: Saved) -> np.ndarray:
    model = LogisticRegression(C=1e6, max_iter=1000).fit(s["held_out"][:, None], s["labels"])
    return model.predict_proba(s["scores"][:, None])[:, 1]


def isotonic(s: Saved) -> np.ndarray:
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return model.fit(s["held_out"], s["labels"]).predict(s["scores"])


def beta(s: Saved) -> np.ndarray:
    whole = calibrate(s["held_out"], s["labels"], np.ones(len(s["labels"])))
    return replace(whole, knots=None)(s["scores"])


def slope(s: Saved) -> np.ndarray:
    rank = np.empty(len(s["scores"]))
    rank[np.argsort(-s["scores"], kind="stable")] = np.arange(len(rank))
    curve = np.append(0.0, s["hits"])
    budgets = np.append(0.0, s["budgets"])
    # Concave: hits of a longer list come more slowly.
    steps = -IsotonicRegression().fit_transform(
        budgets[1:], -np.diff(curve) / np.diff(budgets), sample_weight=np.diff(budgets)
    )
    whole = np.append(0.0, np.cumsum(steps * np.diff(budgets)))
    at = lambda r: np.interp(r, budgets, whole)  # noqa: E731
    return np.clip(at(rank + 1) - at(rank), 0.0, 1.0)


def folds(s: Saved) -> np.ndarray:
    curve, rows, total = beta(s), s["selected"], float(s["by_folds"])
    wanted = np.clip(total, 1e-6, len(rows) - 1e-6)
    return shifted(curve, brentq(lambda c: shifted(curve[rows], c).sum() - wanted, -60.0, 60.0))


def ours(s: Saved) -> np.ndarray:
    return calibrate(s["held_out"], s["labels"], np.ones(len(s["labels"])))(s["scores"])


WAYS: dict[str, Callable[[Saved], np.ndarray]] = {
    "sigmoid": sigmoid,
    "isotonic": isotonic,
    "beta": beta,
    "slope": slope,
    "folds": folds,
    "pick": ours,
}


def errors(s: Saved, probability: np.ndarray) -> tuple[float, float, float]:
    chosen = s["selected"]
    p, hit = probability[chosen], s["hit"][chosen].astype(float)
    parts = np.array_split(np.arange(len(chosen)), PARTS)
    by_part = np.mean([abs(p[part].mean() - hit[part].mean()) for part in parts])
    clipped = np.clip(p, 1e-3, 1 - 1e-3)
    loss = -np.mean(hit * np.log(clipped) + (1 - hit) * np.log1p(-clipped))
    return abs(p.mean() - hit.mean()), float(by_part), float(loss)


def summarise(first: int) -> None:
    saved = {
        path.stem: dict(np.load(path))
        for path in sorted(FOLDER.glob("*.npz"))
        if int(path.stem.rsplit("-", 1)[1]) >= first
    }
    sets = sorted({name.rsplit("-", 1)[0] for name in saved})
    table = {
        way: np.array(
            [
                np.mean([errors(s, make(s)) for name, s in saved.items() if _of(name, each)], 0)
                for each in sets
            ]
        )
        for way, make in WAYS.items()
    }
    print(f"{len(saved)} lists of {len(sets)} sets, first {RATE:.0%}\n")
    print("| way | error of the sum | error of the rows | log loss | ± | best of on sets |")
    print("|---|---|---|---|---|---|")
    best = np.argmin([values[:, 0] for values in table.values()], axis=0)
    for number, (way, values) in enumerate(table.items()):
        mean = values.mean(0)
        difference = values[:, 0] - table["isotonic"][:, 0]
        spread = 1.645 * difference.std(ddof=1) / np.sqrt(len(sets))
        print(
            f"| {way} | {mean[0]:.4f} | {mean[1]:.4f} | {mean[2]:.4f} | "
            f"{difference.mean():+.4f} ± {spread:.4f} to isotonic | {(best == number).sum()} |"
        )

    inside = [s["low"] <= s["hit"][s["selected"]].sum() <= s["high"] for s in saved.values()]
    print(f"\nThe 90 % interval held the hits in {np.mean(inside):.1%} of the lists.")


def _of(name: str, each: str) -> bool:
    return name.rsplit("-", 1)[0] == each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--first", type=int, default=0, help="splits from this number on")
    parser.add_argument("--sets", nargs="*", help="names of sets; all without it")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for each in SETS:
        if options.sets and each.name not in options.sets:
            continue
        try:
            X, y = each.load()
        except (ImportError, FileNotFoundError, AssertionError, KeyError):
            continue
        for seed in range(options.first, options.first + options.splits):
            path = FOLDER / f"{each.name.replace(' ', '_')}-{seed}.npz"
            if path.exists():
                continue
            with threadpool_limits(1):
                np.savez(path, **run(X, y, seed))
            print(path.stem, flush=True)
    summarise(options.first)


if __name__ == "__main__":
    main()
