"""The whole command with a short race of models, so that many variants can be run."""

import functools
import io

import numpy as np
import pandas as pd
import pytest

from shortlist import picking
from shortlist._app import _learning
from shortlist.datasets import load_credit

PICK = ("pick", "candidates.csv", "--history", "history.csv", "--label", "outcome", "--positive",
        "bad", "--id", "loan")  # fmt: skip


@pytest.fixture(autouse=True)
def short_race(monkeypatch):
    quick = functools.partial(picking.pick, models=["PatMat"], cv=3, repeats=1)
    monkeypatch.setattr(picking, "pick", quick)


def test_blocks_give_the_same_list(files, invoke, monkeypatch):
    """As one table, in blocks of a few rows, and from Parquet."""
    lists = []
    for cells, name in ((10**6, "candidates.csv"), (0, "candidates.csv"), (0, "c.parquet")):
        pd.read_csv("candidates.csv", dtype=str, keep_default_na=False).to_parquet("c.parquet")
        monkeypatch.setattr(_learning, "_CELLS_AT_ONCE", cells)
        monkeypatch.setattr("shortlist._app._sources.BLOCK_BYTES", 1 << 11)
        monkeypatch.setattr("shortlist._app._sources.BLOCK_ROWS", 7)
        done = invoke("pick", name, *PICK[2:], "-k", "30", "-o", "list.csv", "--force")
        assert done.exit_code == 0, done.output
        lists.append(pd.read_csv("list.csv", dtype=str, keep_default_na=False))
    for other in lists[1:]:
        np.testing.assert_allclose(
            other["score"].astype(float), lists[0]["score"].astype(float), atol=1e-12
        )
        digits = ["score", "probability"]
        pd.testing.assert_frame_equal(other.drop(columns=digits), lists[0].drop(columns=digits))
        np.testing.assert_allclose(other["probability"], lists[0]["probability"], rtol=1e-6)


def test_standard_streams(files, invoke):
    history = (files / "history.csv").read_bytes()
    arguments = ("pick", "candidates.csv", "--history", "-", *PICK[4:], "-k", "5")
    done = invoke(*arguments, input=history)
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(io.StringIO(done.stdout))) == 5
    assert "of 5" in done.stderr


def test_leaks_are_reported_and_dropped(files, invoke):
    table = pd.read_csv("history.csv", dtype=str, keep_default_na=False)
    table["closed"] = np.where(table["outcome"] == "bad", "2021-05-06", "")
    table["copy"] = table["outcome"]
    table.to_csv("history.csv", index=False)
    done = invoke(*PICK, "-k", "5")
    assert done.exit_code == 1
    assert "lacks 'closed', 'copy'" in done.stderr
    fill = pd.read_csv("candidates.csv", dtype=str, keep_default_na=False)
    fill.assign(closed="", copy="good").to_csv("candidates.csv", index=False)
    done = invoke(*PICK, "-k", "5")
    assert done.exit_code == 0, done.output
    assert "column 'copy' repeats the label" in done.stderr
    assert "column 'closed' alone tells the label" in done.stderr
    assert "--drop 'closed'" in done.stderr
    done = invoke(*PICK, "-k", "5", "--drop", "closed", "--drop", "copy", "--group", "purpose")
    assert done.exit_code == 0, done.output
    assert "alone tells" not in done.stderr


def test_columns_named_like_ours_are_kept(files, invoke):
    for name in ("history.csv", "candidates.csv"):
        table = pd.read_csv(name, dtype=str, keep_default_na=False)
        table.rename(columns={"age": "score", "months": "rank"}).to_csv(name, index=False)
    done = invoke(*PICK, "-k", "5", "-o", "list.csv", "--report", "r.html")
    assert done.exit_code == 0, done.output
    found = pd.read_csv("list.csv")
    assert list(found)[:4] == ["rank", "row", "score", "loan"]
    assert {"rank (input)", "score (input)"} < set(found)


def test_demo_leaves_both_files_under_free_names(tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("mine")
    done = invoke("demo", "-k", "25")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report-2.html", "report.html", "shortlist-2.csv"
    ]  # fmt: skip
    assert (tmp_path / "report.html").read_text() == "mine"
    found = pd.read_csv(tmp_path / "shortlist-2.csv")
    _, bad = load_credit()
    hits = int(bad[found["loan"].str[1:].astype(int)].sum())
    assert f"{hits} of the 25 were bad" in done.stdout
    assert invoke("demo", "-k", "25", "--force").exit_code == 0
    assert (tmp_path / "report.html").read_text() != "mine"
