"""Thresholds of scores in parts against those of one array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from shortlist._losses import HINGE, SQUARED_HINGE
from shortlist.top.stream import parts as score_parts
from shortlist.top.stream.parts import Extremes, Part, PartScores
from shortlist.top.surrogate_quantile import SurrogateQuantile
from shortlist.top.sweeps import empirical_cut
from shortlist.top.top_mean import TopMean


@pytest.fixture(autouse=True)
def _small_grids(monkeypatch):
    monkeypatch.setattr(score_parts, "_CELLS", 5)
    monkeypatch.setattr(score_parts, "_FEW", 3)


def in_parts(scores, weight, n_parts, rule, seed, capped=True):
    owner = np.random.default_rng(seed).integers(0, n_parts, size=len(scores))
    parts = [
        Part(scores[owner == i], None if weight is None else weight[owner == i])
        for i in range(n_parts)
    ]
    extremes = Extremes.merged([Extremes.of(part) for part in parts])
    return PartScores(lambda f, *a: [f(part, *a) for part in parts], rule, capped, extremes)


@st.composite
def scores_and_weights(draw):
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "ties", "constant", "outlier", "offset"]))
    scores = rng.normal(size=n)
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "constant":
        scores = np.full(n, 0.3)
    elif kind == "outlier":
        scores[rng.integers(n)] = 1e7
    elif kind == "offset":
        scores += 1e5
    scores *= draw(st.sampled_from([1.0, 1e-6, 1e5]))
    weight = None
    if draw(st.booleans()):
        weight = rng.choice([0.25, 0.5, 1.0, 2.0, 3.7], size=n)
    return scores, weight


@draws(120)
@given(
    scores_and_weights(),
    st.integers(1, 6),
    st.floats(0.01, 0.95),
    st.sampled_from([1.0, 0.1, 25.0]),
    st.sampled_from([HINGE, SQUARED_HINGE]),
    st.sampled_from([1.0, 0.03, 7.0]),
    st.integers(0, 99),
)
def test_surrogate_quantile(data, n_parts, tau, slope, loss, length, seed):
    scores, weight = data
    w = np.ones(len(scores)) if weight is None else weight
    rule = SurrogateQuantile(loss, slope, tau * w.sum())
    got = in_parts(scores, weight, n_parts, rule, seed).threshold(length)
    expected = rule.value(length * scores, w)
    scale = np.abs(length * scores).max() + 1.0 / slope
    assert got == pytest.approx(expected, rel=0, abs=1e-11 * scale)


@draws(80)
@given(scores_and_weights(), st.integers(1, 6), st.floats(0.01, 0.99), st.integers(0, 99))
def test_top_mean(data, n_parts, share, seed):
    scores, weight = data
    w = np.ones(len(scores)) if weight is None else weight
    rule = TopMean(min(max(1.0, np.ceil(share * w.sum())), w.sum()))
    capped = rule.caps(w) is not None
    got = in_parts(scores, weight, n_parts, rule, seed, capped).threshold(3.0)
    # Large scores that cancel leave the rounding of their size.
    scale = 3.0 * np.abs(scores).max()
    assert got == pytest.approx(3.0 * rule.value(scores, w), rel=0, abs=1e-12 * scale)


@draws(120)
@given(scores_and_weights(), st.integers(1, 6), st.floats(0.01, 0.99), st.integers(0, 99))
def test_cut(data, n_parts, tau, seed):
    scores, weight = data
    w = np.ones(len(scores)) if weight is None else weight
    mass, highest = tau * w.sum(), scores.max() + 1.0
    rule = SurrogateQuantile(HINGE, 1.0, mass)
    got = in_parts(scores, weight, n_parts, rule, seed).cut(mass, highest)
    assert got == pytest.approx(empirical_cut(scores, w, mass, highest), rel=1e-13)


def test_a_chain_of_near_ties_stays_together():
    scores = np.concatenate([1.0 - 1e-10 * np.arange(200), [0.5, 0.4]])
    rule = SurrogateQuantile(HINGE, 1.0, 100.0)
    w = np.ones(len(scores))
    got = in_parts(scores, None, 4, rule, 0).cut(100.0, 9.0)
    assert got == empirical_cut(scores, w, 100.0, 9.0) == 9.0
    scores = np.concatenate([[2.0], scores])
    got = in_parts(scores, None, 4, rule, 0).cut(100.0, 9.0)
    assert got == pytest.approx(1.5)


def test_few_rounds_for_many_rows(monkeypatch):
    monkeypatch.undo()
    scores = np.random.default_rng(0).normal(size=300_000)
    rule = SurrogateQuantile(SQUARED_HINGE, 1.0, 0.05 * len(scores))
    parts = in_parts(scores, None, 7, rule, 0)
    asked, ask = [], parts.ask
    parts.ask = lambda f, *a: asked.append(f) or ask(f, *a)
    assert parts.threshold() == pytest.approx(rule.value(scores, np.ones(len(scores))), rel=1e-12)
    assert len(asked) <= 3
