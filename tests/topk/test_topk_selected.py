"""Many classes: steps over a few of them, surveys over all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

from drawing import draws
from shortlist import TopKSVC, _core
from shortlist.topk import estimator, scores
from shortlist.topk.problem import TopKProblem, rank_weights
from shortlist.topk.scores import LinearScores
from shortlist.topk.selected import SelectedScores, scores_of


def rows(seed, n, d, m, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % m).astype(np.int32)
    return rng.normal(size=(m, d))[y] + noise * rng.normal(size=(n, d)), y


def problem_of(scores, y, m, k, C, smoothing=0.0, pseudo=False):
    weights = rank_weights("flat", k)
    random = np.random.RandomState(0)
    return TopKProblem(scores, y, np.full(len(y), C), m, weights, smoothing, pseudo, random)


@draws(20)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    C=st.sampled_from([1e-3, 0.1, 10.0]),
    smoothing=st.sampled_from([0.0, 0.3]),
    pseudo=st.booleans(),
    bias=st.sampled_from([0.0, 2.0]),
    kind=st.sampled_from([np.asarray, np.float32, sparse.csr_matrix]),
)
def test_steps_stay_feasible_never_fall_and_the_model_follows(
    seed, k, C, smoothing, pseudo, bias, kind
):
    X, y = rows(seed, 60, 4, 40)
    X = kind(X)
    scores = SelectedScores(X, bias, 40, k)
    problem = problem_of(scores, y, 40, k, C, smoothing, pseudo)
    dual, before = problem.dual(), 0.0
    for number in range(4):
        scores.sweep(dual, problem.rng, True, 15)
        if number == 1:
            dual.remember()
        if number == 3:
            scores.leap(dual, 4.0)
        A = problem.alpha(dual)
        point = problem.point(dual)
        repaired, _ = problem.feasible(point)
        assert abs(A - repaired).max() <= 1e-9 * C
        value = problem.own(A) - 0.5 * float((A.toarray() * problem.product(A)).sum())
        assert value >= before - 1e-9 * (1.0 + abs(before))
        before = value
        np.testing.assert_allclose(scores.W, scores.model(A), rtol=1e-6, atol=1e-9 * C)
        models = scores.scaled_models(dual, np.ones(1), lambda: problem.alpha(dual))
        norm = float((scores.W**2).sum())
        assert models[0].norm == pytest.approx(norm, abs=1e-12)


@draws(20)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 5),
    smoothing=st.sampled_from([0.0, 0.3]),
    pseudo=st.booleans(),
    tied=st.booleans(),
)
def test_a_survey_evaluates_as_a_visit_of_all_classes_does(seed, k, smoothing, pseudo, tied):
    X, y = rows(seed, 50, 3, 45)
    X = np.round(X) if tied else X
    plain = LinearScores(X, 0.0, 45)
    problem = problem_of(plain, y, 45, k, 0.3, smoothing, pseudo)
    dual = problem.dual()
    plain.sweep(dual, problem.rng, True, 15)
    scales = np.array([0.0, 0.5, 1.0, 1.7])
    expected = plain.scaled_models(dual, scales, lambda: problem.alpha(dual))[0]
    other = SelectedScores(X, 0.0, 45, k)
    other.W[:] = plain.W
    for _ in range(2):  # the second time with a guess at where the nearest classes begin
        found = other.scaled_models(dual, scales, lambda: problem.alpha(dual))[0]
        assert found.losses == pytest.approx(expected.losses, rel=1e-9, abs=1e-12)
        assert found.own == pytest.approx(expected.own, rel=1e-12)
        assert found.ridge == pytest.approx(expected.ridge, rel=1e-12)


@draws(50)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    most=st.integers(1, 9),
    C=st.sampled_from([0.05, 1.0]),
)
def test_a_step_solves_the_block_of_the_nearest_classes(seed, k, most, C):
    """One row with one feature: the classes are the highest of all, and ties go by number."""
    rng = np.random.default_rng(seed)
    m, y = 12, int(rng.integers(12))
    W = np.round(rng.normal(size=(m, 1)), 1)
    rho = rank_weights("linear", k)
    one = np.ones(1)
    dual = _core.TopKDual(rho, m, False, np.array([y], np.int32), C * one, one, 0.0 * one)
    dual.survey(W.T.copy(), 0, most, one, np.zeros(1))
    others = np.delete(np.arange(m), y)
    kept = others[np.lexsort((others, -W[others, 0]))][: max(most, k)]
    a = np.full(m, -1e6)
    a[kept] = 1.0 + W[kept, 0] - W[y, 0]
    a[y] = 0.0
    expected = np.zeros(m)
    _core.topk_block(rho, False, a, y, 1.0, C, expected)
    before = W.copy()
    visits, gain = dual.sweep_near_dense(np.ones((1, 1)), W, 0.0, np.zeros(1, np.int64), 15)
    assert visits == 1
    assert (gain > 0.0) == bool(expected.any())
    change = -expected
    change[y] = expected.sum()
    assert (W - before).ravel() == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "options",
    [{}, {"C": 10.0}, {"smoothing": 0.1}, {"loss": "pseudo"}, {"fit_intercept": True}],
)
def test_the_optimum_is_that_of_all_classes(options, kind, monkeypatch):
    X, y = rows(0, 120, 30, 90, noise=2.0)
    X = kind(X)
    options = {"C": 0.05, "tol": 1e-5, **options}
    mine = TopKSVC(3, **options).fit(X, y).certificate_
    monkeypatch.setattr(estimator, "scores_of", lambda X, bias, m, k: LinearScores(X, bias, m))
    theirs = TopKSVC(3, **options).fit(X, y).certificate_
    assert mine.passes != theirs.passes  # another way to the same place
    assert mine.status == theirs.status == "converged"
    assert mine.primal >= theirs.dual
    assert theirs.primal >= mine.dual


def test_few_classes_are_all_looked_at():
    X = np.zeros((3, 100))
    assert type(scores_of(X, 0.0, 40, 5)) is LinearScores
    assert type(scores_of(X, 0.0, 88, 5)) is SelectedScores
    assert type(scores_of(X[:, :10], 0.0, 88, 5)) is LinearScores


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_matrix])
def test_the_same_model_whatever_the_threads(kind, monkeypatch):
    monkeypatch.setattr(scores, "_PART_ENTRIES", 1 << 13)  # parts of 81 rows
    X, y = rows(1, 1_000, 26, 100)
    found = []
    for count in (1, 2, 3):
        with threadpool_limits(count):
            model = TopKSVC(5, C=0.01, tol=1e-2).fit(kind(X), y)
        found.append((model.coef_, model.certificate_.primal, model.certificate_.dual))
    for coef, primal, dual in found[1:]:
        assert np.array_equal(coef, found[0][0])
        assert (primal, dual) == found[0][1:]


def test_sizes_and_order_are_checked():
    one = np.ones(2)
    dual = _core.TopKDual(one[:1], 3, False, np.zeros(2, np.int32), one, one, 0.0 * one)
    order = np.arange(2, dtype=np.int64)
    with pytest.raises(ValueError, match="call spread or survey"):
        dual.sweep_near_dense(np.ones((2, 1)), np.zeros((3, 1)), 0.0, order, 15)
    with pytest.raises(ValueError, match="among those of the dual"):
        dual.survey(np.zeros((2, 3)), 1, 2, one, np.zeros(2))
    with pytest.raises(ValueError, match="z"):
        dual.survey(np.zeros((2, 4)), 0, 2, one, np.zeros(2))
    with pytest.raises(ValueError, match="offset"):
        dual.spread(order[:1], 2)
    dual.spread(order, 2)
    with pytest.raises(ValueError, match="w"):
        dual.sweep_near_dense(np.ones((2, 1)), np.zeros((3, 2)), 0.0, order, 15)
    with pytest.raises(ValueError, match="order"):
        dual.sweep_near_dense(np.ones((2, 1)), np.zeros((3, 1)), 0.0, order + 1, 15)
