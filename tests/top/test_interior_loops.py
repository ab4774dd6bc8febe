"""The compiled vector loops of an interior step against their formulas."""

import itertools

import numpy as np
import pytest

from shortlist import _core

# Shorter and longer than what is added up side by side, and than what is looked at in one go.
SIZES = [1, 7, 8, 31, 32, 33, 100, 70_001]


def arrays(n, count):
    rng = np.random.default_rng(n)
    return np.exp(rng.normal(size=(count, n)))


def given(values, *flags):
    return [value if flag else None for value, flag in zip(values, flags, strict=True)]


def or_zero(value):
    return 0.0 if value is None else value


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("bent", "own"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_weights(n, sign, bent, own):
    a, b, scores, *some = arrays(n, 5)
    per, extra = given(some, bent, own)
    D, residual = np.empty((2, n))
    total = _core.row_weights(a, b, scores, sign, 0.7, per, extra, D, residual)
    slack = or_zero(extra) if own else or_zero(per) * a
    np.testing.assert_allclose(D, 1.0 / (b / a + or_zero(per)), rtol=1e-13)
    np.testing.assert_allclose(residual, sign * (scores - 0.7) + slack - b, atol=1e-12)
    np.testing.assert_allclose(total, D.sum(), rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("other", [True, False])
def test_goals(n, corrected, other):
    a, b, weight, da, db, residual, D, last = arrays(n, 8)
    da, db = given((da, db), corrected, corrected)
    goal = 0.3 * weight - a * b - 0.8 * (or_zero(da) * or_zero(db))
    terms = (a, b, weight, 0.3, da, db, 0.8)
    shift, f, Df = np.empty((3, n))
    _core.row_shift(*terms, residual if other else None, shift)
    left = residual if other else 0.0
    np.testing.assert_allclose(shift, (goal - b * left) / a, rtol=1e-11, atol=1e-11)
    total = _core.row_rest(*terms, residual, last if other else None, D, f, Df)
    apart = last if other else 0.0
    np.testing.assert_allclose(f, goal / a - residual - apart, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(Df, D * f)
    np.testing.assert_allclose(total, Df.sum(), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("flags", list(itertools.product([True, False], repeat=3)))
def test_step(n, flags):
    ds, D, f, residual, *some = arrays(n, 7)
    h, shift, per = given(some, *flags)
    da, db, d_extra = np.empty((3, n))
    for sign in (1.0, -1.0):
        _core.row_step(ds, sign, 0.4, D, f, residual, h, 0.6, shift, per, da, db, d_extra)
        move = sign * (ds - 0.4)
        expected = D * (f + or_zero(h) * 0.6 - move)
        extra = or_zero(shift) - or_zero(h) * 0.6 + or_zero(per) * expected
        np.testing.assert_allclose(da, expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(d_extra, extra * np.ones(n), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(db, move + extra + residual, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
def test_look_ahead(n):
    a, b, da, db = arrays(n, 4)
    da, db = da - 1.5, db - 1.5
    fall_a, fall_b, linear, quadratic = _core.look_ahead(a, b, da, db)
    assert fall_a == (da / a).min()
    assert fall_b == (db / b).min()
    np.testing.assert_allclose(linear, a @ db + b @ da, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(quadratic, da @ db, rtol=1e-11, atol=1e-9)


def test_what_is_not_a_number_shows_in_the_sums():
    n = 100
    for place in (0, 40, 99):
        a, b, da, db = arrays(n, 4)
        da[place] = np.nan
        _, _, linear, quadratic = _core.look_ahead(a, b, da, db)
        assert np.isnan(linear)
        assert np.isnan(quadratic)


def test_both_steps_or_none():
    a, b, weight, da = arrays(5, 4)
    with pytest.raises(ValueError, match="da and db must be given together"):
        _core.row_shift(a, b, weight, 0.1, da, None, 1.0, None, np.empty(5))
