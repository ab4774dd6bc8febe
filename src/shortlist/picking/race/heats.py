"""The heat before the race: on a long history few rows tell who is worth fitting to many.

Every contestant learns from a sample of a fold's training part and scores rows of its test
part. The head that will combine the members weighs these scores. The families that move the
combined score most race, each with one setting: the first of its family that moves it half as
much as the strongest, because settings that suit many rows come first, and few rows favour the
cautious ones. The yardstick always races. Rare positives are all taken, up to a hundred: a
heat chooses between models and forecasts nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .history import thinned
from .race import Race, run_race

# Rows that a heat learns from, and families that it lets through, at most.
ROWS = {"quick": 2_000, "normal": 3_000, "thorough": 10_000}
FAMILIES = {"quick": 2, "normal": 3, "thorough": 6}
# Rows that it is judged on, at most.
_JUDGED = 10_000
# Rows of either class to learn from, and to be judged on, where there are as many.
_LEAST = 100


def run_heat(race: Race, effort: str, seed: int) -> tuple[Race, dict[str, str]]:
    """Return the race of those who are left, and the families left out with the reason.

    Parameters
    ----------
    race : Race
        All contestants, before the start. The last fold lends its rows: with times, the
        latest.
    effort : "quick", "normal" or "thorough"
        How many rows are learned from, and how many families are left.
    seed : int
        Of the sample, and of the head.
    """
    history, splits = race.history, race.folds.splits
    last = race.folds.rounds()[-1]
    tested = np.concatenate([splits[fold][1] for fold in last])
    learn = thinned(history.positive, splits[last[0]][0], ROWS[effort], seed, _LEAST)
    test = thinned(history.positive, tested, _JUDGED, seed, _LEAST)
    if len(np.unique(history.positive[test])) < 2:
        return race, {}
    track = replace(race.folds, splits=[(learn, test)], first=1)
    heat = replace(race, folds=track, runs={}, failed={})
    run_race(heat, None, None)
    members = heat.finishers()
    scores = heat.scores(members, 0)
    head = history.head(test, scores, race.rate, seed)
    moved = np.abs(head.weights * head.slopes) * scores.std(axis=0)
    settings: dict[str, dict[int, float]] = {}
    for i, share in zip(members, moved, strict=True):
        settings.setdefault(race.models[i].family, {})[i] = float(share)
    del settings[race.models[0].family]
    order = sorted(settings, key=lambda family: -sum(settings[family].values()))
    left = [family for family in order[: FAMILIES[effort]] if any(settings[family].values())]
    kept = {0} | {
        next(i for i, s in settings[family].items() if s >= 0.5 * max(settings[family].values()))
        for family in left
    }
    why = f"outdone in a heat on {len(learn):,} rows"
    gone = {
        model.family: heat.failed.get(i, why)
        for i, model in enumerate(race.models)
        if model.family not in left and not model.is_baseline
    }
    return replace(race, models=[race.models[i] for i in sorted(kept)]), gone
