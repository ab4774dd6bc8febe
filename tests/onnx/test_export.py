"""``shortlist export`` from the file that pick saves to scores like those of score."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from shortlist._app import app
from shortlist.datasets import load_credit

onnxruntime = pytest.importorskip("onnxruntime")


def pick_and_save(folder):
    """Make model.skops of history.csv and candidates.csv."""
    files = {
        "--history": "history.csv",
        "-o": "list.csv",
        "--save": "model.skops",
    }
    options = [part for option, name in files.items() for part in (option, str(folder / name))]
    run = CliRunner().invoke(
        app, ["pick", str(folder / "candidates.csv"), "--label", "bad", "-k", "5", *options]
    )
    assert run.exit_code == 0, run.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files, a model of the loans, and one that has learned from dates."""
    folder = tmp_path_factory.mktemp("export")
    X, y = load_credit()
    X, y = X.iloc[:400], y[:400]
    assert X.isna().to_numpy().any()
    X.assign(bad=y).iloc[:250].to_csv(folder / "history.csv", index=False)
    X.iloc[250:].to_csv(folder / "candidates.csv", index=False)
    pick_and_save(folder)
    return folder


def test_same_scores_as_the_command(folder):
    model, written = str(folder / "model.skops"), str(folder / "model.onnx")
    run = CliRunner().invoke(app, ["export", model, "-o", written, "--force"])
    assert run.exit_code == 0, run.output
    assert "label and scores" in run.output
    listed = folder / "all.csv"
    scored = CliRunner().invoke(
        app,
        ["score", str(folder / "candidates.csv"), "--model", model, "-o", str(listed), "--force"],
    )
    assert scored.exit_code == 0, scored.output
    session = onnxruntime.InferenceSession(written)
    rows = pd.read_csv(folder / "candidates.csv")
    feed = {}
    for wanted in session.get_inputs():
        column = rows[[wanted.name]]
        if wanted.type == "tensor(string)":
            feed[wanted.name] = column.fillna("").to_numpy(dtype=object)
        else:
            feed[wanted.name] = column.to_numpy(dtype=np.float64)
    (scores,) = session.run(["scores"], feed)
    best_first = pd.read_csv(listed)["score"].to_numpy()
    np.testing.assert_allclose(np.sort(scores)[::-1], best_first, rtol=1e-9, atol=1e-9)


def test_keeps_files_and_asks_for_the_ending(folder):
    model = str(folder / "model.skops")
    wrong = CliRunner().invoke(app, ["export", model, "-o", str(folder / "model.pb")])
    assert wrong.exit_code == 2
    assert ".onnx" in wrong.output
    there = folder / "there.onnx"
    there.write_text("mine")
    kept = CliRunner().invoke(app, ["export", model, "-o", str(there)])
    assert kept.exit_code == 1
    assert "--force" in kept.output
    assert there.read_text() == "mine"


def test_names_the_column_it_cannot_write(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "since": pd.date_range("2020-01-01", periods=120).strftime("%Y-%m-%d"),
            "x": rng.normal(size=120),
        }
    )
    rows.assign(bad=(rows["x"] > 0).astype(int)).iloc[:80].to_csv(
        tmp_path / "history.csv", index=False
    )
    rows.iloc[80:].to_csv(tmp_path / "candidates.csv", index=False)
    pick_and_save(tmp_path)
    run = CliRunner().invoke(
        app, ["export", str(tmp_path / "model.skops"), "-o", str(tmp_path / "m.onnx")]
    )
    assert run.exit_code == 1
    assert "'since'" in run.output
    assert not (tmp_path / "m.onnx").exists()


def test_says_what_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "shortlist.onnx", None)
    run = CliRunner().invoke(
        app, ["export", str(folder / "model.skops"), "-o", str(folder / "no.onnx")]
    )
    assert run.exit_code == 1
    assert 'pip install "shortlist[app,onnx]"' in run.output
