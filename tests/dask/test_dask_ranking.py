"""RankSVM on partitions against RankSVM in memory, and what it refuses."""

import sys
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import shortlist
from contract import checks
from drawing import draws
from shortlist._losses import LOSSES
from shortlist.dask import RankSVM
from shortlist.dask._pairs import DaskPairs, facts, prepare
from shortlist.pairs.problem import PairProblem, primal_value
from shortlist.pairs.spaces import LinearSpace, Point

pytestmark = pytest.mark.usefixtures("local")


@pytest.fixture(scope="module")
def table():
    """Groups of 2 to 9 rows, their rows shuffled."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(80), random.integers(2, 10, 80))
    X = random.normal(size=(len(qid), 4))
    y = np.round(X[:, 0] + random.normal(size=len(qid)))
    return X, y, qid


def in_partitions(X, y, qid, n_parts, seed=0, empty=False):
    """Deal whole groups to partitions at random and shuffle the rows of each."""
    random = np.random.default_rng(seed)
    home = random.integers(0, n_parts, qid.max() + 1)[qid]
    parts = [random.permutation(np.flatnonzero(home == part)) for part in range(n_parts)]
    if empty:
        parts = [np.empty(0, dtype=int), *parts, np.empty(0, dtype=int)]
    return tuple(
        da.concatenate([da.from_array(values[rows], chunks=-1) for rows in parts])
        for values in (X, y, qid)
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_parts", [1, 7, pytest.param(37, marks=pytest.mark.slow)])
def test_same_answer_for_any_partitions(table, loss, n_parts):
    here = shortlist.RankSVM(loss=loss, tol=1e-7).fit(*table)
    there = RankSVM(loss=loss, tol=1e-7).fit(*in_partitions(*table, n_parts, empty=True))
    assert there.certificate_.status == "converged"
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-3)
    assert there.n_pairs_ == here.n_pairs_
    assert set(vars(there)) == set(vars(here))


@pytest.mark.parametrize(
    "params",
    [
        {"max_rank_distance": 1},
        {"normalize": False, "C": 0.01},
        {"solver": "fw", "tol": 1e-3, "C": 0.1},
        {"C": 1e-8},
    ],
)
def test_same_answer_for_any_parameters(table, params):
    here = shortlist.RankSVM(**{"tol": 1e-7, **params}).fit(*table)
    there = RankSVM(**{"tol": 1e-7, **params}).fit(*in_partitions(*table, 3))
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
    assert there.certificate_.status == here.certificate_.status


@st.composite
def problems(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 3))
    X = random.normal(size=(n, d)) * 10.0 ** draw(st.integers(-3, 3))
    if draw(st.booleans()):
        X = np.round(X[random.integers(0, n, n)])
    X[:, 0] = 1.0 if draw(st.booleans()) else X[:, 0]
    y = random.integers(0, draw(st.sampled_from([2, 30])), n).astype(float)
    group = random.integers(0, draw(st.sampled_from([1, 6])), n)
    weight = random.choice([0.0, 0.5, 1.0, 2.0], n)
    y[:2], group[:2], weight[:2] = [0.0, 1.0], 0, 1.0
    home = random.integers(0, draw(st.integers(1, 5)), 6)[group]
    return X, y, group, weight, home, draw(st.sampled_from([None, 1, 4])), random


@draws(60)
@given(problems(), st.sampled_from(["hinge", "squared_hinge"]), st.sampled_from([0.3, np.inf]))
def test_sums_and_products_are_those_of_one_problem(case, loss, width):
    X, y, group, weight, home, distance, random = case
    loss = LOSSES[loss]
    used = weight > 0
    whole = PairProblem(
        LinearSpace.of(X[used]), y[used], group[used], weight[used], 2.0, loss, distance
    )
    w, step = random.normal(size=(2, X.shape[1]))
    with dask.config.set(scheduler="sync"):
        parts = [
            prepare(i, X[at], y[at], group[at], weight[at], loss, distance)
            for i, at in ((i, home == i) for i in range(6))
        ]
        delayed = [dask.delayed(part, traverse=False) for part in parts]
        split = DaskPairs(
            delayed, [facts(part) for part in parts], X.shape[1], 2.0, loss, distance, True
        )
        assert split.n_pairs == pytest.approx(whole.n_pairs)
        assert split.value_at_zero == pytest.approx(whole.value_at_zero)
        if not split.n_pairs:
            return
        here = whole.sums(Point(whole.space, w), width)
        there = split.sums(Point(split.space, w), width)
        scale = 1e-9 * (1.0 + abs(here.hinge) + abs(here.slack))
        for name in ("hinge", "slack", "violated", "total", "curved_pairs"):
            assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-9, abs=scale)
        assert primal_value(split, there) == pytest.approx(primal_value(whole, here), rel=1e-9)
        size = 1e-9 * float(np.abs(X).max()) * whole.value_at_zero * (1.0 + np.abs(X).max())
        for name in ("model", "curved_model", "vertex_model"):
            a, b = getattr(there, name)().u, getattr(here, name)().u
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=size * (1.0 + np.abs(w).max()))
        image, product = split.bend(there, Point(split.space, step))
        image_here, product_here = whole.bend(here, Point(whole.space, step))
        np.testing.assert_allclose(image.u, image_here.u, rtol=1e-8, atol=10 * size)
        assert product == pytest.approx(product_here, rel=1e-8, abs=100 * size)
        sample = split.sample(10**6)
        assert sample.n_pairs == pytest.approx(whole.n_pairs)
        assert sample.value_at_zero == pytest.approx(whole.value_at_zero)


def test_dask_knows_how_large_a_partition_is():
    X, y = np.ones((1000, 7)), np.arange(1000.0)
    part = prepare(0, X, y, None, None, LOSSES["hinge"], None)
    assert sys.getsizeof(part) >= X.nbytes
    assert facts(part).n_bytes == sys.getsizeof(part)


@pytest.mark.parametrize("group_size", [5, 2000])
def test_a_sample_keeps_small_groups_whole(group_size):
    random = np.random.default_rng(3)
    n = 24_000
    group = np.arange(n) // group_size
    X, y = random.normal(size=(n, 2)), random.integers(0, 5, n).astype(float)
    parts = [
        prepare(i, X[at], y[at], group[at], None, LOSSES["hinge"], None)
        for i, at in ((i, np.arange(n) // 6000 == i) for i in range(4))
    ]
    delayed = [dask.delayed(part, traverse=False) for part in parts]
    known = [facts(part) for part in parts]
    split = DaskPairs(delayed, known, 2, 1.0, LOSSES["hinge"], None, True)
    sample = split.sample(3000)
    assert 2500 <= len(sample.y) <= 3500
    assert sample.value_at_zero == pytest.approx(split.value_at_zero)
    sizes = np.bincount(sample.group)
    if group_size == 5:
        assert set(sizes[sizes > 0]) == {5}
    assert len(split.sample(1).y) >= 1


def test_many_rows_start_from_a_sample():
    random = np.random.default_rng(4)
    n = 48_000
    X = random.normal(size=(n, 3))
    y = np.round(X @ [1.0, -1.0, 0.5] + random.normal(size=n))
    qid = np.arange(n) // 8
    lazy = (da.from_array(v, chunks=(12_000, *v.shape[1:])) for v in (X, y, qid))
    here = shortlist.RankSVM(tol=1e-6).fit(X, y, qid)
    there = RankSVM(tol=1e-6).fit(*lazy)
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=2e-6)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, np.float32])
def test_chunks_of_any_storage(table, make):
    X, y, qid = table
    X = np.where(np.abs(X) > 0.5, X, 0.0).astype(np.float32).astype(float)
    here = shortlist.RankSVM(tol=1e-7).fit(X, y, qid)
    lazy, *rest = in_partitions(X, y, qid, 3)
    there = RankSVM(tol=1e-7).fit(lazy.map_blocks(make), *rest)
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
    assert there.score(lazy, *rest) == pytest.approx(here.score(X, y, qid), abs=1e-4)


def test_weights_are_multiplicities(table):
    X, y, qid = table
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    cuts = (0, *np.flatnonzero(np.diff(qid))[[20, 50]] + 1, len(y))
    chunks = (tuple(np.diff(cuts).tolist()),)
    lazy = [da.from_array(v, chunks=-1).rechunk({0: chunks[0]}) for v in (X, y, qid, weight)]
    there = RankSVM(tol=1e-7).fit(*lazy)
    here = shortlist.RankSVM(tol=1e-7).fit(X[rows], y[rows], qid[rows])
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
    assert there.n_pairs_ == here.n_pairs_
    assert there.score(*lazy) == pytest.approx(there.score(X, y, qid, weight))


def test_frames_and_string_groups(table):
    X, y, qid = table
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["y"], frame["q"] = y, [f"query {q:03d}" for q in qid]
    shuffled = frame.sample(frac=1.0, random_state=0)
    here = shortlist.RankSVM(tol=1e-7).fit(frame[list("abcd")], y, frame["q"])
    lazy = dd.from_pandas(shuffled.reset_index(drop=True), npartitions=4)
    with pytest.raises(ValueError, match=r"qid='query \d+' has rows in partitions \d and \d"):
        RankSVM().fit(lazy[list("abcd")], lazy["y"], lazy["q"])
    # Both remedies that the message names.
    by_hash = lazy.shuffle(on="q")
    by_index = lazy.set_index("q").reset_index()
    for df in (by_hash, by_index):
        there = RankSVM(tol=1e-7).fit(df[list("abcd")], df["y"], df["q"])
        assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-6)
        assert there.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(
        there.predict(lazy[list("abcd")]).compute(), there.predict(shuffled[list("abcd")])
    )


def test_without_groups_all_rows_are_one_partition(table):
    X, y, _ = table
    here = shortlist.RankSVM().fit(X, y)
    lazy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.raises(ValueError, match=r"qid=None makes all rows one group.*rechunk"):
        RankSVM().fit(*lazy)
    with pytest.raises(ValueError, match="qid=None makes all rows one group"):
        RankSVM().fit(X, y).score(*lazy)
    there = RankSVM().fit(lazy[0].rechunk(-1), lazy[1])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)
    padded = da.concatenate([lazy[0].rechunk(-1), lazy[0][:0]])
    np.testing.assert_allclose(RankSVM().fit(padded, y).coef_, there.coef_, rtol=1e-6)


def test_errors_name_the_argument_and_the_remedy(table):
    X, y, qid = (da.from_array(v, chunks=(100, 4)[: v.ndim]) for v in table)
    with pytest.raises(ValueError, match=r"kernel='rbf' needs .* kernel='linear'"):
        RankSVM(kernel="rbf").fit(X, y, qid)
    with pytest.raises(
        ValueError, match=r"qid=\d+ has rows in partitions 0 and 1, and 4 of 80 groups"
    ):
        RankSVM().fit(X, y, qid)
    with pytest.raises(ValueError, match="C must be"):
        RankSVM(C=-1.0).fit(X, y, qid)
    with pytest.raises(ValueError, match="no pair to order"):
        RankSVM().fit(X.rechunk(-1), y * 0)
    with pytest.raises(ValueError, match=r"Partition 0: .*NaN"):
        RankSVM().fit(X.rechunk(-1), y * np.nan)
    with pytest.raises(ValueError, match=r"Partition 0: sample_weight must not be negative"):
        RankSVM().fit(X.rechunk(-1), y, sample_weight=y * 0 - 1)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RankSVM().fit(X, y[1:], qid)
    unknown = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match="y is a ndarray in memory"):
        RankSVM().fit(unknown, y.compute(), qid)
    with pytest.raises(ValueError, match="qid has 3 partitions and X"):
        RankSVM().fit(unknown, y[X[:, 0] > 0], da.zeros(30, chunks=10))


def test_callback_and_limits_work_as_in_memory(table):
    lazy = in_partitions(*table, 2)
    seen = []
    model = RankSVM(callback=seen.append).fit(*lazy)
    assert len(seen) == len(model.certificate_.trace)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        stopped = RankSVM(max_iter=1, tol=1e-12).fit(*lazy)
    assert stopped.certificate_.status == "max_iter"


def test_the_model_is_saved_with_skops(table):
    X, y, qid = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankSVM().fit(*in_partitions(X, y, qid, 2))
        data = skops.io.dumps(model)
        loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@checks(RankSVM())
def test_estimator_checks(estimator, check):
    check(estimator)
