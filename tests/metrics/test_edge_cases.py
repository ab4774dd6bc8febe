"""What the metrics do with labels, missing classes and bad input."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from shortlist import metrics

BINARY = {
    "precision_at_k": {"k": 2},
    "recall_at_k": {"k": 2},
    "lift_at_k": {"k": 0.5},
    "positives_at_top": {},
    "precision_at_recall": {"recall": 0.5},
    "recall_at_precision": {"precision": 0.5},
    "recall_at_fpr": {"fpr": 0.5},
    "positives_at_quantile": {"tau": 0.5},
    "partial_auc": {"max_fpr": 0.5},
    "bedroc": {},
    "average_precision": {},
}
SCORE = [0.9, 0.8, 0.7, 0.1]


@pytest.fixture(params=BINARY)
def metric(request):
    """Call one binary metric with its parameters."""
    function, params = getattr(metrics, request.param), BINARY[request.param]

    def call(y_true, y_score, **more):
        return function(y_true, y_score, **params, **more)

    call.name = request.param
    return call


LABELS = [
    ([1, 0, 1, 0], None),
    ([1, -1, 1, -1], None),
    ([True, False, True, False], None),
    ([1.0, 0.0, 1.0, 0.0], None),
    (["yes", "no", "yes", "no"], "yes"),
    ([7, 5, 7, 5], 7),
    ([0, 1, 0, 1], 0),
    (np.array([1, 0, 1, 0], dtype=object), None),
    (pd.Series([1, 0, 1, 0], index=[9, 8, 7, 6]), None),
    (pd.Series(["b", "a", "b", "a"], dtype="category"), "b"),
    (pd.Series([True, False, True, False], dtype="boolean"), None),
    (pl.Series([1, 0, 1, 0]), None),
]


@pytest.mark.parametrize(("y", "pos_label"), LABELS)
def test_any_two_labels(metric, y, pos_label):
    assert metric(y, SCORE, pos_label=pos_label) == metric([1, 0, 1, 0], SCORE)


@pytest.mark.parametrize("score", [pd.Series(SCORE), pl.Series(SCORE), np.float32(SCORE), SCORE])
def test_any_array_of_scores(metric, score):
    assert metric([1, 0, 1, 0], score) == metric([1, 0, 1, 0], SCORE)


@pytest.mark.parametrize("y", [["yes", "no", "yes", "no"], [1, 2, 1, 2], [5, 7, 5, 7]])
def test_unclear_labels_need_pos_label(metric, y):
    with pytest.raises(ValueError, match="pos_label="):
        metric(y, SCORE)


def test_pos_label_must_be_a_label(metric):
    with pytest.raises(ValueError, match="pos_label=2 is not a label of y_true"):
        metric([0, 1, 0, 1], SCORE, pos_label=2)


def test_more_than_two_labels(metric):
    with pytest.raises(ValueError, match="more than two labels"):
        metric([0, 1, 2, 1], SCORE)
    with pytest.raises(ValueError, match="more than two labels"):
        metric(["a", "b", "c", "a"], SCORE, pos_label="a")


@pytest.mark.parametrize("y", [[0, 1, np.nan, 1], [1, 0, None, 1], pd.Series([1, 0, pd.NA, 1])])
def test_missing_labels(metric, y):
    with pytest.raises(ValueError, match=r"NaN|missing"):
        metric(y, SCORE)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_must_be_finite(metric, bad):
    with pytest.raises(ValueError, match=r"y_score holds .* at row 2"):
        metric([1, 0, 1, 0], [0.9, 0.8, bad, 0.1])


def test_lengths_must_agree(metric):
    with pytest.raises(ValueError, match="y_true has 3 rows and y_score has 4 rows"):
        metric([1, 0, 1], SCORE)
    with pytest.raises(ValueError, match=r"sample_weight must hold one number per row.*\(2,\)"):
        metric([1, 0, 1, 0], SCORE, sample_weight=[1, 1])


def test_empty_input(metric):
    with pytest.raises(ValueError, match="empty"):
        metric([], [])


def test_two_columns_of_probabilities(metric):
    with pytest.raises(ValueError, match="column of the positive class"):
        metric([1, 0, 1, 0], np.ones((4, 2)))


def test_text_scores(metric):
    with pytest.raises(ValueError, match="pass numbers"):
        metric([1, 0, 1, 0], ["a", "b", "c", "d"])


def test_zero_weight_leaves_a_row_out(metric):
    with_row = metric([1, 0, 1, 0, 1], [*SCORE, 5.0], sample_weight=[1, 1, 1, 1, 0])
    assert with_row == metric([1, 0, 1, 0], SCORE)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([0, 0, 0, 0], "zero for every row"),
        ([1, -1, 1, 1], "got -1 in row 1"),
        ([1, np.nan, 1, 1], "sample_weight contains NaN"),
    ],
)
def test_bad_weights(metric, weight, match):
    with pytest.raises(ValueError, match=match):
        metric([1, 0, 1, 0], SCORE, sample_weight=weight)


def test_no_positives(metric):
    if metric.name == "precision_at_k":
        assert metric([0, 0, 0, 0], SCORE) == 0
        return
    message = f"{metric.name} is undefined: .* no positive"
    with pytest.warns(UndefinedMetricWarning, match=message) as record:
        assert math.isnan(metric([0, 0, 0, 0], SCORE))
    assert record[0].filename == __file__


def test_no_negatives(metric):
    if metric.name in ("partial_auc", "bedroc"):
        with pytest.warns(UndefinedMetricWarning, match="no negative"):
            assert math.isnan(metric([1, 1, 1, 1], SCORE))
        return
    expected = {"recall_at_k": 0.5, "positives_at_quantile": 0.5}.get(metric.name, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metric([1, 1, 1, 1], SCORE) == expected


def test_one_row():
    assert metrics.precision_at_k([1], [0.3], 1) == 1
    assert metrics.positives_at_top([1], [0.3]) == 1


def test_no_pairs():
    with pytest.warns(UndefinedMetricWarning, match="pair of rows"):
        assert math.isnan(metrics.pairwise_accuracy([1, 1], [1, 2]))
    with pytest.warns(UndefinedMetricWarning, match="pair of rows"):
        assert math.isnan(metrics.pairwise_accuracy([1, 2], [1, 2], qid=[0, 1]))
    with pytest.warns(UndefinedMetricWarning, match="two rows"):
        assert math.isnan(metrics.ndcg([1, 2], [1, 2], qid=[0, 1]))


@pytest.mark.parametrize("k", [0, -3, 1.0, 1.5, 0.0, 5.0, True, "5", None, np.nan])
def test_bad_k(k):
    for name in ("precision_at_k", "recall_at_k", "lift_at_k"):
        with pytest.raises(ValueError, match="k="):
            getattr(metrics, name)([0, 1], [1, 2], k)


@pytest.mark.parametrize("k", [np.int64(2), np.int8(2), np.float32(0.5), np.float64(0.5)])
def test_numpy_k(k):
    assert metrics.precision_at_k([1, 0, 1, 0], SCORE, k) == 0.5


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("recall_at_fpr", "fpr"),
        ("precision_at_recall", "recall"),
        ("recall_at_precision", "precision"),
        ("positives_at_quantile", "tau"),
    ],
)
@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, "0.5", True])
def test_bad_rates(name, argument, value):
    with pytest.raises(ValueError, match=f"{argument}="):
        getattr(metrics, name)([0, 1], [1, 2], **{argument: value})


def test_unknown_options():
    with pytest.raises(ValueError, match="ties='random' is unknown"):
        metrics.precision_at_k([0, 1], [1, 2], 1, ties="random")
    with pytest.raises(ValueError, match="quantile='positives' is unknown"):
        metrics.positives_at_quantile([0, 1], [1, 2], 0.5, quantile="positives")


def test_nothing_is_modified(metric):
    y, score, weight = np.array([1, 0, 1, 0]), np.array(SCORE), np.array([1.0, 2.0, 0.0, 1.0])
    arrays = [y, score, weight]
    before = [a.copy() for a in arrays]
    for array in arrays:
        array.flags.writeable = False
    metric(y, score, sample_weight=weight)
    metrics.budget_curve(y, score, sample_weight=weight)
    metrics.pairwise_accuracy(y, score, sample_weight=weight, qid=np.zeros(4))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_every_public_name_exists_and_is_documented():
    for name in metrics.__all__:
        assert getattr(metrics, name).__doc__, name
