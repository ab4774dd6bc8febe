import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist.certificate import Certificate, Check, Trace
from shortlist.display import ConvergenceDisplay


def fit_of(primal, dual, tol=1e-3, status="converged"):
    checks = tuple(
        Check(seconds=0.1 * i, iteration=3 * i, primal=p, dual=d)
        for i, (p, d) in enumerate(zip(primal, dual, strict=True))
    )
    return Certificate(primal[-1], dual[-1], status, tol, trace=Trace(checks))


GOOD = fit_of([4.0, 3.0, 2.5, 2.0], [-np.inf, 1.0, 1.5, 2.0])


class Fitted(BaseEstimator):
    def __init__(self, certificate=None):
        self.certificate = certificate

    def fit(self, X, y=None):
        self.certificate_ = self.certificate
        return self

    def transform(self, X):
        return X


def test_lines_are_the_trace_and_missing_bounds_are_left_out():
    lines = ConvergenceDisplay.from_certificate(GOOD).lines_[""]
    np.testing.assert_allclose(lines["primal"].get_xdata(), [0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(lines["primal"].get_ydata(), [4, 3, 2.5, 2])
    np.testing.assert_allclose(lines["dual"].get_xdata(), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(lines["dual"].get_ydata(), [1, 1.5, 2])
    # A gap of zero has no place on a logarithmic axis.
    np.testing.assert_allclose(lines["gap"].get_ydata(), [2 / 3, 0.4])


def test_iterations_and_tolerance():
    display = ConvergenceDisplay.from_certificate(GOOD, x="iteration")
    np.testing.assert_array_equal(display.lines_[""]["primal"].get_xdata(), [0, 3, 6, 9])
    assert display.axes_[1].get_yscale() == "log"
    assert "tol = 0.001" in display.axes_[1].get_legend_handles_labels()[1]
    assert display.axes_[1].get_xlabel() == "iteration"


def test_a_local_fit_claims_no_bound():
    local = replace(GOOD, status="local")
    display = ConvergenceDisplay.from_certificates({"exact": GOOD, "local": local})
    assert set(display.lines_["local"]) == {"primal"}
    assert set(display.lines_["exact"]) == {"primal", "dual", "gap"}
    display.figure_.canvas.draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = ConvergenceDisplay.from_certificate(local)
        alone.figure_.canvas.draw()
    assert [text.get_text() for text in alone.axes_[1].texts] == ["no bound claimed"]


def test_models_differ_in_colour_and_marker_and_sides_in_dash():
    display = ConvergenceDisplay.from_certificates({"a": GOOD, "b": GOOD})
    a, b = display.lines_["a"], display.lines_["b"]
    assert a["primal"].get_color() != b["primal"].get_color()
    assert a["primal"].get_marker() != b["primal"].get_marker()
    assert a["primal"].get_linestyle() != a["dual"].get_linestyle()
    assert a["dual"].get_label() == "a dual"


def test_from_estimator_reads_the_certificate():
    model = Fitted(GOOD).fit(None)
    display = ConvergenceDisplay.from_estimator(model)
    assert display.certificates == {"Fitted": GOOD}
    pipeline = make_pipeline(StandardScaler(), Fitted(GOOD)).fit([[0.0], [1.0]])
    assert ConvergenceDisplay.from_estimator({"p": pipeline}).certificates == {"p": GOOD}


def test_wide_positive_objectives_get_a_logarithmic_axis():
    wide = fit_of([1e6, 3.0, 2.5], [0.1, 1.0, 2.4])
    assert ConvergenceDisplay.from_certificate(wide).axes_[0].get_yscale() == "log"
    assert ConvergenceDisplay.from_certificate(GOOD).axes_[0].get_yscale() == "linear"


def test_fits_of_very_different_length_get_a_logarithmic_clock():
    long = fit_of(np.linspace(4, 2, 40), np.linspace(1, 2, 40))
    assert ConvergenceDisplay.from_certificates({"a": GOOD, "b": long}).ax_.get_xscale() == "log"
    assert ConvergenceDisplay.from_certificates({"a": GOOD, "b": GOOD}).ax_.get_xscale() == "linear"


def test_panels():
    gap = ConvergenceDisplay.from_certificate(GOOD, panels=["gap"])
    assert len(gap.axes_) == 1
    assert set(gap.lines_[""]) == {"gap"}
    _, ax = plt.subplots()
    assert ConvergenceDisplay.from_certificate(GOOD, ax=ax, panels=["objective"]).ax_ is ax


def test_errors():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax has 1 axes for 2 panels"):
        ConvergenceDisplay.from_certificate(GOOD, ax=ax)
    with pytest.raises(ValueError, match="x='passes': choose 'seconds' or 'iteration'"):
        ConvergenceDisplay.from_certificate(GOOD, x="passes")
    with pytest.raises(ValueError, match=r"panels=\['dual'\]: choose some of objective, gap"):
        ConvergenceDisplay.from_certificate(GOOD, panels=["dual"])
    with pytest.raises(ValueError, match="'x' has an empty trace"):
        ConvergenceDisplay.from_certificates({"x": Certificate(1.0, 1.0, "converged", 1e-3)})
    with pytest.raises(ValueError, match=r"Fitted has no certificate_\. Fit it first"):
        ConvergenceDisplay.from_estimator(Fitted())


def test_one_check_is_enough():
    ConvergenceDisplay.from_certificate(fit_of([1.0], [0.5])).figure_.canvas.draw()
