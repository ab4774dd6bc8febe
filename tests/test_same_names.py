"""The same thing under the same name: defaults, random_state, shapes as in scikit-learn."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import shortlist
from shortlist import BudgetClassifier, PatMat, RankSVM, TopKSVC, TopPush, TopStack
from shortlist import TransductiveTopK as Transductive
from shortlist.metrics import budget_band, compare, interval

# One default wherever a public function or estimator has the parameter.
DEFAULTS = {
    "C": 1.0,
    "kernel": "linear",
    "gamma": "scale",
    "degree": 3,
    "coef0": 0.0,
    "solver": "auto",
    "tol": 1e-4,
    "max_iter": None,
    "time_limit": None,
    "cache_size": 500,
    "warm_start": False,
    "random_state": 0,
    "verbose": 0,
    "callback": None,
    "pos_label": None,
    "n_jobs": None,
    "ties": "expected",
}


def public():
    """Every function and estimator that a module offers, by name."""
    for module in pkgutil.walk_packages(shortlist.__path__, "shortlist."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        offering = importlib.import_module(module.name)
        for name in getattr(offering, "__all__", ()):
            thing = getattr(offering, name)
            estimator = inspect.isclass(thing) and issubclass(thing, BaseEstimator)
            if inspect.isfunction(thing) or estimator:
                yield f"{module.name}.{name}", inspect.signature(thing).parameters


@pytest.mark.parametrize("name", DEFAULTS)
def test_one_default_everywhere(name):
    found = {where: given[name].default for where, given in public() if name in given}
    found = {where: value for where, value in found.items() if value is not inspect.Parameter.empty}
    assert found
    assert {where for where, value in found.items() if value != DEFAULTS[name]} == set()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (np.arange(90) < 30).astype(int)
    return rng.normal(size=(90, 4)) + 1.5 * y[:, None], y


def fits(X, y):
    """One call for each thing that draws, as a function of random_state."""
    scores, few = X.sum(axis=1), {"n_resamples": 50}
    return {
        "TopPush": lambda seed: TopPush(kernel="rbf", random_state=seed).fit(X, y),
        "PatMat": lambda seed: PatMat(kernel="rbf", random_state=seed).fit(X, y),
        "TopKSVC": lambda seed: TopKSVC(k=1, random_state=seed).fit(X, y),
        "TransductiveTopK": lambda seed: Transductive(k=9, random_state=seed).fit(X, y),
        "BudgetClassifier": lambda seed: BudgetClassifier(
            LogisticRegression(), fpr=0.2, cv=0.5, random_state=seed
        ).fit(X, y),
        "TopStack": lambda seed: TopStack(
            [("a", LogisticRegression()), ("b", LogisticRegression(C=9.0))], random_state=seed
        ).fit(X, y),
        "interval": lambda seed: interval("bedroc", y, scores, random_state=seed, **few),
        "compare": lambda seed: compare(
            y, scores, scores[::-1].copy(), k=9, random_state=seed, **few
        ),
        "budget_band": lambda seed: budget_band(y, scores, k=[9], random_state=seed, **few),
    }


@pytest.mark.parametrize("name", list(fits(np.zeros((1, 1)), None)))
@pytest.mark.parametrize("seed", [0, np.int64(3), None, np.random.RandomState(1)], ids=str)
def test_random_state_takes_what_scikit_learn_takes(name, seed, data):
    fits(*data)[name](seed)


@pytest.mark.parametrize("model", [TopPush, PatMat, RankSVM], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_shapes_of_two_classes_are_those_of_svc(model, kernel, data):
    X, y = data
    X = X @ X.T if kernel == "precomputed" else X
    fitted, svc = model(kernel=kernel).fit(X, y), SVC(kernel=kernel).fit(X, y)
    if kernel == "linear":
        assert fitted.coef_.shape == svc.coef_.shape
        return
    assert not hasattr(fitted, "coef_")
    n_support = len(fitted.support_)
    assert fitted.dual_coef_.shape == (1, n_support)
    assert svc.dual_coef_.shape == (1, len(svc.support_))
    if kernel == "precomputed":
        assert fitted.support_vectors_.shape == svc.support_vectors_.shape
    else:
        assert np.array_equal(fitted.support_vectors_, X[fitted.support_])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_classes_have_rows_of_their_own_in_topksvc(kernel):
    X, y = load_iris(return_X_y=True)
    given = X @ X.T if kernel == "precomputed" else X
    fitted = TopKSVC(k=1, kernel=kernel).fit(given, y)
    if kernel == "linear":
        assert fitted.coef_.shape == (3, 4)
        return
    assert fitted.dual_coef_.shape == (3, len(fitted.support_))
    if kernel == "precomputed":
        # The identity that makes them coefficients: weights are rows times dual variables.
        assert fitted.support_vectors_.shape == (0, 0)
        scores = given @ (fitted.dual_coef_ @ np.eye(len(X))[fitted.support_]).T
        assert np.allclose(scores + fitted.intercept_, fitted.decision_function(given))
    else:
        assert np.array_equal(fitted.support_vectors_, X[fitted.support_])
