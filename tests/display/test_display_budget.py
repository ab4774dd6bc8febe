import numpy as np
import pytest
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB

from shortlist.display import BudgetDisplay
from shortlist.metrics import budget_band, budget_curve, lift_at_k, precision_at_k, recall_at_k


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.2
    return y, np.round(y + rng.normal(size=300), 1)


def test_curves_and_bands_are_those_of_the_metrics(rows):
    shown = BudgetDisplay.from_predictions(*rows, k=40, n_resamples=50, random_state=3)
    curve = budget_curve(*rows)
    band = budget_band(*rows, n_resamples=50, random_state=3)
    for name in ("precision", "recall"):
        np.testing.assert_array_equal(shown.lines_[name].get_xdata(), curve.k)
        np.testing.assert_array_equal(shown.lines_[name].get_ydata(), getattr(curve, name))
        corners = shown.bands_[name].get_paths()[0].vertices[:, 1]
        assert corners.max() == pytest.approx(getattr(band, f"{name}_high").max())
        assert corners.min() == pytest.approx(getattr(band, f"{name}_low").min())


def test_the_right_axis_reads_lift(rows):
    shown = BudgetDisplay.from_predictions(*rows, confidence=None)
    (right,) = shown.ax_.child_axes
    shown.figure_.canvas.draw()
    per_precision = right.get_ylim()[1] / shown.ax_.get_ylim()[1]
    expected = lift_at_k(*rows, 25) / precision_at_k(*rows, 25)
    assert per_precision == pytest.approx(expected)


def test_the_chosen_k_is_marked_with_its_values(rows):
    shown = BudgetDisplay.from_predictions(*rows, k=0.1, n_resamples=10)
    assert shown.k == 30
    assert list(shown.chosen_line_.get_xdata()) == [30, 30]
    precision, recall = precision_at_k(*rows, 30), recall_at_k(*rows, 30)
    label = shown.chosen_line_.get_label()
    assert label == f"k = 30: precision {precision:.2f}, recall {recall:.2f}"


def test_a_k_beyond_the_rows_is_the_whole_list(rows):
    assert BudgetDisplay.from_predictions(*rows, k=10_000, confidence=None).k == 300


@pytest.mark.parametrize(
    ("curves", "drawn", "right"),
    [
        (["precision"], ["precision"], 0),
        (["recall"], ["recall"], 0),
        (["lift"], ["precision"], 1),
        (["recall", "lift"], ["precision", "recall"], 1),
    ],
)
def test_a_choice_of_curves(rows, curves, drawn, right):
    shown = BudgetDisplay.from_predictions(*rows, confidence=None, curves=curves)
    assert list(shown.lines_) == drawn
    assert len(shown.ax_.child_axes) == right


def test_models_on_one_picture_differ_in_colour_marker_and_name(rows):
    y, scores = rows
    first = BudgetDisplay.from_predictions(y, scores, n_resamples=10, name="a")
    second = BudgetDisplay.from_predictions(
        y, -scores, n_resamples=10, name="b", k=10, ax=first.ax_
    )
    lines = [*first.lines_.values(), *second.lines_.values()]
    for look in ("get_color", "get_marker", "get_label"):
        assert len({getattr(line, look)() for line in lines}) == 4
    assert first.lines_["recall"].get_linestyle() == second.lines_["recall"].get_linestyle() == "--"
    assert second.chosen_line_.get_label().startswith("b: k = 10")
    assert len(first.ax_.child_axes) == 1
    texts = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert texts.count("95 % interval") == 1


def test_from_estimator_scores_and_names(cancer):
    model, X, y = cancer
    shown = BudgetDisplay.from_estimator(model, X, y, n_resamples=10)
    expected = budget_curve(y, model.decision_function(X))
    np.testing.assert_array_equal(shown.curve.hits, expected.hits)
    assert shown.name == "LogisticRegression"
    other = BudgetDisplay.from_estimator(model, X, y, confidence=None, pos_label=0)
    expected = budget_curve(y == 0, -model.decision_function(X))
    np.testing.assert_array_equal(other.curve.hits, expected.hits)
    assert other.band is None


def test_folds_show_their_mean_and_range(cancer):
    _, X, y = cancer
    X, y = X[:98], y[:98]
    results = cross_validate(GaussianNB(), X, y, return_estimator=True, return_indices=True)
    shown = BudgetDisplay.from_cv_results(results, X, y, k=5)
    each = [
        [precision_at_k(y[test], model.predict_proba(X[test])[:, 1], k) for k in range(1, 20)]
        for model, test in zip(results["estimator"], results["indices"]["test"], strict=True)
    ]
    np.testing.assert_allclose(shown.curve.precision, np.mean(each, axis=0))
    np.testing.assert_allclose(shown.band.precision_low, np.min(each, axis=0))
    np.testing.assert_allclose(shown.band.precision_high, np.max(each, axis=0))
    assert "range over 5 folds" in shown.ax_.get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    ("y", "scores"),
    [([1], [0.0]), ([1, 0], [0.0, 0.0]), ([0, 1, 0], [1e300, -1e300, 0]), ([1, 1], [1, 2])],
)
def test_tiny_and_ugly_lists_can_be_drawn(y, scores):
    shown = BudgetDisplay.from_predictions(y, scores, k=1, n_resamples=5)
    shown.figure_.canvas.draw()


def test_weights_and_many_rows():
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.1
    shown = BudgetDisplay.from_predictions(
        y, rng.random(20_000), sample_weight=rng.random(20_000), confidence=None
    )
    assert len(shown.lines_["precision"].get_xdata()) <= 2000
    assert shown.lines_["precision"].get_xdata()[-1] == pytest.approx(shown.curve.k[-1])


def test_no_positives_leaves_the_band_out(rows):
    y = np.zeros(5, dtype=int)
    with pytest.warns(UserWarning, match="undefined"):
        shown = BudgetDisplay.from_predictions(y, np.arange(5.0), confidence=None)
    assert len(shown.ax_.child_axes) == 0


def test_errors(rows):
    with pytest.raises(ValueError, match=r"curves=\['hits'\]: choose some of precision"):
        BudgetDisplay.from_predictions(*rows, confidence=None, curves=["hits"])
    with pytest.raises(ValueError, match=r"curves=\[\]: choose some of"):
        BudgetDisplay.from_predictions(*rows, confidence=None, curves=[])
    with pytest.raises(ValueError, match="got k=0"):
        BudgetDisplay.from_predictions(*rows, confidence=None, k=0)
