"""Scores and labels of ONNX models against those of Python."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from shortlist import (
    BudgetClassifier,
    PatMat,
    RankSVM,
    TopKSVC,
    TopPush,
    TopStack,
    TransductiveTopK,
    pick,
)
from shortlist.datasets import load_credit
from shortlist.picking.race import models, regressors
from shortlist.picking.race.models import FAMILIES, Task, default_features
from shortlist.stacking import SumStack

onnxruntime = pytest.importorskip("onnxruntime")
from onnx_runs import DOUBLE, SINGLE, check, clear, fitted, run  # noqa: E402
from shortlist.onnx import NotConvertible, to_onnx  # noqa: E402

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax")
SLOW = pytest.mark.slow


def rows_for(kernel, X):
    return np.abs(X) if kernel in ("chi2", "minmax") else X


@pytest.mark.parametrize("extra", [0, pytest.param(10_000, marks=SLOW)])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "model", [TopPush(0.05), PatMat(0.05), RankSVM(C=1e-3)], ids=lambda m: type(m).__name__
)
def test_every_kernel(tumours, model, kernel, extra):
    drawn = np.random.default_rng(0).normal(size=(extra, tumours[0].shape[1]))
    X, y = rows_for(kernel, np.concatenate([tumours[0], drawn])), tumours[1]
    made = fitted(model, X[:150], y[:150], kernel=kernel, tol=1e-2, gamma=0.02)
    for tolerance in (DOUBLE, SINGLE):
        check(made, X, tolerance=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_classes(kernel):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    made = fitted(TopKSVC(k=2), X, names, kernel=kernel, tol=1e-2)
    for tolerance in (DOUBLE, SINGLE):
        check(made, X, tolerance=tolerance)


def test_two_classes_of_top_k(tumours):
    check(fitted(TopKSVC(k=1), *tumours, tol=1e-2), tumours[0])


@pytest.mark.parametrize(
    "model",
    [
        TopPush(3, solver="smo"),
        PatMat(cutoff="surrogate"),
        PatMat(kernel="rbf", gamma="auto", cutoff="surrogate"),
        TransductiveTopK(k=0.1),
    ],
    ids=repr,
)
def test_other_settings(tumours, model):
    X, y = tumours
    for tolerance in (DOUBLE, SINGLE):
        check(fitted(model, X[:200], y[:200]), X, tolerance=tolerance)


@pytest.mark.parametrize(
    "model",
    [
        TopPush(0.05, kernel="rbf"),
        PatMat(kernel="laplacian"),
        RankSVM(C=1e-3, kernel="poly"),
        TransductiveTopK(k=0.1),
        BudgetClassifier(PatMat(kernel="sigmoid", tol=1e-2), fpr=0.1, cv=0.3, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_ten_thousand_rows(tumours, model):
    X, y = tumours
    made = fitted(model, X[:100], y[:100])
    many = np.random.default_rng(0).normal(size=(10_000, X.shape[1]))
    for tolerance in (DOUBLE, SINGLE):
        check(made, many, tolerance=tolerance)


@pytest.mark.parametrize(
    "kernel", [k if k == "rbf" else pytest.param(k, marks=SLOW) for k in KERNELS]
)
def test_ten_thousand_rows_of_many_classes(kernel):
    X, y = load_iris(return_X_y=True)
    made = fitted(TopKSVC(k=2, kernel=kernel), X, y, tol=1e-2)
    many = X[np.random.default_rng(0).integers(len(X), size=10_000)]
    many *= np.random.default_rng(1).uniform(0.9, 1.1, size=many.shape)
    for tolerance in (DOUBLE, SINGLE):
        check(made, many, tolerance=tolerance)


def test_precomputed(tumours):
    X, y = tumours
    made = fitted(TopPush(0.05, kernel="precomputed"), X[:100] @ X[:100].T, y[:100])
    check(made, X @ X[:100].T)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("apart", [0.0, 1e5])
def test_large_offsets_lose_nothing(kernel, apart):
    """Against extended precision: two clusters far from zero and from each other."""
    rng = np.random.default_rng(0)
    X = rng.integers(-64, 65, size=(60, 4)) / 64.0
    y = (X[:, 0] > 0).astype(int)
    X[::2] += apart
    made = PatMat(0.2, kernel=kernel, gamma=0.5).fit(X, y)
    # The estimator itself is not asked for the kernel: only for what it has learned.
    made.support_vectors_ = made.support_vectors_ + 1e6
    vectors, rows = (A.astype(np.longdouble) for A in (made.support_vectors_, X + 1e6))
    power = 2 if kernel == "rbf" else 1
    distance = (np.abs(rows[:, None] - vectors) ** power).sum(axis=2)
    wanted = np.exp(-distance / 2) @ made.dual_coef_[0] - made.quantile_
    found = run(to_onnx(made), X + 1e6)["scores"]
    np.testing.assert_allclose(found, wanted.astype(float), rtol=0, atol=1e-12)


def test_sparse_support_vectors(tumours):
    from scipy import sparse

    X, y = np.where(tumours[0] > 1, tumours[0], 0.0), tumours[1]
    made = fitted(PatMat(kernel="tanimoto"), sparse.csr_matrix(X[:150]), y[:150])
    check(made, X)


@pytest.mark.parametrize("wish", [{"fpr": 0.1}, {"precision": 0.9}], ids=str)
@pytest.mark.parametrize("pos_label", [None, 0, 1])
@pytest.mark.parametrize(
    "scorer",
    [TopPush(0.1), LogisticRegression(), RandomForestClassifier(10, random_state=0)],
    ids=lambda m: type(m).__name__,
)
def test_budget_with_a_threshold(tumours, wish, pos_label, scorer):
    X, y = tumours
    made = BudgetClassifier(scorer, pos_label=pos_label, cv=0.3, random_state=0, **wish)
    made.fit(X[:300], y[:300])
    written = to_onnx(made)
    found = run(written, X)
    np.testing.assert_allclose(found["scores"], made.decision_function(X), rtol=0, atol=1e-12)
    sure = np.abs(found["scores"]) > 1e-12  # forests have ties, which may round either way
    np.testing.assert_array_equal(found["label"][sure], made.predict(X)[sure])


def test_budget_of_a_frozen_ranker(tumours):
    X, y = tumours
    ranker = FrozenEstimator(RankSVM(C=1e-3).fit(X[:150], y[:150]))
    made = BudgetClassifier(ranker, fpr=0.1).fit(X[150:300], y[150:300])
    check(made, X)


@pytest.mark.parametrize("wish", [{"k": 5}, {"fraction": 0.1}], ids=str)
def test_budget_of_a_batch_is_refused(tumours, wish):
    made = BudgetClassifier(TopPush(0.1), **wish).fit(*tumours)
    (name,) = wish
    with pytest.raises(NotConvertible, match=rf"{name}=.*depends on the other rows.*estimator_"):
        to_onnx(made)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family_of_pick(tumours, family):
    X, y = tumours[0].copy(), tumours[1]
    X[::7, 3] = np.nan
    task = Task(rate=0.1, n_rows=200, sparse=False, kind=None, effort="quick", seed=0)
    make, reason = FAMILIES[family]
    if family == "LightGBM":
        pytest.importorskip("lightgbm")
    elif reason(task) and family != "gradient boosting":
        pytest.skip(reason(task))
    _, estimator = list(make(task))[-1]
    made = make_pipeline(default_features(X), estimator).fit(X[:200], y[:200])
    # scikit-learn scales float32 rows in float32: a row on a split may take its other side.
    for tolerance in (DOUBLE, SINGLE):
        check(made, X, tolerance=tolerance, wide=True)


def test_components_of_a_long_history(tumours, monkeypatch):
    X, y = tumours[0].copy(), tumours[1]
    X[::7, 3] = np.nan
    monkeypatch.setattr(models, "_COMPONENTS", 20)
    task = Task(rate=0.1, n_rows=20_000, sparse=False, kind=None, effort="quick", seed=0)
    _, estimator = next(iter(FAMILIES["PatMat rbf"][0](task)))
    assert "nystroem" in estimator.named_steps
    made = make_pipeline(default_features(X), estimator).fit(X[:200], y[:200])
    for tolerance in (DOUBLE, SINGLE):
        check(made, X, tolerance=tolerance, wide=True)
    other = make_pipeline(Nystroem("poly", n_components=5), PatMat(0.1)).fit(X[:50, 4:], y[:50])
    with pytest.raises(NotConvertible, match=r"Nystroem\(kernel='poly'\).*kernel='rbf'"):
        to_onnx(other)


@SLOW
def test_what_pick_returns(tumours):
    X, y = tumours[0].copy(), tumours[1]
    X[::7, 3] = np.nan
    found = pick(X[:200], y[:200], X[200:], k=20, effort="quick")
    rng = np.random.default_rng(0)
    many = X[rng.integers(len(X), size=10_000)] + 0.1 * rng.normal(size=(10_000, X.shape[1]))
    check(found.model, many, wide=True)
    check(found.model, many, wide=True, tolerance=SINGLE)


@pytest.fixture(scope="module")
def outcomes():
    """Patients, how their disease went on, and rows with gaps."""
    X, y = load_diabetes(return_X_y=True)
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    return gaps, y


@pytest.mark.parametrize("family", list(regressors.FAMILIES))
def test_every_family_of_a_sum(outcomes, family):
    X, y = outcomes
    sets = "sets" in family
    for kind in ("bits", "counts") if sets else (None,):
        if sets:
            X = np.random.default_rng(0).integers(0, 2 if kind == "bits" else 5, size=(442, 30))
        task = Task(rate=0.1, n_rows=200, sparse=False, kind=kind, effort="quick", seed=0)
        make, reason = regressors.FAMILIES[family]
        if family == "LightGBM":
            pytest.importorskip("lightgbm")
        elif family != "gradient boosting":
            assert reason(task) is None
        _, estimator = list(make(task))[-1]
        made = make_pipeline(default_features(X), estimator)
        made.fit(X[:200], (y[:200] - y.mean()) / y.std())
        check(made, X.astype(float))
        check(made, X.astype(float), tolerance=SINGLE, wide=True)


@pytest.mark.parametrize(
    "models",
    [
        ["RankSVM", "LightGBM", "SVR rbf"],
        pytest.param(
            ["RankSVM", "gradient boosting", "LightGBM", "random forest", "SVR rbf"], marks=SLOW
        ),
    ],
    ids=len,
)
def test_what_pick_returns_for_a_sum(outcomes, models):
    """All weighed members of the combination, on batches of 10,000 rows and of one."""
    X, y = outcomes
    found = pick(X[:300], y[:300], X[300:], k=20, goal="sum", models=models, effort="quick")
    assert isinstance(found.model[-1], SumStack)
    assert len(found.model[-1].estimators_) > 1
    many = X[np.random.default_rng(0).integers(len(X), size=10_000)]
    check(found.model, many)
    check(found.model, many, tolerance=SINGLE, wide=True)
    # In the unit of the outcome.
    (listed,) = run(to_onnx(found.model), X[300:]).values()
    np.testing.assert_array_equal(np.argsort(-listed, kind="stable")[:20], found.selected)


def test_sums_that_it_cannot_write(outcomes):
    X, y = outcomes[0], np.abs(outcomes[1])
    odd = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, y)
    with pytest.raises(NotConvertible, match=r"loss='poisson'.*squared_error"):
        to_onnx(odd)
    two = RandomForestRegressor(2).fit(X, np.column_stack([y, y]))
    with pytest.raises(NotConvertible, match="one number"):
        to_onnx(two)
    lightgbm = pytest.importorskip("lightgbm")
    quiet = {"verbose": -1, "n_jobs": 1}
    odd = lightgbm.LGBMRegressor(objective="poisson", n_estimators=2, **quiet).fit(X, y)
    with pytest.raises(NotConvertible, match="objective='poisson'"):
        to_onnx(odd)
    stack = SumStack([("a", lightgbm.LGBMRegressor(objective="l1", n_estimators=9, **quiet))])
    with pytest.raises(NotConvertible, match="'a' of SumStack"):
        to_onnx(stack.fit(X, y))


def as_inputs(session, rows):
    """One column of a table for each input: missing text is empty, dates are seconds."""
    inputs = {}
    for each in session.get_inputs():
        column = rows[each.name]
        if "string" in each.type:
            values = column.astype(object).where(column.notna(), "").to_numpy(object)
        elif column.dtype.kind == "M":
            values = column.to_numpy().astype("datetime64[s]").astype(float)
            values[column.isna()] = np.nan
        else:
            values = column.to_numpy("float32" if "(float)" in each.type else "float64")
        inputs[each.name] = values[:, None]
    return inputs


@SLOW
def test_what_pick_returns_of_a_table():
    """Categories, text, dates, numbers as text, gaps."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("skrub")
    X, y = load_credit()
    rng = np.random.default_rng(0)
    X["asked"] = pd.to_datetime(rng.integers(-(10**9), 2 * 10**9, len(X)), unit="s")
    X.loc[::13, "asked"] = pd.NaT
    X["empty"] = pd.Series([None] * len(X), dtype=object)
    X["note"] = [
        f"{'Paid ÉTÉ 逾期 ok!'[i % 9 :]} {i % 97}" if i % 17 else None for i in range(len(X))
    ]
    X["kind"] = pd.Categorical(rng.choice(["p", "q", "r"], len(X)))
    found = pick(X[:200], y[:200], X[200:230], k=5, effort="quick", repeats=1)
    X.loc[5, X.columns[0]] = "never seen before"
    wanted = found.model.decision_function(X)
    many = rng.integers(len(X), size=10_000)
    for dtype, tolerance in (("float64", DOUBLE), ("float32", SINGLE)):
        margin = tolerance * np.abs(wanted).max()
        written = to_onnx(found.model, dtype=dtype)
        session = onnxruntime.InferenceSession(written.SerializeToString())
        assert "empty" not in [each.name for each in session.get_inputs()]
        for rows in (many, [0]):
            inputs = as_inputs(session, X.iloc[rows])
            label, scores = session.run(["label", "scores"], inputs)
            np.testing.assert_allclose(scores, wanted[rows], rtol=tolerance, atol=margin)
            sure = clear(wanted[rows], margin)
            np.testing.assert_array_equal(label[sure], found.model.predict(X)[rows][sure])


@pytest.mark.parametrize("pos_label", [None, 0])
@pytest.mark.parametrize("head", ["mixed", "patmat"])
def test_stack(tumours, pos_label, head):
    X, y = tumours
    members = [
        ("forest", RandomForestClassifier(15, random_state=0)),
        ("logistic", LogisticRegression()),
        ("patmat", PatMat(kernel="rbf")),
        ("svc", SVC(class_weight="balanced")),
    ]
    made = TopStack(members, head=head, pos_label=pos_label, cv=3).fit(X[:200], y[:200])
    for tolerance in (DOUBLE, SINGLE):
        check(made, X, tolerance=tolerance, wide=True)
    # The stack below a threshold of its own.
    check(BudgetClassifier(FrozenEstimator(made), fpr=0.1).fit(X[200:], y[200:]), X)


def test_stack_names_the_member_it_cannot_write(tumours):
    odd = GradientBoostingClassifier(n_estimators=2)
    made = TopStack([("odd", odd)], cv=2).fit(*tumours)
    with pytest.raises(NotConvertible, match=r"'odd'.*GradientBoostingClassifier"):
        to_onnx(made)


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests(tumours, forest):
    X, y = tumours
    made = forest(25, random_state=0).fit(X[:300], y[:300])
    found = run(to_onnx(made), X)
    np.testing.assert_allclose(found["scores"], made.predict_proba(X)[:, 1], atol=1e-12)
    # A tree that does not split at all, too.
    stump = forest(3, max_depth=1, min_samples_leaf=150, random_state=0).fit(X[:200], y[:200])
    np.testing.assert_allclose(
        run(to_onnx(stump), X)["scores"], stump.predict_proba(X)[:, 1], atol=1e-12
    )


def test_lightgbm(tumours):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = tumours[0].copy(), tumours[1]
    for gaps in (False, True):
        if gaps:
            X[::5, 7] = np.nan
        made = lightgbm.LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1).fit(X, y)
        check(made, X)


def test_names_what_it_cannot_write(tumours):
    X, y = tumours
    unknown = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2))
    with pytest.raises(NotConvertible, match="GradientBoostingClassifier"):
        to_onnx(unknown.fit(X, y))
    with pytest.raises(NotConvertible, match="PCA"):
        to_onnx(make_pipeline(PCA(2), TopPush(0.1)).fit(X, y))
    own = TopPush(0.1, kernel=lambda A, B: A @ B.T)
    with pytest.raises(NotConvertible, match="kernel="):
        to_onnx(fitted(own, X[:50], y[:50]))
    made = TopPush(0.1).fit(X, y)
    made.classes_ = np.array([0.5, 1.5])
    with pytest.raises(NotConvertible, match="whole numbers or text"):
        to_onnx(made)
    with pytest.raises(ValueError, match="float16"):
        to_onnx(TopPush(0.1).fit(X, y), dtype="float16")


@pytest.mark.parametrize("labels", [[False, True], ["a", "b"], [3, 7], [1.0, 2.0]], ids=str)
def test_labels_of_every_kind(tumours, labels):
    X, y = tumours
    made = TopPush(0.1).fit(X, np.array(labels)[y])
    np.testing.assert_array_equal(run(to_onnx(made), X)["label"], made.predict(X))
