"""`BudgetClassifier`: where its scores come from, and scikit-learn's contract."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from scipy.stats import norm
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import precision_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from budget_models import Identity, Mute, column, identity
from contract import checks
from drawing import draws
from shortlist._cutoff import threshold_for_fpr
from shortlist._scores import positive_scores, take_rows
from shortlist.budget import BudgetClassifier


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


# ------------------------------------------------------------------ where the scores come from


def test_k_passes_the_scores_through(cancer):
    X, y = cancer
    scorer = LogisticRegression().fit(X, y)
    model = BudgetClassifier(LogisticRegression(), k=7).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), scorer.decision_function(X))
    assert not hasattr(model, "threshold_")
    assert set(np.argsort(-scorer.decision_function(X))[:7]) == set(
        np.flatnonzero(model.predict(X))
    )


@pytest.mark.parametrize("wish", [{"fpr": 0.05}, {"precision": 0.95}])
@pytest.mark.parametrize("cv", [None, 4, 0.3, StratifiedKFold(3, shuffle=True, random_state=0)])
def test_threshold_comes_from_held_out_scores(cancer, wish, cv):
    X, y = cancer
    model = BudgetClassifier(LogisticRegression(), cv=cv, random_state=0, **wish).fit(X, y)
    assert np.isfinite(model.threshold_)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    np.testing.assert_allclose(
        model.decision_function(X), model.estimator_.decision_function(X) - model.threshold_
    )


def test_folds_refit_on_every_row_and_one_split_keeps_its_model(cancer):
    X, y = cancer
    whole = LogisticRegression().fit(X, y)
    folds = BudgetClassifier(LogisticRegression(), fpr=0.05).fit(X, y)
    np.testing.assert_array_equal(folds.estimator_.coef_, whole.coef_)

    test_fold = np.where(np.arange(len(y)) < 400, -1, 0)
    part = BudgetClassifier(LogisticRegression(), fpr=0.05, cv=PredefinedSplit(test_fold))
    part.fit(X, y)
    half = LogisticRegression().fit(X[:400], y[:400])
    np.testing.assert_array_equal(part.estimator_.coef_, half.coef_)
    assert part.threshold_ == threshold_for_fpr(y[400:] == 1, half.decision_function(X[400:]), 0.05)


def test_frozen_model_is_kept_and_scores_every_row(cancer):
    X, y = cancer
    fitted = LogisticRegression().fit(X[:300], y[:300])
    model = BudgetClassifier(FrozenEstimator(fitted), fpr=0.05, confidence=0.9)
    model.fit(X[300:], y[300:])
    scores = fitted.decision_function(X[300:])
    assert model.threshold_ == threshold_for_fpr(y[300:] == 1, scores, 0.05, 0.9)
    assert model.estimator_.estimator is fitted
    assert model.n_features_in_ == 30


class Remembers(LogisticRegression):
    """Keeps the labels it has learned from."""

    def fit(self, X, y, **params):
        self.seen_ = np.array(y)
        return super().fit(X, y, **params)


@pytest.mark.parametrize(("cv", "held_out"), [(None, 0.5), (0.2, 0.2)])
def test_a_promised_fpr_holds_out_negatives_only(cancer, cv, held_out):
    X, y = cancer
    model = BudgetClassifier(Remembers(), fpr=0.1, confidence=0.9, cv=cv, random_state=0)
    seen = model.fit(X, y).estimator_.seen_
    assert seen.sum() == y.sum()
    negatives = int((y == 0).sum())
    assert (seen == 0).sum() == negatives - round(held_out * negatives)
    again = BudgetClassifier(Remembers(), fpr=0.1, confidence=0.9, cv=cv, random_state=0)
    assert again.fit(X, y).threshold_ == model.threshold_


def test_a_promised_fpr_is_kept_as_often_as_it_says():
    """The rate on new rows of a normal law is known: no test set is needed."""
    rng = np.random.default_rng(0)
    broken = 0
    for seed in range(200):
        y = rng.random(400) < 0.3
        X = rng.normal(size=(400, 1)) + 1.5 * y[:, None]
        model = BudgetClassifier(
            LogisticRegression(), fpr=0.1, confidence=0.9, random_state=seed
        ).fit(X, y)
        inner = model.estimator_
        cut = (model.threshold_ - inner.intercept_[0]) / inner.coef_[0, 0]
        broken += norm.sf(cut) > 0.1
    assert broken <= 0.1 * 200 + 3 * np.sqrt(200 * 0.1 * 0.9)
    assert broken > 0  # a promise that never fails wastes the list


def test_frozen_model_needs_no_positives_for_an_fpr(cancer):
    X, y = cancer
    fitted = LogisticRegression().fit(X[:300], y[:300])
    rows = np.arange(300, len(y))[y[300:] == 0]
    model = BudgetClassifier(FrozenEstimator(fitted), fpr=0.1).fit(X[rows], y[rows])
    assert np.mean(model.predict(X[rows])) <= 0.1


@pytest.mark.parametrize("names", [("ham", "spam"), ("spam", "zebra")])
def test_pos_label_may_be_either_class(cancer, names):
    X, y = cancer
    words = np.where(y == 1, "spam", names[0] if names[0] != "spam" else names[1])
    for wish in ({"fpr": 0.05}, {"precision": 0.95}, {"k": 30}, {"fraction": 0.1}):
        plain = BudgetClassifier(LogisticRegression(), **wish).fit(X, y)
        named = BudgetClassifier(
            LogisticRegression(class_weight=dict.fromkeys(set(words), 1)),
            pos_label="spam",
            **wish,
        ).fit(X, words)
        np.testing.assert_array_equal(named.predict(X) == "spam", plain.predict(X) == 1)
        sides = named.classes_[(named.decision_function(X) > 0).astype(int)]
        if "k" not in wish and "fraction" not in wish:
            np.testing.assert_array_equal(sides, named.predict(X))


def test_decision_at_the_threshold_stays_on_the_unflagged_side():
    X, y = column([0, 1, 2, 3]), np.array(["yes", "no", "no", "yes"])
    model = BudgetClassifier(Identity(), fpr=0.0, pos_label="no", cv=[(range(4), range(4))])
    model.fit(X, y)
    assert model.threshold_ in -X[:, 0]
    sides = model.classes_[(model.decision_function(X) > 0).astype(int)]
    np.testing.assert_array_equal(sides, model.predict(X))


@pytest.mark.parametrize(
    "scorer",
    [
        RandomForestClassifier(20, random_state=0),
        GaussianNB(),
        LinearSVC(),
        Ridge(),
    ],
    ids=lambda scorer: type(scorer).__name__,
)
@pytest.mark.parametrize("wish", [{"k": 25}, {"fpr": 0.1}, {"precision": 0.9}])
def test_any_scorer(cancer, scorer, wish):
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BudgetClassifier(scorer, **wish).fit(X, y)
        predicted = model.predict(X)
    assert set(predicted) == {0, 1}
    if "k" in wish:
        assert predicted.sum() == 25
    assert precision_score(y, predicted) > 0.85


def test_a_detector_that_ignores_labels_can_rank(cancer):
    X, y = cancer
    detector = IsolationForest(n_estimators=10, random_state=0)
    predicted = BudgetClassifier(detector, k=9).fit(X, y).predict(X)
    top = np.argsort(-detector.fit(X).decision_function(X))[:9]
    assert set(np.flatnonzero(predicted)) == set(top)


def test_precomputed_kernel(cancer):
    X, y = cancer
    K = X @ X.T
    for cv in (3, 0.3):
        model = BudgetClassifier(SVC(kernel="precomputed"), fpr=0.05, cv=cv, random_state=0)
        plain = BudgetClassifier(SVC(kernel="linear"), fpr=0.05, cv=cv, random_state=0)
        model.fit(K, y)
        plain.fit(X, y)
        assert model.threshold_ == pytest.approx(plain.threshold_, rel=1e-6)


@pytest.mark.parametrize(
    "wrap", [np.asarray, sp.csr_array, sp.coo_array, pd.DataFrame, pl.DataFrame, list]
)
def test_any_table(cancer, wrap):
    X, y = cancer
    model = BudgetClassifier(LogisticRegression(), fpr=0.05)
    expected = clone(model).fit(X, y).threshold_
    assert model.fit(wrap(X), list(y)).threshold_ == pytest.approx(expected, rel=1e-4)


def test_feature_names_are_delegated_and_forgotten(cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(30)])
    model = BudgetClassifier(LogisticRegression(), fpr=0.05).fit(frame, y)
    assert model.feature_names_in_[3] == "f3"
    model.set_params(fpr=None, k=5).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "threshold_")


def test_nothing_passed_is_modified(cancer):
    X, y = cancer[0].copy(), cancer[1].copy()
    scorer, weight = LogisticRegression(), np.ones(len(y))
    BudgetClassifier(scorer, fpr=0.1).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(X, cancer[0])
    np.testing.assert_array_equal(y, cancer[1])
    assert not hasattr(scorer, "coef_")


# ------------------------------------------------------------------ scikit-learn's contract


@pytest.mark.filterwarnings("ignore:.*nothing is flagged:UserWarning")
@checks(
    BudgetClassifier(LogisticRegression(), fpr=0.1),
    BudgetClassifier(LogisticRegression(), fpr=0.1, cv=0.3),
    BudgetClassifier(LogisticRegression(), fpr=0.2, confidence=0.9),
    BudgetClassifier(LogisticRegression(), precision=0.9),
    BudgetClassifier(LogisticRegression(), precision=0.8, confidence=0.9),
    BudgetClassifier(GaussianNB(), fpr=0.1, cv=3),
)
def test_sklearn_contract_with_a_threshold(estimator, check):
    check(estimator)


@pytest.mark.parametrize("wish", [{"k": 10}, {"fraction": 0.5}])
def test_sklearn_contract_with_a_count(wish):
    """Two checks contradict "exactly k of this batch"; every other one passes.

    `check_methods_subset_invariance` predicts row by row and expects the labels
    of the whole batch: a batch of one row always has its one row taken.
    `check_classifiers_train` expects a label to be the sign of its decision
    value: here it is a rank in the batch, and the scores are passed through.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            BudgetClassifier(LogisticRegression(), **wish), on_fail=None, on_skip=None
        )
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == {"check_methods_subset_invariance", "check_classifiers_train"}
    assert len(results) > 40


@pytest.mark.parametrize("wish", [{"k": 10}, {"fpr": 0.1}])
def test_pickle_clone_and_pipeline(cancer, wish):
    X, y = cancer
    model = make_pipeline(StandardScaler(), BudgetClassifier(LogisticRegression(), **wish))
    expected = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)


def test_grid_search_reaches_the_scorer_and_the_cut(cancer):
    X, y = cancer
    search = GridSearchCV(
        BudgetClassifier(LogisticRegression(), fpr=0.1),
        {"estimator__C": [1e-3, 1.0], "fpr": [0.01, 0.1]},
        scoring="precision",
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_params_["fpr"] == 0.01


def test_auc_agrees_with_the_scorer(cancer):
    X, y = cancer
    model = BudgetClassifier(LogisticRegression(), fpr=0.1).fit(X, y)
    direct = roc_auc_score(y, LogisticRegression().fit(X, y).decision_function(X))
    assert roc_auc_score(y, model.decision_function(X)) == pytest.approx(direct)


def test_parallel_folds_give_the_same_threshold(cancer):
    X, y = cancer
    one = BudgetClassifier(GaussianNB(), fpr=0.1, n_jobs=1).fit(X, y)
    with parallel_config("threading"):
        two = BudgetClassifier(GaussianNB(), fpr=0.1, n_jobs=2).fit(X, y)
    assert one.threshold_ == two.threshold_


# ------------------------------------------------------------------ metadata


def test_weights_reach_every_fold(cancer):
    X, y = cancer
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = BudgetClassifier(LogisticRegression(), fpr=0.1)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    expected = LogisticRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighted.estimator_.coef_, expected.coef_)
    scores = np.empty(len(y))
    for train, test in StratifiedKFold(5).split(X, y):
        part = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        scores[test] = part.decision_function(X[test])
    assert weighted.threshold_ == threshold_for_fpr(y == 1, scores, 0.1)
    assert weighted.threshold_ != model.fit(X, y).threshold_


class Picky(LogisticRegression):
    """Takes one value per row as a list, and one that has nothing to do with rows."""

    def fit(self, X, y, importance=None, note=None):
        assert isinstance(importance, list)
        assert len(importance) == len(y)
        assert note == "x" * 569
        return super().fit(X, y, importance)


def test_only_values_per_row_are_cut_to_the_fold(cancer):
    X, y = cancer
    model = BudgetClassifier(Picky(), fpr=0.1, cv=3)
    model.fit(X, y, importance=[1.0] * len(y), note="x" * len(y))
    assert (
        model.threshold_
        == BudgetClassifier(LogisticRegression(), fpr=0.1, cv=3).fit(X, y).threshold_
    )


def test_weightless_rows_do_not_count_for_the_threshold():
    X, y = column(np.arange(20)), (np.arange(20) % 2).astype(int)
    weight = np.where(X[:, 0] >= 15, 0, 1)
    fitted = BudgetClassifier(identity(), fpr=0.0).fit(X, y, sample_weight=weight)
    assert fitted.threshold_ == 14.0


@pytest.mark.parametrize("cv", [None, 0.3])
def test_metadata_routing(cancer, cv):
    X, y = cancer
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    expected = BudgetClassifier(LogisticRegression(), fpr=0.1, cv=cv, random_state=0).fit(
        X, y, sample_weight=weight
    )
    with config_context(enable_metadata_routing=True):
        scorer = LogisticRegression().set_fit_request(sample_weight=True)
        model = BudgetClassifier(scorer, fpr=0.1, cv=cv, random_state=0)
        model.fit(X, y, sample_weight=weight)
        assert model.threshold_ == expected.threshold_
        refusing = BudgetClassifier(LogisticRegression(), fpr=0.1)
        with pytest.raises(UnsetMetadataPassedError):
            refusing.fit(X, y, sample_weight=weight)


def test_groups_reach_the_splitter(cancer):
    X, y = cancer
    groups = np.arange(len(y)) // 10
    model = BudgetClassifier(LogisticRegression(), fpr=0.1, cv=GroupKFold(4))
    plain = clone(model).fit(X, y, groups=groups).threshold_
    with config_context(enable_metadata_routing=True):
        assert clone(model).fit(X, y, groups=groups).threshold_ == plain
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, y)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "got none of them. Give one, such as k=100"),
        ({"k": 5, "fpr": 0.1}, r"got k=5, fpr=0.1. Keep one"),
        ({"k": 0}, "k must be an integer of at least 1 .* got k=0"),
        ({"k": 0.1}, "k=0.1 must be an integer .* use fraction"),
        ({"k": True}, "k must be .* got k=True"),
        ({"fraction": 0.0}, r"fraction=0.0 is not in \(0, 1\]"),
        ({"fraction": 20}, "fraction=20 is not in"),
        ({"fpr": 1.0}, r"fpr=1.0 is not in \[0, 1\)"),
        ({"precision": 90}, "precision=90 is not in"),
        ({"k": 5, "confidence": 0.9}, "confidence=0.9 has no meaning with k"),
        ({"fpr": 0.1, "confidence": 95}, r"confidence=95 is not in \(0, 1\)"),
        ({"fpr": 0.1, "confidence": 0.9, "cv": 5}, "cannot be kept with 5 folds .* cv=0.2"),
        ({"fpr": 0.1, "cv": 1.5}, "cv=1.5 must lie between 0 and 1"),
        ({"fpr": 0.1, "cv": "prefit"}, r"estimator=FrozenEstimator\(model\)"),
        ({"fpr": 0.1, "pos_label": 7}, r"pos_label=7 is not a class .* \[0, 1\]"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(cancer, wish, message):
    with pytest.raises(ValueError, match=message):
        BudgetClassifier(LogisticRegression(), **wish).fit(*cancer)


def test_more_errors(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="multiclass"):
        BudgetClassifier(LogisticRegression(), k=5).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="1 class"):
        BudgetClassifier(LogisticRegression(), k=5).fit(X, np.ones(len(y)))
    lone = (np.arange(len(y)) == 0).astype(int)
    with pytest.raises(ValueError, match="so none can be held out"):
        BudgetClassifier(LogisticRegression(), fpr=0.1).fit(X, lone)
    assert BudgetClassifier(LogisticRegression(), k=5).fit(X, lone).predict(X).sum() == 5
    with pytest.raises(ValueError, match="sample_weight is zero for every row of one class"):
        BudgetClassifier(LogisticRegression(), k=5).fit(X, y, sample_weight=y)
    rows = np.flatnonzero(y == 1)
    split = [(np.setdiff1d(np.arange(len(y)), rows[:3]), rows[:3])]
    with pytest.raises(ValueError, match="needs held-out negatives, and all 3"):
        BudgetClassifier(LogisticRegression(), fpr=0.1, cv=split).fit(X, y)
    with pytest.raises(ValueError, match="the frozen estimator was fitted on"):
        BudgetClassifier(identity(("a", "b")), k=5).fit(X, y)
    with pytest.raises(ValueError, match="neither decision_function nor predict_proba"):
        BudgetClassifier(Mute(), k=5).fit(X, y).predict(X)
    with pytest.raises(NotFittedError):
        BudgetClassifier(LogisticRegression(), k=5).predict(X)
    with pytest.raises(ValueError, match="scored row 1 as nan; every score must be finite"):
        positive_scores(identity(), column([0, np.nan]))
    with pytest.raises(ValueError, match="fitted on 3 classes"):
        positive_scores(identity((0, 1, 2)), column([0, 1]))


@draws(20)
@given(rows=st.lists(st.integers(0, 4), min_size=1))
def test_take_rows_agrees_across_containers(rows):
    X, rows = np.arange(10.0).reshape(5, 2), np.array(rows)
    for table in (X, pd.DataFrame(X), pl.DataFrame(X), sp.csr_array(X), X.tolist()):
        taken = take_rows(table, rows)
        taken = taken.toarray() if sp.issparse(taken) else np.asarray(taken)
        np.testing.assert_array_equal(taken, X[rows])


def test_small_unbalanced_problem():
    X, y = make_classification(300, weights=[0.97], flip_y=0, random_state=0)
    model = BudgetClassifier(LogisticRegression(), k=5).fit(X, y)
    assert model.predict(X).sum() == 5
