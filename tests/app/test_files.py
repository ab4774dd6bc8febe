"""The corpus of ugly files: each is read as its writer meant it, or refused in a sentence."""

import json

import numpy as np
import pytest

from shortlist._app._deciding import parse_types, read_columns
from shortlist._app._tables import Table

from .files.make import FILES


def test_there_are_many_and_their_names_differ():
    assert len({file.name for file in FILES}) == len(FILES) >= 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_file(file, tmp_path, invoke):
    path = file.write(tmp_path)
    done = invoke("columns", path, "--json", *file.options)
    if file.error:
        assert done.exit_code == 1, done.output
        for words in file.error:
            assert words in done.stderr
        return
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    columns = {column["name"]: column for column in told["columns"]}
    for name, kind in file.kinds.items():
        assert columns[name]["kind"] == kind, columns[name]
    for name, words in file.notes.items():
        for word in words:
            assert word in " ".join(columns[name]["notes"])
    for name, count in file.distinct.items():
        assert columns[name]["distinct"] == count
    for words in file.warnings:
        assert words in " ".join(told["warnings"])
    quiet = [name for name in file.kinds if name not in file.notes]
    assert not any(columns[name]["notes"] for name in quiet), columns
    assert all(any(words in hint for hint in told["hints"]) for words in file.hints)
    assert file.hints or not told["hints"]

    encoding = file.options[1] if "--encoding" in file.options else "utf-8"
    table = Table(str(path), encoding=encoding)
    rows = table.read()
    types = parse_types([o for o in file.options if "=" in o], rows.columns)
    _, typed = read_columns(rows, types, decimal=table.decimal)
    for name, values in file.values.items():
        wanted = [np.nan if value is None else value for value in values]
        np.testing.assert_allclose(typed[name], wanted, rtol=1e-12, err_msg=name)
    shown = invoke("columns", path, *file.options)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("How I read") or table.notes
