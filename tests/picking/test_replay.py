"""Replayed lists against plain draws, and whether their intervals hold the truth."""

from dataclasses import replace

import numpy as np
import pytest

from shortlist.picking.terms.replay import Records, Replays, cells_of, replay
from shortlist.picking.terms.selection import Limit, Rule, select


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_redrawing_does_not_lower_what_a_limited_list_brings():
    """Over many histories, the forecast of a list whose bound binds is what such lists bring."""

    def rows(rng, n):
        score, group = rng.random(n), rng.integers(0, 12, n)
        return score, (rng.random(n) < score**2).astype(float), group

    def rule(group):
        return Rule(
            36, limits=(Limit("g", group, list(range(12)), np.zeros(12), np.full(12, 3.0)),)
        )

    rng = np.random.default_rng(0)
    brought, plain, corrected = [], [], []
    for trial in range(150):
        score, hit, group = rows(rng, 120)
        records = Records(score, hit, hit, np.ones(120), rule(group))
        now, truth, groups = rows(rng, 120)
        brought.append(truth[select(now, rule(groups))].sum())
        redrawn = replay(records, None, 120, seed=trial, replays=40)
        as_it_is = replay(records, None, 120, seed=trial, replays=40, redrawn=False)
        plain.append(redrawn.hits.mean())
        corrected.append(redrawn.corrected(as_it_is).hits.mean())
    error = np.std(np.subtract(corrected, brought)) / np.sqrt(150)
    assert abs(np.mean(corrected) - np.mean(brought)) < 2 * error
    assert np.mean(plain) < np.mean(brought) - 2 * error


def test_few_rows_that_carry_the_sum_are_counted():
    outcome = np.r_[np.full(20, 5.0), np.zeros(180)]
    gain = np.arange(200.0)[::-1]
    records = Records(gain, outcome, outcome / 5, np.ones(200), Rule(20))
    even = replay(records, None, 200, seed=0)
    assert 15.0 < even.effective <= 20.0
    assert 1.04 < even.few_rows < 1.06  # Student's quantile of about 18 degrees of freedom
    outcome = np.r_[1e6, outcome[1:]]
    uneven = replay(replace(records, outcome=outcome), None, 200, seed=0)
    assert uneven.effective < 1.01
    assert uneven.few_rows > 3.0


@pytest.mark.slow
def test_sums_with_heavy_tails_are_inside_nine_times_in_ten():
    """Amounts of which a few carry the sum, from a short history."""

    def rows(rng, n):
        score, value = rng.random(n), rng.lognormal(0.0, 1.2, n)
        return score * value, (rng.random(n) < score) * value

    held, plain, trials = 0, 0, 150
    rng = np.random.default_rng(3)
    for trial in range(trials):
        gain, outcome = rows(rng, 200)
        records = Records(gain, outcome, (outcome > 0) * 1.0, np.ones(200), Rule(15))
        now, brought = rows(rng, 200)
        actual = brought[select(now, Rule(15))].sum()
        replays = replay(records, None, 200, seed=trial, replays=100)
        _, low, high = replays.interval(replays.outcome)
        plain += low <= actual <= high
        _, low, high = replays.interval(replays.outcome, stretch=replays.few_rows)
        held += low <= actual <= high
    assert plain <= held
    assert 0.84 <= held / trials <= 0.96
