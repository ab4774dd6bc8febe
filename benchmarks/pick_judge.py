"""One split of the benchmark of `pick`, judged from the stored scores of the contestants.

The code of `pick` itself combines them and forecasts. What was judged is kept beside the
scores, and judged again only where a contestant was added or the code that combines changed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.metrics import average_precision
from shortlist.picking.forecast import comparison, outlook, probability
from shortlist.picking.forecast.comparison import agreed, forecast_budgets, forecast_hits
from shortlist.picking.forecast.outlook import Evidence, Outlook
from shortlist.picking.forecast.probability import calibrate
from shortlist.picking.race import combining, history
from shortlist.picking.race.history import HEAD, Folds, History, shares
from shortlist.picking.race.models import FAMILIES, Model, Task, contestants
from shortlist.picking.race.race import Race, Run
from shortlist.stacking import heads

RATES = np.array([0.01, 0.05])
# Budgets of the forecast, and candidates of a list.
FORECAST_RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
LISTED = 2_000
# First stored splits of a set, on which contestants are left out or added.
ABLATED = 5
FOREST, PICK = "random forest, 500 trees", "pick, normal"
RIVALS = ("LightGBM", "logistic regression")
# What a contestant of `pick` is called that sees its own features.
OWN = ("ranks", "normal scores", "tf-idf")


@dataclass
class Split:
    """The stored scores of one split.

    Attributes
    ----------
    name : str
        The set.
    ablated : bool
        Whether contestants are left out and added on this split.
    sparse : bool
        Whether the rows are.
    y, fold, truth : ndarray
        Labels and folds of the history, labels of the list.
    names, families : list of str, ndarray of str
        The contestants.
    held_out, listed, bagged : ndarray of shape (n_rows, n_members)
        Their scores.
    others : dict
        Scores on the list of what is no contestant of `pick`.
    """

    name: str
    ablated: bool
    sparse: bool
    y: np.ndarray
    fold: np.ndarray
    truth: np.ndarray
    names: list[str]
    families: np.ndarray
    held_out: np.ndarray
    listed: np.ndarray
    bagged: np.ndarray
    others: dict[str, np.ndarray]

    def best(self, family: str, plain: bool = False) -> np.ndarray | None:
        """Scores on the list of the best setting of a family by the folds.

        Where `plain`, of those that see scaled numbers: nobody tunes over ranks.
        """
        own = [plain and any(text in name for text in OWN) for name in self.names]
        among = np.flatnonzero((self.families == family) & ~np.array(own))
        if not len(among):
            return None
        value = [average_precision(self.y, self.held_out[:, i]) for i in among]
        return self.listed[:, among[int(np.argmax(value))]]

    def race(self, rates: np.ndarray, rate: float) -> Race:
        """Return the race of the contestants that the stored scores tell of."""
        used = self.pool()
        tests = [np.flatnonzero(self.fold == f) for f in range(self.fold.max() + 1)]
        rows = np.arange(len(self.y))
        splits = [(np.setdiff1d(rows, test), test) for test in tests]
        weight = np.array([float(len(test)) for test in tests])
        ratio = 1.0 / (len(splits) - 1.0)
        folds = Folds(splits, len(splits), weight, ratio, "", None, at_random=True)
        models = [Model(self.names[i], self.families[i], None, None) for i in used]
        race = Race(models, History(None, self.y, None, None, True), folds, None, rate, rates)
        for position, i in enumerate(used):
            for f, test in enumerate(tests):
                scores = self.held_out[test, i]
                share = shares(self.y[test], scores, None, rates)
                race.runs[position, f] = Run(scores, share, np.nan, 0.0, ())
        return race

    def pool(self) -> np.ndarray:
        """Return the contestants of the normal effort; the others were only tried."""
        return np.flatnonzero(np.isin(self.names, sorted(_contestants(self.sparse))))


@cache
def _contestants(sparse: bool) -> frozenset[str]:
    tasks = [Task(0.05, 1000, sparse, kind, "normal", 0) for kind in (None, "bits", "counts")]
    return frozenset(model.name for task in tasks for model in contestants("auto", task)[0])


def read(folder: Path) -> Split:
    """Read the scores of a split."""
    with np.load(folder / "labels.npz") as labels:
        y, truth, fold = labels["y"], labels["y_list"], labels["fold"]
        is_sparse = bool(labels["sparse"])
    kept: list[Any] = []
    others = {}
    for path in sorted(folder.glob("*.npz")):
        if path.name == "labels.npz":
            continue
        with np.load(path) as member:
            name, family = str(member["name"]), str(member["family"])
            listed = member["listed"].astype(float)
            if family == "whole job":
                others[name] = listed
            elif family in FAMILIES or family == "tried":
                bagged = member["bagged"].astype(float)
                kept.append((name, family, member["held_out"].astype(float), listed, bagged))
    # The order of the families decides among equals.
    order = {name: i for i, name in enumerate(FAMILIES)}
    kept.sort(key=lambda one: (order.get(one[1], len(order)), one[0]))
    names, families, held_out, listed, bagged = zip(*kept, strict=True)
    stored = sorted(int(path.name) for path in folder.parent.iterdir())
    return Split(
        folder.parent.name,
        int(folder.name) in stored[:ABLATED],
        is_sparse,
        y,
        fold,
        truth,
        list(names),
        np.array(families),
        np.column_stack(held_out),
        np.column_stack(listed),
        np.column_stack(bagged),
        others,
    )


def reached(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Share of the reachable hits at each rate, ties in proportion."""
    hits = shares(truth, scores, None, RATES) * len(truth)
    return hits / np.minimum(np.ceil(RATES * len(truth)), truth.sum())


def combined(split: Split, used: np.ndarray, head: str) -> np.ndarray:
    """Scores on the list of a combination of some contestants."""
    return _fitted(split, used, head).log_odds(split.listed[:, used])


def _fitted(split: Split, used: np.ndarray, head: str) -> heads.Head:
    known = split.held_out[:, used], split.y, None
    return heads.fit_head(*known, head=head, budget=0.05, seed=0)


def methods(split: Split) -> dict[str, np.ndarray]:
    """Scores on the list, by method."""
    pool = split.pool()
    found = {FOREST: split.best("random forest")}
    for name in RIVALS:
        found[f"{name}, tuned"] = split.best(name, plain=True)
    fitted = _fitted(split, pool, HEAD)
    found[PICK] = fitted.log_odds(split.listed[:, pool])
    found |= split.others
    value = [average_precision(split.y, split.held_out[:, i]) for i in pool]
    found["best single model by the folds"] = split.listed[:, pool[int(np.argmax(value))]]
    for head in heads.HEADS:
        if head != HEAD:
            found[f"head {head}"] = combined(split, pool, head)
    for name in dict.fromkeys(split.families[pool]):
        found[f"{name} alone"] = split.best(name)
        if split.ablated:
            left = pool[split.families[pool] != name]
            found[f"without {name}"] = combined(split, left, HEAD)
    if split.bagged[:, pool].any(axis=0).all():
        found["the models of the folds, averaged"] = fitted.log_odds(split.bagged[:, pool])
    for i in np.setdiff1d(np.arange(len(split.names)), pool) if split.ablated else ():
        name = split.names[i].removeprefix("tried ")
        found[f"with {name}"] = combined(split, np.append(pool, i), HEAD)
    return {name: scores for name, scores in found.items() if scores is not None}


def forecasts(split: Split) -> list[tuple[float, float, float, float, float]]:
    """Rate, expected, low, high and actual hits of the first candidates of the list."""
    # One list a split: lists of one split share the history, and are no new evidence.
    size = min(LISTED, len(split.truth))
    budgets = [max(1, round(rate * size)) for rate in FORECAST_RATES]
    every = np.unique(np.concatenate([forecast_budgets(size, k) for k in budgets]))
    rates = every / size
    race = split.race(rates, 0.05)
    made, folds = combining.combine(race, 0), race.folds
    evidence = Evidence("", "", made.share, 1.0, 0.0)
    view = Outlook(
        (evidence,),
        rates,
        size,
        float(len(split.y)),
        float(split.y.mean()),
        folds.weight,
        folds.ratio,
        folds.first,
    )
    scores = made.head.log_odds(split.listed[:size, split.pool()])
    actual = shares(split.truth[:size], scores, None, np.array(budgets) / size) * size
    held = made.held_out
    likely = calibrate(held.log_odds, held.positive, held.weight)(scores)
    found = []
    for rate, k, hits in zip(FORECAST_RATES, budgets, actual, strict=True):
        forecast, expected = forecast_hits(view, evidence.name, k)
        _, expected = agreed(forecast, expected, k, likely, view.mass)
        found.append((rate, expected.value, expected.low, expected.high, float(hits)))
    return found


def judged(folder: Path) -> dict[str, Any]:
    """Return hits by method and forecasts of a split, from the store where they are there."""
    version = hashlib.sha256()
    for module in (heads, combining, history, comparison, outlook, probability):
        version.update(Path(module.__file__).read_bytes())
    known = repr([sorted(_contestants(sparse)) for sparse in (False, True)])
    version.update(Path(__file__).read_bytes() + known.encode())
    for path in sorted(folder.glob("*.npz")):
        version.update(f"{path.name} {path.stat().st_mtime_ns}".encode())
    kept = folder / "judged.json"
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["version"] == version.hexdigest():
            return dict(found)
    split = read(folder)
    found = {
        "version": version.hexdigest(),
        "hits": {m: reached(split.truth, s).tolist() for m, s in methods(split).items()},
        "forecasts": forecasts(split),
    }
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found
