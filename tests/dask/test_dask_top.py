"""TopPush and PatMat on partitions: the same answer as in memory, however rows are cut."""

import pickle
import subprocess
import sys
import textwrap
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from skops import io as skops_io

import shortlist
from block_data import ugly_rows
from contract import checks
from drawing import draws
from shortlist import dask as on_dask
from shortlist._losses import SQUARED_HINGE
from shortlist.blocks import Blocks
from shortlist.dask import _cluster, _partitioned
from shortlist.top.sweeps import Wanted
from shortlist.top.top_mean import TopMean

MODELS = [
    ("TopPush", {}),
    ("TopPush", {"k": 7}),
    ("TopPush", {"k": 0.2, "loss": "hinge"}),
    ("PatMat", {"tau": 0.1}),
    ("PatMat", {"tau": 0.1, "quantile": "all", "loss": "hinge"}),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = rng.random(900) < 0.15
    X = rng.normal(size=(900, 6)) + 1.5 * y[:, None]
    return X, y.astype(int)


def cut(n_rows, n_parts, seed=0):
    """Uneven chunks, one of them empty where there are many."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, n_rows + 1, size=n_parts - 1))
    if n_parts > 3:
        ends[1] = ends[0]
    return tuple(int(size) for size in np.diff([0, *ends, n_rows]))


def on_parts(X, y, n_parts, seed=0):
    chunks = cut(len(y), n_parts, seed)
    return (
        da.from_array(X, chunks=(chunks, X.shape[1])),
        da.from_array(y, chunks=(chunks,)),
    )


def assert_same(model, reference):
    assert model.certificate_.status == reference.certificate_.status == "converged"
    primal = reference.certificate_.primal
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-3, atol=1e-5)
    assert model.threshold_ == pytest.approx(reference.threshold_, rel=1e-3, abs=1e-5)
    assert list(model.classes_) == list(reference.classes_)


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize(("name", "parameters"), MODELS)
@pytest.mark.parametrize(
    ("n_parts", "order"),
    [
        (4, "shuffled"),
        (7, "sorted"),
        pytest.param(1, "shuffled", marks=pytest.mark.slow),
        pytest.param(37, "sorted", marks=pytest.mark.slow),
    ],
)
def test_same_answer_for_any_partition(rows, name, parameters, n_parts, order):
    X, y = rows
    reference = getattr(shortlist, name)(tol=1e-8, **parameters).fit(X, y)
    index = np.argsort(y, kind="stable")  # negatives first: partitions of one class
    if order == "shuffled":
        index = np.random.default_rng(1).permutation(len(y))
    model = getattr(on_dask, name)(tol=1e-8, **parameters)
    assert model.fit(*on_parts(X[index], y[index], n_parts)) is model
    assert_same(model, reference)


@pytest.mark.usefixtures("local")
@draws(25)
@given(ugly_rows(), st.integers(1, 6), st.sampled_from(MODELS), st.integers(0, 99))
@pytest.mark.filterwarnings("ignore")
def test_ugly_data(data, n_parts, model, seed):
    X, y, weight = data
    name, parameters = model
    k = {"k": 0.3} if parameters.get("k") == 7 else {}
    terms = {"tol": 1e-4, **parameters, **k}
    reference = getattr(shortlist, name)(**terms).fit(X, y, weight).certificate_
    model = getattr(on_dask, name)(**terms)
    certificate = model.fit(*on_parts(X, y, n_parts, seed), weight).certificate_
    if certificate.status == reference.status == "converged":
        assert certificate.primal == pytest.approx(reference.primal, rel=2.1e-4, abs=1e-300)
    assert certificate.dual <= reference.primal * (1 + 1e-9)
    assert reference.dual <= certificate.primal * (1 + 1e-9)


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("order", ["even", "sorted"])
@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(40),
        Wanted(5, weight=60.0),
        Wanted(30, cut=2.0),
        Wanted(2000),
    ],
)
def test_a_pass_brings_the_highest_rows(rows, monkeypatch, order, wanted):
    monkeypatch.setattr(_partitioned, "_FEW_ROWS", 3)
    X, y = rows
    w = np.ones(6)
    if order == "sorted":  # the last partitions hold all the highest rows
        index = np.argsort(X @ w)
        X, y = X[index], y[index]
    wanted = replace(wanted, known=np.flatnonzero(y == 0)[::3])
    data = _partitioned.read_partitions(on_dask.TopPush(), *on_parts(X, y, 7), None, False)
    problem = data.problem(1.0, SQUARED_HINGE, TopMean(5.0))
    found = problem.sweep(w, wanted).ranked_rows()
    scores = X @ w
    free = np.setdiff1d(np.flatnonzero((y == 0) & (scores > wanted.cut)), wanted.known)
    count = max(wanted.count, int(wanted.weight))
    best = free[np.argsort(-scores[free])][:count]
    np.testing.assert_array_equal(np.sort(found.position), np.sort(best))
    np.testing.assert_allclose(found.scores, scores[found.position], rtol=1e-12)
    np.testing.assert_allclose(found.rows.dense(), X[found.position])


@draws(50)
@given(
    st.lists(st.integers(0, 1_000_000), min_size=1, max_size=12),
    st.integers(1, 3),
    st.sampled_from([500_000.0, 2_000_000.0, np.inf]),
    st.integers(0, 99),
)
def test_groups_are_small_and_of_one_worker(sizes, n_threads, most, seed):
    worker = np.random.default_rng(seed).integers(0, 3, size=len(sizes))
    held = [
        _cluster.Place(np.flatnonzero(worker == i).tolist(), n_threads, most)
        for i in np.unique(worker)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cluster, "places", lambda parts: held)
        groups = _cluster.Groups.of([f"part {i}" for i in range(len(sizes))], sizes)
    assert sorted(i for group in groups.numbers for i in group) == list(range(len(sizes)))
    for group, members in zip(groups.numbers, groups.members, strict=True):
        assert members == [f"part {i}" for i in group]
        assert len(set(worker[group])) == 1
        # By the middles of the parts: at most half a part hangs over at either end.
        longest = most + max(sizes[i] for i in group)
        assert sum(sizes[i] for i in group) <= longest * (1 + 1e-9) + 1


@pytest.mark.usefixtures("local")
def test_results_of_visits_are_let_go_of_together():
    groups = _cluster.Groups([[0], [1]], [[1], [2]])
    for n in range(3 * _cluster._HELD):
        assert groups.told(groups.visit(lambda part, n: part + n, args=(n,))) == [1 + n, 2 + n]
        assert len(groups.held) == n % _cluster._HELD + 1
        assert groups.with_members([[3], [4]]).held is groups.held


@pytest.mark.usefixtures("local")
def test_rows_and_labels_are_computed_once_and_together():
    calls = []

    def table(number):
        calls.append(number)
        rng = np.random.default_rng()
        label = rng.random(50) < 0.3
        return np.column_stack([label + 0.01 * rng.normal(size=50), label])

    parts = [dask.delayed(table)(number) for number in range(3)]
    both = da.concatenate([da.from_delayed(part, (50, 2), dtype=float) for part in parts])
    model = on_dask.TopPush(5).fit(both[:, :1], both[:, 1].astype(int))
    assert sorted(calls) == [0, 1, 2]
    assert model.certificate_.status == "converged"
    assert model.coef_[0, 0] > 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_frame_are_put_together_once(rows, dtype):
    X, y = rows
    columns = pd.DataFrame({f"x{i}": column.astype(dtype) for i, column in enumerate(X.T)})
    taken = _partitioned._take(0, columns, y, None)
    assert taken.X.flags.c_contiguous
    assert taken.X.dtype == dtype
    same = np.ascontiguousarray(X)
    assert np.shares_memory(_partitioned._take(0, same, y, None).X, same)


@pytest.mark.usefixtures("local")
def test_frames_names_strings_and_weights(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["label"] = np.where(y == 1, "yes", "no")
    frame["count"] = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    weight = frame["count"].to_numpy()
    parts = dd.from_pandas(frame, npartitions=5)
    features = parts[list("abcdef")]
    model = on_dask.PatMat(0.1, tol=1e-8).fit(features, parts["label"], parts["count"])
    reference = shortlist.PatMat(0.1, tol=1e-8).fit(frame[list("abcdef")], frame["label"], weight)
    assert_same(model, reference)
    assert list(model.feature_names_in_) == list("abcdef")
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = shortlist.PatMat(0.1, tol=1e-8).fit(X[twice], y[twice])
    assert model.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    labels = model.predict(features)
    assert set(labels.compute()) <= {"yes", "no"}


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_chunks(rows, dtype):
    X, y = rows
    X = np.where(np.abs(X) > 0.7, X, 0.0).astype(dtype)
    dense, labels = on_parts(X, y, 4)
    chunks = dense.map_blocks(sparse.csr_matrix)
    reference = shortlist.TopPush(5, tol=1e-7).fit(X, y)
    assert_same(on_dask.TopPush(5, tol=1e-7).fit(chunks, labels), reference)
    assert_same(on_dask.TopPush(5, tol=1e-7).fit(dense, labels), reference)


@pytest.mark.usefixtures("local")
def test_models_are_ordinary_ones(rows, tmp_path):
    X, y = rows
    model = on_dask.TopPush(3).fit(*on_parts(X, y, 3))
    expected = model.predict(X)
    assert isinstance(expected, np.ndarray)
    stored = skops_io.dumps(model)
    trusted = skops_io.get_untrusted_types(data=stored)
    assert all(name.startswith("shortlist.") for name in trusted)
    np.testing.assert_array_equal(skops_io.loads(stored, trusted=trusted).predict(X), expected)
    ranker = on_dask.RankSVM().fit(*on_parts(X, y, 1))
    assert isinstance(ranker, shortlist.RankSVM)
    (tmp_path / "models.pkl").write_bytes(pickle.dumps((model, ranker)))
    np.savez(tmp_path / "rows.npz", X=X, expected=expected, scores=ranker.predict(X))
    code = """
        import sys
        sys.modules["dask"] = sys.modules["distributed"] = None
        import pickle, numpy as np
        rows = np.load("rows.npz")
        model, ranker = pickle.load(open("models.pkl", "rb"))
        assert (model.predict(rows["X"]) == rows["expected"]).all()
        assert model.certificate_.status == "converged"
        np.testing.assert_allclose(ranker.predict(rows["X"]), rows["scores"])
        assert ranker.fit(np.eye(3), [0, 1, 2]).coef_.any()
    """
    run = [sys.executable, "-c", textwrap.dedent(code)]
    subprocess.run(run, cwd=tmp_path, check=True)


@pytest.mark.usefixtures("local")
def test_memory_and_blocks_go_the_usual_way(rows):
    X, y = rows
    reference = shortlist.TopPush(3).fit(X, y)
    np.testing.assert_array_equal(on_dask.TopPush(3).fit(X, y).coef_, reference.coef_)
    assert_same(
        on_dask.TopPush(3, tol=1e-7).fit(Blocks(X, y)), reference.set_params(tol=1e-7).fit(X, y)
    )


@pytest.mark.usefixtures("local")
def test_errors_name_the_remedy(rows):
    X, y = rows
    parts = on_parts(X, y, 4)
    with pytest.raises(ValueError, match=r"kernel='rbf'.*kernel='linear'"):
        on_dask.TopPush(kernel="rbf").fit(*parts)
    with pytest.raises(ValueError, match="requires y"):
        on_dask.TopPush().fit(parts[0])
    with pytest.raises(ValueError, match="one class only"):
        on_dask.TopPush().fit(parts[0], da.zeros_like(parts[1]))
    with pytest.raises(ValueError, match="3 classes"):
        on_dask.TopPush().fit(parts[0], da.from_array(np.arange(900) % 3, chunks=200))
    with pytest.raises(ValueError, match="k=2000 exceeds"):
        on_dask.TopPush(2000).fit(*parts)
    with pytest.raises(ValueError, match="sample_weight is zero for every row of class 1"):
        on_dask.TopPush().fit(*parts, (y == 0).astype(float))
    bad = X.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="Partition 3: Input X contains NaN"):
        on_dask.TopPush().fit(da.from_array(bad, chunks=(300, 6)).rechunk((225, 6)), y)


@checks(on_dask.TopPush())
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_on_a_real_cluster(client, rows):
    X, y = rows
    parts = on_parts(X, y, 4)
    for name, parameters in (MODELS[1], MODELS[3]):
        seen = []
        model = getattr(on_dask, name)(tol=1e-7, callback=seen.append, **parameters)
        assert_same(model.fit(*parts), getattr(shortlist, name)(tol=1e-7, **parameters).fit(X, y))
        assert len(seen) == len(model.certificate_.trace)
    assert client.status == "running"
