"""Rows read block by block: the same fit as in memory, from every kind of source."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from block_data import ugly_rows
from drawing import draws
from shortlist import PatMat, TopPush
from shortlist.blocks import Blocks
from shortlist.top.stream.visits import BlockLayout, Model, score
from shortlist.top.sweeps import Wanted

MODELS = [
    TopPush(),
    TopPush(9),
    TopPush(0.2, loss="hinge"),
    PatMat(0.1),
    PatMat(0.1, quantile="all"),
    PatMat(0.2, loss="hinge", theta=3.0),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.random(3000) < 0.1
    X = rng.normal(size=(3000, 5)) + 2.5 * y[:, None]
    return X, y.astype(int)


def assert_same(model, reference):
    assert model.certificate_.status == reference.certificate_.status == "converged"
    primal = reference.certificate_.primal
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-7)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(model.classes_, reference.classes_)
    assert model.n_features_in_ == reference.n_features_in_


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("block_bytes", [4000, 1 << 23])
def test_the_fit_is_that_of_memory(rows, model, block_bytes):
    X, y = rows
    reference = model.__class__(**model.get_params()).set_params(tol=1e-8).fit(X, y)
    model = model.__class__(**model.get_params()).set_params(tol=1e-8)
    assert model.fit(Blocks(X, y, block_bytes=block_bytes)) is model
    assert_same(model, reference)
    assert model.certificate_.passes == reference.certificate_.passes


@draws(60)
@given(ugly_rows(), st.sampled_from(MODELS), st.integers(1, 400))
@pytest.mark.filterwarnings("ignore")
def test_ugly_data(data, model, block_bytes):
    X, y, weight = data
    k = {"k": 0.3} if model.get_params().get("k") == 9 else {}
    model = model.__class__(**{**model.get_params(), **k})
    reference = model.fit(X, y, weight).certificate_
    certificate = model.fit(Blocks(X, y, weight, block_bytes=block_bytes)).certificate_
    if certificate.status == reference.status == "converged":
        assert certificate.primal == pytest.approx(reference.primal, rel=2.1e-4, abs=1e-300)
    assert certificate.dual <= reference.primal * (1 + 1e-9)
    assert reference.dual <= certificate.primal * (1 + 1e-9)


def sources(X, y, folder):
    """The same rows from everywhere, with the arguments of Blocks."""
    names = [f"f{i}" for i in range(X.shape[1])]
    np.save(folder / "rows.npy", X)
    np.save(folder / "columns.npy", np.asfortranarray(X))
    frame = pd.DataFrame(X, columns=names).assign(label=y)
    frame[:1000].to_parquet(folder / "first.parquet")
    frame[1000:].to_parquet(folder / "second.parquet")
    mapped = np.load(folder / "rows.npy", mmap_mode="r")
    half = len(y) // 2

    def calls():
        for start in range(0, len(y), 700):
            yield X[start : start + 700], y[start : start + 700]

    def frames():
        yield pl.DataFrame(X[:half], schema=names), y[:half]
        yield pl.DataFrame(X[half:], schema=names), y[half:], np.ones(len(y) - half)

    return {
        "array": (X, y),
        "list": ([X[:half], X[half:]], [y[:half], y[half:]]),
        "csr": (sparse.csr_array(X), y),
        "frame": (frame[names], y),
        "memmap": (mapped, y),
        "slices of a memmap": ([mapped[:half], mapped[half:]], [y[:half], y[half:]]),
        ".npy": (str(folder / "rows.npy"), y),
        "F order": (folder / "columns.npy", y),
        "Parquet": ([folder / "first.parquet", folder / "second.parquet"], "label"),
        "function": (calls, None),
        "function of frames": (frames, None),
        "by class": ([X[y == 1], X[y == 0]], [1, 0]),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_source(rows, dtype, tmp_path):
    X, y = rows[0].astype(dtype), rows[1]
    reference = TopPush(9, tol=1e-8).fit(X, y)
    for name, (source, labels) in sources(X, y, tmp_path).items():
        blocks = Blocks(source, labels, block_bytes=20_000)
        model = TopPush(9, tol=1e-8).fit(blocks)
        assert_same(model, reference)
        extra = int(name.startswith("function"))
        assert model.certificate_.passes == reference.certificate_.passes + extra, name
        if name in ("frame", "Parquet", "function of frames"):
            assert list(model.feature_names_in_) == [f"f{i}" for i in range(5)], name


def test_weights_are_multiplicities(rows):
    X, y = rows[0][:800], rows[1][:800]
    weight = np.random.default_rng(0).integers(0, 4, size=800)
    twice = np.repeat(np.arange(800), weight)
    for model in MODELS[1:5]:
        model = model.__class__(**model.get_params()).set_params(tol=1e-8)
        repeated = model.fit(X[twice], y[twice]).certificate_.primal
        weighted = model.fit(Blocks(X, y, weight, block_bytes=3000)).certificate_.primal
        assert weighted == pytest.approx(repeated, rel=1e-6)


def test_string_labels_and_weight_column(rows, tmp_path):
    X, y = rows
    labels = np.where(y == 1, "yes", "no")
    weight = np.random.default_rng(0).integers(1, 3, size=len(y)).astype(float)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=labels, count=weight)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = PatMat(0.1, tol=1e-8).fit(Blocks(tmp_path / "rows.parquet", "label", "count"))
    reference = PatMat(0.1, tol=1e-8).fit(frame[list("abcde")], labels, weight)
    assert_same(model, reference)
    assert set(model.predict(frame[list("abcde")])) == {"yes", "no"}


def test_warm_start_and_callback(rows):
    X, y = rows
    seen = []
    model = TopPush(9, warm_start=True, callback=seen.append).fit(Blocks(X, y))
    assert len(seen) == len(model.certificate_.trace)
    cold = len(seen)
    model.set_params(C=1.01).fit(Blocks(X, y))
    assert len(seen) - cold <= cold


def test_sorted_rows_do_not_fill_the_memory(rows, monkeypatch):
    """Every block beats the last: the rows kept must stay within twice those wanted."""
    from shortlist.top.stream import streamed

    X = np.sort(np.random.default_rng(0).normal(size=(5000, 1)), axis=0)
    parts = [
        (X[a : a + 100], BlockLayout(a, 100, np.empty(0, dtype=int), None))
        for a in range(0, 5000, 100)
    ]
    for wanted in (Wanted(30), Wanted(5, weight=40.0), Wanted(30, known=np.arange(4990, 5000))):
        best = streamed._Best(wanted)
        for rows_, layout in parts:
            best.offer(rows_, layout, streamed.score(rows_, layout, Model(np.ones(1))))
            assert sum(len(found.position) for found in best._found) <= 240
        found = best.found()
        count = max(wanted.count, int(np.ceil(wanted.weight)))
        free = np.setdiff1d(np.arange(5000), wanted.known)
        np.testing.assert_array_equal(np.sort(found.position), free[-count:])
        np.testing.assert_array_equal(found.rows[:, 0], X[found.position, 0])


@draws(50)
@given(st.sets(st.integers(0, 19)))
def test_layout_names_rows_both_ways(skipped):
    layout = BlockLayout(100, 20, np.array(sorted(skipped), dtype=int), None)
    ranked = np.delete(np.arange(20), layout.skipped)
    scores = score(np.arange(20.0)[:, None], layout, Model(np.array([2.0]))).scores
    np.testing.assert_array_equal(scores, 2.0 * ranked)
    np.testing.assert_array_equal(layout.rows_of(np.arange(len(ranked))), ranked)
    np.testing.assert_array_equal(layout.index_of(100 + ranked), np.arange(len(ranked)))


def test_a_file_that_was_cut_off_is_an_error(rows, tmp_path):
    X, y = rows
    np.save(tmp_path / "rows.npy", X)
    blocks = Blocks(tmp_path / "rows.npy", y, block_bytes=4000)
    os.truncate(tmp_path / "rows.npy", os.path.getsize(tmp_path / "rows.npy") - 100)
    with pytest.raises(ValueError, match=r"rows\.npy' is 100 bytes shorter than its header says"):
        TopPush().fit(blocks)


def test_a_plain_memmap_is_not_copied(rows, tmp_path):
    X, y = rows
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    from shortlist._fit import validate_binary

    data = validate_binary(TopPush(), mapped, y, None)
    assert np.shares_memory(data.X, mapped)


@pytest.mark.slow
def test_memory_is_measured(tmp_path):
    """A file of 72 MB is fitted with far less on top of what an import takes."""
    code = """
        import resource, sys
        import numpy as np
        from shortlist import TopPush
        from shortlist.blocks import Blocks
        rng = np.random.default_rng(0)
        file = np.lib.format.open_memmap("big.npy", "w+", np.float32, (600_000, 30))
        file.flush()
        del file
        with open("big.npy", "r+b") as out:
            out.seek(-600_000 * 120, 2)
            for _ in range(6):
                rng.standard_normal((100_000, 30), dtype=np.float32).tofile(out)
        positives = rng.standard_normal((200, 30), dtype=np.float32) + 2
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        TopPush(tol=1e-2).fit(Blocks([positives, positives], y=[1, 0]))
        before = peak()
        model = TopPush(tol=1e-3).fit(Blocks([positives, "big.npy"], y=[1, 0]))
        assert model.certificate_.status == "converged"
        print(peak() - before)
    """
    run = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(run, cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True, env=env)
    assert float(done.stdout) < 40.0


def test_errors_name_the_remedy(rows, tmp_path):
    X, y = rows
    with pytest.raises(ValueError, match="y is missing"):
        Blocks(X)
    with pytest.raises(ValueError, match="empty list"):
        Blocks([])
    with pytest.raises(ValueError, match="one entry for each of the 2 sources"):
        Blocks([X, X], y)
    with pytest.raises(ValueError, match="one value for each of the 3000 rows"):
        Blocks(X, y[:5])
    with pytest.raises(ValueError, match=r"the path .*rows\.csv"):
        Blocks("rows.csv", y)
    with pytest.raises(ValueError, match="rows and columns"):
        Blocks(y, y)
    with pytest.raises(ValueError, match="left out where source is a function"):
        Blocks(lambda: [], y)
    pd.DataFrame(X[:, :2], columns=["a", "b"]).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"y='c' is no column of .* a, b"):
        Blocks(tmp_path / "rows.parquet", "c")
    with pytest.raises(ValueError, match="left out where X is Blocks"):
        TopPush().fit(Blocks(X, y), y)
    with pytest.raises(ValueError, match=r"kernel='rbf'.*kernel='linear'"):
        TopPush(kernel="rbf").fit(Blocks(X, y))
    with pytest.raises(ValueError, match="solver='accelerated' cannot be used"):
        TopPush(solver="accelerated").fit(Blocks(X, y))
    with pytest.raises(ValueError, match="one class only"):
        TopPush().fit(Blocks(X, 0))
    with pytest.raises(ValueError, match=r"Block 1 \(from row 3000\).*features"):
        TopPush().fit(Blocks([X, X[:, :2]], [y, y]))
    with pytest.raises(ValueError, match="sample_weight is zero for every row of class 1"):
        TopPush().fit(Blocks(X, y, (y == 0).astype(float)))
    bad = X.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match=r"Block 1 .*NaN"):
        TopPush().fit(Blocks([X, bad], [y, y]))
    with pytest.raises(TypeError, match="tuples"):
        TopPush().fit(Blocks(lambda: [X]))
    once = iter([(X, y)])
    with pytest.raises(ValueError, match=r"brought no block.*fresh iterator"):
        TopPush().fit(Blocks(lambda: once))
    calls = []

    def shrinking():
        calls.append(0)
        return [(X, y), (X, y)] if len(calls) < 3 else [(X, y)]

    with pytest.raises(ValueError, match="other blocks than in the first pass, from block 1"):
        TopPush().fit(Blocks(shrinking))
