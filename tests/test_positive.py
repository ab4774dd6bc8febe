"""Which label is pushed up: said, self-explaining, or warned about; never guessed in silence."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from shortlist import BudgetClassifier, PatMat, TopPush, TransductiveTopK
from shortlist._checks import positive_index
from shortlist.blocks import Blocks

MODELS = [
    TopPush(),
    TopPush(kernel="rbf"),
    PatMat(tau=0.2),
    TransductiveTopK(k=10),
    BudgetClassifier(TopPush(), k=10),
]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    fraud = rng.random(80) < 0.3
    return rng.normal(size=(80, 3)) + 1.5 * fraud[:, None], fraud


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_label_that_is_named_is_pushed_up(model, data):
    X, fraud = data
    y = np.where(fraud, "fraud", "legit")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        if isinstance(model, BudgetClassifier):
            model = BudgetClassifier(TopPush(pos_label="fraud"), k=10)
        model = model.set_params(pos_label="fraud").fit(X, y)
    scores = model.decision_function(X)
    assert sorted(model.classes_) == ["fraud", "legit"]
    assert roc_auc_score(y == model.classes_[1], scores) > 0.8
    if not isinstance(model, BudgetClassifier):
        assert np.array_equal(model.predict(X), model.classes_[(scores > 0).astype(int)])
        assert model.classes_.tolist() == ["legit", "fraud"]
        # The same model as for labels that need no words.
        plain = model.set_params(pos_label=None).fit(X, fraud.astype(int))
        np.testing.assert_allclose(plain.decision_function(X), scores)
        assert cross_val_score(model.set_params(pos_label="fraud"), X, y).mean() > 0.5


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_two_strings_are_warned_about(model, data):
    X, fraud = data
    y = np.where(fraud, "fraud", "legit")
    model.set_params(pos_label=None)
    with pytest.warns(
        UserWarning, match=r"'legit' is pushed to the top.*pos_label='fraud'"
    ) as told:
        model.fit(X, y)
    assert any(warning.filename == __file__ for warning in told)
    assert model.classes_.tolist() == ["fraud", "legit"]
    with pytest.raises(ValueError, match="pos_label='frod' is not a class"):
        model.set_params(pos_label="frod").fit(X, y)
    model.set_params(pos_label=None)


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), (False, True), ("no", "yes"), ("No", "YES"), ("0", "1"), (1, 2)]
)
def test_labels_that_explain_themselves_need_no_words(labels, data):
    X, fraud = data
    y = np.where(fraud, labels[1], labels[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = TopPush().fit(X, y)
    assert model.classes_.tolist() == np.array(labels).tolist()
    assert roc_auc_score(fraud, model.decision_function(X)) > 0.8


def test_rows_in_blocks_follow_the_same_rule(data):
    X, fraud = data
    y = np.where(fraud, "fraud", "legit")
    whole = TopPush(pos_label="fraud").fit(X, y)
    streamed = TopPush(pos_label="fraud").fit(Blocks([X[:40], X[40:]], [y[:40], y[40:]]))
    assert streamed.classes_.tolist() == ["legit", "fraud"]
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-3)


def test_the_rule_itself():
    assert positive_index(np.array(["YES", "no"]), None) == 0
    with pytest.raises(ValueError, match="pos_label='b' or pos_label='a'"):
        positive_index(np.array(["a", "b"]), None, refuse=True)
    # Initials may stand for anything: f for fraud as well as for false.
    for initials in (["f", "t"], ["n", "y"]):
        with pytest.raises(ValueError, match="pos_label="):
            positive_index(np.array(initials), None, refuse=True)
    with pytest.raises(ValueError, match="pos_label=2 or pos_label=1"):
        positive_index(np.array([1, 2]), None, refuse=True)
