"""Bounds of thresholds and objectives against extended precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certificate.top_problems import surrogate, top_mean
from drawing import draws
from shortlist._losses import LOSSES
from shortlist.top.problem import NO_BOUND, TopProblem, dual_bound, primal_error
from shortlist.top.stream.parts import Extremes, Part, PartScores
from shortlist.top.surrogate_quantile import SurrogateQuantile
from shortlist.top.sweeps import ArrayScores
from shortlist.top.top_mean import TopMean


def exact_threshold(rule, scores, weight):
    scores, weight = scores.astype(np.longdouble), weight.astype(np.longdouble)
    if isinstance(rule, TopMean):
        return top_mean(scores, weight, rule.k)
    return surrogate(scores, weight, rule.mass, rule.slope, rule.loss.power)


@draws(150)
@given(
    seed=st.integers(0, 10**6),
    rule=st.sampled_from(["mean", "hinge", "squared_hinge"]),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
    offset=st.sampled_from([0.0, 1e7]),
    ties=st.booleans(),
    slope=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_a_threshold_is_within_its_bound(seed, rule, scale, offset, ties, slope):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    scores = scale * (rng.integers(-2, 3, n) if ties else rng.normal(size=n)) + offset
    weight = rng.choice([0.1, 1.0, 30.0], n)
    share = float(rng.uniform(0.05, 0.95)) * float(weight.sum())
    rule = TopMean(share) if rule == "mean" else SurrogateQuantile(LOSSES[rule], slope, share)
    exact = exact_threshold(rule, scores, weight)
    whole = ArrayScores(scores, weight, rule)
    halves = [Part(scores[: n // 2], weight[: n // 2]), Part(scores[n // 2 :], weight[n // 2 :])]
    parts = PartScores(
        lambda function, *args: [function(part, *args) for part in halves],
        rule,
        rule.caps(weight) is not None,
        Extremes.merged([Extremes.of(part) for part in halves]),
    )
    for form in (whole, parts):
        t = form.threshold()
        error = form.threshold_error(t)
        assert abs(t - exact) <= error
        assert error <= 1e-9 * (np.abs(scores).max() + 1.0 / slope + abs(t))


def problem_of(seed, threshold, loss, offset):
    rng = np.random.default_rng(seed)
    X = offset + rng.normal(size=(40, 3))
    y = np.arange(40) < 10
    weight = rng.choice([0.5, 1.0, 4.0], 40)
    rows = (np.flatnonzero(y), np.flatnonzero(~y))
    return TopProblem(X, *rows, weight, 2.0, LOSSES[loss], threshold), rng


@draws(80)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(sorted(LOSSES)),
    threshold=st.sampled_from(
        [
            TopMean(0.1),
            TopMean(6.0),
            *(SurrogateQuantile(LOSSES[name], 1.0, 5.0) for name in LOSSES),
        ]
    ),
    offset=st.sampled_from([0.0, 1e6]),
    spoil=st.sampled_from([0.0, 1e-9, 1e-3]),
)
def test_no_dual_bound_exceeds_a_primal_value(seed, loss, threshold, offset, spoil):
    problem, rng = problem_of(seed, threshold, loss, offset)
    alpha = problem.c * rng.random(10) * (0.99 if problem.loss.bounded else 2.0)
    beta = problem.ranked_weight * rng.uniform(0.9, 1.1, 30)
    # A point that misses the feasible set: its sums differ, and it may exceed its caps.
    beta *= alpha.sum() / beta.sum() * (1.0 + spoil)
    model = problem.signed_sum(alpha, beta)
    cap = threshold.caps(problem.ranked_weight)
    bound = dual_bound(problem, problem.reach, alpha, beta, model, problem.ranked_weight, cap)
    for w in (np.zeros(3), model, 0.1 * model, rng.normal(size=3)):
        scores = problem.split_scores(w)
        primal, t = problem.primal(w, *scores)
        off = ArrayScores(scores[1], problem.ranked_weight, threshold).threshold_error(t)
        error = primal_error(problem, problem.reach, w, scores[0], t, off)
        assert bound.lower <= primal + error
        assert error <= 1e-6 * max(primal, 1.0)


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
def test_a_point_that_is_none_bounds_nothing(bad):
    problem, _ = problem_of(0, TopMean(3.0), "hinge", 0.0)
    alpha, beta = np.ones(10), np.ones(30)
    alpha[3] = bad
    terms = (alpha, beta, np.zeros(3), problem.ranked_weight)
    assert dual_bound(problem, problem.reach, *terms) is NO_BOUND
