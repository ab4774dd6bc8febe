"""The weights of the ranks, the losses and the domain of the dual, against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from drawing import draws
from oracles import topk as oracle
from shortlist import TopKSVC, _core
from shortlist.topk.problem import rank_weights


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10])
def test_the_weights_are_those_of_the_formulas(k):
    """Written out number by number, so that k + 1 in place of k cannot pass."""
    ranks = range(1, k + 1)
    flat, linear, exp = (rank_weights(kind, k) for kind in ("flat", "linear", "exp"))
    assert flat == pytest.approx([1 / k for _ in ranks], rel=1e-12)
    assert linear == pytest.approx([2 * (k + 1 - j) / (k * (k + 1)) for j in ranks], rel=1e-12)
    powers = [np.exp(-j / k) for j in ranks]
    assert exp == pytest.approx([p / sum(powers) for p in powers], rel=1e-12)


def test_some_weights_by_hand():
    assert rank_weights("exp", 2) == pytest.approx([0.6224593312018546, 0.37754066879814546])
    assert rank_weights("linear", 3) == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert rank_weights("flat", 4).tolist() == [0.25] * 4


@pytest.mark.parametrize("weights", ["flat", "linear", "exp"])
def test_the_estimator_uses_them(weights):
    X, y = load_iris(return_X_y=True)
    model = TopKSVC(k=2, weights=weights).fit(X, y)
    assert (model.weights_ == rank_weights(weights, 2)).all()
    assert model.k_ == 2


def losses(rho, Z, y, c, ridge=0.0, slack=0.0, pseudo=False):
    n, out = len(y), np.empty(len(y))
    numbers = [np.full(n, value) for value in (c, ridge, slack)]
    _core.topk_losses(rho, pseudo, Z.copy(), y.astype(np.int32), *numbers, out)
    return out


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("kind", ["flat", "linear", "exp"])
def test_losses_follow_the_definition(kind, pseudo):
    """Ties at, above and below the true class included."""
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(200, 5)), 0)
    y = rng.integers(5, size=200)
    rho = rank_weights(kind, 3)
    found = losses(rho, Z, y, 2.0, pseudo=pseudo)
    expected = [2.0 * oracle.loss(z, t, rho, pseudo=pseudo) for z, t in zip(Z, y, strict=True)]
    assert found == pytest.approx(expected, abs=1e-12)
    raised = Z + 0.25
    raised[np.arange(200), y] -= 0.25
    assert losses(rho, Z, y, 2.0, slack=0.25, pseudo=pseudo) == pytest.approx(
        losses(rho, raised, y, 2.0, pseudo=pseudo), abs=1e-12
    )


def test_a_smoothed_loss_is_the_moreau_envelope():
    """Against the smallest value over many points, and a lower bound by duality."""
    rng = np.random.default_rng(1)
    Z, y, rho, c, ridge = (
        rng.normal(size=(30, 4)),
        rng.integers(4, size=30),
        np.ones(2) / 2,
        2.0,
        0.3,
    )
    found = losses(rho, Z, y, c, ridge)
    for z, t, value in zip(Z, y, found, strict=True):
        a = 1.0 + z - z[t]
        a[t] = 0.0
        beta = np.zeros(4)
        _core.topk_block(rho, False, a, int(t), ridge, c, beta)
        assert value == pytest.approx(oracle.block_value(beta, a, t, ridge), abs=1e-12)
        others = z + rng.normal(size=(300, 4)) * rng.choice([0.01, 0.1, 1.0], (300, 1))
        costs = [
            c * oracle.loss(v.copy(), t, rho) + ((z - v) ** 2).sum() / (2 * ridge) for v in others
        ]
        assert value <= min(costs) + 1e-12


def feasible(rho, m, c, beta, pseudo=False):
    beta, missing = np.array(beta, dtype=float), np.zeros(1)
    start = np.array([0, len(beta)])
    _core.topk_feasible(np.asarray(rho, float), m, pseudo, np.array([c]), start, beta, missing)
    return beta, missing[0]


def inside(beta, rho, m, c, pseudo, room):
    """Whether <beta, a> <= c Phi(a) for every a: at the vertices of the normal cones."""
    rng = np.random.default_rng(0)
    full = np.zeros(m - 1)
    full[: len(beta)] = beta
    for a in [
        *np.round(rng.normal(size=(60, m - 1)), 1),
        *rng.choice([-1.0, 0.0, 1.0], (60, m - 1)),
    ]:
        if full @ a > c * oracle.loss(np.append(0.0, a - 1.0), 0, rho, pseudo=pseudo) + room:
            return False
    return True


@draws(300)
@given(
    kind=st.sampled_from(["flat", "linear", "exp"]),
    k=st.integers(1, 4),
    values=st.lists(st.floats(-3, 3), min_size=5, max_size=5),
    q=st.floats(1e-3, 1e3),
    c=st.floats(1e-3, 1e3),
    noise=st.sampled_from([0.0, 1e-15, 1e-12]),
    seed=st.integers(0, 100),
    pseudo=st.booleans(),
)
def test_a_repaired_point_is_feasible_and_near(kind, k, values, q, c, noise, seed, pseudo):
    rho, a, found = rank_weights(kind, k), np.array([0.0, *values]), np.zeros(6)
    _core.topk_block(rho, pseudo, a, 0, q, c, found)
    rng = np.random.default_rng(seed)
    beta = found[1:] * (1.0 + noise * rng.normal(size=5))
    fixed, missing = feasible(rho, 6, c, beta, pseudo)
    if fixed.any():
        assert np.abs(fixed - beta).max() <= (20 * noise + 1e-12) * c
        assert missing <= (20 * noise + 1e-12) * c
    else:
        # Given up only where next to nothing was held, or the noise was too much for it.
        assert beta.sum() <= 1e-9 * c or noise > 0.0 or pseudo
    assert inside(fixed, rho, 6, c, pseudo, missing * 3 + 1e-12 * c)


def test_a_point_far_outside_becomes_zero():
    """One class alone cannot hold weight where three share it equally."""
    fixed, missing = feasible([1 / 3] * 3, 5, 1.0, [0.3])
    assert not fixed.any()
    assert missing == 0.0
    assert feasible([1.0], 3, 1.0, [0.5, 0.25])[0].tolist() == [0.5, 0.25]
    assert feasible([1.0], 3, 1.0, [0.75, 0.75])[0].sum() <= 1.0
