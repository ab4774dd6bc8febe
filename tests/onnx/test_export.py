"""``shortlist export`` from the file that pick saves to scores like those of score."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.app.stored.make import HERE

from shortlist import picking
from shortlist._app import app
from shortlist._app._columns import ABSENT, NUMBER
from shortlist._app._model_file import load_model
from shortlist._scores import positive_scores
from shortlist.datasets import load_credit

onnxruntime = pytest.importorskip("onnxruntime")
from shortlist._app._exporting import write_model  # noqa: E402

STORED = sorted(HERE.glob("format-*/*/*.skops"))


def split(rows, bad, folder, at=80, models=("PatMat",), goal=()):
    """Write a history and candidates, and save what pick makes of them."""
    rows.assign(bad=bad).iloc[:at].to_csv(folder / "history.csv", index=False)
    rows.iloc[at:].to_csv(folder / "candidates.csv", index=False)
    files = {
        "--history": "history.csv",
        "-o": "list.csv",
        "--save": "model.skops",
    }
    options = [part for option, name in files.items() for part in (option, str(folder / name))]
    quick = functools.partial(picking.pick, models=list(models), cv=3, repeats=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(picking, "pick", quick)
        asked = [*(goal or ("--label", "bad")), "-k", "5", "--effort", "quick", *options]
        run = CliRunner().invoke(app, ["pick", str(folder / "candidates.csv"), *asked])
    assert run.exit_code == 0, run.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files and a model of the loans."""
    folder = tmp_path_factory.mktemp("export")
    X, y = load_credit()
    X, y = X.iloc[:400], y[:400]
    assert X.isna().to_numpy().any()
    split(X, y, folder, at=250)
    return folder


def compare(folder, feed=None, outputs="outputs are label and scores"):
    """Scores of the exported model against those of ``shortlist score``."""
    model, written = str(folder / "model.skops"), str(folder / "model.onnx")
    run = CliRunner().invoke(app, ["export", model, "-o", written, "--force"])
    assert run.exit_code == 0, run.output
    assert outputs in run.output
    session = onnxruntime.InferenceSession(written)
    rows = pd.read_csv(folder / "candidates.csv")
    if feed is None:
        feed = {}
        for wanted in session.get_inputs():
            column = rows[[wanted.name]]
            if wanted.type == "tensor(string)":
                feed[wanted.name] = column.fillna("").to_numpy(dtype=object)
            else:
                feed[wanted.name] = column.to_numpy(dtype=np.float64)
    (scores,) = session.run(["scores"], feed)
    listed = folder / "all.csv"
    scored = CliRunner().invoke(
        app,
        ["score", str(folder / "candidates.csv"), "--model", model, "-o", str(listed), "--force"],
    )
    assert scored.exit_code == 0, scored.output
    ranked = pd.read_csv(listed)
    np.testing.assert_allclose(
        scores[ranked["row"]], ranked["score"], rtol=1e-12, atol=1e-12 * np.abs(scores).max()
    )


def test_same_scores_as_the_command(folder):
    compare(folder)


def test_a_numeric_outcome(folder, tmp_path):
    """What pick combines for a sum: ridge regression and others, in the unit of the outcome."""
    rows = pd.read_csv(folder / "history.csv").drop(columns="bad")
    amount = rows.pop(rows.select_dtypes("number").columns[0])
    models = ["RankSVM", "gradient boosting", "extra trees"]
    split(rows, amount, tmp_path, at=170, models=models, goal=("--outcome", "bad"))
    compare(tmp_path, outputs="the output is scores")


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


def test_text(tmp_path):
    """Words, names that are met once, other scripts, gaps; new words in the candidates."""
    X, y = load_credit()
    rng = np.random.default_rng(0)
    words = np.array(
        ["paid", "LATE", "Straße", "naïve", "İzmir", "ΟΔΟΣ", "逾期", "😀", "n°", "1,5"]
    )
    rows = pd.DataFrame(
        {
            "note": [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(300)],
            "name": [f"{'ABCDE'[i % 5]}{i * 7919 % 1000}-x" for i in range(300)],
            "age": X["age"].to_numpy()[:300],
        }
    )
    rows.loc[::7, "note"] = ""
    rows.loc[200:, "note"] += " never met!"
    split(rows, y[:300], tmp_path, at=200)
    compare(tmp_path)


def test_dates(tmp_path):
    """Every part of the calendar, before and after 1970, with gaps."""
    rng = np.random.default_rng(0)
    when = pd.to_datetime(rng.integers(-(10**9), 2 * 10**9, size=300), unit="s")
    late = (when.month.to_numpy() + when.weekday.to_numpy()) % 3 == 0
    rows = pd.DataFrame({"at": when.strftime("%Y-%m-%d %H:%M:%S"), "x": rng.normal(size=300)})
    rows.loc[::11, "at"] = ""
    split(rows, late.astype(int), tmp_path, at=200)
    seconds = when.to_numpy().astype("datetime64[s]").astype(float)
    seconds[::11] = np.nan
    compare(tmp_path, {"at": seconds[200:, None], "x": rows[["x"]].to_numpy()[200:]})


@pytest.mark.parametrize("path", STORED, ids=lambda path: "-".join(path.parts[-3:]))
def test_stored_files(path):
    """Every family of models, numbers, dates, categories and text, from files of other versions."""
    saved = load_model(path)
    rows = pd.read_csv(path.parent / "rows.csv", dtype=str, keep_default_na=False)
    typed = saved.columns.apply(rows)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
        written, kinds, _ = write_model(saved, dtype)
        for name in (name for name, kind in kinds.items() if kind == NUMBER):
            typed[name] = typed[name].astype(dtype).astype(float)
        session = onnxruntime.InferenceSession(written)
        held = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(string)": object}
        (scores,) = session.run(
            ["scores"],
            {
                each.name: typed[[each.name]].replace({ABSENT: ""}).to_numpy(held[each.type])
                for each in session.get_inputs()
            },
        )
        known = positive_scores(saved.pipeline, saved.features.make(typed).to_numpy())
        margin = tolerance * np.abs(known).max()
        np.testing.assert_allclose(scores, known, rtol=tolerance, atol=margin)


def test_says_what_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "shortlist._app._exporting", None)
    run = CliRunner().invoke(
        app, ["export", str(folder / "model.skops"), "-o", str(folder / "no.onnx")]
    )
    assert run.exit_code == 1
    assert 'pip install "shortlist[app,onnx]"' in run.output
