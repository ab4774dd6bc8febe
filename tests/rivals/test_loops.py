"""The compiled loops of the rivals against slow and obvious versions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from drawing import draws
from shortlist._core import highest, plane_shares, worst_labels


def ugly_scores(rng, n):
    kind = rng.integers(5)
    if kind == 0:
        return np.zeros(n)
    if kind == 1:
        return rng.integers(-2, 3, n) * rng.choice([0.0, -1.0, 1.0], n)  # both zeros, many ties
    if kind == 2:
        return np.sort(rng.normal(size=n))[:: rng.choice([-1, 1])].copy()
    if kind == 3:
        return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-320, 300, n)
    scores = rng.normal(size=n)
    scores[:: int(rng.integers(1, 50))] = rng.choice([np.inf, -np.inf, 1e308, 5e-324])
    return scores


@draws(150)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 7, 300, 1025, 5000]))
def test_highest_is_a_stable_sort(seed, n):
    rng = np.random.default_rng(seed)
    scores = ugly_scores(rng, n)
    for count in {0, 1, n // 100, n // 7, n // 2, n}:
        found = np.full(count, -1)
        highest(scores, found)
        assert (found == np.argsort(-scores, kind="stable")[:count]).all()


def test_highest_where_the_sample_misleads():
    scores = np.zeros(10_000)
    scores[::19] = 5.0  # the stride of the sample: all that it sees is high
    scores[1] = 9.0
    found = np.empty(1000, dtype=np.int64)
    highest(scores, found)
    assert (found == np.argsort(-scores, kind="stable")[:1000]).all()


@draws(80)
@given(st.integers(0, 10**6))
def test_labels_against_every_count(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 40, 2)
    digits = rng.choice([0, 1, 8])
    scale = rng.choice([0.0, 1.0, 30.0])
    positive, negative = (-np.sort(-np.round(scale * rng.normal(size=s), digits)) for s in (m, n))
    a = np.arange(m + 1.0)
    numerator, offset, weight = 2.0 * a, a + m, 1.0 / m
    least = np.full(m + 1, int(rng.integers(0, n + 2)))
    least[0] = 0
    right, wrong = worst_labels(positive, negative, numerator, offset, least, weight)
    b = np.arange(n + 1.0)
    loss = 1.0 - numerator[:, None] / (b[None, :] + offset[:, None])
    sums = np.concatenate([[0.0], np.cumsum(negative)])[None, :]
    missed = positive.sum() - np.concatenate([[0.0], np.cumsum(positive)])[:, None]
    value = loss + weight * (sums - missed)
    value[b[None, :] < least[:, None]] = -np.inf
    assert value[right, wrong] == pytest.approx(value.max(), abs=1e-12 * (1.0 + scale * (m + n)))


@draws(60)
@given(st.integers(0, 10**6), st.sampled_from(["plain", "equal", "dependent", "zero"]))
def test_shares_are_the_best_of_the_polytope(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    gradient = rng.normal(size=(n, int(rng.integers(1, 6))))
    loss = rng.normal(size=n)
    if kind == "equal":
        gradient[n // 2 :] = gradient[0]
    elif kind == "dependent":
        gradient[-1] = gradient[:-1].mean(axis=0) if n > 1 else 0.0
    elif kind == "zero":
        gradient[:] = 0.0
    room = np.zeros((n + 3, n + 3))
    room[:n, :n] = product = gradient @ gradient.T
    share = np.eye(n)[0].copy()
    plane_shares(room, loss, share, 1e-10, 1000)
    assert (share >= 0.0).all()
    assert share.sum() == pytest.approx(1.0)

    def value(s):
        return loss @ s - 0.5 * s @ product @ s

    # No plane pulls more than the level of those in use: the optimality of a simplex.
    pull = loss - product @ share
    assert pull.max() == pytest.approx(pull @ share, abs=1e-7)
    best = minimize(
        lambda s: -value(s),
        np.full(n, 1.0 / n),
        jac=lambda s: product @ s - loss,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1.0, "jac": lambda s: np.ones(n)},
        method="SLSQP",
    )
    assert value(share) >= -best.fun - 1e-6
