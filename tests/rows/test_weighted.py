"""Distinct rows: one rule for all storages, against a slow dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from shortlist.rows import weighted
from shortlist.rows.weighted import distinct


@pytest.mark.parametrize("by_digest", [True, False])
@given(
    seed=st.integers(0, 9999),
    sparse_rows=st.booleans(),
    dtype=st.sampled_from(["f4", "f8"]),
    wide=st.sampled_from([0, 1, 300]),
)
def test_distinct(by_digest, seed, sparse_rows, dtype, wide):
    """Equal numbers are equal rows, -0.0 and stored zeros too, whatever the digests say."""
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, 0.5], (int(rng.integers(1, 30)), 3)).astype(dtype)
    # Wide rows may differ in the middle, at one end, or in both.
    X = np.hstack([X[:, :2], np.zeros((len(X), wide), dtype), X[:, 2:]])
    X[:, len(X[0]) // 2] *= rng.integers(2)
    rows = rng.permutation(len(X))[: int(rng.integers(1, len(X) + 1))]
    stored = X
    if sparse_rows:
        stored = sparse.csr_array(X)
        stored.data[rng.random(stored.nnz) < 0.3] = 0.0
        X = stored.toarray()
    with pytest.MonkeyPatch.context() as patch:
        if not by_digest:  # every pair of rows collides
            patch.setattr(weighted, "_factors", lambda n: np.zeros(n, dtype=np.uint64))
        first, group = distinct(stored, rows)
        backwards = distinct(stored, rows[::-1])[0]
    expected = {}
    for position, row in enumerate(rows):
        expected.setdefault(tuple(X[row] + 0.0), position)
    assert sorted(first) == sorted(expected.values())
    np.testing.assert_array_equal(X[rows[first[group]]], X[rows])
    # The order is that of the contents.
    np.testing.assert_array_equal(X[rows[first]], X[rows[::-1][backwards]])


def test_all_rows_and_no_columns():
    first, group = distinct(np.zeros((3, 0)))
    assert list(first) == [0]
    assert list(group) == [0, 0, 0]
    first, group = distinct(np.array([[1.0], [2.0], [1.0]]))
    assert sorted(first) == [0, 1]
    assert group[0] == group[2] != group[1]
