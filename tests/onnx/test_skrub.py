"""Columns that skrub reads: dates of time zones, and what has no ONNX form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

onnxruntime = pytest.importorskip("onnxruntime")
skrub = pytest.importorskip("skrub")
pd = pytest.importorskip("pandas")
from shortlist.onnx import NotConvertible, to_onnx  # noqa: E402
from shortlist.picking.race.models import default_features  # noqa: E402

SLOW = pytest.mark.slow
# Lord Howe moves its clocks by half an hour.
ZONES = (
    "Europe/Paris",
    pytest.param("America/New_York", marks=SLOW),
    pytest.param("Asia/Kolkata", marks=SLOW),
    "Australia/Lord_Howe",
)


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_of_a_zone(zone):
    """Every hour of two years, and draws from 1935 to 2037, where every library has one answer."""
    hours = np.arange(1_700_000_000, 1_763_000_000, 3600)
    draws = np.random.default_rng(0).integers(-1_100_000_000, 2_100_000_000, 3000)
    seconds = np.concatenate([hours, draws])
    rows = pd.DataFrame({"at": pd.to_datetime(seconds, unit="s", utc=True).tz_convert(zone)})
    rows.loc[::11, "at"] = pd.NaT
    rows["x"] = seconds % 7.0
    local = rows["at"].dt.hour.fillna(0) + 24 * rows["at"].dt.day.fillna(0)
    some = rows.iloc[::5]
    made = make_pipeline(
        default_features(rows), SimpleImputer(), StandardScaler(), LogisticRegression()
    )
    made.fit(some, local[::5] % 5 == 0)
    session = onnxruntime.InferenceSession(to_onnx(made).SerializeToString())
    at = np.where(rows["at"].isna(), np.nan, seconds)
    inputs = {"at": at[:, None], "x": rows[["x"]].to_numpy()}
    scores, label = session.run(["scores", "label"], inputs)
    wanted = made.decision_function(rows)
    np.testing.assert_allclose(scores, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())
    np.testing.assert_array_equal(label, made.predict(rows))


def test_names_the_column_of_a_table_that_it_cannot_write():
    rows = pd.DataFrame({"note": [f"text number {i}" for i in range(60)], "x": np.arange(60.0)})
    rows["abroad"] = pd.date_range("2020-01-01", periods=60, tz="+02:00")
    for column, why in (("note", "StringEncoder"), ("abroad", "UTC.02:00.*convert")):
        made = make_pipeline(skrub.TableVectorizer(), SimpleImputer(), LogisticRegression())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.fit(rows[["x", column]], np.arange(60) % 2)
        with pytest.raises(NotConvertible, match=rf"'{column}'.*{why}"):
            to_onnx(made)
