"""Replayed lists against plain draws, and whether their intervals hold the truth."""

import numpy as np

from shortlist.picking.replay import Records, Replays, cells_of, replay
from shortlist.picking.selection import Limit, Rule, select


def made(rng, n, k, limited=False, entities=False):
    score = rng.normal(size=n)
    p = 1 / (1 + np.exp(-(2 * score - 2)))
    value = rng.lognormal(0, 0.7, n)
    hit = rng.random(n) < p
    limits = ()
    if limited:
        limits = (
            Limit(
                "region",
                rng.integers(0, 3, n),
                list("abc"),
                np.array([2.0, 0, 0]),
                np.full(3, k / 2),
            ),
        )
    entity = rng.integers(0, n // 3, n) if entities else None
    return p * value, hit * value, hit, Rule(k, entity, limits)


def test_means_are_those_of_plain_draws():
    rng = np.random.default_rng(0)
    gain, outcome, hit, rule = made(rng, 400, 10, limited=True)
    records = Records(gain, outcome, hit.astype(float), np.ones(400), rule)
    cell, n_cells = cells_of(rule, 400)
    replays = replay(records, None, 200, seed=1, replays=600)
    plain = []
    for _ in range(600):
        share = rng.dirichlet(np.ones(400))
        rows = rng.choice(400, 200, p=share)
        chosen = rows[select(gain[rows], rule.take(rows))]
        plain.append(outcome[chosen].sum())
    error = np.hypot(np.std(plain), replays.outcome.std()) / np.sqrt(600)
    assert abs(np.mean(plain) - replays.outcome.mean()) < 4 * error
    fixed = replay(records, np.bincount(cell, minlength=n_cells) // 2, 200, seed=1, replays=200)
    assert abs(np.mean(plain) - fixed.outcome.mean()) < 8 * error


def test_the_interval_holds_the_truth_about_nine_times_in_ten():
    held, trials = {"plain": 0, "limited": 0, "entities": 0}, 60
    for name in held:
        rng = np.random.default_rng(7)
        options = {"limited": name == "limited", "entities": name == "entities"}
        for trial in range(trials):
            gain, outcome, hit, rule = made(rng, 500, 15, **options)
            records = Records(gain, outcome, hit.astype(float), np.ones(500), rule)
            future, brought, _, its_rule = made(rng, 300, 15, **options)
            n = 300 if rule.entity is None else len(np.unique(its_rule.entity))
            replays = replay(records, None, n, seed=trial, replays=80)
            _, low, high = replays.interval(replays.outcome)
            held[name] += low <= brought[select(future, its_rule)].sum() <= high
    for name, count in held.items():
        assert 0.78 <= count / trials <= 0.99, (name, count / trials)


def test_rows_that_are_drawn_often_do_not_crowd_out_a_group():
    gain = np.array([5.0, 1.0])
    limit = Limit("g", np.array([0, 1]), ["a", "b"], np.array([0.0, 3.0]), np.full(2, np.inf))
    records = Records(gain, gain, np.ones(2), np.ones(2), Rule(5, limits=(limit,)))
    replays = replay(records, np.array([1000, 1000]), 2000, seed=0, replays=20)
    assert (replays.outcome == 2 * 5.0 + 3 * 1.0).all()
    assert not replays.one_row_carries_it


def test_one_row_may_carry_the_sum():
    gain = np.r_[1000.0, np.ones(99)]
    records = Records(gain, gain, np.ones(100), np.ones(100), Rule(10))
    assert replay(records, None, 300, seed=0, replays=50).one_row_carries_it is False
    assert replay(records, None, 60, seed=0, replays=50).outcome.min() < 1000


def test_the_interval_of_lists_that_hardly_ever_bring_anything_is_one():
    """Their mean lies above nearly all of them."""
    hits = np.zeros(400)
    hits[:4] = 1.0
    replays = Replays(hits, hits, np.full(400, 30.0), hits)
    mean, low, high = replays.interval(hits, 0.9, 40.0)
    assert low <= mean <= high
