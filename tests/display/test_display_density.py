import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_validate

from shortlist._density import binned_density, class_densities
from shortlist.budget import BudgetClassifier
from shortlist.display import ScoreDensityDisplay


@pytest.mark.parametrize("n", [5, 200, 20_000])
def test_binned_density_matches_the_direct_sum(n):
    rng = np.random.default_rng(n)
    scores = np.concatenate([rng.normal(size=n), rng.normal(4, 0.5, size=n // 2)])
    grid = np.linspace(-8, 10, 1024)
    direct = gaussian_kde(scores, bw_method=0.2)
    width = 0.2 * scores.std(ddof=1)
    np.testing.assert_allclose(
        binned_density(scores, grid, width), direct(grid), atol=2e-3 * direct(grid).max()
    )


ugly = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, -1.0, 3.0, 1e-9, 100.0])),
    min_size=2,
    max_size=12,
)


@given(data=ugly, scale=st.sampled_from([1e-200, 1e-12, 1.0, 1e200]), shift=st.sampled_from([0, 5]))
def test_both_areas_are_one_whatever_the_scores(data, scale, shift):
    y, scores = (np.array(part) for part in zip(*data, strict=True))
    y[:2] = [True, False]
    display = ScoreDensityDisplay._compute(y, (scores + shift) * scale, threshold=None)
    for side in ("positive", "negative"):
        density = getattr(display, side)
        assert np.all(density >= 0)
        assert trapezoid(density, display.grid) == pytest.approx(1, rel=0.02)


@given(
    data=ugly,
    counts=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    scale=st.sampled_from([1e-12, 1.0, 1e200]),
)
def test_a_weight_is_a_multiplicity(data, counts, scale):
    y, scores = (np.array(part) for part in zip(*data, strict=True))
    counts = np.array(counts[: len(y)])
    y[:2], counts[:2] = [True, False], [1, 2]
    weighted = class_densities(y, scores * scale, counts.astype(float))
    repeated = class_densities(np.repeat(y, counts), np.repeat(scores * scale, counts))
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9 * np.abs(other).max())


def test_shares_above_the_threshold():
    display = ScoreDensityDisplay.from_predictions(
        [1, 1, 1, 1, 0, 0], [5, 4, 3, 0, 3.5, 0], threshold=3
    )
    assert (display.recall, display.fpr) == (0.5, 0.5)
    labels = display.ax_.get_legend_handles_labels()[1]
    assert labels == ["negatives, 50 % above", "positives, 50 % above", "threshold 3"]
    assert display.threshold_line_.get_xdata()[0] == 3


def test_no_threshold_no_line():
    display = ScoreDensityDisplay.from_predictions([1, 0], [1.0, 0.0])
    assert display.threshold_line_ is None
    assert display.ax_.get_legend_handles_labels()[1] == ["negatives", "positives"]


def test_looks_differ_without_colour():
    display = ScoreDensityDisplay.from_predictions([1, 0, 1, 0], [1.0, 0.0, 2.0, 0.5])
    assert display.positive_line_.get_linestyle() != display.negative_line_.get_linestyle()
    hatches = [fill.get_hatch() for fill in display.ax_.collections]
    assert hatches == ["////", None]


def test_auto_threshold_is_what_predict_does(cancer):
    model, X, y = cancer
    display = ScoreDensityDisplay.from_estimator(model, X, y)
    assert display.threshold == 0
    predicted = model.predict(X)
    assert display.recall == np.mean(predicted[y == 1])
    assert display.fpr == np.mean(predicted[y == 0])

    forest = RandomForestClassifier(11, random_state=0).fit(X[::2], y[::2])
    assert ScoreDensityDisplay.from_estimator(forest, X, y).threshold == 0.5

    first = BudgetClassifier(FrozenEstimator(model), k=17).fit(X, y)
    display = ScoreDensityDisplay.from_estimator(first, X, y)
    assert np.sum(model.decision_function(X) > display.threshold) == 17

    learned = BudgetClassifier(FrozenEstimator(model), fpr=0.1).fit(X, y)
    display = ScoreDensityDisplay.from_estimator(learned, X, y)
    assert display.threshold == 0
    assert display.fpr <= 0.1

    everything = BudgetClassifier(FrozenEstimator(model), fraction=1.0).fit(X, y)
    assert ScoreDensityDisplay.from_estimator(everything, X, y).threshold is None

    nothing = DummyClassifier(strategy="prior").fit(X, y)
    display = ScoreDensityDisplay.from_estimator(nothing, X, 1 - y, pos_label=0)
    assert display.threshold == 0.5


def test_given_threshold_and_none(cancer):
    model, X, y = cancer
    assert ScoreDensityDisplay.from_estimator(model, X, y, threshold=1.5).threshold == 1.5
    assert ScoreDensityDisplay.from_estimator(model, X, y, threshold=None).threshold is None
    with pytest.raises(ValueError, match="threshold='best': give a number, 'auto' or None"):
        ScoreDensityDisplay.from_estimator(model, X, y, threshold="best")


def test_folds_are_pooled(cancer):
    model, X, y = cancer
    results = cross_validate(model, X, y, cv=3, return_estimator=True, return_indices=True)
    display = ScoreDensityDisplay.from_cv_results(results, X, y, threshold=0)
    predicted = np.empty_like(y)
    for fitted, test in zip(results["estimator"], results["indices"]["test"], strict=True):
        predicted[test] = fitted.predict(X[test])
    assert display.recall == np.mean(predicted[y == 1])


@pytest.mark.parametrize("scores", [[7.0, 7.0], [0.0, 0.0], [1e200, 1e200], [5.0, 5.0 + 1e-15]])
def test_equal_scores_can_be_drawn(scores):
    ScoreDensityDisplay.from_predictions([1, 0], scores).figure_.canvas.draw()


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="y_true holds no negatives; give rows of both"):
        ScoreDensityDisplay.from_predictions([1, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="y_true holds no positives"):
        ScoreDensityDisplay.from_predictions([0, 0], [1.0, 2.0])
