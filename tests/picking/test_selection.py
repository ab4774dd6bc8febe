"""The best list under rules, against all lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from drawing import draws
from oracles.lists import all_lists, value_of
from shortlist.picking.terms.selection import InfeasibleError, Limit, Rule, select


def keeps(rows, rule):
    """Whether a list keeps the rule, said as plainly as possible."""
    if len(rows) > rule.k:
        return False
    if rule.entity is not None and len(set(rule.entity[rows])) < len(rows):
        return False
    for limit in rule.limits:
        for g in range(len(limit.labels)):
            held = int((limit.group[rows] == g).sum())
            if not limit.least[g] <= held <= limit.most[g]:
                return False
    return True


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))
    gain = np.array(draw(st.lists(st.integers(-3, 6), min_size=n, max_size=n)), dtype=float)
    k = draw(st.integers(1, n))
    entity = None
    if draw(st.booleans()):
        entity = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    limits = []
    for number in range(draw(st.integers(0, 2))):
        group = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
        least = np.array(draw(st.lists(st.integers(0, 1), min_size=3, max_size=3)), dtype=float)
        room = draw(st.lists(st.sampled_from([0, 1, 2, np.inf]), min_size=3, max_size=3))
        limits.append(Limit(f"g{number}", group, ["a", "b", "c"], least, least + np.array(room)))
    allowed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    allowed[draw(st.integers(0, n - 1))] = True
    return gain, Rule(k, entity, tuple(limits), fill=draw(st.booleans())), allowed


@given(problems())
@draws(300)
def test_no_list_is_better(problem):
    gain, rule, allowed = problem
    best = max(
        (
            value_of(gain, rows, rule.fill)
            for rows in all_lists(np.flatnonzero(allowed), rule.k)
            if keeps(rows, rule)
        ),
        default=None,
    )
    if best is None:
        with pytest.raises(InfeasibleError, match=r"g[01]=|limits"):
            select(gain, rule, allowed)
        return
    found = select(gain, rule, allowed)
    assert allowed[found].all()
    assert keeps(found, rule)
    assert value_of(gain, found, rule.fill) == best
    assert (np.diff(gain[found]) <= 0).all()


def programme(gain, rule):
    """The same question as one plain integer programme over all rows, for longer lists."""
    n = len(gain)
    rows, low, high = [np.ones(n)], [-np.inf], [rule.k]
    for e in np.unique(rule.entity) if rule.entity is not None else ():
        rows.append((rule.entity == e).astype(float))
        low.append(-np.inf)
        high.append(1)
    for limit in rule.limits:
        for g in range(len(limit.labels)):
            rows.append((limit.group == g).astype(float))
            low.append(limit.least[g])
            high.append(limit.most[g])
    solved = milp(
        -gain,
        constraints=LinearConstraint(np.array(rows), low, high),
        integrality=np.ones(n),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return None if solved.x is None else -solved.fun


@pytest.mark.parametrize("seed", range(40))
def test_value_and_limits_against_an_integer_programme(seed):
    """Gains p v - c of 60 rows, up to three groupings, entities that lie in several groups."""
    rng = np.random.default_rng(seed)
    n, k = 60, int(rng.integers(1, 25))
    gain = rng.random(n) * rng.lognormal(3, 1, n) - rng.choice([0.0, 10.0])
    entity = rng.integers(0, 40, n) if seed % 2 else None
    limits = []
    for number in range(seed % 4):
        groups = int(rng.integers(2, 6))
        least = rng.integers(0, 2, groups).astype(float)
        most = least + rng.choice([0, 1, 3, np.inf], groups)
        group = rng.integers(0, groups, n)
        limits.append(Limit(f"g{number}", group, list(range(groups)), least, most))
    rule = Rule(k, entity, tuple(limits), fill=False)
    best = programme(gain, rule)
    if best is None:
        with pytest.raises(InfeasibleError, match=r"g\d="):
            select(gain, rule)
        return
    found = select(gain, rule)
    assert keeps(found, rule)
    assert gain[found].sum() == pytest.approx(best, rel=1e-9, abs=1e-6)


def test_rows_without_gain_do_not_fill_the_list():
    gain = np.array([2.0, -1.0, 0.0, 1.0])
    assert select(gain, Rule(4, fill=False)).tolist() == [0, 3]
    assert select(gain, Rule(4)).tolist() == [0, 3, 2, 1]


def test_a_large_list_with_two_groupings_is_exact():
    rng = np.random.default_rng(0)
    n = 3000
    gain = rng.normal(size=n)
    region = Limit("region", rng.integers(0, 4, n), list("nesw"), np.zeros(4), np.full(4, 10.0))
    size = Limit(
        "size", rng.integers(0, 2, n), ["small", "large"], np.array([25.0, 0]), np.full(2, np.inf)
    )
    found = select(gain, Rule(40, limits=(region, size)))
    assert keeps(found, Rule(40, limits=(region, size)))
    # Every region is full, so the list is at most as good as without the second limit.
    free = select(gain, Rule(40, limits=(region,)))
    assert gain[found].sum() <= gain[free].sum() + 1e-9
    assert len(found) == 40


@pytest.mark.parametrize(
    ("least", "most", "k", "words"),
    [
        ([3, 0], [np.inf, np.inf], 5, "at least 3 of region=north: there are 2"),
        ([2, 2], [np.inf, np.inf], 3, "together 4, and the budget is 3"),
    ],
)
def test_impossible_limits_are_named(least, most, k, words):
    group = np.array([0, 0, 1, 1, 1])
    limit = Limit(
        "region", group, ["north", "south"], np.array(least, float), np.array(most, float)
    )
    with pytest.raises(InfeasibleError, match=words):
        select(np.ones(5), Rule(k, limits=(limit,)))
