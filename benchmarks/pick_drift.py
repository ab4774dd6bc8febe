"""Drift: false alarms, power on five kinds of planted shift, and what the weights save.

    python -m benchmarks.pick_drift alarms --runs 400
    python -m benchmarks.pick_drift power --runs 40
    python -m benchmarks.pick_drift coverage --runs 100

*Alarms*: history and candidates from one place (numbers, categories, gaps, text codes). *Power*:
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
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shortlist import pick
from shortlist.picking.drift import find_drift
from shortlist.picking.history import Candidates, check_history
from shortlist.picking.models import default_features
from shortlist.picking.subject import subject_of

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


def judged(history: pd.DataFrame, candidates: pd.DataFrame, seed: int):
    y = np.arange(len(history)) % 2 == 0
    known = check_history(history, y, None, None, None)
    pool = Candidates(candidates, known.X)
    transformer = default_features(history).fit(history)
    return find_drift(known, candidates, subject_of(pool, transformer), seed)


def alarms(runs: int) -> None:
    for n, m in ((300, 150), (1000, 500)):
        count = 0
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            count += judged(table(n, rng), table(m, rng), seed).found
        print(f"| {n:,} and {m:,} rows | {count} of {runs} | {count / runs:.1%} |", flush=True)


def power(runs: int) -> None:
    for name, (column, change) in SHIFTS.items():
        for n, m in ((300, 150), (1000, 500)):
            found = named = 0
            for seed in range(runs):
                rng = np.random.default_rng(10_000 + seed)
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


def coverage(runs: int) -> None:
    print("| shift | lists | plain | weighted | refused | rests on | noticed |")
    print("|---|---|---|---|---|---|---|")
    for name, (world, models, start, steps) in WORLDS.items():
        for step in steps:
            _cover(f"{name} {step:g}", world, models, (start, step), runs)


def _cover(
    name: str,
    world: Callable[..., tuple[np.ndarray, np.ndarray]],
    models: Any,
    shift: tuple[float, float],
    runs: int,
) -> None:
    plain = weighted = refused = found = kept = 0
    rests = []
    for seed in range(runs):
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
    print(f"| {name} | {runs} | {shares} | {refused} | {rows} | {found} |", flush=True)


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
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        {"alarms": alarms, "power": power, "coverage": coverage}[options.what](options.runs)


if __name__ == "__main__":
    main()
