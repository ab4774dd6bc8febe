"""Whether forecasts of `pick` hold when the list has terms: money, limits, entities, time, sums.

    python -m benchmarks.pick_terms --first 300 --splits 100   run; goes on where it ended
    python -m benchmarks.pick_terms --page                     write benchmarks/results/terms.md
    python -m benchmarks.pick_terms --only credit --splits 5

Every case deals a set into a history and candidates, or simulates payments and takes the last
week as candidates, calls `pick` with one cheap contestant, and counts what the list really
brought. One CSV line a list.

- Covered: how often the 90 % interval held the sum, and the hits, ends included.
- Bias: expected less actual, in percent of the actual, over all lists of a case.
- Width: median of the interval's width, in percent of the expected sum.
- The simulator is asked twice: with folds in time and with shuffled ones.
- Money: what the list by value brought against the list by hits, same model, same candidates;
  the interval is that of lists drawn anew, pairs kept.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from benchmarks.data import folder
from benchmarks.store import Store
from shortlist import pick
from shortlist.datasets import load_credit, make_transactions
from shortlist.picking import Shortlist

STORE = Path("benchmarks/results/raw/pick_terms.csv.gz")
PAGE = Path("benchmarks/results/terms.md")
START, END = "<!-- measured -->", "<!-- end -->"

Deal = Callable[[int], dict[str, Any]]


def contestant(name: str, said: dict[str, Any]) -> Any:
    """Return one cheap model, or the default; boosting where ids can be learned by heart."""
    if "combination" in name:
        return "auto"
    if "goal" in said:
        return {"ridge": Ridge(10.0)}
    if "boosting" in name:
        return {
            "logistic regression": HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
            )
        }
    return {"logistic regression": LogisticRegression(C=0.1, max_iter=500)}


def deal(table: pd.DataFrame, y: np.ndarray, seed: int, size: int) -> dict[str, Any]:
    """Rows at random: `size` of history, the others candidates."""
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    past, now = order[:size], order[size : size + 2000]
    return {
        "X": table.iloc[past].reset_index(drop=True),
        "y": y[past],
        "C": table.iloc[now].reset_index(drop=True),
        "truth": y[now],
    }


@cache
def credit() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_credit()
    coded = pd.get_dummies(X.drop(columns=["purpose"]), dtype=float).fillna(0.0)
    return coded.assign(purpose=pd.factorize(X["purpose"])[0]), y


@cache
def stored(name: str) -> dict[str, np.ndarray]:
    root = folder()
    if root is None:
        raise FileNotFoundError("SHORTLIST_DATA is not set")
    with np.load(root / f"{name}.npz") as parts:
        return {key: parts[key] for key in parts.files}


@cache
def wines() -> tuple[pd.DataFrame, np.ndarray]:
    """Both colours; a wine of grade 7 is a hit."""
    parts = [stored("winequality_red"), stored("winequality_white")]
    table = pd.DataFrame(np.concatenate([part["X"] for part in parts]))
    table.columns = [f"x{i}" for i in range(table.shape[1])]
    colour = np.repeat([0, 1], [len(part["y"]) for part in parts])
    return table.assign(colour=colour), np.concatenate([part["y"] for part in parts])


@lru_cache(maxsize=4)
def payments(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Simulate 13 weeks; the first five, in which campaigns are still few, are not used."""
    X, y = make_transactions(n_cards=150, n_terminals=300, days=91, random_state=seed)
    begun = (
        X["booked_at"] >= X["booked_at"].iloc[0].normalize() + pd.Timedelta(days=35)
    ).to_numpy()
    return X[begun].reset_index(drop=True), y[begun]


@cache
def regression(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a set with numeric outcomes."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        kept = stored(name)
        X, y = kept["X"].astype(float), kept["y"].astype(float)
    return pd.DataFrame(X).add_prefix("x"), y


def queries(seed: int) -> dict[str, Any]:
    """Documents of half of the queries are known; candidates come from 150 others."""
    kept = stored("mq2008")
    names = np.random.default_rng(seed).permutation(np.unique(kept["qid"]))
    past, now = np.isin(kept["qid"], names[:350]), np.isin(kept["qid"], names[350:500])
    table = pd.DataFrame(kept["X"]).add_prefix("x").assign(query=kept["qid"])
    y = kept["y"] >= 1
    return {"X": table[past], "y": y[past], "C": table[now], "truth": y[now]}


def last_week(seed: int) -> dict[str, Any]:
    """Candidates are the last week; labels of the week before it are not known yet."""
    X, y = payments(seed)
    day = (X["booked_at"] - X["booked_at"].iloc[0].normalize()).dt.days.to_numpy()
    past, now = day < day.max() - 13, day >= day.max() - 6
    return {"X": X[past], "y": y[past], "C": X[now], "truth": y[now]}


def brought(found: Shortlist, dealt: dict[str, Any], said: dict[str, Any]) -> float:
    """Return what the list really brought, in the unit of the gain."""
    rows, C = found.selected, dealt["C"]
    value = np.ones(len(C)) if "value" not in said else C[said["value"]].to_numpy(dtype=float)
    gain = dealt["truth"][rows] * value[rows] - said.get("cost", 0.0)
    return float(gain.mean() if said.get("goal") == "mean" else gain.sum())


_PURPOSE = {"limits": {"purpose": 8}}
_TIME = {"time": "booked_at", "delay": "7d"}

# Name: how it is dealt, the budget, what is said.
CASES: dict[str, tuple[Deal, float, dict[str, Any]]] = {
    "credit, value": (lambda s: deal(*credit(), s, 600), 40, {"value": "amount"}),
    "credit, value and cost": (
        lambda s: deal(*credit(), s, 600),
        60,
        {"value": "amount", "cost": 1500.0},
    ),
    "credit, limits": (lambda s: deal(*credit(), s, 600), 40, _PURPOSE),
    "credit, value and limits": (
        lambda s: deal(*credit(), s, 600),
        40,
        {"value": "amount", **_PURPOSE},
    ),
    "wines, limits": (
        lambda s: deal(wines()[0], wines()[1] >= 7, s, 800),
        100,
        {"limits": {"colour": {0: (40, 60)}}},
    ),
    "wines, value": (lambda s: deal(wines()[0], wines()[1] >= 7, s, 800), 100, {"value": "x10"}),
    "queries, one per query": (queries, 50, {"one_per": "query"}),
    "payments, one per card, time": (last_week, 20, {"one_per": "card", **_TIME}),
    "payments, value, time": (last_week, 30, {"value": "amount", **_TIME}),
    "payments, boosting, value, time": (last_week, 30, {"value": "amount", **_TIME}),
    "payments, combination, value, time": (last_week, 30, {"value": "amount", **_TIME}),
    "payments, value, time, 10 rows": (last_week, 10, {"value": "amount", **_TIME}),
    "payments, boosting, value, time, 10 rows": (last_week, 10, {"value": "amount", **_TIME}),
    "payments, combination, value, time, 10 rows": (last_week, 10, {"value": "amount", **_TIME}),
    "payments, boosting, hits, time": (last_week, 30, _TIME),
    "payments, boosting, hits, shuffled": (last_week, 30, {}),
    "diabetes, sum": (lambda s: deal(*regression("diabetes"), s, 280), 20, {"goal": "sum"}),
    "retention, sum": (
        lambda s: deal(*regression("retention_eccb2018"), s, 600),
        50,
        {"goal": "sum"},
    ),
    "wine grades, mean": (
        lambda s: deal(*regression("winequality_white"), s, 800),
        100,
        {"goal": "mean"},
    ),
    "relevance grades, sum": (
        lambda s: deal(*regression("mq2008"), s, 1000),
        100,
        {"goal": "sum"},
    ),
}


@lru_cache(maxsize=4)
def made(name: str, seed: int) -> tuple[dict[str, Any], Shortlist]:
    """Deal the rows of a case and pick."""
    dealing, k, said = CASES[name]
    dealt = dealing(seed)
    hidden = [] if "time" in said or "booked_at" not in dealt["X"] else ["booked_at"]
    if "boosting" not in name and "terminal" in dealt["X"]:
        hidden += ["terminal"] if "one_per" in said else ["terminal", "card"]
    X, C = dealt["X"].drop(columns=hidden), dealt["C"].drop(columns=hidden)
    found = pick(X, dealt["y"], C, k, models=contestant(name, said), random_state=seed, **said)
    return dealt, found


def run(store: Store, name: str, seed: int) -> None:
    _, k, said = CASES[name]
    # Shorter lists of payments are those of the same models at another budget.
    dealt, found = made(name.removesuffix(", 10 rows"), seed)
    found, C = found if found.k == k else found.at(k), dealt["C"]
    by_hits = found.scores.argsort()[::-1][:k]
    value = C[said["value"]].to_numpy(dtype=float) if "value" in said else np.ones(len(C))
    gain = found.expected_gain
    hits = gain if found.expected_hits is None else found.expected_hits
    store.add(
        case=name,
        seed=seed,
        gain=gain.value,
        gain_low=gain.low,
        gain_high=gain.high,
        gain_actual=brought(found, dealt, said),
        hits=hits.value,
        hits_low=hits.low,
        hits_high=hits.high,
        hits_actual=float(dealt["truth"][found.selected].sum()),
        by_hits=float((dealt["truth"] * value)[by_hits].sum()),
    )


def numbers(store: Store, name: str) -> dict[str, np.ndarray]:
    rows = [row for row in store.rows if row["case"] == name]
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0] if key != "case"}


def measured(store: Store) -> list[str]:
    """Return the cases that were run, in their order."""
    done = {row["case"] for row in store.rows}
    return [name for name in CASES if name in done]


def summary(store: Store) -> str:
    lines = [
        "| case | lists | sum covered | bias | width | hits covered | bias |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in measured(store):
        if "hits," in name:
            continue
        found = numbers(store, name)
        cells = [name, f"{len(found['gain'])}"]
        valued = "value" in CASES[name][2]
        for what in ("gain", "hits"):
            if what == "hits" and not valued:
                cells += ["", ""]
                continue
            low, high, actual = (found[f"{what}_{end}"] for end in ("low", "high", "actual"))
            inside = (low <= actual + 1e-9) & (actual <= high + 1e-9)
            cells += [f"{inside.mean():.0%}", f"{found[what].sum() / actual.sum() - 1:+.1%}"]
            if what == "gain":
                cells.append(f"{np.median((high - low) / np.maximum(found[what], 1e-9)):.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def folds(store: Store) -> str:
    """Compare folds in time with shuffled ones."""
    lines = [
        "| folds | lists | expected hits | actual | bias | covered |",
        "|---|---|---|---|---|---|",
    ]
    for kind in ("time", "shuffled"):
        name = f"payments, boosting, hits, {kind}"
        if name not in measured(store):
            continue
        found = numbers(store, name)
        expected, actual = found["hits"], found["hits_actual"]
        inside = (found["hits_low"] <= actual) & (actual <= found["hits_high"])
        bias = expected.sum() / actual.sum() - 1
        lines.append(
            f"| {'in time' if kind == 'time' else kind} | {len(actual)} | {expected.mean():.1f} | "
            f"{actual.mean():.1f} | {bias:+.0%} | {inside.mean():.0%} |"
        )
    return "\n".join(lines)


def money(store: Store) -> str:
    """Compare what lists by value and lists by hits brought."""
    lines = [
        "| case | lists | by value | by hits | more | 90 % interval | more / as much / less |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in measured(store):
        if "value" not in CASES[name][2] or len(set(CASES[name][2]) - {"value", *_TIME}):
            continue
        found = numbers(store, name)
        mine, other = found["gain_actual"], found["by_hits"]
        more = mine.sum() / other.sum() - 1
        drawn = np.random.default_rng(0).integers(0, len(mine), (5000, len(mine)))
        again = mine[drawn].sum(axis=1) / other[drawn].sum(axis=1) - 1
        low, high = np.percentile(again, [5, 95])
        lists = [(mine > other).sum(), (mine == other).sum(), (mine < other).sum()]
        cells = [
            name,
            f"{len(mine)}",
            f"{mine.mean():,.0f}",
            f"{other.mean():,.0f}",
            f"{more:+.0%}",
            f"{low:+.0%} to {high:+.0%}",
            " / ".join(map(str, lists)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    store = Store(arguments.store, ("case", "seed"))
    with threadpool_limits(1):
        for seed in range(arguments.first, arguments.first + arguments.splits):
            for name in CASES:
                if re.search(arguments.only, name) and not store.has(case=name, seed=seed):
                    try:
                        run(store, name, seed)
                    except FileNotFoundError:
                        continue
    text = "\n\n".join((summary(store), folds(store), money(store)))
    print(text)
    if arguments.page:
        page = PAGE.read_text("utf-8")
        head, _, rest = page.partition(START)
        PAGE.write_text(f"{head}{START}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
