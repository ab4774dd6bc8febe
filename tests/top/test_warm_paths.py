"""Starts from a known model: the multipliers that fit it, and what a path costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler

from drawing import draws
from shortlist import PatMat, TopPush
from shortlist._losses import LOSSES
from shortlist.certificate import Monitor
from shortlist.top.interior_point import InteriorPoint
from shortlist.top.newton import newton
from shortlist.top.problem import TopProblem
from shortlist.top.sides import bent, boxed, crossing
from shortlist.top.surrogate_quantile import SurrogateQuantile
from shortlist.top.sweeps import Start, Wanted
from shortlist.top.top_mean import TopMean

sizes = st.floats(1e-6, 1e6)
signed = st.one_of(st.just(0.0), sizes, sizes.map(lambda x: -x))


@given(margin=signed, other=sizes, mu=sizes)
def test_centres_solve_their_equations(margin, other, mu):
    margin, other, mu = (np.array([value]) for value in (margin, other, mu))
    x = bent(margin, other, mu)
    size = np.abs(margin) + other * x + mu / x
    assert (x > 0.0).all()
    assert np.abs(mu / x - margin - other * x) <= 1e-12 * size
    x, rest = boxed(margin, other, mu)
    assert (x > 0.0).all()
    assert (rest > 0.0).all()
    np.testing.assert_allclose(x + rest, other, rtol=1e-12)
    assert np.abs(mu / x - mu / rest - margin) <= 1e-12 * (np.abs(margin) + mu / x + mu / rest)


@given(root=st.floats(-1e3, 1e3), start=st.floats(-1e3, 1e3))
def test_the_ends_move_until_they_enclose_the_root(root, start):
    found = crossing(lambda x: root - x, start, start + 1.0)
    assert abs(found - root) <= 1e-9 * max(1.0, abs(root))


THRESHOLDS = {
    "maximum": TopMean(1),
    "top mean": TopMean(5),
    "square": SurrogateQuantile(LOSSES["squared_hinge"], 1.0, 4.0),
    "hinge": SurrogateQuantile(LOSSES["hinge"], 1.0, 4.0),
}


def problem_of(seed, threshold, loss, C, apart=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = np.arange(60) < 12
    X[y] += apart
    weight = rng.integers(1, 3, size=60).astype(float)
    rows = (np.flatnonzero(y), np.flatnonzero(~y))
    return TopProblem(X, *rows, weight, C, LOSSES[loss], threshold), rng


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mu", [1e-4, 1.0])
def test_every_product_is_mu(name, loss, mu):
    problem, rng = problem_of(0, THRESHOLDS[name], loss, 1.0)
    w = rng.normal(size=4)
    sweep = problem.sweep(w, Wanted(40))
    point = InteriorPoint(problem, w, sweep.positive_scores, sweep.ranked_rows())
    point.centre(mu)
    for product in point.products.values():
        assert (product.a > 0.0).all()
        np.testing.assert_allclose(product.a * product.b, mu * product.weight, rtol=1e-9)
    if isinstance(problem.threshold, TopMean):
        np.testing.assert_allclose(point.beta.sum(), point._total, rtol=1e-9)


@draws(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(sorted(THRESHOLDS)),
    loss=st.sampled_from(sorted(LOSSES)),
    C=st.sampled_from([1e-3, 1.0, 1e2]),
    length=st.sampled_from([0.0, 1e-8, 1.0, 1e8]),
)
def test_any_start_ends_at_the_optimum(seed, name, loss, C, length):
    problem, rng = problem_of(seed, THRESHOLDS[name], loss, C)
    cold, warm = Monitor(1e-6, 500), Monitor(1e-6, 500)
    newton(problem, cold)
    problem.start = Start(length * rng.normal(size=4))
    newton(problem, warm)
    certificate = warm.conclude()[1]
    assert certificate.status == "converged"
    np.testing.assert_allclose(certificate.primal, cold.conclude()[1].primal, rtol=3e-6, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", THRESHOLDS)
def test_the_optimum_is_a_start_that_needs_few_steps(name, loss):
    problem, _ = problem_of(1, THRESHOLDS[name], loss, 1.0, apart=2.0)
    cold, warm = Monitor(1e-4, 500), Monitor(1e-4, 500)
    newton(problem, cold)
    problem.start = cold.conclude()[0].start
    assert problem.start.w.any()
    newton(problem, warm)
    assert warm.iteration <= 0.7 * cold.iteration


DATA = {
    "cancer": load_breast_cancer(return_X_y=True),
    "noisy": make_classification(
        1500, 12, n_informative=6, weights=[0.9], flip_y=0.02, class_sep=1.5, random_state=0
    ),
}
STRENGTHS, SHARES = np.geomspace(0.03, 0.3, 6), np.geomspace(0.03, 0.1, 6)
PATHS = {
    "TopPush C": (TopPush(0.05), "C", STRENGTHS),
    "TopPush k": (TopPush(C=0.1), "k", [20, 24, 28, 34, 40, 48]),
    "PatMat C": (PatMat(0.05), "C", STRENGTHS),
    "PatMat tau": (PatMat(C=0.1), "tau", SHARES),
    "PatMat all C": (PatMat(0.05, quantile="all"), "C", STRENGTHS),
    "PatMat all tau": (PatMat(C=0.1, quantile="all"), "tau", SHARES),
    "PatMat hinge C": (PatMat(0.05, loss="hinge"), "C", STRENGTHS),
}


def test_a_fit_without_warm_start_leaves_nothing_for_the_next():
    X, y = DATA["cancer"]
    model = TopPush(5, warm_start=True).fit(X, y)
    model.set_params(warm_start=False).fit(X[:, :4], y)
    again = TopPush(5).fit(X[:, :4], y)
    model.set_params(warm_start=True, C=2.0).fit(X[:, :4], y)
    np.testing.assert_allclose(
        again.set_params(C=2.0).fit(X[:, :4], y).coef_, model.coef_, rtol=0.1
    )


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("path", PATHS)
def test_a_path_takes_clearly_fewer_steps_than_its_separate_fits(data, path):
    X, y = DATA[data]
    X = StandardScaler().fit_transform(X)
    model, name, values = PATHS[path]
    steps, primal = {}, {}
    for warm in (False, True):
        model.set_params(warm_start=warm)
        steps[warm], primal[warm] = 0, []
        for value in values:
            model.set_params(**{name: value}).fit(X, y)
            steps[warm] += model.n_iter_
            primal[warm].append(model.certificate_.primal)
    np.testing.assert_allclose(primal[True], primal[False], rtol=2e-4)
    assert steps[True] <= 0.8 * steps[False], steps
