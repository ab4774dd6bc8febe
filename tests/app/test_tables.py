"""Reading in blocks against reading at once."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from shortlist._app import _sources, _tables
from shortlist._app._lists import ENDINGS, write_list
from shortlist._app._tables import Table, TableError

CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=8)


@draws(60)
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
