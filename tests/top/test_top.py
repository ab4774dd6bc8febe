"""TopPush as its users meet it."""

import pickle
import signal

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from shortlist import CollapsedWarning, TopPush, metrics


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.arange(60) < 15
    X[y] += 1
    return X, y


def test_fitted_attributes(tumours):
    X, y = tumours
    model = TopPush().fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "converged"
    assert 0 <= certificate.relative_gap <= model.tol
    assert certificate.passes >= 1
    assert len(certificate.trace) >= 1
    last = certificate.trace[len(certificate.trace) - 1]
    assert (last.primal, last.dual) == (certificate.primal, certificate.dual)
    assert (np.diff(certificate.trace.seconds) >= 0).all()
    assert (np.diff(certificate.trace.primal) <= 0).all()
    assert (np.diff(certificate.trace.dual) >= 0).all()
    assert model.coef_.shape == (1, X.shape[1])
    assert model.n_iter_ >= 1
    scores = X @ model.coef_[0]
    assert model.threshold_ == pytest.approx(scores[y == 0].max())
    np.testing.assert_allclose(model.decision_function(X), scores - model.threshold_, atol=1e-9)
    assert not model.predict(X)[y == 0].any()


def test_the_objective_is_the_documented_one(small):
    X, y = small
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        model = TopPush(3, C=0.7, loss=loss).fit(X, y)
        w = model.coef_[0]
        top = np.sort(X[~y] @ w)[-3:].mean()
        value = 0.5 * w @ w + 0.7 * (np.maximum(0, 1 + top - X[y] @ w) ** power).sum()
        assert model.certificate_.primal == pytest.approx(value)


@pytest.mark.parametrize(("k", "count"), [(0.1, 3), (0.101, 4), (0.0001, 1), (0.999, 30)])
def test_a_fraction_of_the_negatives(k, count):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) < 10
    X[y] += 2
    np.testing.assert_allclose(TopPush(k).fit(X, y).coef_, TopPush(count).fit(X, y).coef_)


@pytest.mark.parametrize(
    "labels",
    [("bad", "good"), (False, True), (0, 1), (-1, 1), (3.0, 7.0)],
)
def test_labels_of_any_two_kinds(small, labels):
    X, y = small
    target = np.where(y, labels[1], labels[0])
    model = TopPush().fit(X, target)
    assert list(model.classes_) == sorted(labels)
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_allclose(model.coef_, TopPush().fit(X, y).coef_)


def test_weights(small):
    X, y = small
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted = TopPush(2).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, TopPush(2).fit(X[again], y[again]).coef_, rtol=1e-7)
    exact = TopPush(C=2.0, tol=1e-10)
    halves = clone(exact).fit(np.r_[X, X], np.r_[y, y], sample_weight=np.full(120, 0.5))
    np.testing.assert_allclose(halves.coef_, exact.fit(X, y).coef_, rtol=1e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, columns)])
def test_data_frames_name_the_features(small, frame):
    X, y = small
    table = frame(X, columns=list("abcd")) if frame is pd.DataFrame else frame(X, list("abcd"))
    model = TopPush().fit(table, y)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(
        model.decision_function(table), TopPush().fit(X, y).decision_function(X)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_inputs_are_left_alone(small, form, dtype):
    X, y = small
    stored = form(X.astype(dtype))
    before, labels, weight = stored.copy(), y.copy(), np.ones(len(y))
    TopPush(3).fit(stored, y, sample_weight=weight).decision_function(stored)
    assert abs(stored - before).max() == 0
    assert (y == labels).all()
    assert (weight == 1).all()


def test_pipeline_grid_search_and_missing_values(tumours):
    X, y = tumours
    X = X.copy()
    X[::7, 3] = np.nan
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), TopPush())
    search = GridSearchCV(
        pipeline,
        {"toppush__C": [0.01, 1.0], "toppush__k": [1, 0.05]},
        scoring=metrics.scorer("positives_at_top"),
        cv=3,
        n_jobs=2,
    )
    with joblib.parallel_config("threading"):  # in processes: picking/test_pick.py
        search.fit(X, y)
    assert search.best_score_ > 0.5


def test_clone_pickle_and_joblib(small, tmp_path):
    X, y = small
    model = TopPush(0.1, C=3.0, loss="hinge").fit(X, y)
    assert clone(model).get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        assert copy.certificate_ == model.certificate_


def test_verbose_prints_one_line_per_check(small, capsys):
    model = TopPush(verbose=1).fit(*small)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(model.certificate_.trace)


def test_callback_receives_the_trace_and_may_stop(small):
    seen = []
    model = TopPush(callback=seen.append).fit(*small)
    assert tuple(seen) == model.certificate_.trace.checks
    with pytest.warns(ConvergenceWarning, match="'stopped'"):
        model = TopPush(callback=lambda check: check.iteration >= 1, tol=1e-12).fit(*small)
    assert model.certificate_.status == "stopped"


@pytest.mark.parametrize("solver", ["newton", "accelerated"])
def test_stopping_short_warns_with_the_gap(tumours, solver):
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        model = TopPush(solver=solver, max_iter=1).fit(*tumours)
    assert model.certificate_.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="'time_limit'"):
        model = TopPush(solver=solver, time_limit=1e-6, tol=1e-9).fit(*tumours)
    assert model.certificate_.status == "time_limit"
    assert model.certificate_.gap > 0


def test_collapse_names_the_row_and_the_remedies(small):
    X, y = small
    X = np.where(y[:, None], X, X - 6)
    X[33] = X[y].mean(0)
    with pytest.warns(CollapsedWarning, match=r"row 33.*larger k.*PatMat") as caught:
        model = TopPush().fit(X, y)
    assert caught[0].filename == __file__
    assert not model.coef_.any()
    assert not model.predict(X).any()
    assert TopPush(0.2).fit(X, y).coef_.any()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": -1.0}, r"C must be .* greater than 0, got C=-1.0"),
        ({"C": 0}, "C=0"),
        ({"C": np.nan}, "C=nan"),
        ({"C": np.inf}, "C=inf"),
        ({"C": "1"}, "C='1'"),
        ({"k": 0}, "k=0"),
        ({"k": -3}, "k=-3"),
        ({"k": 1.0}, r"fraction in \(0, 1\), got k=1.0"),
        ({"k": 0.0}, "k=0.0"),
        ({"k": "5"}, "k='5'"),
        ({"k": True}, "k=True"),
        ({"k": 46}, r"k=46 exceeds the 45 negatives.*smaller k"),
        ({"loss": "log"}, "loss must be one of 'squared_hinge', 'hinge'"),
        (
            {"solver": "simplex"},
            r"solver='simplex' cannot be used.*'auto', 'newton', 'accelerated'",
        ),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"time_limit": -1}, "time_limit=-1"),
    ],
)
def test_bad_parameters(small, params, message):
    with pytest.raises(ValueError, match=message):
        TopPush(**params).fit(*small)


def test_bad_data(small):
    X, y = small
    with pytest.raises(ValueError, match="one class only"):
        TopPush().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match=r"Only binary classification.*3 classes"):
        TopPush().fit(X, np.arange(len(y)) % 3)
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            TopPush().fit(broken, y)
    with pytest.raises(ValueError, match=r"sample_weight must not be negative, got -1 in row 2"):
        TopPush().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 2, -1, 1))
    with pytest.raises(ValueError, match=r"shape \(60,\), got shape \(3,\)"):
        TopPush().fit(X, y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="zero for every row of class True"):
        TopPush().fit(X, y, sample_weight=np.where(y, 0, 1))
    with pytest.raises(ValueError, match=r"k=1 exceeds the 0.45 negatives.*scale them up"):
        TopPush().fit(X, y, sample_weight=np.full(60, 0.01))


def test_not_fitted_before_fit(small):
    with pytest.raises(NotFittedError):
        TopPush().predict(small[0])


@pytest.mark.parametrize("solver", ["newton", "accelerated"])
def test_interrupt_leaves_the_estimator_unfitted(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 20))
    y = np.arange(3_000) < 500
    model = TopPush(0.02, solver=solver, tol=1e-14, C=100.0)
    # In the midst of the fit; in the midst of a compiled loop: tests/core.
    model.callback = lambda check: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "certificate_")
    model.set_params(callback=None, tol=1e-2, solver="newton").fit(X, y)


def test_two_rows_and_one_positive():
    model = TopPush().fit([[0.0], [1.0]], ["n", "p"])
    assert list(model.predict([[0.0], [1.0]])) == ["n", "p"]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = TopPush(C=100.0).fit(X, np.arange(50) == X[:, 0].argmax())
    assert model.certificate_.status == "converged"
