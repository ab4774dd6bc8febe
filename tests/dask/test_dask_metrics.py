"""Metrics of partitioned scores against the same metrics in memory."""

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from drawing import draws
from shortlist import metrics as memory
from shortlist.dask import metrics
from shortlist.dask._first_rows import first_rows, merge, rows_of_block

pytestmark = pytest.mark.usefixtures("local")


def cut(values, sizes):
    """A dask array with these chunks, empty ones included."""
    ends = np.cumsum(sizes)[:-1]
    parts = np.split(np.asarray(values), ends)
    return da.concatenate([da.from_array(p, chunks=-1) for p in parts])


@st.composite
def samples(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 40))
    levels = draw(st.sampled_from([1, 3, 10, 10**9]))
    score = random.integers(0, levels, n) * draw(st.sampled_from([1.0, 1e-300, 1e290, -0.1]))
    if draw(st.booleans()):
        score = score.astype(np.float32) if np.abs(score).max() < 1e30 else score
    y = random.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    weight = None
    kind = draw(st.sampled_from(["none", "whole", "fractions", "zeros"]))
    if kind != "none":
        weight = random.integers(1, 4, n).astype(float)
        weight *= 0.37 if kind == "fractions" else 1.0
        weight[random.random(n) < (0.4 if kind == "zeros" else 0.0)] = 0.0
        weight[0] = 1.0
    cuts = np.sort(random.integers(0, n + 1, draw(st.integers(0, 4))))
    sizes = np.diff(np.concatenate([[0], cuts, [n]]))
    return y.astype(int), score, weight, sizes


def both(name, sample, *args, **params):
    y, score, weight, sizes = sample
    with warnings.catch_warnings(), dask.config.set(scheduler="sync"):
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        there = getattr(metrics, name)(
            cut(y, sizes),
            cut(score, sizes),
            *args,
            sample_weight=None if weight is None else cut(weight, sizes),
            **params,
        )
        here = getattr(memory, name)(y, score, *args, sample_weight=weight, **params)
    return there, here


@draws(25)
@given(
    samples(),
    st.sampled_from(["precision_at_k", "recall_at_k", "lift_at_k"]),
    st.one_of(st.integers(1, 45), st.sampled_from([0.01, 0.07, 0.5, 0.99])),
    st.sampled_from(["expected", "optimistic", "pessimistic"]),
)
def test_lists_of_k_are_those_of_memory(sample, name, k, ties):
    there, here = both(name, sample, k, ties=ties)
    assert there == pytest.approx(here, rel=1e-9, nan_ok=True)


@draws(25)
@given(
    samples(),
    st.sampled_from([None, 0.0, 0.05, 0.5, 1.0]),
    st.sampled_from(["expected", "optimistic", "pessimistic"]),
)
def test_rates_are_those_of_memory(sample, fpr, ties):
    if fpr is None:
        there, here = both("positives_at_top", sample, ties=ties)
    else:
        there, here = both("recall_at_fpr", sample, fpr, ties=ties)
    assert there == pytest.approx(here, rel=1e-9, nan_ok=True)


@draws(20)
@given(samples(), st.sampled_from([None, 1, 7, 0.3]))
def test_the_curve_begins_as_in_memory(sample, max_k):
    y, score, weight, sizes = sample
    with warnings.catch_warnings(), dask.config.set(scheduler="sync"):
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        there = metrics.budget_curve(
            cut(y, sizes),
            cut(score, sizes),
            max_k=max_k,
            sample_weight=None if weight is None else cut(weight, sizes),
        )
        here = memory.budget_curve(y, score, sample_weight=weight)
    total = here.k[-1]
    longest = total if max_k is None else max_k if max_k >= 1 else np.ceil(max_k * total)
    if weight is None:
        assert len(there.k) == min(longest, total)
        np.testing.assert_array_equal(there.k, here.k[: len(there.k)])
    places = [int(np.argmin(np.abs(here.k - k))) for k in there.k]
    np.testing.assert_allclose(there.k, here.k[places])
    for name in ("precision", "recall", "lift", "hits"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name)[places], rtol=1e-9)


@draws(25)
@given(samples(), st.one_of(st.integers(1, 45), st.sampled_from([0.05, 0.5])))
def test_the_k_best_are_those_of_a_stable_sort(sample, k):
    _, score, _, sizes = sample
    with dask.config.set(scheduler="sync"):
        best = metrics.top_k(cut(score, sizes), k)
    count = min(len(score), k if k >= 1 else int(np.ceil(k * len(score))))
    order = np.argsort(-score, kind="stable")
    np.testing.assert_array_equal(best.row, order[:count])
    np.testing.assert_array_equal(best.score, score[order[:count]])
    assert best.left_out == (score[order[count:]] == score[order[count - 1]]).sum()


@draws(300)
@given(samples(), st.integers(1, 45), st.integers(1, 4))
def test_merging_in_any_tree_gives_the_same_rows(sample, k, fan_in):
    _, score, _, sizes = sample
    parts = np.split(score, np.cumsum(sizes)[:-1])
    found = [first_rows(number, part, k) for number, part in enumerate(parts)]
    while len(found) > 1:
        steps = range(0, len(found), fan_in + 1)
        found = [merge(found[start : start + fan_in + 1], k) for start in steps]
    order = np.argsort(-score, kind="stable")
    chosen = np.concatenate([rows_of_block(found[0], number) for number in range(len(parts))])
    np.testing.assert_array_equal(np.flatnonzero(chosen), np.sort(order[:k]))
    cut_score = score[order[min(k, len(score)) - 1]]
    assert found[0].left_out == (score[order[k:]] == cut_score).sum()


def test_many_partitions_are_merged_in_a_tree():
    score = np.random.default_rng(0).integers(0, 500, 3000).astype(float)
    best = metrics.top_k(da.from_array(score, chunks=21), 200)
    np.testing.assert_array_equal(best.row, np.argsort(-score, kind="stable")[:200])


def test_series_and_unknown_lengths():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"y": random.random(90) < 0.3, "s": random.integers(0, 9, 90) / 9})
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = lazy[lazy["s"] > 0.1]
    kept = frame[frame["s"] > 0.1]
    want = memory.precision_at_k(kept["y"], kept["s"], 12)
    assert metrics.precision_at_k(lazy["y"], lazy["s"], 12) == pytest.approx(want)
    values = lazy["s"].to_dask_array()
    assert metrics.precision_at_k(lazy["y"], values, 0.2) == pytest.approx(
        memory.precision_at_k(kept["y"], kept["s"], 0.2)
    )
    order = np.argsort(-kept["s"].to_numpy(), kind="stable")
    for scores in (lazy["s"], values):
        np.testing.assert_array_equal(metrics.top_k(scores, 0.2).row, order[: -(-len(kept) // 5)])


def test_labels_of_any_kind():
    y = np.array(["no", "yes", "no", "yes", "no"])
    score = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    lazy = da.from_array(y, chunks=1), da.from_array(score, chunks=1)
    assert metrics.recall_at_k(*lazy, 2, pos_label="yes") == 0.5
    assert metrics.recall_at_k(*lazy, 1, pos_label="no") == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="without pos_label"):
        metrics.recall_at_k(*lazy, 2)
    with pytest.raises(ValueError, match="pos_label='maybe' is not a label"):
        metrics.recall_at_k(*lazy, 2, pos_label="maybe")


def test_scores_are_computed_once():
    calls = []

    def score(block):
        if len(block):
            calls.append(len(block))
        return block[:, 0]

    X = da.from_array(np.arange(40.0).reshape(20, 2), chunks=(5, 2))
    lazy = X.map_blocks(score, drop_axis=1, dtype=float, meta=np.empty(0))
    y = da.from_array(np.arange(20) % 2, chunks=5)
    metrics.positives_at_top(y, lazy)
    assert sum(calls) == 20


def test_errors_name_the_partition_the_value_and_the_remedy():
    score, y = da.from_array(np.arange(6.0), chunks=2), da.from_array(np.arange(6) % 2, chunks=2)
    bad = da.from_array(np.array([0, 1, 2, np.nan, 4, 5]), chunks=2)
    with pytest.raises(ValueError, match=r"Partition 1: .*nan at row 1"):
        metrics.precision_at_k(y, bad, 2)
    with pytest.raises(ValueError, match=r"partition 1 of scores holds nan at row 1"):
        metrics.top_k(bad, 2)
    with pytest.raises(ValueError, match="one-dimensional dask array"):
        metrics.top_k(np.arange(3.0), 2)
    with pytest.raises(ValueError, match="y_true has 5 rows and y_score 6"):
        metrics.precision_at_k(y[:5], score, 2)
    with pytest.raises(ValueError, match=r"more than two labels|without pos_label"):
        metrics.precision_at_k(da.arange(6, chunks=2), score, 2)
    with pytest.raises(ValueError, match="no row with a positive sample_weight"):
        metrics.precision_at_k(y, score, 2, sample_weight=da.zeros(6, chunks=2))
    with pytest.raises(ValueError, match="got k=0"):
        metrics.top_k(score, 0)
    with pytest.raises(ValueError, match="scores is empty"):
        metrics.top_k(score[:0], 1)
    with pytest.warns(UndefinedMetricWarning, match="recall_at_k is undefined"):
        assert np.isnan(metrics.recall_at_k(y * 0, score, 2))
