"""Drift: noticed, named, weighed for where it can be and refused where it cannot."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from picking.made import rows
from shortlist import pick
from shortlist.picking.drift import LEVEL, _area, changed_columns, find_drift, no_drift
from shortlist.picking.history import Candidates, check_history
from shortlist.picking.models import default_features
from shortlist.picking.subject import subject_of

MODELS = {"logistic regression": LogisticRegression()}


def table(n, rng):
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "other": rng.normal(size=n),
            "city": rng.choice(["Lyon", "Porto", "Graz"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.loc[rng.random(n) < 0.1, "other"] = np.nan
    return frame


def judged(history, candidates, seed=0):
    known = check_history(history, np.arange(len(history)) % 2 == 0, None, None, None)
    transformer = default_features(history).fit(history)
    pool = Candidates(candidates, known.X)
    return find_drift(known, candidates, subject_of(pool, transformer), seed)


def moved(n, centre, seed):
    """Hits depend on the row only; candidates may come from another part of the space."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 0] += centre
    return X, rng.random(n) < expit(1.6 * X[:, 0] + 1.2 * X[:, 1] - 1.5)


@pytest.fixture
def both():
    rng = np.random.default_rng(0)
    return table(600, rng), table(400, rng), rng


@pytest.mark.slow
def test_no_alarm_without_drift():
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        alarms += judged(table(200, rng), table(120, rng), seed).found
    # At most 5 % of cases; of 20, four or more have a chance below 2 %.
    assert alarms <= 3


def test_the_area_of_a_random_order():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], [40, 25])
    drawn = np.array([_area(rng.integers(0, 9, 65).astype(float), label) for _ in range(2000)])
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert drawn[:, 1].mean() == pytest.approx(drawn[:, 0].var(), rel=0.1)


def test_a_moved_column_is_named(both):
    history, candidates, _ = both
    candidates["size"] += 0.8
    found = judged(history, candidates)
    assert found.found
    assert found.columns[0].startswith("size: usually")
    assert "size: usually" in " ".join(found.sentences())


def test_a_wider_column_is_named(both):
    history, candidates, _ = both
    candidates["size"] *= 2.2
    assert judged(history, candidates).columns[0].startswith("size: spread 2")


def test_values_never_seen_are_counted(both):
    history, candidates, rng = both
    candidates.loc[rng.random(400) < 0.6, "city"] = "Oslo"
    (text, *_) = judged(history, candidates).columns
    assert text.startswith("city: ")
    assert text.endswith("% of the candidates have values never seen")


def test_gaps_are_named(both):
    history, candidates, rng = both
    candidates.loc[rng.random(400) < 0.4, "other"] = np.nan
    assert judged(history, candidates).columns[0].startswith("other: missing in 4")


def test_columns_that_go_together_differently(both):
    history, candidates, rng = both
    candidates["other"] = candidates["size"] + 0.3 * rng.normal(size=400)
    candidates["other"] *= 1 / np.sqrt(1.09)
    candidates.loc[rng.random(400) < 0.1, "other"] = np.nan
    found = judged(history, candidates)
    assert found.found
    assert found.columns == []
    assert "how they go together" in found.sentences()[0]


def test_names_that_are_all_different_are_no_drift():
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"name": [f"a{i}" for i in range(300)], "x": rng.normal(size=300)})
    new = pd.DataFrame({"name": [f"b{i}" for i in range(300)], "x": rng.normal(size=300)})
    smallest, columns = changed_columns(old, new, ["name", "x"])
    assert smallest > LEVEL
    assert columns == []


def test_the_forecast_follows_the_candidates():
    off, weighed = [], []
    for seed in range(4):
        X, y = moved(900, 0.0, seed)
        candidates, hit = moved(500, -0.8, 50 + seed)
        found = pick(X, y, candidates, 50, models=MODELS, random_state=seed)
        assert found.drift.found
        assert found.drift.weight is not None
        assert 30 < found.drift.effective < 900
        assert "rests on" in found.verdict
        actual = hit[found.selected].sum()
        weighed.append(found.expected_hits.low <= actual <= found.expected_hits.high)
        off.append(found.comparison.winner.hits - actual)
    assert sum(weighed) >= 3
    # The folds, weighted: not the many hits that the history would promise.
    assert np.mean(off) < 8


def test_far_away_there_is_no_forecast():
    X, y = moved(600, 0.0, 0)
    candidates, _ = moved(300, -6.0, 1)
    found = pick(X, y, candidates, 30, models=MODELS)
    assert found.drift.refused is not None
    assert "No forecast:" in found.verdict
    assert (found.expected_hits.low, found.expected_hits.high) == (0.0, 30.0)
    assert found.at(10).expected_hits.high == 10.0


def test_groups_and_few_rows_are_not_tested():
    X, y = rows(200, 0)
    grouped = pick(X, y, rows(80, 1)[0] + 5, 8, models=MODELS, groups=np.arange(200) // 4)
    assert not grouped.drift.found
    assert np.isnan(grouped.drift.p_value)
    few = pick(X, y, rows(8, 1)[0], 2, models=MODELS)
    assert not few.drift.found
    assert no_drift(3.0).sentences() == []
