"""The simulator of payments."""

import numpy as np
import pytest

from shortlist.datasets import make_transactions


@pytest.fixture(scope="module")
def made():
    return make_transactions(n_cards=60, n_terminals=80, days=40, random_state=3)


def test_the_seed_decides(made):
    X, y = made
    again, y2 = make_transactions(n_cards=60, n_terminals=80, days=40, random_state=3)
    assert X.equals(again)
    assert (y == y2).all()
    assert not np.array_equal(make_transactions(60, 80, 40, random_state=4)[1], y)


def test_windows_are_those_of_a_plain_count(made):
    X, y = made
    at = X["booked_at"].to_numpy()
    rng = np.random.default_rng(0)
    for i in rng.choice(len(X), 60, replace=False):
        for days in (1, 7, 30):
            span = np.timedelta64(days, "D")
            same = (X["card"] == X["card"][i]).to_numpy()
            mine = same & (at > at[i] - span) & (np.arange(len(X)) <= i)
            assert X[f"card_payments_{days}d"][i] == mine.sum()
            ended = at[i] - np.timedelta64(7, "D")
            shop = (X["terminal"] == X["terminal"][i]).to_numpy()
            known = shop & (at > ended - span) & (at <= ended)
            assert X[f"terminal_payments_{days}d"][i] == known.sum()
            share = y[known].mean() if known.any() else 0.0
            assert X[f"terminal_fraud_{days}d"][i] == pytest.approx(share, abs=1e-4)


def test_campaigns_last(made):
    X, y = made
    assert 0 < y.mean() < 0.2
    assert y[(X["amount"] > 1100).to_numpy()].all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_cards must be an integer at least 1, got n_cards=0"):
        make_transactions(n_cards=0)
