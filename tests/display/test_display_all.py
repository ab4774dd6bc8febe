"""What every display promises: no matplotlib until drawn, same axes, readable in grey."""

import io
import pickle
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import display
from shortlist.certificate import Certificate, Check, Trace
from shortlist.display._inputs import model_name
from shortlist.display._style import BLUE, COLORS, MARKERS, ORANGE, spread_marks


def certificate():
    checks = [Check(0.1 * step, step, 1 + 0.5**step, 1 - 0.5**step) for step in range(20)]
    last = checks[-1]
    return Certificate(last.primal, last.dual, "converged", tol=1e-3, trace=Trace(tuple(checks)))


def data():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.2
    return y, y + rng.normal(size=200)


MAKERS = {
    "budget": lambda **options: display.BudgetDisplay.from_predictions(
        *data(), k=20, n_resamples=20, random_state=0, **options
    ),
    "top list": lambda **options: display.TopListDisplay.from_predictions(*data(), k=20, **options),
    "density": lambda **options: display.ScoreDensityDisplay.from_predictions(
        *data(), threshold=1.0, **options
    ),
}
every_display = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


@every_display
def test_draws_where_it_is_told_and_can_be_redrawn(make):
    figure, (left, right) = plt.subplots(1, 2)
    shown = make(ax=left)
    assert shown.ax_ is left
    assert shown.figure_ is figure
    assert shown.plot(ax=right) is shown
    assert shown.ax_ is right
    assert shown.plot().ax_ not in (left, right)


@every_display
def test_renders_without_a_warning_and_survives_pickling(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = make()
        shown.figure_.savefig(io.BytesIO(), format="png")
    again = pickle.loads(pickle.dumps(shown))
    again.figure_.savefig(io.BytesIO(), format="png")


def test_convergence_draws_where_it_is_told():
    figure, axes = plt.subplots(2, 1)
    shown = display.ConvergenceDisplay.from_certificate(certificate(), ax=axes)
    assert list(shown.axes_) == list(axes)
    assert shown.figure_ is figure
    shown.figure_.savefig(io.BytesIO(), format="png")


def test_precision_recall_is_scikit_learns():
    assert display.PrecisionRecallDisplay is sklearn_metrics.PrecisionRecallDisplay


@every_display
def test_missing_matplotlib_says_how_to_install_it(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "shortlist\[plot\]"'):
        make()


def test_missing_matplotlib_for_convergence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "shortlist\[plot\]"'):
        display.ConvergenceDisplay.from_certificate(certificate())


def luminance(color):
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_hits_and_misses_differ_in_grey():
    assert luminance(ORANGE) - luminance(BLUE) > 0.25


def test_every_colour_has_its_own_marker():
    assert len(set(MARKERS)) == len(set(COLORS)) == len(COLORS)


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("n", [1, 2, 8, 9, 5000])
@pytest.mark.parametrize("shift", [0, 1, 5])
def test_markers_are_few_and_valid(n, scale, shift):
    marks = spread_marks(np.arange(1.0, n + 1), scale, shift=shift)
    assert 1 <= len(marks) <= 8
    assert min(marks) >= 0
    assert max(marks) < n
    assert marks == sorted(set(marks))


CV_MAKERS = [display.BudgetDisplay, display.TopListDisplay, display.ScoreDensityDisplay]


@pytest.mark.parametrize("maker", CV_MAKERS)
def test_cv_results_must_carry_models_and_rows(maker, cancer):
    _, X, y = cancer
    results = cross_validate(GaussianNB(), X, y, cv=3)
    with pytest.raises(ValueError, match=r"return_estimator=True, return_indices=True"):
        maker.from_cv_results(results, X, y)


@pytest.mark.parametrize("maker", CV_MAKERS)
def test_string_labels_and_pos_label(maker, cancer):
    _, X, y = cancer
    words = np.where(y == 1, "benign", "malignant")
    named = GaussianNB().fit(X, words)
    for pos_label in ("benign", "malignant"):
        maker.from_estimator(named, X, words, pos_label=pos_label)
    with pytest.raises(ValueError, match="pos_label='other'"):
        maker.from_estimator(named, X, words, pos_label="other")


def test_the_name_is_that_of_the_model_inside():
    model = make_pipeline(StandardScaler(), GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}))
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(40, 2)), np.arange(40) % 2)
    assert model_name(FrozenEstimator(model)) == "GaussianNB"
    assert model_name(FrozenEstimator(GaussianNB())) == "GaussianNB"
