import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from drawing import draws
from oracles.top import project
from shortlist.top.projections import project_balanced

grid = st.integers(-6, 6).map(lambda i: i / 2)  # ties and exact zeros are common
vectors = hnp.arrays(np.float64, st.integers(1, 7), elements=grid)


def distance(point, a, b):
    return float(np.sum((point[0] - a) ** 2) + np.sum((point[1] - b) ** 2))


def check(a, b, upper=None, cap=None):
    alpha, beta = project_balanced(a, b, upper=upper, cap=cap)
    scale = 1e-9 * (1 + np.abs(a).max() + np.abs(b).max())
    assert (alpha >= 0).all()
    assert (beta >= 0).all()
    assert abs(alpha.sum() - beta.sum()) <= scale * max(len(a), len(b))
    if upper is not None:
        assert (alpha <= upper + scale).all()
    if cap is not None:
        assert (beta <= cap * alpha.sum() + scale).all()
    reference = project(a, b, upper=upper, cap=cap)
    assert distance((alpha, beta), a, b) <= distance(reference, a, b) + 1e-6
    return alpha, beta


@draws(60)
@given(vectors, vectors)
def test_plain(a, b):
    check(a, b)


@draws(60)
@given(vectors, vectors, st.floats(0.1, 4))
def test_bounded(a, b, bound):
    check(a, b, upper=np.full(len(a), bound))


@draws(100)
@given(vectors, vectors, st.data())
def test_capped(a, b, data):
    weight = data.draw(hnp.arrays(np.float64, len(b), elements=st.sampled_from([0.5, 1.0, 2.0])))
    k = data.draw(st.floats(0.5, float(weight.sum())))
    upper = np.full(len(a), 1.5) if data.draw(st.booleans()) else None
    check(a, b, upper=upper, cap=weight / k)


def test_case_where_the_published_code_is_wrong():
    alpha, beta = check(np.array([1.0]), np.array([1.0, -0.5]))
    assert alpha == pytest.approx([1.0])
    assert beta == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("cap", [None, np.array([0.5, 0.5, 0.5])])
def test_zero_where_no_pair_wants_to_be_positive(cap):
    alpha, beta = project_balanced(np.array([-1.0, 0.25]), np.array([-0.5, -0.25, -3.0]), cap=cap)
    assert not alpha.any()
    assert not beta.any()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_free(scale):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=50), rng.normal(size=200)
    cap = np.full(200, 1 / 30)
    for options in ({}, {"cap": cap}):
        one = project_balanced(a, b, **options)
        two = project_balanced(scale * a, scale * b, **options)
        for x, y in zip(one, two, strict=True):
            np.testing.assert_allclose(scale * x, y, rtol=1e-9, atol=1e-12 * scale)


def test_projection_of_a_feasible_point_is_itself():
    alpha, beta = np.array([1.0, 0.0, 2.0]), np.array([0.5, 1.5, 1.0])
    cap = np.full(3, 0.5)
    got = project_balanced(alpha, beta, upper=np.full(3, 2.0), cap=cap)
    np.testing.assert_allclose(got[0], alpha, atol=1e-12)
    np.testing.assert_allclose(got[1], beta, atol=1e-12)


def test_large_random_points_satisfy_the_variational_inequality():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=3000), rng.normal(size=20000) - 1
    cap = np.full(len(b), 1 / 700)
    alpha, beta = project_balanced(a, b, cap=cap)
    # <a - alpha, x - alpha> + <b - beta, y - beta> <= 0 for every feasible (x, y)
    for _ in range(50):
        total = rng.uniform(0, 2 * alpha.sum())
        x = total * rng.dirichlet(np.ones(len(a)))
        top = rng.permutation(len(b))[:700]
        y = np.zeros(len(b))
        y[top] = total / 700
        assert (a - alpha) @ (x - alpha) + (b - beta) @ (y - beta) <= 1e-6 * (1 + total**2)


def test_caps_that_leave_no_feasible_point_are_refused():
    with pytest.raises(ValueError, match="sum to at least 1"):
        project_balanced(np.ones(2), np.ones(2), cap=np.full(2, 0.25))
