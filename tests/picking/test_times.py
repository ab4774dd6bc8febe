"""Folds in time."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from shortlist import pick
from shortlist.picking.terms.times import as_delay, as_times, time_splits


@given(
    n=st.integers(60, 200),
    length=st.floats(1, 60),
    delay=st.floats(0, 30),
    seed=st.integers(0, 99),
    grouped=st.sampled_from([None, False, True]),
)
def test_nothing_is_learned_from_what_was_not_known(n, length, delay, seed, grouped):
    rng = np.random.default_rng(seed)
    time = rng.uniform(0, 100, n).round(1)
    positive = rng.random(n) < 0.3
    group = None if grouped is None else rng.integers(0, 12, n)
    splits = time_splits(time, positive, length, delay, group=group, only_new=bool(grouped))
    before = -np.inf
    for train, test in splits:
        assert time[train].max() + delay <= time[test].min()
        assert 0 < positive[train].sum() < len(train)
        assert time[test].min() > before
        before = time[test].max()
        if group is not None:
            assert not set(group[train]) & set(group[test])
    if splits and not grouped:
        assert splits[-1][1].max() == np.flatnonzero(time == time.max()).max() or (
            time[splits[-1][1]].max() == time.max()
        )


def test_times_of_many_kinds_agree():
    moment = datetime(2024, 5, 31, 12)
    kinds = [
        [moment],
        ["2024-05-31T12:00:00"],
        ["2024-05-31 12:00"],
        pd.Series([moment]),
        np.array([moment], dtype="datetime64[ns]"),
        ["2024-05-31T14:00:00+02:00"],
    ]
    seconds = [as_times(kind)[0][0] for kind in kinds]
    assert len(set(seconds)) == 1
    numbers, calendar = as_times([3, 1])
    assert numbers.tolist() == [3.0, 1.0]
    assert not calendar


@pytest.mark.parametrize(
    "delay",
    ["7d", "7 days", "1 week", "7", 7, timedelta(days=7), np.timedelta64(7, "D"), "168 h"],
)
def test_delays_of_many_kinds_agree(delay):
    assert as_delay(delay, calendar=True) == 7 * 86_400


@pytest.mark.parametrize("delay", ["a week", -1, float("nan"), True, "7m", "-7d", "-7", "nan"])
def test_a_bad_delay_is_named(delay):
    with pytest.raises(ValueError, match=r"delay must be a number of days.*got delay="):
        as_delay(delay, calendar=True)


def test_a_time_that_does_not_parse_is_named():
    with pytest.raises(ValueError, match="time holds 'soon' in row 1"):
        as_times(["2024-01-01", "soon"])
    with pytest.raises(ValueError, match="no time in row 1"):
        as_times([1.0, np.nan])


def test_no_hit_in_the_windows_does_not_promise_that_there_is_none():
    """Hits that no window could have foreseen leave an interval above zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    # The only hits look like nothing in particular, and their windows' lists miss them.
    y = np.zeros(400, dtype=bool)
    y[[3, 60, 90, 130, 160, 200]] = True
    hours = np.arange(450.0)
    found = pick(
        X, y, rng.normal(size=(50, 2)), 5, time=(hours[:400], hours[400:]),
        models={"logistic regression": LogisticRegression()},
    )  # fmt: skip
    expected = found.expected_hits
    assert expected.low <= expected.value <= expected.high
    assert expected.high >= 1.0
