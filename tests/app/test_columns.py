"""Types read once and applied; features without gaps; columns that know the label."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from shortlist import PatMat, TopPush
from shortlist._app._columns import MissingCount, make_features, read_types
from shortlist._app._labels import find_leaks, read_labels
from shortlist._app._model_file import ModelFileError, SavedModel, load_model, save_model
from shortlist._app._tables import TableError
from shortlist.picking.models import FAMILIES, Task


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "number": [f"{value:.2f}" if value > -1 else "N/A" for value in rng.normal(size=n)],
            "year": rng.integers(1000, 9999, n).astype(str),
            "day": pd.date_range("2020-01-01", periods=n).strftime("%Y%m%d"),
            "date": pd.date_range("2020-01-01", periods=n).strftime("%d/%m/%Y"),
            "kind": rng.choice(["none", "some", ""], n),
            "text": [f"Zahlung {i} für Köln" if i % 7 else "" for i in range(n)],
            "rare": ["only here" if i == 3 else "" for i in range(n)],
            "empty": "",
        }
    )


def test_types(table):
    types, typed = read_types(table)
    assert list(types.numbers) == ["number", "year"]
    assert list(types.dates) == ["day", "date"]
    assert types.texts == ["kind", "text", "rare"]
    assert types.empty == ["empty"]
    pd.testing.assert_frame_equal(types.apply(table), typed)
    assert typed["date"].dt.month.iloc[31] == 2


def test_candidates_of_other_spellings_become_missing(table):
    types, _ = read_types(table)
    other = table.assign(number="a lot", date="yesterday", year=np.arange(120) + 0.5)
    typed = types.apply(other)
    assert typed["number"].isna().all()
    assert typed["date"].isna().all()
    assert typed["year"].tolist() == pytest.approx((np.arange(120) + 0.5).tolist())
    count = MissingCount(types)
    count.add(typed)
    told = list(count.warnings())
    assert len(told) == 2
    assert "'number' is missing or not a number in 100%" in told[0]


def test_features_are_finite_also_for_folds_without_values(table):
    types, typed = read_types(table)
    features = make_features(types, typed)
    made = features.fit_transform(typed.iloc[4:])
    assert np.isfinite(made).all()
    blank = types.apply(pd.DataFrame("", index=range(3), columns=table.columns))
    assert np.isfinite(features.transform(blank)).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.text(max_size=6), st.sampled_from(["", "1e400", "-inf", "nan", "7", "0x1"])
            ),
            st.one_of(st.floats(), st.none(), st.integers(-(10**30), 10**30)).map(str),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_any_cells_give_finite_features(rows):
    table = pd.DataFrame(rows, columns=["a", "b"])
    types, typed = read_types(table)
    if types.used:
        made = make_features(types, typed).fit_transform(typed)
        assert np.isfinite(np.asarray(made, dtype=float)).all()


@pytest.mark.parametrize(
    ("values", "positive", "chosen"),
    [
        (["0", "1"], None, "1"),
        ([0.0, 1.0], None, "1"),
        ([True, False], None, "True"),
        (["no", "Yes"], None, "Yes"),
        (["-1", "1"], None, "1"),
        (["fraud", "ok"], "fraud", "fraud"),
        (["a", "b", "c"], "b", "b"),
        ([1, 2], "2.0", "2"),
    ],
)
def test_labels(values, positive, chosen):
    column = pd.Series([*values, *values, None], name="y", dtype=object)
    present, y, label = read_labels(column, positive, "f.csv")
    assert label == chosen
    assert present.tolist() == [True] * (2 * len(values)) + [False]
    assert y.sum() == 2


@pytest.mark.parametrize("values", [["fraud", "ok"], [1, 2], ["a", "b", "c"]])
def test_unclear_labels_ask(values):
    with pytest.raises(TableError, match="--positive"):
        read_labels(pd.Series(values, name="y"), None, "f.csv")


def test_leaks():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    rows = pd.DataFrame(
        {
            "same": np.where(y, "yes", "no"),
            "code": np.where(y, rng.choice(["A", "B"], 200), rng.choice(["C", "D"], 200)),
            "closed": np.where(y, "2020-01-01", ""),
            "amount": np.where(y, rng.random(200) + 1, rng.random(200)).astype(str),
            "name": [f"customer {i}" for i in range(200)],
            "fair": (rng.normal(size=200) + y).astype(str),
        }
    )
    types, typed = read_types(rows)
    labels = pd.Series(np.where(y, "yes", "no"), name="y")
    found = {leak.column: leak for leak in find_leaks(rows, typed, types, labels, y)}
    assert set(found) == {"same", "code", "closed", "amount"}
    assert found["same"].equal
    assert not found["code"].equal
    assert "--drop 'amount'" in str(found["amount"])
    score = typed["fair"].to_numpy()
    assert roc_auc_score(y, score) < 0.999
    # Six rows separate by luck; nothing is said then.
    few = [0, 1, *np.flatnonzero(y)[:2]]
    part = rows.iloc[few].reset_index(drop=True)
    types, typed = read_types(part[["amount"]])
    assert not list(find_leaks(part, typed, types, labels.iloc[few], y[few]))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_model_can_be_saved_and_ranks_alike(family, table, tmp_path):
    types, typed = read_types(table)
    y = (np.arange(120) % 3 == 0).astype(int)
    task = Task(0.1, 120, 30, False, False, 0)
    _, estimator = next(iter(FAMILIES[family][0](task)))
    features = make_features(types, typed)
    made = features.fit_transform(typed)
    if family == "TransductiveTopK":
        estimator.fit(made, y, candidates=made[:30])
    else:
        estimator.fit(made, y)
    pipeline = Pipeline([("features", features), ("model", estimator)])
    path = tmp_path / "m.skops"
    save_model(SavedModel(pipeline, types, "y", "1", ["id"], family, {"a": "1"}), path)
    loaded = load_model(path)
    assert path.stat().st_size < 2_000_000
    assert loaded.ids == ["id"]
    again = loaded.pipeline.decision_function(loaded.types.apply(table))
    np.testing.assert_allclose(again, pipeline.decision_function(typed))


class Other(TopPush):
    """A type that the list does not name."""


def test_models_of_other_types_are_neither_saved_nor_loaded(table, tmp_path):
    types, _ = read_types(table[["number"]])
    model = SavedModel(Other(), types, "y", "1", [], "other", {})
    with pytest.raises(ModelFileError, match=r"cannot be saved.*Other"):
        save_model(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"names types.*Other.*refused"):
        load_model(tmp_path / "m.skops")
    save_model(SavedModel(PatMat(), types, "y", "1", [], "PatMat", {}), tmp_path / "n.skops")
    assert isinstance(load_model(tmp_path / "n.skops").pipeline, PatMat)
