"""Numeric outcomes: the list with the largest sum or mean."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from drawing import draws
from shortlist import pick
from shortlist.picking.race.history import check_history, shares
from shortlist.picking.race.models import Task, contestants
from shortlist.picking.race.outcomes import sums
from shortlist.picking.race.regressors import FAMILIES
from shortlist.stacking import SumStack
from shortlist.stacking.sums import fit_sum_head

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = 10 + 3 * X[:, 0] + X[:, 1] + RNG.normal(size=300)
MODELS = {"ridge": Ridge(), "flat": Ridge(1e6)}


class First(RegressorMixin, BaseEstimator):
    """Predict the first column; nothing is learned."""

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@given(
    n=st.integers(1, 12),
    seed=st.integers(0, 999),
    weighted=st.booleans(),
    rate=st.floats(0.01, 1.0),
)
@draws(100)
def test_sums_of_zeros_and_ones_are_hits(n, seed, weighted, rate):
    rng = np.random.default_rng(seed)
    positive, scores = rng.random(n) < 0.5, rng.integers(0, 4, n).astype(float)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    rates = np.array([rate])
    mine = sums(positive.astype(float), scores, weight, rates)
    np.testing.assert_allclose(mine, shares(positive, scores, weight, rates), atol=1e-12)


@pytest.fixture(scope="module")
def found():
    return pick(X[:200], Y[:200], X[200:], 10, goal="sum", models=MODELS)


def test_the_list_is_that_of_the_largest_predictions(found):
    predicted = found.model.predict(X[200:])
    np.testing.assert_allclose(found.scores, predicted)
    assert set(found.selected) == set(np.argsort(-predicted)[:10])
    assert found.expected_gain.low <= Y[200:][found.selected].sum() <= found.expected_gain.high
    assert found.probability is None
    assert found.expected_hits is None
    assert np.corrcoef(found.gain, predicted)[0, 1] > 0.999
    # Of one model that tells and one that does not, the first decides.
    assert found.model[-1].weights_["ridge"] > 0.9


def test_words_and_frames(found, tmp_path):
    assert "Expect a sum of" in found.verdict
    assert "hits" not in str(found)
    assert list(found.to_frame().columns) == ["rank", "row", "score", "expected"]
    assert "sum of 10" in str(found.comparison)
    assert found.at(5).expected_gain.value < found.expected_gain.value
    found.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "the largest sum of a numeric outcome" in text
    assert "hits" not in text.split("<main")[1].split("</main>")[0].lower()


def test_mean_is_the_sum_of_a_row(found):
    mean = pick(X[:200], Y[:200], X[200:], 10, goal="mean", models=MODELS)
    assert np.array_equal(mean.selected, found.selected)
    assert mean.expected_gain.value == pytest.approx(found.expected_gain.value / 10)
    assert "Expect a mean of" in mean.verdict


def test_rows_that_bring_less_than_nothing_are_left_out_of_a_sum():
    y = Y - 12
    short = pick(X[:200], y[:200], X[200:], 80, goal="sum", models=MODELS)
    assert 0 < len(short.selected) < 80
    assert (short.gain[short.selected] > 0).all()
    assert "no other row is expected to bring" in short.verdict
    assert len(pick(X[:200], y[:200], X[200:], 80, goal="mean", models=MODELS).selected) == 80
    filled = pick(X[:200], y[:200], X[200:], 80, goal="sum", fill=True, models=MODELS)
    assert len(filled.selected) == 80


def test_value_cost_and_limits_apply_to_outcomes():
    rng = np.random.default_rng(3)
    price, group = rng.uniform(1, 5, 300), rng.integers(0, 3, 300)
    result = pick(
        X[:200],
        Y[:200],
        X[200:212],
        4,
        goal="sum",
        models=MODELS,
        value=(price[:200], price[200:212]),
        cost=2.0,
        limits=[((group[:200], group[200:212]), 2)],
    )
    gain, here = result.gain, group[200:212]
    best = max(
        sum(gain[list(rows)])
        for size in range(5)
        for rows in combinations(range(12), size)
        if all((here[list(rows)] == g).sum() <= 2 for g in range(3))
    )
    assert gain[result.selected].sum() == pytest.approx(best)
    assert "the list by outcome alone" in result.verdict


def test_weights_are_multiplicities():
    weight = RNG.integers(0, 3, 200).astype(float)
    rows = np.repeat(np.arange(200), weight.astype(int))
    first = {"ridge": First()}
    weighted = pick(X[:200], Y[:200], X[200:], 10, goal="sum", models=first, sample_weight=weight)
    repeated = pick(X[rows], Y[rows], X[200:], 10, goal="sum", models=first)
    assert np.array_equal(weighted.selected, repeated.selected)
    assert weighted.expected_gain.value == pytest.approx(repeated.expected_gain.value, rel=0.05)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"goal": "total"}, "goal='total'"),
        ({"pos_label": 1}, "pos_label=1 is for labels"),
        ({"scoring": "average_precision"}, "scoring='average_precision' judges labels"),
        ({"base_rate": 0.1}, "base_rate=0.1 is a share of positives"),
        ({"models": ["logistic regression"]}, "'ridge'"),
    ],
)
def test_mistakes_are_named(changed, words):
    said = {"goal": "sum", "models": MODELS} | changed
    with pytest.raises(ValueError, match=words):
        pick(X[:200], Y[:200], X[200:], 10, **said)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.where(np.arange(200) == 7, np.nan, Y[:200]), "y is nan in row 7"),
        (np.ones(200), "1 different numbers"),
        (np.array(["a", "b"] * 100), "y must hold numbers to be summed"),
    ],
)
def test_outcomes_that_are_none(y, words):
    with pytest.raises(ValueError, match=words):
        pick(X[:200], y, X[200:], 10, goal="sum", models=MODELS)


def test_a_continuous_y_points_to_the_goal():
    with pytest.raises(ValueError, match="goal='sum' or goal='mean'"):
        check_history(X, Y, None, None, None)


def test_every_family_fits_and_ranks():
    """Grades 0 to 4 of rows of counts: all families, the kernels of sets among them."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.4, (120, 60)).astype(float)
    grade = np.clip(counts[:, :6].sum(axis=1), 0, 4)
    task = Task(0.1, 120, False, "counts", "quick", 0)
    models, left_out = contestants("auto", task, False, FAMILIES)
    assert {"RankSVM of sets", "SVR of sets", "RankSVM", "random forest"} <= {
        model.family for model in models
    }
    assert models[0].is_baseline
    assert set(left_out) == {"gradient boosting"} or set(left_out) == {"LightGBM"}
    result = pick(
        counts[:80],
        grade[:80],
        counts[80:],
        8,
        goal="sum",
        models=["RankSVM", "RankSVM of sets", "SVR of sets"],
        effort="quick",
    )
    assert not [text for text in result.settings["warnings"] if "failed" in text]
    assert grade[80:][result.selected].mean() > grade[80:].mean()


def test_a_stack_is_its_members_on_a_line():
    stack = SumStack([("ridge", Ridge()), ("scaled", Ridge(10.0))]).fit(X[:200], Y[:200])
    assert sum(stack.weights_.values()) == pytest.approx(1.0)
    assert np.mean((stack.predict(X[200:]) - Y[200:]) ** 2) < 1.5 * np.var(Y - 10 - 3 * X[:, 0])


def test_no_weights_fit_better():
    rng = np.random.default_rng(5)
    scores = np.column_stack([Y + rng.normal(size=300), Y + 2 * rng.normal(size=300)])
    head = fit_sum_head(scores, Y, None)
    reached = np.mean((head.log_odds(scores) - Y) ** 2)
    lines = scores * head.slopes + head.intercepts
    for share in np.linspace(0, 1, 21):
        mixed = lines @ np.array([share, 1 - share])
        slope, intercept = np.polyfit(mixed, Y, 1)
        assert reached <= np.mean((slope * mixed + intercept - Y) ** 2) * (1 + 2e-3)
