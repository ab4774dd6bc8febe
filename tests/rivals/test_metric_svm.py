"""MetricSVM against the optimum over all labellings, and against its kin in the library."""

import functools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from oracles.rivals import labellings, optima
from shortlist import CollapsedWarning, RankSVM, TopPush
from shortlist.metrics import average_precision, precision_at_k
from shortlist.rivals import (
    F1,
    ROCAUC,
    AveragePrecision,
    LabelPrecision,
    Metric,
    MetricSVM,
    PartialAUC,
    PrecisionAtK,
    RecallAtK,
    Violation,
)

METRICS = [
    PrecisionAtK(2),
    PrecisionAtK(5),
    RecallAtK(2),
    PartialAUC(0.5),
    PartialAUC(1.0, 0.25),
    ROCAUC(),
    AveragePrecision(),
    F1(),
    LabelPrecision(2),
]
KINDS = ("plain", "ties", "duplicates", "far")


def few_rows(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    y = np.array([1, 1, 1, 0, 0, 0, 0])
    X[:3, 0] += 0.7
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X[5], X[1] = X[0], X[4]
    elif kind == "far":
        X += 1e5
    return X, y


@functools.cache
def planes_of(metric):
    """All labellings of three positives and four negatives; the kinds of rows share them."""
    return labellings(metric, 3, 4)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: f"{type(m).__name__} {vars(m)}")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::shortlist.CollapsedWarning")
def test_the_optimum_over_all_labellings(metric, kind):
    if kind == "far" and not metric.shift_invariant:
        pytest.skip("the origin matters to a regularised intercept")
    X, y = few_rows(kind)
    planes = planes_of(metric)
    centred = X - X.mean(axis=0) if metric.shift_invariant else np.column_stack([X, np.ones(7)])
    costs = (0.02, 1.0, 50.0)
    best_of = optima(planes, centred[y == 1], centred[y == 0], [3 * C for C in costs])
    for C, best in zip(costs, best_of, strict=True):
        model = MetricSVM(metric, C=C, tol=1e-7).fit(X, y)
        c = model.certificate_
        assert c.status == "converged"
        assert c.primal == pytest.approx(best, rel=1e-5, abs=1e-7)
        assert c.dual <= best * (1 + 1e-6) + 1e-7


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), 1 - y


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "partial_auc", "roc_auc",
                                  "average_precision", "f1"])  # fmt: skip
def test_names_storages_and_precisions_agree(name, tumours):
    X, y = tumours
    wide = MetricSVM(name, k=50, max_fpr=0.05, C=0.1).fit(X, y)
    assert wide.certificate_.status == "converged"
    for rows in (X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X)):
        other = MetricSVM(name, k=50, max_fpr=0.05, C=0.1).fit(rows, y)
        assert other.certificate_.status == "converged"
        assert other.certificate_.primal == pytest.approx(wide.certificate_.primal, rel=3e-4)
        assert other.certificate_.dual <= wide.certificate_.primal * (1 + 1e-6)


def test_the_whole_area_is_rank_svm(tumours):
    X, y = tumours
    C = 0.3
    area = MetricSVM("roc_auc", C=C, tol=1e-5).fit(X, y).certificate_
    pairs = RankSVM(C=C * y.sum() / len(y), tol=1e-5).fit(X, y).certificate_
    assert area.primal == pytest.approx(pairs.primal, rel=3e-5)


def test_one_negative_of_partial_auc_is_top_push(tumours):
    X, y = tumours
    area = MetricSVM("partial_auc", max_fpr=1 / (y == 0).sum(), C=0.3, tol=1e-5).fit(X, y)
    top = TopPush(C=0.3, loss="hinge", tol=1e-6).fit(X, y)
    assert area.certificate_.primal == pytest.approx(top.certificate_.primal, rel=3e-5)


def test_recall_is_precision_at_another_strength(tumours):
    X, y = tumours
    recall = MetricSVM("recall_at_k", k=30, C=1.0, tol=1e-6).fit(X, y)
    precision = MetricSVM("precision_at_k", k=30, C=30 / y.sum(), tol=1e-6).fit(X, y)
    assert recall.certificate_.primal == pytest.approx(precision.certificate_.primal, rel=1e-5)


def test_each_metric_is_good_at_its_own(tumours):
    X, y = tumours
    ap = MetricSVM("average_precision").fit(X, y)
    assert average_precision(y, ap.decision_function(X)) > 0.99
    at_k = MetricSVM("precision_at_k", k=100).fit(X, y)
    assert precision_at_k(y, at_k.decision_function(X), 100) == 1.0
    assert (at_k.predict(X) == 1).sum() == 100
    assert MetricSVM("f1").fit(X, y).score(X, y) > 0.97
    area = MetricSVM("partial_auc", max_fpr=0.02).fit(X, y)
    assert (area.predict(X)[y == 0] == 1).sum() <= 7


def test_labels_and_positions(tumours):
    X, y = tumours
    names = np.where(y == 1, "bad", "good")
    model = MetricSVM("roc_auc", pos_label="bad").fit(X, names)
    assert model.classes_.tolist() == ["good", "bad"]
    plain = MetricSVM("roc_auc").fit(X, y)
    assert (model.coef_ == plain.coef_).all()
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert clone(MetricSVM(PrecisionAtK(3))).metric.k == 3


class Margin(Metric):
    """The mean positive against the highest negative."""

    def worst(self, positive, negative):
        direction = np.zeros(len(negative))
        direction[np.argmax(negative)] = 1.0
        return Violation(1.0, np.full(len(positive), -1.0 / len(positive)), direction)

    def slope(self, n_positive, n_negative):
        return 2.0


def test_a_metric_of_ones_own():
    X, y = few_rows("plain")
    model = MetricSVM(Margin(), tol=1e-7).fit(X, y)
    planes = [(1.0, np.full(3, -1 / 3), np.eye(4)[j]) for j in range(4)]
    (best,) = optima(planes, X[y == 1], X[y == 0], [3.0])
    assert model.certificate_.primal == pytest.approx(best, rel=1e-5)


class Broken(Margin):
    def worst(self, positive, negative):
        return Violation(np.nan, np.zeros(len(positive)), np.zeros(len(negative)))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_errors_and_warnings(tumours):
    X, y = tumours
    with pytest.raises(ValueError, match="metric must be one of 'precision_at_k'"):
        MetricSVM("accuracy").fit(X, y)
    with pytest.raises(ValueError, match="C must be a finite number greater than 0"):
        MetricSVM(C=0.0).fit(X, y)
    with pytest.raises(ValueError, match="exceeds the 569 training rows"):
        MetricSVM("precision_at_k", k=1000).fit(X, y)
    with pytest.raises(ValueError, match="worst must return finite numbers"):
        MetricSVM(Broken()).fit(X, y)
    with pytest.raises(ValueError, match=r"solver='newton' cannot be used.*cutting_plane"):
        MetricSVM(solver="newton").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MetricSVM("f1", max_iter=2).fit(X, y)
    with pytest.warns(CollapsedWarning, match="zero model"):
        MetricSVM("roc_auc").fit(np.ones((4, 1)), [0, 1, 0, 1])
    with pytest.warns(ConvergenceWarning, match="stalled"):
        MetricSVM("roc_auc").fit(1e200 * X, y)
