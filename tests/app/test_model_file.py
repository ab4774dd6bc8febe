"""Model files that were tampered with are refused before compiled code follows them."""

import json
import re
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from shortlist._app import _model_file
from shortlist._app._deciding import read_columns
from shortlist._app._features import Features
from shortlist._app._model_file import ModelFileError, SavedModel, load_model, save_model


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model with trees, dates, categories and text: its file, rows and scores."""
    rng = np.random.default_rng(0)
    n = 80
    rows = pd.DataFrame(
        {
            "x": rng.normal(size=n).astype(str),
            "at": pd.date_range("2023-01-01", periods=n, freq="7h").strftime("%d.%m.%Y %H:%M"),
            "kind": rng.choice(["a", "b"], n),
            "words": [f"row number {i}" for i in range(n)],
        }
    )
    columns, typed = read_columns(rows)
    features = Features(columns, typed)
    made = features.make(typed).to_numpy()
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    pipeline = Pipeline([("model", model.fit(made, (rng.random(n) < 0.5).astype(int)))])
    path = tmp_path_factory.mktemp("saved") / "m.skops"
    save_model(SavedModel(pipeline, columns, features, "y", "1", [], "boosting", {}), path)
    return path.read_bytes(), rows, pipeline.decision_function(made)


@pytest.fixture
def saved(model_file, tmp_path):
    """A copy to tamper with."""
    content, rows, scores = model_file
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    return path, rows, scores


def tamper(path, change):
    """Change the parts of a model file: a function from name and bytes to bytes."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))


def test_what_was_saved_scores_alike(saved):
    path, rows, scores = saved
    model = load_model(path)
    again = model.pipeline.decision_function(
        model.features.make(model.columns.apply(rows)).to_numpy()
    )
    np.testing.assert_array_equal(again, scores)


@pytest.mark.parametrize(
    ("side", "place"),
    [("left", 10**6), ("left", 0), ("right", 10**6), ("right", 0), ("feature_idx", 10**6)],
)
def test_trees_that_point_outside_themselves(saved, side, place):
    path, _, _ = saved

    def change(name, content):
        if not name.endswith(".npy"):
            return content
        import io

        array = np.load(io.BytesIO(content))
        if not array.dtype.names or "left" not in array.dtype.names:
            return content
        array[side][~array["is_leaf"].astype(bool)] = place
        target = io.BytesIO()
        np.save(target, array)
        return target.getvalue()

    tamper(path, change)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)


def saved_again(saved, model):
    """Save another model with the same features; return where, and their rows."""
    path, rows, _ = saved
    known = load_model(path)
    made = known.features.make(known.columns.apply(rows)).to_numpy()
    model.fit(made, np.arange(len(made)) % 2)
    return SavedModel(
        Pipeline([("model", model)]), known.columns, known.features, "y", "1", [], "other", {}
    ), made


def test_trees_that_ask_for_features_that_are_not_there(saved):
    path, _, _ = saved
    model, made = saved_again(saved, RandomForestClassifier(3, random_state=0))
    save_model(model, path)
    again = load_model(path).pipeline.predict_proba(made)
    np.testing.assert_array_equal(again, model.pipeline.predict_proba(made))
    # The forest takes narrower rows, as scikit-learn checks them, than its trees look at.
    model.pipeline[-1].n_features_in_ = 2
    save_model(model, path)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_", lambda array: np.arange(10**6, dtype=np.int32)),
        ("_dual_coef_", lambda array: array[:, :1].copy()),
        ("dual_coef_", lambda array: array[:, :1].copy()),
        ("_intercept_", lambda array: array[:0].copy()),
        ("support_vectors_", lambda array: array[:, :1].copy()),
        ("_n_support", lambda array: array + 10**6),
        ("_n_support", lambda array: array + np.array([-99, 99])),
        ("_sparse", lambda flag: True),
    ],
)
def test_vectors_that_point_outside_themselves(saved, name, change):
    path, _, _ = saved
    model, made = saved_again(saved, SVC())
    save_model(model, path)
    again = load_model(path).pipeline.decision_function(made)
    np.testing.assert_allclose(again, model.pipeline.decision_function(made))
    machine = model.pipeline[-1]
    machine.__dict__[name] = change(machine.__dict__[name])
    save_model(model, path)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)


def test_other_parts_of_scikit_learn_are_refused(saved):
    path, _, _ = saved
    model, _ = saved_again(saved, GaussianNB())
    with pytest.raises(ModelFileError, match=r"cannot be saved.*sklearn.naive_bayes.GaussianNB"):
        save_model(model, path)
    with pytest.raises(ModelFileError, match=r"names types.*sklearn.naive_bayes.GaussianNB"):
        load_model(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: {**content, "features": None},
        lambda content: {**content, "columns": [{"name": "x"}]},
        lambda content: {k: v for k, v in content.items() if k != "columns"},
        lambda content: {**content, "features": {**content["features"], "kept": np.array([10**6])}},
        lambda content: {
            **content, "features": {**content["features"], "spread": np.array([np.nan])}
        },
    ],
)  # fmt: skip
def test_parts_that_do_not_fit(saved, change):
    import skops.io

    path, _, _ = saved
    content = skops.io.load(path, trusted=list(_model_file.TRUSTED))
    skops.io.dump(change(content), path)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)


def test_a_bomb_is_not_unpacked(saved, monkeypatch):
    path, _, _ = saved
    monkeypatch.setattr(_model_file, "_MOST_BYTES", 1 << 20)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(2 << 20))
    with pytest.raises(ModelFileError, match=r"unpacks to \d MB.*nothing of it was read"):
        load_model(path)


def test_a_description_of_millions_of_parts_is_not_read(saved):
    """Read, each of them takes twenty times the memory of its text."""
    path, _, _ = saved
    many = b"[" + b"{}," * 2_000_000 + b"{}]"
    tamper(path, lambda name, content: many if name == "schema.json" else content)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="not a model file"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_names_of_refused_types_are_fit_for_a_terminal(saved):
    path, _, _ = saved

    def change(name, content):
        if name != "schema.json":
            return content
        schema = json.loads(content)
        schema["__class__"] = "evil\x1b[2J\nname"
        return json.dumps(schema).encode()

    tamper(path, change)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_older_formats_are_named(saved):
    import skops.io

    path, _, _ = saved
    skops.io.dump({"format": 1}, path)
    with pytest.raises(ModelFileError, match=r"format 1 and shortlist \S+ reads 2; make it again"):
        load_model(path)


@pytest.mark.parametrize(
    ("number", "said"),
    [(3, "later version has written it.*pip install -U"), ("two\x1b", "'two.*make it again")],
    ids=str,
)
def test_other_formats_are_named_before_their_types(saved, number, said):
    """A later file may hold types that this version does not know: that is not what is said."""
    import skops.io

    path, _, _ = saved
    skops.io.dump({"format": number, "new": GaussianNB()}, path)
    with pytest.raises(ModelFileError, match=said) as caught:
        load_model(path)
    assert "\x1b" not in str(caught.value)


def test_a_file_of_another_scikit_learn_that_fails_says_so(saved):
    import skops.io

    path, _, _ = saved
    skops.io.dump({"format": 2, "versions": {"sklearn": "0.1"}}, path)
    with pytest.raises(ModelFileError, match=r"written with scikit-learn 0\.1, and here is"):
        load_model(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"left_child=\d+", "left_child=90000"),
        (r"right_child=-?\d+", "right_child=0"),
        (r"split_feature=\d+", "split_feature=77"),
        (r"num_leaves=\d+", "num_leaves=3"),
        (r"decision_type=\d+", "decision_type=3"),
        (r"num_cat=0", "num_cat=1"),
        (r"is_linear=0", "is_linear=1"),
    ],
)
def test_boosted_trees_that_point_outside_themselves(saved, before, after):
    lightgbm = pytest.importorskip("lightgbm")
    path, rows, _ = saved
    model = load_model(path)
    made = model.features.make(model.columns.apply(rows)).to_numpy()
    y = np.arange(len(rows)) % 2
    boosted = lightgbm.LGBMClassifier(
        n_estimators=3, min_child_samples=5, verbose=-1, n_jobs=1
    ).fit(made, y)
    pipeline = Pipeline([("model", boosted)])
    save_model(
        SavedModel(pipeline, model.columns, model.features, "y", "1", [], "boosting", {}), path
    )
    again = load_model(path).pipeline.predict_proba(made)
    np.testing.assert_allclose(again, pipeline.predict_proba(made))

    def change(name, content):
        if name != "schema.json":
            return content
        changed = re.sub(before, after, content.decode())
        assert changed != content.decode()
        return changed.encode()

    tamper(path, change)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)
