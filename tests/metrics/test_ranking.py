"""Metrics of the whole order, against brute force and scikit-learn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    ndcg_score,
    roc_auc_score,
    top_k_accuracy_score,
)

from drawing import draws
from shortlist import metrics

from . import oracle
from .strategies import UGLY, rankings, ties

CLOSE = pytest.approx


@given(rankings(), st.sampled_from([0.1, 1.0, 5.0, 20.0, 100.0]), ties)
def test_bedroc_equals_its_paper_over_tie_orders(ranking, alpha, rule):
    y, score = ranking
    slow = oracle.over_ties(partial(oracle.bedroc, alpha=alpha), y, score, rule)
    assert metrics.bedroc(y, score, alpha=alpha, ties=rule) == CLOSE(slow, abs=1e-9)


@given(rankings(max_rows=30))
def test_bedroc_tends_to_the_auc(ranking):
    y, score = ranking
    assert metrics.bedroc(y, score, alpha=1e-5) == CLOSE(roc_auc_score(y, score), abs=1e-4)


def test_bedroc_survives_extreme_alpha():
    y, score = [0, 1, 1, 0], [4, 3, 2, 1]
    assert metrics.bedroc(y, score, alpha=1e4) == CLOSE(0, abs=1e-12)
    assert metrics.bedroc([1, 0, 0, 0], score, alpha=1e4) == 1


@given(rankings(max_rows=40), st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9, 1.0]))
def test_partial_auc_is_scikit_learns(ranking, max_fpr):
    y, score = ranking
    assert metrics.partial_auc(y, score, max_fpr=max_fpr) == CLOSE(
        roc_auc_score(y, score, max_fpr=max_fpr)
    )
    assert metrics.partial_auc(y, score) == CLOSE(roc_auc_score(y, score))


@given(rankings(max_rows=40), st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.95]))
def test_the_other_end_is_the_mirror_image(ranking, min_tpr):
    y, score = ranking
    mirrored = metrics.partial_auc(1 - y, -score, max_fpr=1 - min_tpr)
    assert metrics.partial_auc(y, score, min_tpr=min_tpr) == CLOSE(mirrored)


@given(
    rankings(max_rows=20),
    st.sampled_from([0.05, 0.3, 0.6, 1.0]),
    st.sampled_from([0.0, 0.25, 0.5, 0.9]),
)
@draws(60)
def test_two_way_partial_auc_is_the_area_in_the_corner(ranking, max_fpr, min_tpr):
    y, score = ranking
    rank = np.unique(score, return_inverse=True)[1]
    slow = oracle.partial_auc(y, rank, max_fpr, min_tpr)
    fast = metrics.partial_auc(y, score, max_fpr=max_fpr, min_tpr=min_tpr)
    assert fast == CLOSE(slow, abs=2e-4)


def test_partial_auc_of_a_perfect_and_a_reversed_order():
    y, score = [1, 1, 0, 0], [4, 3, 2, 1]
    assert metrics.partial_auc(y, score, max_fpr=0.3, min_tpr=0.6) == 1
    assert metrics.partial_auc([0, 0, 1, 1], score, max_fpr=0.3, min_tpr=0.6) == 0.5


@st.composite
def graded(draw):
    n = draw(st.integers(2, 14))
    target = draw(st.lists(st.sampled_from([0, 1, 2, 3.5, -7]), min_size=n, max_size=n))
    score = draw(st.lists(st.sampled_from(UGLY), min_size=n, max_size=n))
    qid = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    weight[0] = 1.0
    return target, score, qid, weight


@given(graded(), st.booleans(), st.booleans())
@draws(300)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_pairwise_accuracy_counts_every_pair(data, grouped, weighted):
    target, score, qid, weight = data
    qid = qid if grouped else None
    weight = weight if weighted else None
    slow = oracle.pairwise_accuracy(target, score, qid, weight)
    fast = metrics.pairwise_accuracy(target, score, qid=qid, sample_weight=weight)
    assert fast == CLOSE(slow, nan_ok=True)


def test_pairwise_accuracy_of_many_distinct_targets():
    rng = np.random.default_rng(0)
    target = rng.normal(size=1500)
    score = np.round(target + rng.normal(size=1500), 1)
    qid = rng.integers(0, 5, 1500)
    difference = np.sign(target[:, None] - target) * np.sign(score[:, None] - score)
    pairs = (target[:, None] > target) & (qid[:, None] == qid)
    slow = np.mean(0.5 * (difference[pairs] + 1))
    assert metrics.pairwise_accuracy(target, score, qid=qid) == CLOSE(slow)


@given(rankings(max_rows=40))
def test_pairwise_accuracy_of_two_labels_is_the_auc(ranking):
    y, score = ranking
    assert metrics.pairwise_accuracy(y, score) == CLOSE(roc_auc_score(y, score))


def test_groups_may_have_any_label():
    names = np.array(["b", "a", "b", "a"])
    value = metrics.pairwise_accuracy([1, 1, 0, 0], [2, 1, 1, 2], qid=names)
    assert value == 0.5


@given(rankings(max_rows=40))
def test_average_precision_is_scikit_learns(ranking):
    y, score = ranking
    assert metrics.average_precision(y, score) == CLOSE(average_precision_score(y, score))


def test_average_precision_takes_text_labels():
    y = np.array(["ham", "spam", "spam", "ham"])
    value = metrics.average_precision(y, [0.4, 0.9, 0.3, 0.1], pos_label="spam")
    assert value == CLOSE(average_precision_score(y, [0.4, 0.9, 0.3, 0.1], pos_label="spam"))


def test_ndcg_is_the_mean_of_scikit_learns_over_groups():
    rng = np.random.default_rng(0)
    target, score = rng.integers(0, 4, 30), np.round(rng.normal(size=30), 1)
    qid = np.repeat([2, 0, 1, 3], [10, 7, 12, 1])
    slow = [ndcg_score([target[qid == q]], [score[qid == q]], k=5) for q in (0, 1, 2)]
    assert metrics.ndcg(target, score, k=5, qid=qid) == CLOSE(np.mean(slow))
    assert metrics.ndcg(target, score) == CLOSE(ndcg_score([target], [score]))


def test_top_k_accuracy_is_scikit_learns():
    assert metrics.top_k_accuracy is top_k_accuracy_score


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"max_fpr": 0.0}, r"max_fpr=0.0 is not in \(0, 1\]"),
        ({"max_fpr": 2}, "max_fpr=2"),
        ({"min_tpr": 1.0}, r"min_tpr=1.0 is not in \[0, 1\)"),
    ],
)
def test_partial_auc_rejects_empty_corners(arguments, match):
    with pytest.raises(ValueError, match=match):
        metrics.partial_auc([0, 1], [1, 2], **arguments)


@pytest.mark.parametrize("alpha", [0, -1.0, np.inf, np.nan, "20"])
def test_bedroc_rejects_alpha(alpha):
    with pytest.raises(ValueError, match="alpha="):
        metrics.bedroc([0, 1], [1, 2], alpha=alpha)


def test_group_length_is_checked():
    with pytest.raises(ValueError, match="qid has 1 rows"):
        metrics.pairwise_accuracy([0, 1], [1, 2], qid=[0])
