"""Reading in blocks against reading at once; outputs that appear whole or not at all."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist._app import _sources, _tables
from shortlist._app._tables import Table, TableError
from shortlist._app._writing import ENDINGS, write_list
from shortlist._files import Outputs, free_names

CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=30),
    separator=st.sampled_from(",;\t|"),
    seed=st.integers(0, 99),
)
def test_cells_come_back_as_they_were(rows, separator, seed, tmp_path_factory):
    # A row of blanks only would be an empty line to some readers; the first cell is filled.
    rows = [("x" + first, *others) for first, *others in rows]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["a", "b, or c", "d"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    table = Table(str(path))
    if table._source.delimiter != separator:
        # Inside quotes nothing counts, so the delimiter is always found.
        raise AssertionError(table._source.delimiter)
    assert table.n_rows == len(rows)
    assert [tuple(row) for row in table.read().to_numpy()] == rows
    chosen = np.random.default_rng(seed).permutation(len(rows))[: 1 + len(rows) // 2]
    taken = pd.concat(list(table.take(chosen)))
    assert [tuple(row) for row in taken.to_numpy()] == [rows[i] for i in chosen]


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_from_many_blocks(tmp_path, monkeypatch, ending):
    """Small blocks and small passes: the order of the list survives both."""
    monkeypatch.setattr(_sources, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(_sources, "BLOCK_ROWS", 97)
    monkeypatch.setattr(_tables, "_TAKE_ROWS", 400)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"{i:04d}" for i in range(3000)], "é": rng.normal(size=3000)})
    path = tmp_path / f"t{ending}"
    write_list(path, path.name, [frame.iloc[:1000], frame.iloc[1000:]])
    table = Table(str(path))
    assert table.n_rows == 3000
    assert len(list(table.blocks())) > 5
    rows = rng.permutation(3000)[:1500]
    taken = pd.concat(list(table.take(rows)))
    assert taken["id"].tolist() == frame["id"].iloc[rows].tolist()
    # A spreadsheet keeps 16 digits.
    digits = 1e-15 if ending == ".xlsx" else 0.0
    np.testing.assert_allclose(taken["é"].astype(float), frame["é"].iloc[rows], rtol=digits)


def test_a_row_longer_than_a_block_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_sources, "BLOCK_BYTES", 1 << 10)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,2\n3,"' + "x\n" * 5000 + '"\n')
    with pytest.raises(TableError, match="well-formed"):
        _ = Table(str(path)).n_rows


def test_outputs_appear_together_or_not_at_all(tmp_path):
    one, two = str(tmp_path / "one.csv"), str(tmp_path / "two.html")

    def write_and_fail(text, **settings):
        with Outputs(one, two, **settings) as outputs:
            outputs[one].write_text(text)
            raise RuntimeError("late")

    with pytest.raises(RuntimeError, match="late"):
        write_and_fail("done")
    assert list(tmp_path.iterdir()) == []
    with Outputs(one, two) as outputs:
        outputs[one].write_text("1")
        outputs[two].write_text("2")
        assert not (tmp_path / "one.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.csv", "two.html"]
    with pytest.raises(FileExistsError, match="--force"):
        Outputs(one)
    with pytest.raises(RuntimeError, match="late"):
        write_and_fail("changed", force=True)
    assert (tmp_path / "one.csv").read_text() == "1"
    with pytest.raises(FileExistsError, match="twice"):
        Outputs(str(tmp_path / "x.csv"), str(tmp_path / "." / "x.csv"))


def test_free_names_keep_a_pair_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").touch()
    (tmp_path / "shortlist-2.csv").touch()
    assert free_names("shortlist.csv", "report.html") == ["shortlist-3.csv", "report-3.html"]


def test_a_replaced_file_keeps_its_rights_and_a_link_its_target(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with Outputs(str(link), force=True) as outputs:
        outputs[str(link)].write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


def test_of_two_processes_one_wins(tmp_path):
    path = str(tmp_path / "list.csv")
    first, second = Outputs(path), Outputs(path)
    with first:
        first[path].write_text("first")
        second.__enter__()
        second[path].write_text("second")
    with pytest.raises(FileExistsError, match="--force"):
        second.__exit__(None, None, None)
    assert (tmp_path / "list.csv").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["list.csv"]


SIGNALS = """
import os, signal, sys
from shortlist import _files
from shortlist._app._group import _ends_cleanly, Stopped

moment, number = sys.argv[1:]
done = []

def disturbed(name):
    original = getattr(_files.os, name)

    def call(*arguments):
        done.append(name)
        if len(done) == int(moment):
            os.kill(os.getpid(), int(number))
        return original(*arguments)

    setattr(_files.os, name, call)

for name in ("link", "replace", "close"):
    disturbed(name)
try:
    with _ends_cleanly(), _files.Outputs("report", "model", "list", force=True) as outputs:
        for path in ("report", "model", "list"):
            outputs[path].write_text("new")
except (Stopped, KeyboardInterrupt):
    print("stopped", _files.Outputs.published)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [15, 2, 9])
@pytest.mark.parametrize("old", [True, False])
def test_a_signal_at_any_moment_leaves_all_or_none(tmp_path, number, old):
    names = ("report", "model", "list")
    # Three temporary files are closed, then come links and renames.
    for moment in (1, 3, 4, 5, 6, 8):
        folder = tmp_path / f"{moment}"
        folder.mkdir()
        for name in names if old else ():
            (folder / name).write_text("old")
        done = subprocess.run(
            [sys.executable, "-c", SIGNALS, str(moment), str(number)],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        if not old and moment == 8:
            # There are fewer steps where nothing is replaced.
            assert done.stdout == ""
            continue
        found = {path.name: path.read_text() for path in folder.iterdir()}
        if number == 9:
            # Nobody can tidy up; but a new list is there only with its report and model.
            assert found.get("list") != "new" or {found[name] for name in names} == {"new"}
            continue
        wanted = {"old"} if moment <= 3 else {"new"}
        assert done.stdout == f"stopped {wanted == {'new'}}\n", done.stderr
        assert set(found) == (set(names) if old or wanted == {"new"} else set())
        assert set(found.values()) <= wanted


@pytest.mark.parametrize("force", [False, True])
def test_a_failure_while_publishing_takes_back_what_was_published(tmp_path, monkeypatch, force):
    import shortlist._files

    paths = [str(tmp_path / name) for name in ("a.html", "b.skops", "c.csv")]
    if force:
        for path in paths:
            Path(path).write_text("old")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    put, calls = shortlist._files.Outputs._put, []

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError("no space left")
        return put(self, *arguments)

    monkeypatch.setattr(shortlist._files.Outputs, "_put", failing)

    def write():
        with Outputs(*paths, force=force) as outputs:
            for path in paths:
                outputs[path].write_text("new")

    with pytest.raises(OSError, match="no space"):
        write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_wide_tables_are_read_in_time_that_grows_with_them(tmp_path, monkeypatch):
    """No list of names is searched for every name: comparisons are counted, not seconds."""
    compared = 0

    class Name(str):
        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(3000)) + "\n" + ",".join("1" * 3000) + "\n")
    table = Table(str(path))
    monkeypatch.setattr(
        table._source, "names", lambda: [Name(f"c{i}") for i in range(3000)], raising=True
    )
    assert len(table.columns) == 3000
    table.check_columns(list(table.columns), "wanted")
    assert compared < 10 * 3000
