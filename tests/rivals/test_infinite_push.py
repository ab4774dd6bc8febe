"""InfinitePush against the sum over all pairs."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from shortlist import CollapsedWarning, TopPush
from shortlist.rivals import InfinitePush

KINDS = ("plain", "ties", "duplicates", "far", "wide")


def problem(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 20 if kind == "wide" else 3))
    y = np.repeat([1, 0], [6, 8])
    X[:6, 0] += 1.5
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[1], X[7] = X[0], X[8]
    elif kind == "far":
        X += 1e5
    return X, y


def optimum(X, y, weight, C, regularization):
    """Every pair written out."""
    X = X - X.mean(axis=0)
    P, N, omega = X[y == 1], X[y == 0], weight[y == 1]
    w = cp.Variable(X.shape[1])
    sums = [omega @ cp.pos(1.0 - (P - x) @ w) for x in N]
    penalty = 0.5 * cp.sum_squares(w) if regularization == "l2" else cp.norm1(w)
    asked = cp.Problem(cp.Minimize(penalty + C * cp.max(cp.hstack(sums))))
    return asked.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("regularization", ["l2", "l1"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::shortlist.CollapsedWarning")
def test_the_optimum_over_all_pairs(kind, regularization):
    X, y = problem(kind)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 14)
    for C in (0.05, 1.0, 20.0):
        model = InfinitePush(regularization, C=C, tol=1e-6).fit(X, y, sample_weight=weight)
        best = optimum(X, y, weight, C, regularization)
        certificate = model.certificate_
        assert certificate.status == "converged"
        assert certificate.primal == pytest.approx(best, rel=2e-5, abs=1e-7)
        assert certificate.dual <= best * (1.0 + 1e-5) + 1e-7
        w = model.coef_[0]
        scores = model.decision_function(X)
        loss = C * weight[y == 1] @ np.maximum(1.0 - scores[y == 1], 0.0)
        own = 0.5 * w @ w if regularization == "l2" else np.abs(w).sum()
        assert own + loss == pytest.approx(certificate.primal, rel=1e-7)
        assert scores[y == 0].max() == pytest.approx(0.0, abs=1e-8 * (1 + np.abs(scores).max()))


def test_it_is_top_push_with_the_hinge():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    ours, top = InfinitePush(C=0.5).fit(X, y), TopPush(loss="hinge", C=0.5).fit(X, y)
    assert ours.certificate_.primal == top.certificate_.primal
    assert (ours.coef_ == top.coef_).all()


def test_the_sparse_push_takes_rows_in_until_none_is_violated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = (X[:, 0] + 0.1 * rng.normal(size=3000) > 1.0).astype(int)
    model = InfinitePush("l1", C=0.01).fit(X, y)
    assert model.certificate_.status == "converged"
    for rows in (X.astype(np.float32), sparse.csr_array(X)):
        other = InfinitePush("l1", C=0.01).fit(rows, y)
        assert other.certificate_.status == "converged"
        assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-4)
    assert model.n_iter_ > 1


def test_errors_and_warnings():
    X, y = problem("plain")
    with pytest.raises(ValueError, match="regularization must be one of 'l2', 'l1'"):
        InfinitePush("elastic").fit(X, y)
    with pytest.raises(ValueError, match=r"solver='newton' cannot be used"):
        InfinitePush("l1", solver="newton").fit(X, y)
    X[7] = 10.0 * X[:6].mean(axis=0)
    for regularization in ("l1", "l2"):
        with pytest.warns(CollapsedWarning, match="use TopPush with a larger k"):
            InfinitePush(regularization).fit(X, y)
