"""AATP and the transductive SVM against cvxpy, and what they promise of ranks and shares."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from shortlist.rivals import AATP, TransductiveSVM


def problem(seed, n, d, kind="plain"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "constant":
        X[:, -1] = 3.0
    elif kind == "lonely":
        y[1:] = -1.0
    elif kind == "far":
        X += 1e6
    return X, y


KINDS = ("plain", "ties", "duplicates", "constant", "lonely")


def hinge(y, scores):
    return np.maximum(1.0 - y * scores, 0.0)


def svms_through(X, y, c):
    """Objective and scores of the SVM through each row."""
    X = X - X.mean(axis=0)
    w, b, row = cp.Variable(X.shape[1]), cp.Variable(), cp.Parameter(X.shape[1])
    loss = c @ cp.pos(1.0 - cp.multiply(y, X @ w + b))
    asked = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss), [row @ w + b == 0.0])
    for row.value in X:
        asked.solve(solver=cp.CLARABEL)
        yield asked.value, X @ w.value + b.value


def value_of(model, X, y, c):
    w = model.coef_[0]
    return 0.5 * w @ w + c @ hinge(y, model.decision_function(X))


@pytest.mark.parametrize("kind", [*KINDS, "far"])
@pytest.mark.parametrize(("seed", "C"), [(0, 0.05), (1, 5.0)])
def test_the_row_that_is_taken_is_the_best_of_all(kind, seed, C):
    X, y = problem(seed, 12, 2, kind)
    weight = np.random.default_rng(seed).integers(1, 3, 12).astype(float)
    wanted = np.ceil(0.25 * weight.sum())
    objectives, off = [], []
    for objective, scores in svms_through(X, y, C * weight):
        above = weight[scores > 1e-5 * np.abs(scores).max()].sum()
        objectives.append(objective)
        off.append(abs(above - wanted))
    for choice in ("nearest_rank", "lowest_objective"):
        tried = list(zip(off if choice == "nearest_rank" else [0.0] * 12, objectives, strict=True))
        model = AATP(0.25, C=C, choice=choice).fit(X, y, sample_weight=weight)
        certificate = model.certificate_
        assert certificate.status == "converged"
        assert value_of(model, X, y, C * weight) == pytest.approx(certificate.primal, rel=1e-6)
        assert certificate.primal == pytest.approx(min(tried)[1], rel=1e-4)
        assert certificate.primal == pytest.approx(tried[model.boundary_][1], rel=1e-4)
        scores = model.decision_function(X)
        assert abs(scores[model.boundary_]) <= 1e-7 * (1.0 + np.abs(scores).max())
        assert model.n_tried_ == 12


def test_aatp_counts_the_rows_above():
    X, y = problem(5, 60, 3)
    for tau in (0.05, 0.2, 0.5):
        scores = AATP(tau).fit(X, y).decision_function(X)
        assert (scores > 1e-6).sum() == np.ceil(tau * 60)


def test_fewer_rows_are_said_to_be_fewer():
    X, y = problem(5, 60, 3)
    with pytest.warns(ConvergenceWarning, match="tried 7 of 60 rows"):
        some = AATP(max_iter=7).fit(X, y)
    assert some.n_tried_ == 7
    whole = AATP().fit(X, y)
    assert some.boundary_ == whole.boundary_  # the rows near the quantile come first


def test_storages_of_aatp_and_tsvm_agree():
    X, y = problem(6, 40, 3)
    X = np.round(X, 2)
    for make in (AATP(0.1), TransductiveSVM()):
        dense = make.fit(X, y).decision_function(X)
        for rows in (X.astype(np.float32), sparse.csr_array(X)):
            other = make.fit(rows, y).decision_function(rows)
            assert other == pytest.approx(dense, abs=1e-4 * (1.0 + np.abs(dense).max()))


def transductive(w, scores, pool_scores, y, C, weight):
    unlabelled = np.maximum(1.0 - np.abs(pool_scores), 0.0).sum()
    return 0.5 * w @ w + C * hinge(y, scores).sum() + weight * unlabelled


@draws(40)
@given(
    st.integers(0, 10_000),
    st.sampled_from(KINDS),
    st.integers(2, 15),
    st.sampled_from([1e-2, 1.0, 100.0]),
    st.sampled_from([1e-2, 1.0, 1e2]),
)
def test_tsvm_never_rises_and_keeps_the_share(seed, kind, m, C, scale):
    X, y = problem(seed, 16, 3, kind)
    X, pool = scale * X, scale * problem(seed + 1, m, 3, kind)[0]
    model = TransductiveSVM(C).fit(X, y, candidates=pool)
    trace = model.certificate_.trace
    assert (np.diff(trace.primal) <= 1e-7 * trace.primal[1:]).all()
    scores = model.decision_function(pool)
    assert scores.mean() == pytest.approx(y.mean(), abs=1e-6 * (1.0 + np.abs(scores).max()))
    value = transductive(model.coef_[0], model.decision_function(X), scores, y, C, C * 16 / m)
    assert value == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert model.certificate_.status in ("local", "converged", "max_iter")
    assert model.certificate_.dual <= value
    assert (model.labels_ == model.predict(pool)).all()


def balanced_svm(X, y, pool, C, extra):
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    loss = C * cp.sum(cp.pos(1.0 - cp.multiply(y, X @ w + b)))
    asked = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + loss + extra(pool @ w + b)),
        [cp.sum(pool @ w + b) == len(pool) * y.mean()],
    )
    return asked.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_the_last_programme_of_tsvm_is_optimal(kind, C):
    X, y = problem(7, 14, 3, kind)
    pool = problem(8, 9, 3, kind)[0]
    weight = C * len(y) / len(pool)
    model = TransductiveSVM(C, max_iter=100).fit(X, y, candidates=pool)
    labels = np.where(model.decision_function(pool) < 0.0, -1.0, 1.0)

    def ramp(scores):
        margin = cp.multiply(labels, scores)
        return weight * cp.sum(cp.pos(1.0 - margin) + cp.pos(-1.0 - margin))

    optimum = balanced_svm(X, y, pool, C, ramp)
    margins = labels * model.decision_function(pool)
    here = value_of(model, X, y, np.full(len(y), C))
    here += weight * (np.maximum(1.0 - margins, 0.0) + np.maximum(-1.0 - margins, 0.0)).sum()
    assert here == pytest.approx(optimum, rel=1e-4, abs=1e-6)
    # The lower bound is the optimum without the candidates' losses.
    plain = balanced_svm(X, y, pool, C, lambda scores: 0.0)
    assert model.certificate_.dual == pytest.approx(plain, rel=1e-4, abs=1e-6)


def test_tsvm_is_no_better_than_the_best_of_all_labellings():
    X, y = problem(3, 10, 2)
    pool = problem(4, 5, 2)[0]
    weight = len(y) / len(pool)
    values = []
    for labels in product([-1.0, 1.0], repeat=len(pool)):

        def guess(scores, labels=labels):
            return weight * cp.sum(cp.pos(1.0 - cp.multiply(np.array(labels), scores)))

        values.append(balanced_svm(X, y, pool, 1.0, guess))
    found = TransductiveSVM().fit(X, y, candidates=pool).certificate_.primal
    assert min(values) * (1.0 - 1e-6) <= found <= np.median(values)


def test_parameters_of_tsvm():
    X, y = problem(9, 30, 2)
    pool = problem(10, 20, 2)[0]
    model = TransductiveSVM(positive_share=0.25).fit(X, y, candidates=pool)
    assert model.decision_function(pool).mean() == pytest.approx(-0.5)
    small = TransductiveSVM(candidate_C=1e-9).fit(X, y, candidates=pool)
    assert small.certificate_.relative_gap < 1e-6
    with pytest.raises(ValueError, match="positive_share=2"):
        TransductiveSVM(positive_share=2).fit(X, y)
    with pytest.raises(ValueError, match="candidate_C must be"):
        TransductiveSVM(candidate_C=0).fit(X, y)
    with pytest.raises(ValueError, match=r"tau=0 is not in \(0, 1\]"):
        AATP(tau=0).fit(X, y)
    with pytest.raises(ValueError, match="choice must be one of 'nearest_rank'"):
        AATP(choice="best").fit(X, y)
