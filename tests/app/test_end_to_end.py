"""The installed command on real files, from two tables to a list, a report and a model."""

import functools
import io
import json
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from shortlist import picking

PICK = ("pick", "candidates.csv", "--history", "history.csv", "--label", "outcome")
BAD = ("--positive", "bad", "--id", "loan", "--effort", "quick")


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@pytest.mark.parametrize("race", ["one", pytest.param("all", marks=pytest.mark.slow)])
def test_pick_then_score_then_evaluate(files, run, invoke, loans, race, monkeypatch):
    """With all contestants by the installed command; evaluate is always that."""
    outputs = ("-o", "list.csv", "--report", "report.html", "--save", "model.skops")
    if race == "one":
        monkeypatch.setattr(picking, "pick", functools.partial(picking.pick, models=["PatMat"]))
        done = invoke(*PICK, *BAD, "-k", "20", *outputs)
        code, told, errors = done.exit_code, done.stdout, done.stderr
    else:
        done = run(*PICK, *BAD, "-k", "20", *outputs)
        code, told, errors = done.returncode, done.stdout.decode(), done.stderr.decode()
    assert code == 0, errors
    assert "of 20" in told
    assert "Wrote report.html" in told
    assert "Traceback" not in errors
    found = read("list.csv")
    original = read("candidates.csv")
    why = ["reason_1", "reason_2", "reason_3"]
    assert list(found)[:4] == ["rank", "row", "score", "probability"]
    assert [name for name in found if name not in why][4:] == list(original)
    assert set(why) <= set(found)
    assert found["rank"].tolist() == [str(rank) for rank in range(1, 21)]
    assert np.all(np.diff(found["score"].astype(float)) <= 0)
    rows = original.iloc[found["row"].astype(int)].reset_index(drop=True)
    pd.testing.assert_frame_equal(found[list(original)], rows)
    page = (files / "report.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert found["loan"][0] in page

    # The saved model ranks the same file the same way, to TSV and to Parquet.
    model = ("--model", "model.skops")
    done = invoke("score", "candidates.csv", *model, "-k", "20", "-o", "again.tsv")
    assert done.exit_code == 0, done.output
    again = pd.read_csv("again.tsv", sep="\t", dtype=str, keep_default_na=False)
    assert again["row"].tolist() == found["row"].tolist()
    np.testing.assert_allclose(again["score"].astype(float), found["score"].astype(float))
    done = invoke("score", "-", *model, "-o", "all.parquet",
                  input=(files / "candidates.csv").read_bytes())  # fmt: skip
    assert done.exit_code == 0, done.output
    everything = pq.read_table("all.parquet").to_pandas()
    assert sorted(everything["row"]) == list(range(80))
    assert everything["row"].iloc[:20].tolist() == found["row"].astype(int).tolist()

    # Judged by the outcome, which is known here.
    _, y = loans
    known = everything.assign(outcome=np.where(y[160:][everything["row"]], "bad", "good"))
    known.to_csv("known.csv", index=False)
    done = run("evaluate", "known.csv", "--label", "outcome", "--positive", "bad",
               "--score", "score", "-k", "20", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    judged = json.loads(done.stdout)
    hits = int((known["outcome"][:20] == "bad").sum())
    assert judged["hits"]["estimate"] == pytest.approx(hits)
    assert judged["recall_at_k"]["estimate"] == pytest.approx(hits / y[160:].sum())
    assert judged["precision_at_k"]["low"] < hits / 20 < judged["precision_at_k"]["high"]


@pytest.fixture
def short_race(monkeypatch):
    quick = functools.partial(picking.pick, models=["PatMat", "random forest"])
    monkeypatch.setattr(picking, "pick", quick)


@pytest.mark.usefixtures("short_race")
def test_json_and_pipes(files, invoke):
    done = invoke(*PICK, *BAD, "-k", "10%", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["k"] == 8
    assert len(told["list"]) == 8
    assert {"rank", "row", "score", "probability", "loan", "reasons"} == set(told["list"][0])
    assert told["expected_hits"]["low"] <= told["expected_hits"]["value"]
    assert told["verdict"].endswith(".")
    assert not list(files.glob("*.html"))


@pytest.mark.usefixtures("short_race")
def test_awkward_table(tmp_path, invoke, loans, monkeypatch):
    """Accents, quoted newlines, semicolons, dates, free text, missing values, Latin-1."""
    X, y = loans
    rng = np.random.default_rng(0)
    X = X.assign(
        été=["né à\nKöln; „ja“" if bad else f"café {number}" for number, bad in enumerate(y)],
        seit=(pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, len(X)), "D"))
        .strftime("%d/%m/%Y"),
        leer="",
    )  # fmt: skip
    X = X.mask(rng.random(X.shape) < 0.1, "")
    monkeypatch.chdir(tmp_path)
    X = X.replace({"„": "«", "“": "»"}, regex=True)
    X.assign(outcome=y).iloc[:160].to_csv("h.csv", index=False, sep=";", encoding="latin-1")
    X.iloc[160:].to_csv("c.csv", index=False, sep=";", encoding="latin-1")
    done = invoke("pick", "c.csv", "--history", "h.csv", "--label", "outcome", "-k", "15",
                  "--id", "loan", "--encoding", "latin-1", "--effort", "quick")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert re.search(r"leer +empty", done.stderr)
    found = pd.read_csv(io.BytesIO(done.stdout_bytes), dtype=str, keep_default_na=False)
    assert len(found) == 15
    assert found["été"].str.contains("né à\nKöln; «ja»").any()


# The command, with work that says when it has begun and does not end: no moment is guessed.
WORKING = """
import sys, time
import shortlist.picking
from shortlist.cli import main

def pick(*arguments, **settings):
    sys.stdout.write("working\\n")
    sys.stdout.flush()
    while True:
        time.sleep(0.01)

shortlist.picking.pick = pick
main()
"""


def heed_signals():
    """Undo what a caller may have ignored, such as nohup."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, b"Interrupted: nothing was written"),
        (signal.SIGTERM, 143, b"Stopped: nothing was written"),
        # What is then undone at each step: test_outputs.py.
        pytest.param(signal.SIGHUP, 129, b"Stopped: nothing was written", marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_nothing(files, number, code, words):
    before = {path.name for path in files.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-c", WORKING, *PICK, *BAD, "-k", "20", "-o", "list.csv",
         "--report", "report.html"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_signals,
    )  # fmt: skip
    assert process.stdout.readline() == b"working\n"
    assert {path.name for path in files.iterdir()} > before  # the reserved outputs
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == code, errors.decode()
    assert words in errors
    assert b"Traceback" not in errors
    assert {path.name for path in files.iterdir()} == before


@pytest.mark.slow
def test_a_hundred_columns_of_text_and_dates(tmp_path, invoke, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array(
        ["zahlung", "spät", "früh", "order", "déjà", "rien", "blau", "rot", "möbel", "haus"]
    )
    n = 110
    y = np.arange(n) % 4 == 0
    table = {}
    for j in range(50):
        said = [" ".join(rng.choice(words, 4)) + f" {i}" for i in range(n)]
        table[f"text {j}"] = [
            f"{text} mahnung" if bad else text for text, bad in zip(said, y, strict=True)
        ]
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
        table[f"date {j}"] = day.strftime("%d/%m/%Y" if j % 2 else "%Y-%m-%d %H:%M:%S")
    frame = pd.DataFrame(table).mask(rng.random((n, 100)) < 0.03, "")
    frame.assign(bad=y.astype(int)).iloc[:80].to_csv("h.csv", index=False)
    frame.iloc[80:].to_csv("c.csv", index=False)
    done = invoke("pick", "c.csv", "--history", "h.csv", "--label", "bad", "-k", "7",
                  "-o", "list.tsv", "--save", "m.skops", "--effort", "quick")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = pd.read_csv("list.tsv", sep="\t")
    assert y[80:][found["row"]].sum() >= 5
    assert (tmp_path / "m.skops").stat().st_size < 20_000_000
