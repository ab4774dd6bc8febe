"""Bounds of rounding errors against sums in exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from shortlist.rows.operators import as_rows
from shortlist.rows.rounding import Reach, gamma, half_square_error, sum_error


def rows_of(seed, offset, scale, shape=(30, 4), dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (offset + scale * rng.normal(size=shape)).astype(dtype), rng


def stored(X, kind):
    return sparse.csr_array(X) if kind == "csr" else np.asfortranarray(X) if kind == "F" else X


@given(
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 3.0, 1e5, -1e9]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    kind=st.sampled_from(["C", "F", "csr"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_scores_and_models_are_within_their_bounds(seed, offset, scale, kind, dtype):
    X, rng = rows_of(seed, offset, scale, dtype=dtype)
    reach = Reach.of(stored(X, kind))
    centre = reach.centre()
    reach, rows = reach.shifted(centre), as_rows(stored(X, kind), centre)
    w, v = rng.normal(size=4), rng.normal(size=30)
    moved = [
        [Fraction(float(x)) - Fraction(0.0 if centre is None else float(c)) for x, c in
         zip(row, np.zeros(4) if centre is None else centre, strict=True)]
        for row in X
    ]  # fmt: skip
    for row, score in zip(moved, rows.scores(w), strict=True):
        exact = sum((a * Fraction(float(b)) for a, b in zip(row, w, strict=True)), Fraction(0))
        assert abs(Fraction(float(score)) - exact) <= reach.score_error(w)
    exact_v = [Fraction(float(a)) for a in v]
    model = [
        sum((a * row[j] for a, row in zip(exact_v, moved, strict=True)), Fraction(0))
        for j in range(4)
    ]
    got = rows.combine(v)
    squared = sum((Fraction(float(g)) - m) ** 2 for g, m in zip(got, model, strict=True))
    off = float(np.sqrt(float(squared)))
    assert off <= reach.model_error(float(np.abs(v).sum()), 30)
    assert (np.linalg.norm(rows.dense(), axis=1) <= reach.length * (1 + 1e-12)).all()


def test_only_far_columns_have_a_centre():
    X, _ = rows_of(0, 0.0, 1.0)
    assert Reach.of(X).centre() is None
    assert Reach.of(X + 10.0).centre() is None
    X[:, 2] += 1e6
    centre = Reach.of(X).centre()
    assert (centre != 0.0).tolist() == [False, False, True, False]
    assert abs(centre[2] - 1e6) < 10.0
    # A column without an entry in every row is never far.
    S = sparse.csr_array(X)
    assert (Reach.of(S).centre() != 0.0).tolist() == [False, False, True, False]
    X[3, 2] = 0.0
    assert Reach.of(sparse.csr_array(X)).centre() is None


def test_parts_together_are_the_whole():
    X, _ = rows_of(1, 1e4, 1.0)
    whole, parts = Reach.of(X), Reach.merged([Reach.of(X[:7]), Reach.of(X[:0]), Reach.of(X[7:])])
    np.testing.assert_array_equal(whole.lowest, parts.lowest)
    np.testing.assert_array_equal(whole.highest, parts.highest)
    assert (whole.length, whole.entries) == (parts.length, parts.entries)
    mixed = Reach.merged([Reach.of(X), Reach.of(sparse.csr_array(np.eye(4)))])
    assert mixed.lowest is None
    assert mixed.length >= max(whole.length, 1.0)


def test_csr_less_a_centre_has_explicit_zeros():
    X = np.array([[1e6, 0.0, 2.0], [0.0, 3.0, 0.0], [1e6 + 1.0, 0.0, 0.0]])
    centre = np.array([1e6, 0.0, 0.0])
    np.testing.assert_array_equal(as_rows(sparse.csr_array(X), centre).dense(), X - centre)


@pytest.mark.parametrize("shape", [(3, 5), (2001, 3), (1500, 700), (1, 1), (333, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ranges(shape, dtype, order):
    X = np.asarray(rows_of(2, 0.5, 1.0, shape)[0], dtype=dtype, order=order)
    reach = Reach.of(X)
    np.testing.assert_array_equal(reach.lowest, X.min(axis=0))
    np.testing.assert_array_equal(reach.highest, X.max(axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (261, 3), (9, 64), (6, 200)])
def test_a_number_that_is_not_finite_is_seen_wherever_it_is(shape, bad):
    for dtype, order in itertools.product((np.float32, np.float64), "CF"):
        for place in range(0, shape[0] * shape[1], 1 + shape[0] * shape[1] // 50):
            X = np.ones(shape, dtype=dtype, order=order)
            X[np.unravel_index(place, shape)] = bad
            assert not np.isfinite(Reach.of(X).length)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=50))
def test_sums(values):
    exact = sum((Fraction(v) for v in values), Fraction(0))
    assert abs(Fraction(float(np.sum(values))) - exact) <= sum_error(np.array(values))


def test_bounds_grow_and_end():
    assert 0.0 < gamma(1) < gamma(1000) < 1e-12
    assert gamma(1e17) == np.inf
    assert half_square_error(3.0, 0.1) == pytest.approx(0.5 * 3.1**2 - 0.5 * 3.0**2)
