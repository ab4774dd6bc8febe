"""Sums over implicit pairs against the pairs themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from oracles.ranking import pair_sums, pairs
from shortlist import _core
from shortlist._losses import LOSSES
from shortlist.pairs.plan import chances, plan_pairs
from shortlist.pairs.problem import PairProblem
from shortlist.pairs.spaces import LinearSpace, Point


def make_problem(y, group=None, weight=None, max_rank_distance=None, **options):
    y = np.asarray(y, dtype=float)
    group = np.zeros(len(y), dtype=int) if group is None else np.asarray(group)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    space = LinearSpace.of(np.zeros((len(y), 1)))
    arguments = {"C": 1.0, "loss": LOSSES["hinge"], "normalize": False, **options}
    return PairProblem(space, y, group, weight, max_rank_distance=max_rank_distance, **arguments)


def scored(problem, f):
    """A model with given scores."""
    return Point(problem.space, np.zeros(problem.space.size), f)


def check_sums(problem, f, width, values):
    listed = pairs(problem.y, problem.group, problem.max_rank_distance)
    expected = pair_sums(listed, problem.weight, f, width, values)
    vertex, clipped, curved, degree = np.zeros((4, len(f)))
    totals = _core.violation_sums(
        *problem.plan.arrays, problem.weight, f, width, vertex, clipped, curved, degree
    )
    partners = problem.partners(f, width, values)
    for got, want in zip(
        (vertex, clipped, curved, degree, partners, *totals), expected, strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@st.composite
def cases(draw):
    n = draw(st.integers(2, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    y = random.integers(0, draw(st.sampled_from([2, 3, 10, 1000])), n).astype(float)
    group = random.integers(0, draw(st.sampled_from([1, 1, 2, 7])), n)
    weight = random.choice([0.5, 1.0, 2.0, 3.0], n)
    # Half-integers make violations of exactly 0 and exactly the width.
    scores = draw(st.sampled_from(["normal", "ties", "wide", "flat"]))
    f = {
        "normal": random.normal(size=n),
        "ties": random.integers(-4, 5, n) / 2.0,
        "wide": 100.0 * random.normal(size=n),
        "flat": np.zeros(n),
    }[scores]
    width = draw(st.sampled_from([np.inf, 2.0, 0.5, 1e-3]))
    distance = draw(st.sampled_from([None, None, 1, 2, 3, 16]))
    return y, group, weight, f, width, distance, random.normal(size=(n, 2))


@draws(300)
@given(cases())
def test_sums_are_those_of_the_explicit_pairs(case):
    y, group, weight, f, width, distance, values = case
    check_sums(make_problem(y, group, weight, distance), f, width, values)


@pytest.mark.parametrize("distance", [None, 5])
@pytest.mark.parametrize("levels", [2, 5, 10**9])
def test_long_lists_take_the_radix_sort_and_many_splits(levels, distance):
    random = np.random.default_rng(0)
    n = 520  # the radix sort begins at 512
    y = random.integers(0, levels, n)
    f = np.where(random.random(n) < 0.2, -0.0, random.normal(size=n)) * 10.0 ** random.integers(
        -3, 2, n
    )
    check_sums(make_problem(y, max_rank_distance=distance), f, 0.5, random.normal(size=(n, 1)))


@draws(200)
@given(cases())
def test_plan_holds_every_pair_once(case):
    y, group, _, _, _, distance, _ = case
    plan = plan_pairs(y, group, distance)
    listed = []
    for begin, end in zip(plan.start[:-1], plan.start[1:], strict=True):
        items = range(begin, end)
        assert all(plan.key[p] <= plan.key[p + 1] for p in items[:-1])
        listed += [
            (plan.row[i], plan.row[j])
            for i in items
            for j in items
            if plan.key[i] > plan.key[j] and plan.role[i] & 1 and plan.role[j] & 2
        ]
    assert sorted(listed) == sorted(pairs(y, group, distance))


def test_laplacian_is_the_second_derivative():
    random = np.random.default_rng(1)
    problem = make_problem(random.integers(0, 4, 30), weight=random.integers(1, 4, 30))
    f, direction, h = random.normal(size=30), random.normal(size=30), 1e-6
    up, down = (problem.sums(scored(problem, f + s * h * direction), 0.5).net for s in (1, -1))
    degree = problem.sums(scored(problem, f), 0.5).degree
    product = problem.laplacian(f, 0.5, direction, degree)
    np.testing.assert_allclose(problem.laplacian(f, 0.5, direction), product, rtol=1e-12)
    np.testing.assert_allclose(product, (down - up) / (2 * h), rtol=1e-4, atol=1e-4)


@draws(60)
@given(st.integers(2, 40), st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 2.0]))
def test_rows_with_a_curved_pair_have_the_whole_second_derivative(n, seed, width):
    random = np.random.default_rng(seed)
    weight, group = random.integers(1, 4, n).astype(float), random.integers(0, 3, n)
    terms = (random.integers(0, 3, n).astype(float), group, weight, 2.0, LOSSES["hinge"])
    whole = PairProblem(LinearSpace.of(random.normal(size=(n, 5))), *terms)
    sums = whole.sums(Point(whole.space, random.normal(size=5)), width)
    part, its_sums = whole.curved(sums)
    step = random.normal(size=5)
    curved, product = part.bend(its_sums, Point(part.space, step))
    wanted, wanted_product = whole.bend(sums, Point(whole.space, step))
    np.testing.assert_allclose(curved.u, wanted.u, rtol=1e-9, atol=1e-9 * abs(wanted.u).max())
    assert product == pytest.approx(wanted_product, rel=1e-9)
    assert part is whole or len(part.y) == np.count_nonzero(sums.degree)


def test_rows_are_not_set_apart_where_others_would_become_neighbours():
    y = np.arange(20.0)
    problem = make_problem(y, max_rank_distance=1)
    sums = problem.sums(scored(problem, np.where(y < 4, 0.95 * y, 100.0 * y)), 0.1)
    assert 0 < np.count_nonzero(sums.degree) < 10
    assert problem.curved(sums)[0] is problem


def test_normalised_weight_is_c_per_compared_row():
    y, group = [0, 1, 2, 5], [0, 0, 0, 1]
    problem = make_problem(y, group, C=2.0, normalize=True)
    assert problem.n_pairs == 3
    assert problem.c == pytest.approx(2.0 * 3 / 3)
    assert problem.value_at_zero == pytest.approx(2.0 * 3)


def test_part_of_a_problem_weighs_as_much_as_the_whole():
    problem = make_problem(np.arange(50.0))
    part = problem.take(np.arange(0, 50, 5))
    assert part.value_at_zero == pytest.approx(problem.value_at_zero)


@given(
    sizes=st.lists(st.sampled_from([0.0, 0.1, 1.0, 50.0]), min_size=1, max_size=40),
    count=st.integers(1, 40),
)
def test_chances_add_up(sizes, count):
    sizes = np.array(sizes)
    found = chances(sizes, count)
    assert (found[sizes == 0.0] == 0.0).all()
    assert ((found >= 0.0) & (found <= 1.0)).all()
    assert found.sum() == pytest.approx(min(count, np.count_nonzero(sizes)))
    unsure = (found > 0.0) & (found < 1.0)
    if unsure.any():
        ratio = found[unsure] / sizes[unsure]
        np.testing.assert_allclose(ratio, ratio[0])


def test_a_sample_keeps_the_rare_grade_and_the_weight_of_all_pairs():
    n = 4000
    problem = make_problem(np.arange(n) < 60)
    part = problem.sample(400)
    assert part.y.sum() == 60
    assert 300 < len(part.y) < 500
    assert part.value_at_zero == pytest.approx(problem.value_at_zero)
    # Rows stand for as many as they were drawn from.
    assert part.weight.sum() == pytest.approx(n, rel=0.1)
