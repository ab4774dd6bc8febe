"""Malformed files: never a traceback, never a half-written output."""

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from drawing import draws
from shortlist._app import app

CALM = draws(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
GOOD = b"id,x,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * 7 % 11, i % 3 == 0) for i in range(30))


@st.composite
def damaged(draw, content):
    """A good file with a few bytes replaced, removed or put in."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 12))
        content[place : place + length] = draw(
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from(
                    [b'"', b"\n", b"\r", b",", b";", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf"]
                ),
            )
        )
    return bytes(content)


ANY = st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode), damaged(GOOD))


class Chosen(Exception):
    """The files were good enough: the models are tested elsewhere."""


def run(folder, arguments):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.output
    if result.exit_code:
        last = result.stderr.rstrip().splitlines()
        assert any(line.startswith(("Error", "Usage")) for line in last), result.stderr
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return result


@CALM
@given(history=ANY, candidates=ANY)
@example(history=GOOD, candidates=GOOD)
@example(history=b"y\n1\n0\n", candidates=b"y\n1\n")
@example(history=b"\x00", candidates=b"id,x\n1,2\n")
def test_pick(history, candidates):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:

        def stop(*args, **kwargs):
            raise Chosen("stop")

        patch.setattr("shortlist.picking.pick", stop)
        folder = Path(name)
        (folder / "h.csv").write_bytes(history)
        (folder / "c.csv").write_bytes(candidates)
        run(folder, ["pick", str(folder / "c.csv"), "--history", str(folder / "h.csv"), "--label",
                     "y", "-k", "1", "-o", str(folder / "o.csv"), "--id", "id",
                     "--save", str(folder / "m.skops")])  # fmt: skip


@CALM
@given(content=ANY)
@example(content=GOOD)
def test_evaluate(content):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "s.csv").write_bytes(content)
        run(folder, ["evaluate", str(folder / "s.csv"), "--label", "y", "--score", "x", "-k", "2"])


@CALM
@given(data=st.data())
def test_score_with_a_damaged_model(data, small_model):
    model, candidates = small_model
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.skops").write_bytes(data.draw(st.one_of(st.binary(), damaged(model))))
        (folder / "c.csv").write_bytes(candidates)
        run(folder, ["score", str(folder / "c.csv"), "--model", str(folder / "m.skops"),
                     "-o", str(folder / "o.csv")])  # fmt: skip


@CALM
@given(content=st.one_of(ANY, damaged(b"id,x\n" + b"1,2\n3,4\n5,six\n")))
def test_score_damaged_rows(content, small_model):
    model, _ = small_model
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.skops").write_bytes(model)
        (folder / "c.csv").write_bytes(content)
        run(folder, ["score", str(folder / "c.csv"), "--model", str(folder / "m.skops"),
                     "-o", str(folder / "o.csv")])  # fmt: skip


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    import io

    import pandas as pd
    from sklearn.pipeline import Pipeline

    from shortlist import TopPush
    from shortlist._app._deciding import read_columns
    from shortlist._app._features import Features
    from shortlist._app._model_file import SavedModel, save_model

    table = pd.read_csv(io.BytesIO(GOOD), dtype=str)
    columns, typed = read_columns(table[["x"]])
    features = Features(columns, typed)
    pipeline = Pipeline([("model", TopPush())])
    pipeline.fit(features.make(typed).to_numpy(), (table["y"] == "1").astype(int))
    path = tmp_path_factory.mktemp("model") / "m.skops"
    save_model(SavedModel(pipeline, columns, features, "y", "1", ["id"], "TopPush", {}), path)
    return path.read_bytes(), b"id,x\n1,2\n3,4\n"
