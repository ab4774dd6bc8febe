"""RankSVM with exterior products: the optimum, preferences in circles, an order from them."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from drawing import draws
from shortlist import RankSVM


def wedge(a, b):
    """Features whose products are those of the kernel of pairs."""
    return np.array(
        [a[p] * b[q] - a[q] * b[p] for p, q in itertools.combinations(range(len(a)), 2)]
    )


def rows(seed, n=9, d=3, kind="plain"):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.permutation(n).astype(float)
    if kind == "ties":
        X, y = np.round(X), y // 3
    elif kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    return X, y


def pairs_of(y, group, most=None):
    found = []
    for i, j in itertools.product(range(len(y)), repeat=2):
        if group[i] == group[j] and y[i] > y[j]:
            between = np.unique(y[(group == group[i]) & (y <= y[i]) & (y > y[j])])
            if most is None or len(between) <= most:
                found.append((i, j))
    return found


def optimum(X, y, group, weight, C, loss, most=None):
    pairs = pairs_of(y, group, most)
    Z = np.array([wedge(X[i], X[j]) for i, j in pairs])
    omega = np.array([weight[i] * weight[j] for i, j in pairs])
    compared = weight[np.unique(pairs)].sum()
    c = C * compared / omega.sum()
    w = cp.Variable(Z.shape[1])
    z = cp.pos(1.0 - Z @ w)
    each = z if loss == "hinge" else cp.square(z)
    asked = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + c * (omega @ each)))
    asked.solve(solver=cp.CLARABEL)
    return asked.value, w.value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", ["plain", "ties", "duplicates"])
def test_the_optimum_over_all_pairs(kind, loss):
    for seed, C, most in ((0, 0.1, None), (1, 3.0, None), (2, 1.0, 2)):
        X, y = rows(seed, kind=kind)
        group = np.arange(len(y)) % 2
        weight = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(y))
        model = RankSVM(
            C, loss=loss, pairwise_features="exterior", tol=1e-6, max_rank_distance=most
        ).fit(X, y, qid=group, sample_weight=weight)
        best, w = optimum(X, y, group, weight, C, loss, most)
        certificate = model.certificate_
        assert certificate.status == "converged"
        assert certificate.primal == pytest.approx(best, rel=1e-5)
        assert certificate.dual <= best * (1.0 + 1e-6)
        A, B = rows(seed + 10)[0], rows(seed + 20)[0]
        expected = [wedge(a, b) @ w for a, b in zip(A, B, strict=True)]
        scale = 1.0 + np.abs(expected).max()
        assert model.decision_pairs(A, B) == pytest.approx(expected, abs=3e-2 * scale)


@draws(30)
@given(st.integers(0, 10**6), st.sampled_from(["linear", "rbf", "poly", "precomputed"]))
def test_preferences_are_antisymmetric_and_scores_their_mean(seed, kernel):
    rng = np.random.default_rng(seed)
    X, y = rows(seed, n=int(rng.integers(4, 14)))
    weight = rng.choice([1.0, 2.0], len(y))
    train = rbf_kernel(X) if kernel == "precomputed" else X
    model = RankSVM(kernel=kernel, pairwise_features="exterior").fit(train, y, sample_weight=weight)
    i, j = np.divmod(np.arange(len(y) ** 2), len(y))
    forth, back = model.decision_pairs(train[i], train[j]), model.decision_pairs(train[j], train[i])
    size = 1.0 + np.abs(forth).max()
    assert forth == pytest.approx(-back, abs=1e-9 * size)
    mean = forth.reshape(len(y), -1) @ weight / weight.sum()
    assert model.predict(train) == pytest.approx(mean, abs=1e-9 * size)
    assert model.certificate_.gap >= 0.0


def test_a_circle_of_preferences():
    """Rock, paper, scissors: no scores can order them, exterior products can."""
    hands = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    # Three groups of two: each hand beats the next.
    X = np.concatenate([hands[[0, 1]], hands[[1, 2]], hands[[2, 0]]])
    y, qid = np.tile([1.0, 0.0], 3), np.repeat([0, 1, 2], 2)
    ours = RankSVM(C=100.0, pairwise_features="exterior").fit(X, y, qid=qid)
    assert (ours.decision_pairs(hands, hands[[1, 2, 0]]) > 0.5).all()
    scores = RankSVM(C=100.0).fit(X, y, qid=qid)
    assert (scores.decision_pairs(hands, hands[[1, 2, 0]]) <= 1e-6).any()


def test_differences_are_compared_too_and_storages_agree():
    X, y = rows(3, n=30)
    plain = RankSVM().fit(X, y)
    assert plain.decision_pairs(X[:5], X[5:10]) == pytest.approx(
        plain.predict(X[:5]) - plain.predict(X[5:10])
    )
    dense = RankSVM(pairwise_features="exterior").fit(X, y)
    other = RankSVM(pairwise_features="exterior").fit(sparse.csr_array(X), y)
    assert other.predict(sparse.csr_array(X)) == pytest.approx(dense.predict(X), abs=1e-6)
    narrow = RankSVM(pairwise_features="exterior").fit(X.astype(np.float32), y)
    assert narrow.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-4)


def test_memory_is_rows_squared_and_asked_for():
    X, y = rows(4, n=200)
    with pytest.raises(ValueError, match=r"kernel matrix of all 200 rows.*raise cache_size=0.1"):
        RankSVM(pairwise_features="exterior", cache_size=0.1).fit(X, y)
    with pytest.raises(ValueError, match="solver='fw' cannot be used"):
        RankSVM(pairwise_features="exterior", solver="fw").fit(X, y)


def test_a_kernel_that_is_not_positive_gives_the_zero_model():
    X, y = rows(5)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = RankSVM(kernel="precomputed", pairwise_features="exterior").fit(X @ -X.T, y)
    assert model.certificate_.status == "local"
    assert not model.predict(X @ -X.T).any()
