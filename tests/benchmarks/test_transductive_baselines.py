"""AATP, TSVM and SVMperf of the benchmarks against cvxpy and enumeration."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from benchmarks.papers.transductive_baselines import (
    Labellings,
    above,
    accuracy_at_top,
    boundary_models,
    svmperf,
    tsvm,
    tsvm_models,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.certificate import Monitor


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
    return X, y


KINDS = ("plain", "ties", "duplicates", "constant", "lonely")


def hinge(y, scores):
    return np.maximum(1.0 - y * scores, 0.0)


def svm_through(X, y, C, j):
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    loss = cp.sum(cp.pos(1.0 - cp.multiply(y, X @ w + b)))
    asked = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * loss), [X[j] @ w + b == 0.0])
    return asked.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.03, 5.0])
def test_the_svm_through_every_row_is_optimal(kind, C):
    X, y = problem(KINDS.index(kind), 12, 3, kind)
    models = list(boundary_models(X, y, C))
    assert len(models) == len(y)
    for j, (model, objective) in enumerate(models):
        scores = model.scores(X)
        assert scores[j] == pytest.approx(0.0, abs=1e-7 * (1.0 + np.abs(scores).max()))
        value = 0.5 * model.w @ model.w + C * hinge(y, scores).sum()
        assert value == pytest.approx(objective, rel=1e-7)
        assert value == pytest.approx(svm_through(X, y, C, j), rel=1e-5)


@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=25, deadline=None)
def test_accuracy_at_top_takes_the_row_nearest_to_the_quantile(seed, kind, scale):
    X, y = problem(seed, 24, 2, kind)
    X = X * scale
    chosen = accuracy_at_top(X, y, X, 1.0)
    wanted = 2  # of 24 rows, 5 % rounded up
    ranks = [(abs(above(m.scores(X)) - wanted), value) for m, value in boundary_models(X, y, 1.0)]
    assert abs(above(chosen.scores(X)) - wanted) == min(rank for rank, _ in ranks)
    value = 0.5 * chosen.w @ chosen.w + hinge(y, chosen.scores(X)).sum()
    assert value == pytest.approx(min(ranks)[1], rel=1e-6)


def transductive_objective(model, X, y, pool, C):
    unlabelled = np.maximum(1.0 - np.abs(model.scores(pool)), 0.0).sum()
    return (
        0.5 * model.w @ model.w
        + C * hinge(y, model.scores(X)).sum()
        + C * len(y) / len(pool) * unlabelled
    )


@given(
    st.integers(0, 10_000),
    st.sampled_from(KINDS),
    st.integers(2, 15),
    st.sampled_from([1e-2, 1.0, 100.0]),
    st.sampled_from([1e-2, 1.0, 1e2]),
)
@settings(max_examples=60, deadline=None)
def test_tsvm_never_rises_and_keeps_the_share(seed, kind, m, C, scale):
    X, y = problem(seed, 16, 3, kind)
    X, pool = scale * X, scale * problem(seed + 1, m, 3, kind)[0]
    models = list(tsvm_models(X, y, pool, C))
    values = [transductive_objective(model, X, y, pool, C) for model, _ in models]
    assert (np.diff(values) <= 1e-7 * np.abs(values[1:])).all()
    for model, _ in models:
        scores = model.scores(pool)
        size = 1.0 + np.abs(scores).max()
        assert scores.mean() == pytest.approx(y.mean(), abs=1e-6 * size)
    if len(models) < 20:
        last, labels = models[-1]
        assert (labels * last.scores(pool) >= 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_each_programme_of_tsvm_is_optimal(kind, C):
    X, y = problem(7, 14, 3, kind)
    pool = problem(8, 9, 3, kind)[0]
    weight = C * len(y) / len(pool)
    models = list(tsvm_models(X, y, pool, C))
    assert len(models) > 1
    for model, labels in models:
        w, b = cp.Variable(3), cp.Variable()
        margin = cp.multiply(labels, pool @ w + b)
        loss = cp.sum(cp.pos(1.0 - cp.multiply(y, X @ w + b)))
        ramp = cp.sum(cp.pos(1.0 - margin) + cp.pos(-1.0 - margin)) if labels.any() else 0.0
        asked = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(w) + C * loss + weight * ramp),
            [cp.sum(pool @ w + b) == len(pool) * y.mean()],
        )
        optimum = asked.solve(solver=cp.CLARABEL)
        margins = labels * model.scores(pool)
        here = 0.5 * model.w @ model.w + C * hinge(y, model.scores(X)).sum()
        if labels.any():
            ramps = np.maximum(1.0 - margins, 0.0) + np.maximum(-1.0 - margins, 0.0)
            here += weight * ramps.sum()
        assert here == pytest.approx(optimum, rel=1e-5, abs=1e-6)


def test_tsvm_is_no_better_than_the_best_of_all_labellings():
    X, y = problem(3, 10, 2)
    pool = problem(4, 5, 2)[0]
    C, weight = 1.0, 1.0 * len(y) / len(pool)
    values = []
    for labels in product([-1.0, 1.0], repeat=len(pool)):
        w, b = cp.Variable(2), cp.Variable()
        loss = cp.sum(cp.pos(1.0 - cp.multiply(y, X @ w + b)))
        guess = cp.sum(cp.pos(1.0 - cp.multiply(np.array(labels), pool @ w + b)))
        asked = cp.Problem(
            cp.Minimize(0.5 * cp.sum_squares(w) + C * loss + weight * guess),
            [cp.sum(pool @ w + b) == len(pool) * y.mean()],
        )
        values.append(asked.solve(solver=cp.CLARABEL))
    found = transductive_objective(tsvm(X, y, pool, C), X, y, pool, C)
    assert min(values) * (1.0 - 1e-6) <= found <= np.median(values)


def all_labellings(y, k):
    """Yield labels and loss of all that SVMperf considers."""
    for labels in product([-1.0, 1.0], repeat=len(y)):
        labels = np.array(labels)
        chosen = labels > 0.0
        if chosen.sum() >= k and (y[chosen] < 0.0).any():
            yield labels, 100.0 * float((y[chosen] < 0.0).mean())


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.0, 1e-3, 1.0, 100.0]))
@settings(max_examples=40, deadline=None)
def test_the_worst_labelling_is_the_worst_of_all(seed, k, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k + 1, 9)) if k < 8 else k + 1
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    scores = scale * np.round(rng.normal(size=n), 1)
    labels, loss, violation = Labellings(y, k).worst(scores)

    def value(labels, loss):
        return loss - 50.0 / n * float((y - labels) @ scores)

    everything = list(all_labellings(y, k))
    assert violation == pytest.approx(max(value(*one) for one in everything), abs=1e-9)
    assert value(labels, loss) == pytest.approx(violation, abs=1e-9)
    assert any((labels == other).all() and loss == pytest.approx(its) for other, its in everything)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_svmperf_is_optimal(kind, C):
    X, y = problem(11, 9, 2, kind)
    monitor = Monitor(tol=1e-6, max_iter=5000)
    model = svmperf(X, y, X, C, monitor)
    assert monitor.status == "converged"
    rows = np.column_stack([X, np.ones(len(y))])
    labels, losses = (np.array(part) for part in zip(*all_labellings(y, 1), strict=True))
    planes = 50.0 / len(y) * (y - labels) @ rows
    w, slack = cp.Variable(3), cp.Variable(nonneg=True)
    asked = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + C * slack), [planes @ w >= losses - slack]
    )
    optimum = asked.solve(solver=cp.CLARABEL)
    own = np.append(model.w, model.b)
    value = 0.5 * own @ own + C * max(float((losses - planes @ own).max()), 0.0)
    assert value == pytest.approx(monitor.primal, rel=1e-9)
    assert value == pytest.approx(optimum, rel=1e-5)
    assert monitor.dual <= optimum * (1.0 + 1e-6)


def test_nothing_passed_is_changed():
    X, y = problem(5, 20, 3)
    pool = problem(6, 10, 3)[0]
    kept = X.copy(), y.copy(), pool.copy()
    for fit in (accuracy_at_top, tsvm, svmperf):
        fit(X, y, pool, 1.0)
    for now, before in zip((X, y, pool), kept, strict=True):
        np.testing.assert_array_equal(now, before)
