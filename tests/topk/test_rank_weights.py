"""Weights of the ranks, by the formulas of the documentation."""

import math

import pytest

from shortlist.topk.problem import rank_weights

FORMULAS = {
    "flat": lambda j, k: 1.0,
    "linear": lambda j, k: k + 1 - j,
    "exp": lambda j, k: math.exp(-j / k),
}


@pytest.mark.parametrize("kind", FORMULAS)
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_rank_weights(kind, k):
    expected = [FORMULAS[kind](j, k) for j in range(1, k + 1)]
    weights = [value / sum(expected) for value in expected]
    assert rank_weights(kind, k) == pytest.approx(weights, rel=1e-12)
