"""Scorers in scikit-learn's searches, and the table of names."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.svm import LinearSVC

from shortlist import metrics
from shortlist.metrics.names import TABLE, resolve

X, y = make_classification(400, 8, weights=[0.8], flip_y=0.1, random_state=0)

NAMES = {
    "precision_at_100": (metrics.precision_at_k, {"k": 100}),
    "precision_at_5%": (metrics.precision_at_k, {"k": 0.05}),
    "recall_at_5%": (metrics.recall_at_k, {"k": 0.05}),
    "recall_at_0.5%": (metrics.recall_at_k, {"k": 0.005}),
    "lift_at_1%": (metrics.lift_at_k, {"k": 0.01}),
    "lift_at_0.01": (metrics.lift_at_k, {"k": 0.01}),
    "enrichment_factor_at_1%": (metrics.lift_at_k, {"k": 0.01}),
    "positives_at_top": (metrics.positives_at_top, {}),
    "precision_at_recall_0.8": (metrics.precision_at_recall, {"recall": 0.8}),
    "precision_at_recall_80%": (metrics.precision_at_recall, {"recall": 0.8}),
    "recall_at_precision_0.9": (metrics.recall_at_precision, {"precision": 0.9}),
    "recall_at_precision_1": (metrics.recall_at_precision, {"precision": 1.0}),
    "recall_at_fpr_0.01": (metrics.recall_at_fpr, {"fpr": 0.01}),
    "recall_at_fpr_1e-3": (metrics.recall_at_fpr, {"fpr": 0.001}),
    "positives_at_quantile_0.05": (metrics.positives_at_quantile, {"tau": 0.05}),
    "partial_auc": (metrics.partial_auc, {}),
    "partial_auc_0.1": (metrics.partial_auc, {"max_fpr": 0.1}),
    "bedroc": (metrics.bedroc, {}),
    "bedroc_80.5": (metrics.bedroc, {"alpha": 80.5}),
    "average_precision": (metrics.average_precision, {}),
    "top_k_accuracy_5": (metrics.top_k_accuracy, {"k": 5}),
    "pairwise_accuracy": (metrics.pairwise_accuracy, {}),
    "ndcg": (metrics.ndcg, {}),
    "ndcg_at_10": (metrics.ndcg, {"k": 10}),
}
BINARY = [name for name in NAMES if not name.startswith(("top_k", "ndcg"))]


@pytest.mark.parametrize("name", NAMES)
def test_names_mean_what_they_say(name):
    entry, params = resolve(name)
    assert (entry.function, params) == NAMES[name]
    assert all(type(params[key]) is type(value) for key, value in NAMES[name][1].items())


def test_every_entry_of_the_table_is_tried():
    assert {resolve(name)[0].function for name in NAMES} == {e.function for e in TABLE.values()}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("model", [LinearSVC(), RandomForestClassifier(10, random_state=0)])
def test_scorers_score_what_the_metric_says(name, model):
    model.fit(X[:200], y[:200])
    if resolve(name)[0].response == "predict":
        score = model.predict(X)
    elif hasattr(model, "decision_function"):
        score = model.decision_function(X)
    else:
        score = model.predict_proba(X)[:, 1]
    function, params = NAMES[name]
    assert metrics.scorer(name)(model, X, y) == function(y, score, **params)


def test_scorers_take_parameters():
    model = LinearSVC().fit(X, y)
    by_name = metrics.scorer("precision_at_20", ties="pessimistic")
    by_parameter = metrics.scorer("precision_at_k", k=20, ties="pessimistic")
    assert by_name(model, X, y) == by_parameter(model, X, y)
    with pytest.raises(ValueError, match=r"already sets k=20; leave out k="):
        metrics.scorer("precision_at_20", k=30)


def test_in_a_search_and_a_cross_validation():
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=metrics.scorer("precision_at_10"), cv=3
    ).fit(X, y)
    assert 0 <= search.best_score_ <= 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    scoring = {name: metrics.scorer(name) for name in ("recall_at_5%", "positives_at_top")}
    found = cross_validate(LinearSVC(), X, y, scoring=scoring, cv=3)
    assert np.all(found["test_recall_at_5%"] > 0)


def test_text_labels_need_the_positive_one():
    text = np.where(y == 1, "fraud", "fine")
    for model in (LinearSVC(), RandomForestClassifier(10, random_state=0)):
        numeric = metrics.scorer("precision_at_30")(model.fit(X, y), X, y)
        model.fit(X, text)
        for_text = metrics.scorer("precision_at_30", pos_label="fraud")
        assert for_text(model, X, text) == numeric
        first = metrics.scorer("precision_at_30", pos_label="fine")(model, X, text)
        reversed_score = -model.decision_function(X) if hasattr(model, "coef_") else None
        if reversed_score is not None:
            assert first == metrics.precision_at_k(text, reversed_score, 30, pos_label="fine")
        with pytest.raises(ValueError, match="pos_label="):
            metrics.scorer("precision_at_30")(model, X, text)


def test_scorers_can_be_pickled():
    model = LinearSVC().fit(X, y)
    for name in NAMES:
        scorer = metrics.scorer(name)
        again = pickle.loads(pickle.dumps(scorer))
        if name in BINARY:
            assert again(model, X, y) == scorer(model, X, y)


def test_multiclass_top_k():
    X3, y3 = make_classification(200, n_informative=6, n_classes=4, random_state=0)
    model = LogisticRegression().fit(X3, y3)
    score = metrics.scorer("top_k_accuracy_2")(model, X3, y3)
    assert score == metrics.top_k_accuracy(y3, model.predict_proba(X3), k=2)


class GroupRanker(RegressorMixin, BaseEstimator):
    """A ranker that is told the groups, and only believes them when it is."""

    def fit(self, X, y, qid=None):
        self.groups_ = None if qid is None else len(np.unique(qid))
        self.coef_ = Ridge().fit(X, y).coef_
        return self

    def predict(self, X):
        return X @ self.coef_


def test_groups_reach_the_scorer_by_routing():
    rng = np.random.default_rng(0)
    target = X[:, 0] + rng.normal(size=len(X))
    qid = np.repeat(np.arange(20), 20)
    with config_context(enable_metadata_routing=True):
        scoring = metrics.scorer("pairwise_accuracy").set_score_request(qid=True)
        ranker = GroupRanker().set_fit_request(qid=True)
        found = cross_validate(
            ranker,
            X,
            target,
            scoring=scoring,
            cv=GroupKFold(4),
            params={"qid": qid, "groups": qid},
            return_estimator=True,
            return_indices=True,
        )
    assert all(fitted.groups_ == 15 for fitted in found["estimator"])
    for fitted, rows, score in zip(
        found["estimator"], found["indices"]["test"], found["test_score"], strict=True
    ):
        direct = metrics.pairwise_accuracy(target[rows], fitted.predict(X[rows]), qid=qid[rows])
        assert score == direct
        assert score != metrics.pairwise_accuracy(target[rows], fitted.predict(X[rows]))


def test_weights_reach_the_scorer_by_routing():
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    with config_context(enable_metadata_routing=True):
        scoring = metrics.scorer("precision_at_20").set_score_request(sample_weight=True)
        model = LinearSVC().set_fit_request(sample_weight=False)
        found = cross_validate(
            model,
            X,
            y,
            scoring=scoring,
            cv=3,
            params={"sample_weight": weight},
            return_estimator=True,
            return_indices=True,
        )
    for fitted, rows, score in zip(
        found["estimator"], found["indices"]["test"], found["test_score"], strict=True
    ):
        decision = fitted.decision_function(X[rows])
        assert score == metrics.precision_at_k(y[rows], decision, 20, sample_weight=weight[rows])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("precison_at_100", "Did you mean 'precision_at_<k>'"),
        ("recal_at_fpr_0.1", "Did you mean 'recall_at_fpr_<fpr>'"),
        ("positives_at_the_top", "Did you mean 'positives_at_top'"),
        ("pairwise_accuracy_5", "Did you mean 'pairwise_accuracy'"),
        ("precision_at", "Did you mean 'precision_at_<k>'"),
        ("precision_at_many", "Known names: precision_at_<k>, recall_at_<k>"),
        ("roc", "Known names"),
        ("", "Known names"),
    ],
)
def test_unknown_names_get_a_hint(name, hint):
    with pytest.raises(ValueError, match=hint) as error:
        metrics.scorer(name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", ["ndcg_at_5%", "ndcg_at_2.5", "bedroc_5%"])
def test_numbers_of_the_wrong_kind(name):
    with pytest.raises(ValueError, match="carries"):
        metrics.scorer(name)


def test_metric_names_are_listed_once():
    names = metrics.metric_names()
    assert len(names) == len(set(names))
    assert "bedroc" in names
    assert "bedroc_<alpha>" in names
