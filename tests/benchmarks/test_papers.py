"""Every sub-command of the papers' benchmarks on tiny bundled data."""

import argparse

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

matplotlib.use("Agg")

from benchmarks.papers import topk, toppush, transductive, transductive_pages
from benchmarks.papers.__main__ import PAGES, TABLES, main, settings
from benchmarks.papers.runner import Clock, certificate, choose, read
from benchmarks.store import open_text
from benchmarks.transductive import measure

from shortlist import TopKSVC, TransductiveTopK


@pytest.fixture(autouse=True)
def without_data(monkeypatch):
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)


# One of each kind by default; the rest take longer.
SHORT = {
    "transductive-figure1", "kernels-table4",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in TABLES],
)
def test_a_tiny_run_resumes_and_renders(name, tmp_path, capsys):
    main([name, "--quick", "--out", str(tmp_path)])
    table = TABLES[name]
    path = table.path(tmp_path)
    with open_text(path, "r") as file:
        lines = file.readlines()
    found = read(table, tmp_path)
    cells = {tuple(map(str, cell)) for cell in table.cells(table.quick)}
    assert set(found[list(table.keys)].itertuples(index=False, name=None)) == cells
    assert np.isfinite(found["value"]).all()

    # A run that ended early: the last cell is gone, and only it is computed again.
    last = ",".join(lines[-1].split(",")[: len(table.keys)])
    path.unlink()
    with open_text(path, "a") as file:
        file.writelines(line for line in lines if not line.startswith(last + ","))
    capsys.readouterr()
    main([name, "--quick", "--out", str(tmp_path)])
    assert f"{len(cells)} cells, {len(cells) - 1} done" in capsys.readouterr().out
    again = read(table, tmp_path)
    assert set(again[list(table.keys)].itertuples(index=False, name=None)) == cells

    main(["render", "--out", str(tmp_path)])
    page = next(page for page, tables in PAGES.items() if table in tables)
    text = (tmp_path / "papers" / f"{page}.md").read_text()
    assert table.title in text
    assert "|---|" in text
    for picture in (tmp_path / "papers").glob("*.png"):
        assert f"({picture.name})" in text
        assert picture.stat().st_size < 200_000


def test_a_tiny_run_without_a_folder_prints_its_page(capsys):
    main(["transductive-figure1", "--quick"])
    assert "| swap |" in capsys.readouterr().out


def test_render_without_results_says_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match="run a table first"):
        main(["render", "--out", str(tmp_path)])


def test_help_names_every_table(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in TABLES)


def test_flags_replace_the_papers_settings():
    options = argparse.Namespace(
        quick=False, trials=3, folds=None, limit=None, rows=7, sets=["sonar"]
    )
    chosen = settings(TABLES["transductive-table3"], options)
    assert (chosen.trials, chosen.folds, chosen.rows, chosen.sets) == (3, 5, 7, ("sonar",))


def test_without_data_the_error_names_the_variable(tmp_path):
    with pytest.raises(FileNotFoundError, match="SHORTLIST_DATA"):
        main(["transductive-table2", "--out", str(tmp_path)])


def test_every_paper_figure_belongs_to_a_row_of_its_table():
    for name, method in toppush.PAPER:
        assert name in toppush.SETS
        assert method in toppush.METHODS
    assert set(transductive_pages.PAPER_TABLE3) == set(transductive.SETS)


def test_choose_prefers_the_moderate_of_equals():
    assert choose({-2: 1.0, 0: 3.0, 1: 3.0, 3: 3.0}.get, [-2, 3, 1, 0]) == 0


def test_a_trace_survives_the_file():
    clock = Clock().start()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = rng.integers(0, 4, 60)
    model = TopKSVC(2, solver="fw", tol=5e-3, callback=clock).fit(X, y)
    rows = pd.DataFrame(list(clock.records(20)), columns=["what", "x", "value"])
    found = certificate(rows, tol=0.0)
    assert found.primal == model.certificate_.primal
    assert found.dual == model.certificate_.dual
    assert len(found.trace) <= 22
    assert (np.diff(found.trace.iteration) > 0).all()


def test_a_clock_stops_at_its_limit():
    clock = Clock(limit=-1.0).start()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    with pytest.warns(ConvergenceWarning):
        model = TopKSVC(2, callback=clock, tol=1e-12).fit(X, y)
    assert model.certificate_.status == "stopped"


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_top_k_objective_is_the_certified_one(k):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 5, 80)
    model = TopKSVC(k, tol=1e-8).fit(X, y)
    value = topk.true_objective(model, X, y, k)
    assert value == pytest.approx(model.certificate_.primal / len(y), rel=1e-7)


def test_the_pseudo_loss_keeps_a_gap():
    """Its dual is feasible for the true problem, so the true optimum lies above it."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 5, 80)
    pseudo = TopKSVC(3, loss="pseudo", tol=1e-8).fit(X, y)
    true = TopKSVC(3, tol=1e-8).fit(X, y).certificate_
    assert pseudo.certificate_.dual <= true.primal + 1e-9
    assert topk.true_objective(pseudo, X, y, 3) >= true.dual / len(y) - 1e-9


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_scaled_rows_stand_for_another_strength(C):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    learn, pool = transductive.halves(60, 0)
    half = transductive.half(X, y, learn, pool, C)
    found = measure(half, transductive.solver("swap", np.inf, half))
    model = TransductiveTopK(0.05, C=C).fit(X[learn], y[learn], candidates=X[pool])
    assert C * found.objective == pytest.approx(model.objective_, rel=1e-3)


def test_significance_is_paired():
    base = pd.Series(np.linspace(0.2, 0.8, 10))
    lower = base - 0.01 - 0.001 * np.arange(10)
    assert toppush.significance(lower, base) == " ●"
    assert toppush.significance(base, lower) == " ○"
    assert toppush.significance(base[::-1].reset_index(drop=True), base) == ""
    assert toppush.significance(base, base) == ""
    assert transductive_pages.better(base, lower)
    assert not transductive_pages.better(lower, base)
