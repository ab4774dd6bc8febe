"""Every kind of table, and errors that say what to do."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer

from shortlist import pick
from shortlist.picking.race.models import (
    FAMILIES,
    Task,
    contestants,
    default_features,
    with_lightgbm,
)

from .made import Column, quick, rows

# The histories here are short: many a list is rightly said to be weak.
pytestmark = pytest.mark.filterwarnings("ignore:The list is not better")

HISTORY, LABELS = rows(120, 0)
NEW, _ = rows(60, 1)


def list_of(*args, **options):
    return pick(*args, models={}, repeats=1, **options).selected.tolist()


PLAIN = list_of(HISTORY, LABELS, NEW, 10)


@pytest.mark.parametrize("kind", ["list", "float32", "sparse", "pandas", "polars", "integers"])
def test_kinds_of_tables(kind):
    if kind == "list":
        assert list_of(HISTORY.tolist(), LABELS.tolist(), NEW.tolist(), 10) == PLAIN
    elif kind == "float32":
        found = list_of(HISTORY.astype(np.float32), LABELS, NEW.astype(np.float32), 10)
        assert len(set(found) & set(PLAIN)) >= 9
    elif kind == "sparse":
        found = list_of(sparse.coo_array(HISTORY), LABELS, sparse.csc_array(NEW), 10)
        assert len(set(found) & set(PLAIN)) >= 9
    elif kind == "integers":
        X, new = (1000 * HISTORY).astype(int), (1000 * NEW).astype(int)
        assert len(set(list_of(X, LABELS, new, 10)) & set(PLAIN)) >= 9
    else:
        frames = pytest.importorskip(kind)
        names = ["a", "b", "c", "d"]
        X, new = (
            frames.DataFrame({name: part[:, j] for j, name in enumerate(names)})
            for part in (HISTORY, NEW)
        )
        y = frames.Series(LABELS)
        assert list_of(X, y, new, 10) == PLAIN
        # Columns are found by name.
        assert list_of(X, y, new[["d", "b", "a", "c"]], 10) == PLAIN


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_with_text_go_through_skrub(library):
    pytest.importorskip("skrub")
    frames = pytest.importorskip(library)
    X, new = (
        frames.DataFrame(
            {
                "kind": ["high" if value > 0.8 else "low" for value in part[:, 0]],
                "number": [None if value > 2 else value for value in part[:, 1]],
                "flag": part[:, 2] > 0,
            }
        )
        for part in (HISTORY, NEW)
    )
    found = pick(X, LABELS, new, 10, models={}, repeats=1)
    chosen = np.array(new["kind"])[found.selected]
    assert np.mean(chosen == "high") > 0.8


def test_numbers_of_all_kinds_need_no_skrub():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    table = {"a": [1.0, None, 2.5, 3.0], "b": [True, False, True, True], "c": [1, 2, 3, 4]}
    for frame in (pd.DataFrame(table), pl.DataFrame(table), pd.DataFrame(table).convert_dtypes()):
        features = default_features(frame)
        assert features.fit_transform(frame).shape == (4, 3)
    assert list_of(HISTORY > 0.5, LABELS, NEW > 0.5, 10)


def test_without_skrub_the_error_names_the_columns(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    frame = pd.DataFrame({"when": ["2020"] * 120, "x": HISTORY[:, 0]})
    with pytest.raises(ValueError, match=r"not numbers: 'when'.*pip install skrub"):
        pick(frame, LABELS, frame, 10)


def test_labels_of_any_kind():
    text = np.where(LABELS, "fraud", "ok")
    with pytest.raises(ValueError, match=r"'fraud' and 'ok'.*Pass pos_label='ok' or"):
        pick(HISTORY, text, NEW, 10, models={})
    found = pick(HISTORY, text, NEW, 10, models={}, pos_label="fraud")
    assert found.positive_label == "fraud"
    assert found.selected.tolist() == PLAIN
    for no, yes in ((-1, 1), (0, 1), (0.0, 1.0), ("no", "yes"), ("False", "True"), ("0", "1")):
        assert list_of(HISTORY, np.where(LABELS, yes, no), NEW, 10) == PLAIN
    for no, yes in ((1, 2), ("y", "z"), (0, 2)):
        with pytest.raises(ValueError, match="pos_label"):
            list_of(HISTORY, np.where(LABELS, yes, no), NEW, 10)
    assert list_of(HISTORY, np.where(LABELS, 2.5, 7), NEW, 10, pos_label=2.5) == PLAIN


def test_streamed_candidates_give_the_same_list():
    calls = []

    def blocks():
        calls.append(1)
        yield from (NEW[:7], NEW[:0], NEW[7:8], NEW[8:])

    whole = pick(HISTORY, LABELS, NEW, 10, models=["PatMat"])
    parts = pick(HISTORY, LABELS, blocks, 10, models=["PatMat"])
    assert len(calls) == 2
    assert parts.n_candidates == 60
    assert parts.selected.tolist() == whole.selected.tolist()


def test_a_stream_must_start_afresh():
    blocks = iter([NEW])
    with pytest.raises(ValueError, match=r"60 rows the first time and 0 the second.*fresh"):
        pick(HISTORY, LABELS, lambda: blocks, 10, models={}, repeats=1)


def test_long_tables_are_scored_in_blocks(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("shortlist.picking.race.history._BLOCK", 7)
    assert list_of(HISTORY, LABELS, NEW, 10) == PLAIN
    # A frame whose index looks like positions but is none.
    X = pd.DataFrame(HISTORY, columns=list("abcd"))
    new = pd.DataFrame(NEW, columns=list("abcd"), index=np.linspace(9.5, 3.5, 60))
    assert list_of(X, LABELS, new, 10) == PLAIN
    assert list_of(HISTORY, LABELS, new, 10) == PLAIN


def test_own_models():
    models = {"ridge": Ridge(), "plain": LogisticRegression()}
    found = pick(HISTORY, LABELS, NEW, 10, models=models, repeats=1)
    names = {entry.name for entry in found.comparison}
    assert names - {"combination"} == {"ridge", "plain", "logistic regression"}


def test_a_model_that_fails_leaves_and_is_named():
    class Broken(Column):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no luck")

    found = pick(HISTORY, LABELS, NEW, 10, models={"broken": Broken()}, repeats=1)
    assert [entry.name for entry in found.comparison] == ["logistic regression"]
    assert any("broken failed" in text and "no luck" in text for text in found.settings["warnings"])
    with pytest.raises(RuntimeError, match="no luck"):
        pick(HISTORY, LABELS, NEW, 10, models={"logistic regression": Broken()}, repeats=1)


def test_models_that_take_too_long_are_left_out_with_the_reason():
    task = Task(0.1, 1_000_000, True, None, "normal", 0)
    found, left_out = contestants("auto", task)
    assert {"gradient boosting", "PatMat rbf", "SVC rbf", "PatMat of sets"} <= set(left_out)
    assert "1,000,000 rows" in left_out["PatMat rbf"]
    names = [model.name for model in found]
    assert names[0] == "logistic regression"
    assert len(set(names)) == len(names)


def test_components_stand_in_for_a_kernel_on_long_dense_histories():
    for n_rows, components in ((10_000, False), (10_001, True)):
        found, left_out = contestants("auto", Task(0.1, n_rows, False, None, "normal", 0))
        (model,) = (model for model in found if model.family == "PatMat rbf")
        assert ("200 components" in model.name) == components
        assert ("nystroem" in model.estimator.named_steps) == components
        assert ("SVC rbf" in left_out) == components


def test_ranks_do_not_depend_on_scale_offset_or_what_is_far_away():
    X, y = HISTORY, LABELS
    task = Task(0.1, len(X), False, None, "normal", 0)
    for kind in ("uniform", "normal"):
        model = task.ranked(LogisticRegression(C=0.01), kind).fit(X, y)
        plain = model.decision_function(NEW)
        for scale, offset in ((1e-12, 0.0), (1e12, 0.0), (1.0, 1e8)):
            other = clone(model).fit(scale * X + offset, y)
            found = other.decision_function(scale * NEW + offset)
            np.testing.assert_allclose(found, plain, atol=1e-3 * np.ptp(plain))
        far, further = NEW.copy(), NEW.copy()
        far[:, 0], further[:, 0] = 2.0 * X[:, 0].max(), 1e9
        np.testing.assert_array_equal(*map(model.decision_function, (far, further)))


def test_ranks_of_a_few_rows_warn_of_nothing():
    X, y = np.arange(10.0)[:, None] % 4, np.arange(10) % 2
    model = Task(0.1, 10, False, None, "normal", 0).ranked(LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[:5], y[:5]).decision_function(X)


def test_words_are_weighed_where_rows_are_sparse():
    """A text that is written down seven times says no more than once."""
    words = np.random.default_rng(0).poisson(0.3, size=(400, 30)).astype(float)
    found, _ = contestants("auto", Task(0.1, 400, True, None, "normal", 0))
    (model,) = (one.estimator for one in found if "tf-idf" in one.name)
    model.fit(sparse.csr_matrix(words), words[:, 1] + words[:, 2] > 1)
    once, often = (model.decision_function(sparse.csr_matrix(n * words)) for n in (1, 7))
    np.testing.assert_allclose(often, once)


def test_lightgbm_that_does_not_load_is_left_out(tmp_path, monkeypatch):
    """As on slim images: it is installed, but libgomp of the system is not."""
    (tmp_path / "lightgbm.py").write_text("raise OSError('libgomp.so.1: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    found, left_out = contestants("auto", Task(0.1, 1000, False, None, "quick", 0))
    assert "libgomp" in left_out["LightGBM"]
    assert any("gradient boosting" in model.name for model in found)


@pytest.mark.filterwarnings("ignore::shortlist.CollapsedWarning")
@pytest.mark.parametrize("rate", [1e-6, 0.001, 0.03, 0.5, 1.0])
def test_grids_suit_every_rate(rate):
    for family in FAMILIES:
        found, _ = contestants([family], Task(rate, 100, False, "counts", "quick", 0))
        for model in found:
            model.estimator.fit(np.abs(HISTORY).round(), LABELS)


def test_few_positives_lower_the_folds():
    y = np.zeros(120, bool)
    y[:3] = True
    with pytest.warns(UserWarning, match=r"cv=5 was lowered to 3.*only 3 rows"):
        found = pick(HISTORY, y, NEW, 10, models={})
    assert found.settings["cv"].startswith("3-fold")
    assert "lowered to 3" in found.settings["warnings"][0]


def test_weak_results_are_said():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="not better than one drawn at random"):
        pick(rng.normal(size=(60, 2)), rng.random(60) < 0.5, NEW[:, :2], 10, models={})
    with pytest.warns(UserWarning, match="less than one row of a fold"):
        pick(HISTORY, LABELS, NEW, 1, models={})


BAD = {
    "one class": ({"y": np.ones(120)}, r"one class only \(1.0\).*Add rows"),
    "three classes": ({"y": np.arange(120) % 3}, r"3 classes \(0, 1, 2\).*Pass y == label"),
    "missing label": (
        {"y": [None] * 2 + ["a"] * 59 + ["b"] * 59},
        r"y is missing in 2 rows.*row 0",
    ),
    "mixed labels": ({"y": np.array([1, "a"] * 60, dtype=object)}, "mixes numbers and text"),
    "unknown positive": ({"pos_label": "yes"}, r"pos_label='yes' is not a class.*\[False, True\]"),
    "one positive": ({"y": np.arange(120) == 5}, r"has 1 positive rows"),
    "no weight": ({"sample_weight": np.where(LABELS, 0, 1)}, r"has 0 positive rows"),
    "negative weight": ({"sample_weight": -np.ones(120)}, r"sample_weight must not be negative"),
    "lengths": ({"y": LABELS[:50]}, r"inconsistent numbers of samples"),
    "k too large": ({"k": 61}, r"k=61 is more than the 60 candidates"),
    "k zero": ({"k": 0}, r"got k=0"),
    "k float": ({"k": 2.5}, r"fraction in \(0, 1\), got k=2.5"),
    "no candidates": ({"candidates": NEW[:0]}, r"candidates is empty"),
    "columns": ({"candidates": NEW[:, :2]}, r"candidates has 2 columns and X 4"),
    "one dimension": ({"X": HISTORY[:, 0]}, r"X has shape \(120,\).*reshape"),
    "effort": ({"effort": "some"}, r"effort must be one of 'quick'"),
    "family": ({"models": ["PatMat", "magic"]}, r"models=.*'magic'.*'PatMat'"),
    "model": ({"models": {"a": StopIteration()}}, r"models\['a'\].*cannot rank rows"),
    "model name": ({"models": {3: Column()}}, r"key 3"),
    "scoring": ({"scoring": "precision"}, r"'precision' is not the name of a metric"),
    "scoring number": ({"scoring": "precision_at_k"}, r"lacks its number"),
    "scoring kind": ({"scoring": 3}, r"scoring=3 is not understood"),
    "cv": ({"cv": 1}, r"cv must be an integer at least 2"),
    "repeats": ({"repeats": 0}, r"repeats must be an integer at least 1"),
    "repeats of a splitter": (
        {"cv": TimeSeriesSplit(3), "repeats": 2},
        r"repeats=2 has no meaning",
    ),
    "order": (
        {"y": np.arange(120) >= 118, "cv": TimeSeriesSplit(2)},
        r"no training part with both",
    ),
    "groups": ({"groups": LABELS.astype(int)}, r"one class is in 1 groups only"),
    "infinite": ({"X": np.where(HISTORY > 2, np.inf, HISTORY)}, r"infinity"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_say_what_to_do(case):
    change, message = BAD[case]
    arguments = {"X": HISTORY, "y": LABELS, "candidates": NEW, "k": 10, "models": {}} | change
    with pytest.raises(ValueError, match=message):
        pick(**arguments)


def test_missing_columns_are_named():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(HISTORY, columns=list("abcd"))
    with pytest.raises(ValueError, match=r"candidates lacks 1 of the columns of X: 'c'"):
        pick(X, LABELS, X[["a", "b", "d"]], 10)


def test_weights_need_models_and_scorings_that_take_them():
    weight = np.ones(120)
    knn = {"near": KNeighborsClassifier()}
    found = pick(HISTORY, LABELS, NEW, 10, models=knn, sample_weight=weight, repeats=1)
    assert any("does not take sample_weight" in text for text in found.settings["warnings"])
    with pytest.raises(ValueError, match=r"scoring=.*does not take sample_weight"):
        pick(HISTORY, LABELS, NEW, 10, sample_weight=weight, scoring=lambda model, X, y: 0.0)


def test_own_features_are_fitted_once_per_fold():
    fits = []

    class Counting(FunctionTransformer):
        def fit(self, X, y=None):
            fits.append(len(X))
            return super().fit(X, y)

    pick(HISTORY, LABELS, NEW, 10, models=quick(), features=Counting())
    assert fits == [96] * 5 + [120]


def test_own_features_may_make_frames_with_any_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(HISTORY, columns=['a"[x]', "b: c", "d,e", "f{g}"])
    kept = FunctionTransformer()
    with_lightgbm(None)  # what it imports may warn
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pick(frame, LABELS, frame, 10, features=kept, effort="quick")
    assert not found.settings["warnings"]
    assert len(found.model.decision_function(frame)) == 120
