"""Drift: false alarms, power on five kinds of planted shift, and what the weights save.

    python -m benchmarks.pick_drift alarms --runs 400 --seed 1
    python -m benchmarks.pick_drift power --runs 40
    python -m benchmarks.pick_drift coverage --runs 100

*Alarms*: history and candidates from one place, tables of many kinds and sizes; the test of drift
alone, as `pick` runs it. *Power*:
one thing is changed among the candidates: the mean of a column, its spread, the values of a
category, the share of gaps, or how two columns go together. *Coverage*: how often the 90 %
interval holds the hits when the candidates come from another part of the space (covariate shift:
what a row is like decides whether it is a hit, as in the history), plain and weighted. The sum of
the probabilities follows the candidates by itself where the model is right; with the *spread*
it is a line in a world whose wings no line can learn, and the candidates lie in the wings.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shortlist import pick
from shortlist.picking.drift.drift import Drift, drawn_rows, find_drift
from shortlist.picking.race.history import Candidates, check_history
from shortlist.picking.reasons.subject import Shown

CITIES = np.array(["Lyon", "Porto", "Graz", "Turin", "Ghent", "Malaga"])


def table(n: int, rng: np.random.Generator) -> pd.DataFrame:
    made = pd.DataFrame(
        {
            "amount": rng.gamma(2.0, 20.0, n),
            "age": rng.normal(40.0, 12.0, n).round(),
            "city": CITIES[rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])],
            "score": rng.normal(size=n),
            "other": rng.normal(size=n),
            "count": rng.poisson(3.0, n),
        }
    )
    made.loc[rng.random(n) < 0.1, "age"] = np.nan
    return made


def _frame(**columns: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(columns)


def _correlated(n: int, rng: np.random.Generator) -> np.ndarray:
    return 0.9 * rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 20))


def _ties(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.poisson(0.3, (n, 4)), rng.integers(0, 2, (n, 4))]).astype(float)


def _with_gaps(n: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(n, 10))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[rng.random(n) < 0.98, 0] = np.nan
    return X


def _copies(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are all copies of sixty."""
    return np.random.default_rng(5).normal(size=(60, 6))[rng.integers(0, 60, n)]


def _zipf(n: int, rng: np.random.Generator, size: int, power: float) -> np.ndarray:
    chance = np.arange(1, size + 1) ** -power
    return rng.choice(size, n, p=chance / chance.sum())


def _categories(n: int, rng: np.random.Generator) -> pd.DataFrame:
    values = np.array([f"v{i}" for i in range(30)])
    return _frame(**{f"c{j}": values[_zipf(n, rng, 30, 1.2)] for j in range(8)})


def _many_values(n: int, rng: np.random.Generator) -> pd.DataFrame:
    values = np.array([f"k{i * 7919 % 9973}" for i in range(500)])
    codes = {f"c{j}": values[_zipf(n, rng, 500, 1.0)] for j in range(3)}
    return _frame(x=rng.normal(size=n), **codes)


def _texts(n: int, rng: np.random.Generator) -> pd.DataFrame:
    words = np.array([a + b for a in "kltrsvnp" for b in ("orin", "asal", "imek", "ulis", "egor")])
    notes = [" ".join(words[_zipf(12, rng, 40, 0.8)]) for _ in range(n)]
    return _frame(x=rng.normal(size=n), note=np.array(notes, dtype=object))


TABLES: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "mixed": table,
    "six numbers": lambda n, rng: rng.normal(size=(n, 6)),
    "one number": lambda n, rng: rng.normal(size=(n, 1)),
    "fifty numbers": lambda n, rng: rng.normal(size=(n, 50)),
    "twenty, correlated": _correlated,
    "heavy tails": lambda n, rng: rng.standard_t(1.2, size=(n, 6)),
    "ties": _ties,
    "gaps": _with_gaps,
    "copies": _copies,
    "categories": _categories,
    "many values": _many_values,
    "texts": _texts,
}
SIZES = ((300, 150), (1_500, 800), (5_000, 1_000), (1_000, 5_000), (200, 2_000))


def _mean(made: pd.DataFrame, rng: np.random.Generator) -> None:
    made["score"] += 0.4


def _spread(made: pd.DataFrame, rng: np.random.Generator) -> None:
    made["score"] *= 1.6


def _values(made: pd.DataFrame, rng: np.random.Generator) -> None:
    made.loc[rng.random(len(made)) < 0.2, "city"] = "Oslo"


def _gaps(made: pd.DataFrame, rng: np.random.Generator) -> None:
    made.loc[rng.random(len(made)) < 0.15, "age"] = np.nan


def _together(made: pd.DataFrame, rng: np.random.Generator) -> None:
    made["other"] = 0.7 * made["score"] + np.sqrt(1 - 0.49) * made["other"]


SHIFTS: dict[str, tuple[str | None, Callable[[pd.DataFrame, np.random.Generator], None]]] = {
    "mean + 0.4 sd": ("score", _mean),
    "spread × 1.6": ("score", _spread),
    "20 % new values": ("city", _values),
    "15 % more gaps": ("age", _gaps),
    "correlation 0.7": (None, _together),
}


def judged(history: Any, candidates: Any, seed: int) -> Drift:
    """Look for drift alone, as `pick` does."""
    y = np.arange(history.shape[0]) % 2 == 0
    known = check_history(history, y, None, None, None)
    pool = Candidates(candidates, known.X)
    some = pool.take(drawn_rows(pool.n_rows, seed))
    names = getattr(known.X, "columns", range(known.X.shape[1]))
    return find_drift(known, Shown(known.X, list(names), lambda: some), seed)


def alarms(runs: int, seed: int, tables: list[str], sizes: list[str]) -> None:
    print("| table | history and candidates | alarms | share | CPU s |\n|---|---|---|---|---|")
    chosen = [tuple(int(side) for side in size.split("/")) for size in sizes] or SIZES
    for name in tables or TABLES:
        for n, m in chosen:
            start, count = process_time(), 0
            for run in range(runs):
                rng = np.random.default_rng([seed, run, n, m])
                count += judged(TABLES[name](n, rng), TABLES[name](m, rng), run).found
            spent = (process_time() - start) / runs
            print(
                f"| {name} | {n:,} and {m:,} | {count} of {runs} | {count / runs:.1%} | "
                f"{spent:.2f} |",
                flush=True,
            )


def power(runs: int, start: int) -> None:
    for name, (column, change) in SHIFTS.items():
        for n, m in ((300, 150), (1000, 500)):
            found = named = 0
            for seed in range(runs):
                rng = np.random.default_rng([start, seed, n])
                history, candidates = table(n, rng), table(m, rng)
                change(candidates, rng)
                drift = judged(history, candidates, seed)
                found += drift.found
                if drift.found and column is not None:
                    named += bool(drift.columns) and drift.columns[0].startswith(f"{column}:")
                elif drift.found:
                    named += not drift.columns
            share = named / max(found, 1)
            print(f"| {name} | {n:,} and {m:,} | {found / runs:.0%} | {share:.0%} |", flush=True)


def _world(n: int, centre: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows around a centre; hits where the first two columns say so, clearer on the right."""
    X = rng.normal(size=(n, 6))
    X[:, 0] += centre
    z = 1.2 * X[:, 1] + 1.6 * X[:, 0] - 1.5
    return X, rng.random(n) < expit(z)


def _wings(n: int, spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first column has two wings in which hits are rarer: no line can learn that."""
    X = rng.normal(size=(n, 6))
    X[:, 0] *= spread
    z = 1.6 * X[:, 1] - 0.5 - 3.0 * (np.abs(X[:, 0]) > 1.4)
    return X, rng.random(n) < expit(z)


LINE = {"logistic regression": LogisticRegression()}
BOTH = {
    **LINE,
    "boosting": HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=6, early_stopping=False, random_state=0
    ),
}
# What is shifted: how rows are made, the models, how far in the history and in each line.
WORLDS: dict[str, tuple[Callable[..., tuple[np.ndarray, np.ndarray]], Any, float, tuple]] = {
    "spread times": (_wings, LINE, 1.0, (1.0, 1.5, 2.0, 2.5)),
    "centre moved by": (_world, BOTH, 0.0, (0.0, -0.5, -1.0, -1.5, -2.5)),
}


def coverage(runs: int, start: int) -> None:
    print("| shift | lists | plain | weighted | refused | rests on | noticed |")
    print("|---|---|---|---|---|---|---|")
    for name, (world, models, usual, steps) in WORLDS.items():
        for step in steps:
            _cover(f"{name} {step:g}", world, models, (usual, step), range(start, start + runs))


def _cover(
    name: str,
    world: Callable[..., tuple[np.ndarray, np.ndarray]],
    models: Any,
    shift: tuple[float, float],
    seeds: range,
) -> None:
    plain = weighted = refused = found = kept = 0
    rests = []
    for seed in seeds:
        rng = np.random.default_rng(20_000 + seed)
        X, y = world(1500, shift[0], rng)
        candidates, hit = world(800, shift[1], rng)
        result = pick(X, y, candidates, 80, models=models, random_state=seed)
        actual = int(hit[result.selected].sum())
        found += result.drift.found
        if result.drift.refused:
            refused += 1
            continue
        kept += 1
        rests.append(result.drift.effective)
        expected = result.expected_hits
        weighted += expected.low <= actual <= expected.high
        blind = pick_without(result, X, y, candidates, models, seed)
        plain += blind.low <= actual <= blind.high
    shares = f"{plain / kept:.0%} | {weighted / kept:.0%}" if kept else "|"
    rows = f"{np.mean(rests):.0f}" if kept else ""
    print(f"| {name} | {len(seeds)} | {shares} | {refused} | {rows} | {found} |", flush=True)


def pick_without(result, X, y, candidates, models, seed):
    """Return the forecast of the same call where drift is not looked for."""
    from shortlist.picking import job

    whole = job.find_drift
    job.find_drift = lambda *args: replace(result.drift, p_value=1.0, weight=None, refused=None)
    try:
        return pick(X, y, candidates, result.k, models=models, random_state=seed).expected_hits
    finally:
        job.find_drift = whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("alarms", "power", "coverage"))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="where the runs start")
    parser.add_argument("--tables", nargs="*", default=[], choices=tuple(TABLES))
    parser.add_argument("--sizes", nargs="*", default=[], help="such as 300/150")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.what == "alarms":
            alarms(options.runs, options.seed, options.tables, options.sizes)
        else:
            {"power": power, "coverage": coverage}[options.what](options.runs, options.seed)


if __name__ == "__main__":
    main()
