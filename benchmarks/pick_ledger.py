"""The ledger over a year of weekly lists: false alarms, and lists until a decay is noticed.

    python -m benchmarks.pick_ledger --years 400

Every year starts with a new history, on which `pick` makes a new model and its promise; 52 weekly
lists of new candidates follow, each ranked by that model. Without decay the candidates go on
coming from where the history came from. With decay, from week 11 on hits are only a part as
likely as they were. Nothing is drawn from the promise itself: the model, its forecast and the
lists are the real ones.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shortlist import pick
from shortlist.picking.forecast.ledger import Line, judge
from shortlist.picking.forecast.promise import promises_of

WEEKS, START, CANDIDATES, HISTORY = 52, 10, 400, 800


def world(n: int, rng: np.random.Generator, part: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 5))
    return X, rng.random(n) < part * expit(1.5 * X[:, 0] + X[:, 1] - 2.0)


def year(seed: int, k: int, parts: tuple[float, ...]) -> dict[float, int | None]:
    """Return the list at which decay was noticed, for each size of decay."""
    rng = np.random.default_rng(seed)
    X, y = world(HISTORY, rng)
    first = world(CANDIDATES, rng)[0]
    found = pick(X, y, first, k, models={"logistic regression": LogisticRegression()}, cv=5)
    promise = promises_of(found).at(k)
    noticed: dict[float, int | None] = {}
    for part in parts:
        again = np.random.default_rng(seed + 10**6)
        hits = []
        for week in range(WEEKS):
            candidates, hit = world(CANDIDATES, again, part if week >= START else 1.0)
            chosen = np.argsort(-found.model.decision_function(candidates), kind="stable")[:k]
            hits.append(int(hit[chosen].sum()))
        noticed[part] = judge([Line(promise, one) for one in hits]).noticed
    return noticed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=400)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = (1.0, 0.85, 0.7, 0.5)
    print("| list | hits as likely as | years | noticed | before the decay | median delay |")
    print("|---|---|---|---|---|---|")
    for k in (20, 60):
        with threadpool_limits(1):
            years = [year(seed, k, parts) for seed in range(options.years)]
        for part in parts:
            when = [each[part] for each in years]
            seen = [week for week in when if week is not None]
            early = sum(week <= START for week in seen)
            delay = [week - START for week in seen if week > START]
            shown = "" if part == 1.0 or not delay else f"{np.median(delay):.0f} lists"
            print(
                f"| {k} | {part:.0%} | {len(when)} | {len(seen) / len(when):.1%} | "
                f"{early / len(when):.1%} | {shown} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
