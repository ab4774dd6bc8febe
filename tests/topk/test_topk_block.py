"""The exact solution of one row's block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from oracles import topk as oracle
from shortlist import TopKSVC, _core
from shortlist.topk.problem import rank_weights

KINDS = ("flat", "linear", "exp")


def solve(a, y, q, c, rho, pseudo=False):
    beta = np.zeros(len(a))
    _core.topk_block(np.asarray(rho, float), pseudo, np.asarray(a, float), y, q, c, beta)
    return beta


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("m", "k"),
    [
        (2, 1),
        pytest.param(3, 2, marks=pytest.mark.slow),
        (4, 4),
        pytest.param(6, 1, marks=pytest.mark.slow),
        (6, 3),
        (8, 5),
    ],
)
def test_against_a_qp_solver(m, k, kind, pseudo):
    """Ties, zeros, y in and out of the top k; 80 blocks for each case, 2,880 in all."""
    if pseudo and k >= m:
        k = m - 1
    rng = np.random.default_rng(m * 100 + k)
    count, y = 80, int(rng.integers(m))
    a = rng.normal(size=(count, m)) * rng.choice([0.3, 1.0, 5.0], size=(count, 1))
    a += rng.choice([-2.0, 0.0, 1.0], size=(count, 1))
    a[::4] = np.round(a[::4])
    a[1::8] = 1.0
    a[:, y] = 0.0
    q = rng.choice([0.05, 1.0, 20.0], size=count)
    c = rng.choice([0.1, 1.0, 3.0], size=count)
    rho = rank_weights(kind, k)
    expected = oracle.blocks(a, y, q, c, rho, pseudo=pseudo)
    for i in range(count):
        beta = solve(a[i], y, q[i], c[i], rho, pseudo)
        assert beta[y] == 0.0
        assert beta == pytest.approx(expected[i], abs=2e-4 * c[i])
        best = oracle.block_value(expected[i], a[i], y, q[i])
        mine = oracle.block_value(beta, a[i], y, q[i])
        assert mine == pytest.approx(best, abs=1e-6 * (1.0 + abs(best)))


weights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(
    lambda drops: np.cumsum(drops[::-1])[::-1]
)


@draws(400)
@given(
    rho=weights.filter(lambda rho: rho[-1] > 1e-3),
    values=st.lists(
        st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, -1.0])), min_size=7, max_size=9
    ),
    y=st.integers(0, 6),
    q=st.floats(1e-4, 1e4),
    c=st.floats(1e-2, 1e2),
    pseudo=st.booleans(),
)
def test_no_vertex_improves_the_block(rho, values, y, q, c, pseudo):
    a = np.array(values)
    a[y] = 0.0
    beta = solve(a, y, q, c, rho, pseudo)
    scale = c * rho.sum() * (1.0 + np.abs(a).max()) + q * (c * rho.sum()) ** 2 * 1e-4
    assert (beta >= 0.0).all()
    assert oracle.block_gap(beta, a, y, q, c, rho, pseudo=pseudo) <= 1e-8 * scale


@draws(200)
@given(
    k=st.integers(1, 5),
    values=st.lists(st.floats(-5, 5), min_size=7, max_size=9),
    q=st.floats(1e-4, 1e4),
    c=st.floats(1e-2, 1e2),
)
def test_flat_block_is_feasible(k, values, q, c):
    """Flat weights have a plain domain: beta_j <= min(c/k, S/(k-1)) and S <= c."""
    a = np.array(values)
    a[0] = 0.0
    beta = solve(a, 0, q, c, np.full(k, 1.0 / k))
    total = beta.sum()
    assert total <= c * (1 + 1e-9)
    cap = min(c / k, total / (k - 1)) if k > 1 else c
    assert beta.max() <= cap + 1e-9 * c


def test_no_loss_gives_a_zero_block():
    assert not solve([0.0, -0.5, -1.0, -2.0], 0, 1.0, 1.0, [0.5, 0.5]).any()


def test_the_pseudo_block_cannot_use_the_true_class():
    """One violated class: the true loss balances it against y, the pseudo loss cannot."""
    a = np.array([0.0, 1.0, -3.0, -3.0])
    rho = np.array([0.5, 0.5])
    assert solve(a, 0, 1.0, 1.0, rho).sum() > 0.1
    assert not solve(a, 0, 1.0, 1.0, rho, pseudo=True).any()


@pytest.mark.parametrize("seed", range(6))
def test_frank_wolfe_steps_stay_feasible(seed):
    """Duplicate rows of whole numbers: rows come to rest exactly, and rounding decides."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 5, 60)
    model = TopKSVC(3, solver="block_fw", tol=1e-9, max_iter=3000)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    best = TopKSVC(3, tol=1e-6).fit(X, y).certificate_
    assert model.certificate_.dual <= best.primal * (1.0 + 1e-9)
    assert model.certificate_.primal >= best.dual * (1.0 - 1e-9)


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_losses_of_several_lengths_of_a_model(k, pseudo):
    """What solvers claim: the own class has the margin zero, wherever that ranks."""
    rng = np.random.default_rng(k)
    n, d, m = 60, 4, 5
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, m))
    y, c, rho = rng.integers(0, m, n), rng.random(n), rank_weights("linear", k)
    dual = _core.TopKDual(rho, m, pseudo, y.astype(np.int32), c, (X**2).sum(1), np.zeros(n))
    scales, losses = np.array([0.0, 0.3, 1.0, 4.0]), np.zeros(4)
    dual.evaluate_dense(X, W, 0.0, scales, losses)
    for scale, loss in zip(scales, losses, strict=True):
        scores = scale * X @ W
        margin = 1.0 + scores - scores[np.arange(n), y][:, None]
        margin[np.arange(n), y] = -np.inf if pseudo else 0.0
        highest = -np.sort(-margin, axis=1)[:, :k]
        assert loss == pytest.approx(c @ np.maximum(highest @ rho, 0.0), rel=1e-12)
