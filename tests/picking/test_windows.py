"""Lists of the past, and their trend in words."""

import numpy as np
import pytest

from shortlist.picking.terms.replay import Records, replay
from shortlist.picking.terms.selection import Limit, Rule, select
from shortlist.picking.terms.windows import Window, levelled, past_windows, stretch, trend

WEEK = 7 * 86_400.0


def windows(*hits, taken=100):
    return tuple(
        Window(i * WEEK, (i + 1) * WEEK, 1000, taken, h, h, np.sqrt(h * (100 - h) / 1e6))
        for i, h in enumerate(hits)
    )


def test_every_window_is_the_same_rule_on_its_rows():
    rng = np.random.default_rng(0)
    n = 300
    gain, fold = rng.random(n), rng.integers(0, 3, n)
    hit = (rng.random(n) < gain).astype(float)
    entity = rng.integers(0, 60, n) * 3 + fold
    region = Limit("region", rng.integers(0, 2, n), ["a", "b"], np.zeros(2), np.full(2, 6.0))
    rule = Rule(10, entity, (region,))
    records = Records(gain, 2 * hit, hit, np.ones(n), rule)
    time = fold * 10.0 + rng.random(n)
    found = past_windows(records, fold, time, 0.2)
    assert len(found) == 3
    for number, window in enumerate(found):
        rows = np.flatnonzero(fold == number)
        units = len(np.unique(entity[rows]))
        k = round(0.2 * units)
        here = rule.take(rows)
        part = Limit("region", here.limits[0].group, ["a", "b"], np.zeros(2),
                     np.ceil(np.full(2, 6.0) * k / 10))  # fmt: skip
        chosen = rows[select(gain[rows], Rule(k, here.entity, (part,)))]
        assert (window.rows, window.taken) == (units, len(chosen))
        assert window.hits == hit[chosen].sum()
        assert window.gain == 2 * hit[chosen].sum()
        assert number * 10 <= window.begin <= window.end < number * 10 + 1


@pytest.mark.parametrize(
    ("hits", "words"),
    [
        ((81, 74, 64), "Precision fell from 0.81 to 0.64 in 21 days."),
        ((40, 60, 80), "Precision rose from 0.40 to 0.80 in 21 days."),
        ((60, 62, 59, 61), "Precision was 0.59 to 0.62 in 4 windows of the past, without a trend."),
    ],
)
def test_a_trend_is_told_where_there_is_one(hits, words):
    assert trend(windows(*hits), calendar=True, numeric=False) == [words]


def test_one_window_has_no_trend():
    assert trend(windows(50), calendar=True, numeric=False) == []
    assert trend(windows(50, 60, taken=0), calendar=True, numeric=False) == []


def test_intervals_widen_only_where_windows_differ_by_more_than_luck():
    rng = np.random.default_rng(0)
    replayed = rng.normal(50, 5, 400)
    assert stretch(replayed, []) == stretch(replayed, [50.0]) == 1.0
    assert stretch(replayed, [50.0, 52.0, 49.0]) == 1.0
    wide = stretch(replayed, [20.0, 50.0, 80.0])
    # Half the square of 60, four thirds, Student's quantile of two degrees of freedom.
    assert wide == pytest.approx(np.sqrt(1800 * 4 / 3) / 5 * 2.92 / 1.645, rel=0.1)
    assert stretch(replayed, [20.0, 50.0, 80.0], 2) == pytest.approx(wide * np.sqrt(9 / 8))


def test_lists_of_a_new_window_lie_inside_nine_times_in_ten():
    """Windows whose level wanders: the interval has to follow."""
    held, trials = 0, 400
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        level = 50 + 12 * rng.normal(size=7)
        seen = level + 5 * rng.normal(size=7)
        replayed = seen[:6].mean() + 5 * rng.normal(size=400)
        half = 1.645 * 5 * stretch(replayed, seen[:6].tolist())
        held += abs(seen[6] - seen[:6].mean()) <= half
    assert 0.86 <= held / trials <= 0.97


def test_campaigns_that_outlast_a_window_are_allowed_for():
    """Neighbouring windows share their campaign: their plain variance says too little."""
    held, plain, trials = 0, 0, 400
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        # Each campaign lasts four windows; the list that is asked for comes one window later.
        level = np.convolve(rng.normal(0, 12, size=11), np.ones(4) / 2, mode="valid")
        seen = 50 + level + 5 * rng.normal(size=8)
        past, centre = seen[1:6], seen[3:6].mean()
        replayed = centre + 5 * rng.normal(size=400)
        away = abs(seen[7] - centre)
        held += away <= 1.645 * 5 * stretch(replayed, past.tolist(), 3)
        plain += away <= 2.132 * np.sqrt(past.var(ddof=1) * 1.2)
    assert plain / trials < 0.85
    assert 0.87 <= held / trials <= 0.97


def test_levelled_gains_are_those_of_all_rows_at_the_same_place():
    rng = np.random.default_rng(0)
    fold = rng.integers(0, 3, 90)
    weight = rng.integers(1, 4, 90).astype(float)
    gain = rng.normal(size=90) * (1 + fold) + 5 * fold
    found = levelled(gain, fold, weight)

    def above(rows, row):
        return (weight[rows] @ (gain[rows] > gain[row]) + 0.5 * weight[row]) / weight[rows].sum()

    everyone = np.arange(90)
    places = np.array([above(everyone, row) for row in everyone])
    order = np.argsort(places)
    for row in everyone:
        place = above(np.flatnonzero(fold == fold[row]), row)
        assert found[row] == pytest.approx(np.interp(place, places[order], gain[order]))
    for number in range(3):
        rows = np.flatnonzero(fold == number)
        assert (np.diff(found[rows][np.argsort(gain[rows])]) >= 0).all()


def test_a_bold_model_does_not_fill_the_lists_of_all_windows():
    """Two windows of the same quality; the scores of one are ten times those of the other."""
    rng = np.random.default_rng(0)
    fold = np.repeat([0, 1], 500)
    hit = np.tile(rng.random(500) < 0.1, 2).astype(float)
    hit[500:] *= rng.random(500) < 0.3
    gain = (hit + rng.normal(size=1000)) * np.where(fold == 0, 10.0, 1.0)
    records = Records(gain, hit, hit, np.ones(1000), Rule(40))
    own = [window.hits for window in past_windows(records, fold, 1.0 * fold, 0.08)]
    mixed = records.ranked_by(levelled(gain, fold, records.weight))
    drawn = {name: replay(r, None, 500, seed=0) for name, r in (("raw", records), ("level", mixed))}
    assert abs(drawn["level"].hits.mean() - np.mean(own)) < 1.0
    assert abs(drawn["raw"].hits.mean() - np.mean(own)) > 2.0
