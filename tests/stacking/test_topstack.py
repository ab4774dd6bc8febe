"""TopStack as an estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contract import checks
from picking.made import Column, rows
from shortlist import PatMat, TopStack
from shortlist.stacking.heads import HEADS

X, Y = rows(300, 3)
NEW, TRUTH = rows(400, 4)


def stack(**options):
    members = [
        ("forest", RandomForestClassifier(20, random_state=0)),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
        ("patmat", PatMat(0.1, C=0.1)),
    ]
    return TopStack(members, 0.1, **options)


@checks(
    *(
        TopStack([("a", LogisticRegression()), ("b", PatMat(0.1))], 0.5, head=head, cv=2)
        for head in ("mixed", "both")
    )
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setattr("shortlist.stacking.heads.BAGS", 3)
    check(estimator)


@pytest.mark.parametrize("head", HEADS)
def test_it_ranks_and_keeps_the_budget(head):
    fitted = stack(head=head).fit(X, Y)
    scores = fitted.decision_function(NEW)
    assert TRUTH[np.argsort(-scores)[:40]].mean() > 2 * TRUTH.mean()
    assert fitted.predict(NEW).mean() == pytest.approx(0.1, abs=0.05)
    np.testing.assert_array_equal(fitted.predict(NEW), scores >= 0)
    np.testing.assert_allclose(fitted.log_odds(NEW) - fitted.threshold_, scores)
    assert sum(fitted.weights_.values()) == pytest.approx(1.0)
    assert all(share == 0.0 or share >= 0.02 for share in fitted.weights_.values())
    assert len(fitted.estimators_) == np.count_nonzero(list(fitted.weights_.values()))
    assert list(fitted.weights_) == ["forest", "logistic", "patmat"]
    assert (fitted.certificate_ is None) == (head in ("greedy", "mean"))


def test_a_row_does_not_depend_on_its_batch():
    fitted = stack().fit(X, Y)
    np.testing.assert_allclose(fitted.log_odds(NEW)[5:9], fitted.log_odds(NEW[5:9]))


def test_it_is_what_it_says():
    fitted = stack().fit(X, Y)
    total = 0.0
    for (name, member), slope, intercept in zip(
        fitted.estimators_, fitted.slopes_, fitted.intercepts_, strict=True
    ):
        if name == "forest":
            soft = (member.predict_proba(NEW)[:, 1] + 0.002) / 1.004
            score = np.log(soft / (1 - soft))
        else:
            score = member.decision_function(NEW)
        total = total + fitted.weights_[name] * (slope * score + intercept)
    np.testing.assert_allclose(fitted.log_odds(NEW), fitted.slope_ * total + fitted.intercept_)


def test_labels_and_the_other_class():
    text = np.where(Y, "bad", "good")
    fitted = stack(pos_label="bad").fit(X, text)
    plain = stack().fit(X, Y)
    np.testing.assert_allclose(fitted.log_odds(NEW), plain.log_odds(NEW), atol=1e-6)
    np.testing.assert_allclose(
        fitted.decision_function(NEW), -plain.decision_function(NEW), atol=1e-6
    )
    np.testing.assert_array_equal(fitted.predict(NEW) == "bad", plain.predict(NEW))
    with pytest.warns(UserWarning, match="'good' is pushed to the top"):
        stack().fit(X, text)
    # "Yes" sorts before "no", and is looked for all the same.
    fitted = stack().fit(X, np.where(Y, "Yes", "no"))
    np.testing.assert_allclose(fitted.log_odds(NEW), plain.log_odds(NEW), atol=1e-6)


def test_storage_seed_and_jobs_do_not_change_it():
    fitted = stack().fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.log_odds(NEW), fitted.log_odds(NEW))
    with parallel_config("threading"):  # in processes: picking/test_pick.py
        parallel = clone(fitted).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(parallel.log_odds(NEW), fitted.log_odds(NEW))
    skops = pytest.importorskip("skops.io")
    kept = skops.dumps(fitted)
    loaded = skops.loads(kept, trusted=skops.get_untrusted_types(data=kept))
    np.testing.assert_array_equal(loaded.log_odds(NEW), fitted.log_odds(NEW))


def test_sparse_rows_and_frames():
    members = [("a", LogisticRegression()), ("b", PatMat(0.1, C=0.1))]
    dense = TopStack(members).fit(X, Y)
    thin = TopStack(members).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(thin.log_odds(sparse.csr_array(NEW)), dense.log_odds(NEW), atol=1e-3)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = TopStack(members[:1]).fit(frame, Y)
    assert list(named.feature_names_in_) == list("abcd")


def test_a_member_that_fails_is_left_out():
    class Broken(Column):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no luck")

    with pytest.warns(UserWarning, match="broken failed and was left out: RuntimeError: no luck"):
        fitted = TopStack([("broken", Broken()), ("first", Column(0))]).fit(X, Y)
    assert fitted.weights_ == {"broken": 0.0, "first": 1.0}
    with pytest.raises(RuntimeError, match="no luck"):
        TopStack([("broken", Broken())]).fit(X, Y)


def test_rows_of_no_weight_are_gone():
    weight = np.ones(300)
    weight[:50] = 0.0
    split = [(np.arange(100, 300), np.arange(100)), (np.arange(150), np.arange(150, 300))]
    inner = [(train[train >= 50] - 50, test[test >= 50] - 50) for train, test in split]
    members = [("a", LogisticRegression()), ("b", PatMat(0.1, C=0.1))]
    weighted = TopStack(members, cv=split).fit(X, Y, sample_weight=weight)
    without = TopStack(members, cv=inner).fit(X[50:], Y[50:])
    np.testing.assert_allclose(weighted.log_odds(NEW), without.log_odds(NEW), atol=1e-3)
    with pytest.raises(ValueError, match="sample_weight is zero for every row of class True"):
        TopStack(members).fit(X, Y, sample_weight=np.where(Y, 0.0, 1.0))


def test_groups_stay_together_and_folds_without_a_class_are_left_out():
    groups = np.repeat(np.arange(60), 5)
    seen = []

    class Spy(Column):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(np.asarray(X)[:, 1]))
            return super().fit(X, y)

    inside = np.column_stack([X[:, 0], groups])
    TopStack([("spy", Spy())]).fit(inside, Y, groups=groups)
    assert len(seen) == 6
    assert all(len(part) < 60 for part in seen[:5])
    order = np.argsort(Y, kind="stable")
    last = (np.arange(200), np.arange(200, 300))
    fair = (order[::2], order[1::2])
    assert (~Y[order][:200]).all()
    one = TopStack([("a", Column(0))], cv=[last, fair]).fit(X[order], Y[order])
    assert one.weights_ == {"a": 1.0}


def test_parameters_reach_the_members():
    model = stack().set_params(patmat__C=3.0, forest=Column(0))
    assert model.get_params()["patmat__C"] == 3.0
    assert isinstance(dict(model.estimators)["forest"], Column)
    assert cross_val_score(model, X, Y, scoring="average_precision", cv=3).mean() > 0.4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimators": []}, "must be a list of names"),
        ({"estimators": [Column()]}, "must be a list of names"),
        ({"estimators": [("a", Column()), ("a", Column())]}, "names must be distinct"),
        ({"estimators": [("a__b", Column())]}, "double underscore"),
        ({"estimators": [("a", "b")]}, "is no estimator"),
        ({"budget": 0}, "budget must be"),
        ({"budget": 1.5}, "budget must be"),
        ({"head": "best"}, "head must be one of 'mixed'"),
        ({"cv": 1}, "cv must be"),
        ({"pos_label": 7}, "pos_label=7 is not a class"),
    ],
)
def test_errors_say_what_to_do(change, message):
    model = TopStack(**({"estimators": [("a", Column())]} | change))
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_too_few_of_a_class():
    with pytest.raises(ValueError, match="a class with 1 row only"):
        TopStack([("a", Column())]).fit(X, np.arange(300) == 3)
