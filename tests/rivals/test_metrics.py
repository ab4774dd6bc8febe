"""The most violated labelling of every metric, against all labellings."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from oracles.rivals import interleavings, labellings, largest, largest_of_rankings
from shortlist._core import worst_places
from shortlist.metrics import average_precision, partial_auc, precision_at_k, recall_at_k
from shortlist.rivals import (
    F1,
    ROCAUC,
    AveragePrecision,
    LabelPrecision,
    PartialAUC,
    PrecisionAtK,
    RecallAtK,
)

LISTS = (PrecisionAtK, RecallAtK, LabelPrecision)


def planes_of(metric, m, n):
    return _planes(type(metric), tuple(sorted(vars(metric).items())), m, n)


@cache
def _planes(kind, parameters, m, n):
    metric = kind.__new__(kind)
    vars(metric).update(parameters)
    return labellings(metric, m, n)


def check(metric, positive, negative):
    planes = planes_of(metric, len(positive), len(negative))
    before = positive.copy(), negative.copy()
    found = metric.worst(positive, negative)
    assert (positive == before[0]).all()
    assert (negative == before[1]).all()
    value = found.value(positive, negative)
    size = 1.0 + max(np.abs(positive).max(), np.abs(negative).max())
    assert value == pytest.approx(largest(planes, positive, negative), abs=1e-12 * size)
    # It is one of them, not only a number that fits.
    assert any(
        loss == pytest.approx(found.loss, abs=1e-12)
        and np.allclose(p, found.positive, rtol=0.0, atol=1e-12)
        and np.allclose(q, found.negative, rtol=0.0, atol=1e-12)
        for loss, p, q in planes
    )
    directions = np.abs(found.positive).sum() + np.abs(found.negative).sum()
    assert directions <= metric.slope(len(positive), len(negative)) * (1.0 + 1e-12)


def some_scores(rng, count):
    scale = rng.choice([0.0, 1e-3, 0.3, 1.0, 3.0, 1e6])
    digits = rng.choice([0, 1, 8])  # few digits make ties, margins of exactly one included
    return scale * np.round(rng.normal(size=count), digits)


@draws(150)
@given(st.integers(0, 10**6), st.sampled_from([*LISTS, F1]))
def test_labels_against_all_of_them(seed, kind):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6, 2)
    metric = kind() if kind is F1 else kind(int(rng.integers(1, m + n + 1)))
    if kind is LabelPrecision and metric.k > n + m - (n < 1):
        return
    check(metric, some_scores(rng, m), some_scores(rng, n))


@draws(120)
@given(st.integers(0, 10**6), st.sampled_from(["ap", "auc", "pauc", "band"]))
def test_rankings_against_all_of_them(seed, which):
    rng = np.random.default_rng(seed)
    m, n = [(1, 4), (2, 3), (3, 3), (3, 2), (4, 2), (2, 4), (1, 1), (5, 1)][rng.integers(8)]
    if which == "band" and n < 2:
        n, m = 3, 2
    metric = {
        "ap": AveragePrecision(),
        "auc": ROCAUC(),
        "pauc": PartialAUC(int(rng.integers(1, n + 1)) / n),
        "band": PartialAUC(1.0, int(rng.integers(1, max(2, n))) / n),
    }[which]
    check(metric, some_scores(rng, m), some_scores(rng, n))


@draws(60)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
def test_ten_rows_against_all_rankings(seed, m, n):
    rng = np.random.default_rng(seed)
    low = int(rng.integers(0, n))
    high = int(rng.integers(low + 1, n + 1))
    positive, negative = some_scores(rng, m), some_scores(rng, n)
    for metric in (AveragePrecision(), ROCAUC(), PartialAUC(high / n, low / n)):
        found = metric.worst(positive, negative)
        size = 1.0 + max(np.abs(positive).max(), np.abs(negative).max())
        most = largest_of_rankings(metric, positive, negative)
        assert found.value(positive, negative) == pytest.approx(most, abs=1e-12 * size)
        assert any(
            loss == pytest.approx(found.loss, abs=1e-12)
            and np.allclose(np.sort(p), np.sort(found.positive), rtol=0.0, atol=1e-12)
            and np.allclose(np.sort(q), np.sort(found.negative), rtol=0.0, atol=1e-12)
            for loss, p, q in interleavings(metric, m, n)
        )


@draws(60)
@given(st.integers(0, 10**6))
def test_places_of_many_rows_against_every_place(seed):
    """The oracle of average precision for more rows than can be enumerated."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 40, 2)
    positive, negative = (-np.sort(-some_scores(rng, size)) for size in (m, n))
    place = np.empty(n, dtype=np.int64)
    worst_places(positive, negative, place)
    i, j = np.arange(1, m + 1)[:, None], np.arange(1, n + 1)[None, :]
    lost = i / (i + j - 1.0) - i / (i + j) - (positive[:, None] - negative[None, :]) / n
    # value[a, j]: all positives from a on lie below negative j.
    value = np.concatenate([np.cumsum(lost[::-1], axis=0)[::-1], np.zeros((1, n))])
    size = 1.0 + np.abs(positive).max() + np.abs(negative).max()
    assert value[place, np.arange(n)] == pytest.approx(value.max(axis=0), abs=1e-11 * m * size)
    assert (np.diff(place) >= 0).all()


def test_the_surrogate_is_never_below_the_loss():
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, n = rng.integers(2, 30, 2)
        positive, negative = 3.0 * rng.normal(size=m), 3.0 * rng.normal(size=n)
        y = np.repeat([1, 0], [m, n])
        s = np.concatenate([positive, negative])
        k = int(rng.integers(1, m + 1))
        losses = (
            (PrecisionAtK(k), 1.0 - precision_at_k(y, s, k)),
            (RecallAtK(k), k / m - recall_at_k(y, s, k)),
            (AveragePrecision(), 1.0 - average_precision(y, s)),
            (ROCAUC(), 1.0 - partial_auc(y, s, max_fpr=1.0)),
        )
        for metric, loss in losses:
            value = metric.worst(positive, negative).value(positive, negative)
            assert max(value, 0.0) >= loss - 1e-12


def test_only_the_mended_precision_at_k_ignores_a_constant():
    """Joachims' labellings of exactly k: a constant alone makes his surrogate zero."""
    positive, negative, k = np.zeros(5), np.zeros(5), 2

    def his(shift):
        return max(
            (k - a) / k + (-(5 - a) + (k - a)) * shift  # missed positives, chosen negatives
            for a in range(k + 1)
        )

    assert his(0.0) == 1.0
    assert his(1.0) < 0.0
    ours = PrecisionAtK(k)
    assert ours.worst(positive + 1.0, negative + 1.0).value(
        positive + 1.0, negative + 1.0
    ) == pytest.approx(1.0)


def test_thresholds_leave_as_many_above_as_they_say():
    rng = np.random.default_rng(1)
    positive, negative = rng.normal(size=20), rng.normal(size=80)
    both = np.concatenate([positive, negative])
    assert (both > PrecisionAtK(7).threshold(positive, negative)).sum() == 7
    assert (negative > PartialAUC(0.1).threshold(positive, negative)).sum() == 8
    assert (both > AveragePrecision().threshold(positive, negative)).sum() == 20
    assert (both > PrecisionAtK(100).threshold(positive, negative)).all()
    assert F1().threshold(positive, negative) == 0.0


@pytest.mark.parametrize(
    ("metric", "match"),
    [
        (PrecisionAtK(5), "k=5 exceeds the 4 training rows"),
        (PrecisionAtK(0), "k must be an integer of at least 1"),
        (PartialAUC(0.3), "leave none of the 2 negatives"),
        (PartialAUC(0.0), "max_fpr=0.0 is not in"),
        (PartialAUC(1.0, 1.0), "lower min_fpr"),
    ],
)
def test_errors_name_value_and_remedy(metric, match):
    with pytest.raises(ValueError, match=match):
        metric.worst(np.zeros(2), np.zeros(2))


def test_the_core_refuses_wrong_arrays():
    place = np.empty(2, dtype=np.int64)
    with pytest.raises(ValueError, match="positive must not rise"):
        worst_places(np.array([0.0, 1.0]), np.zeros(2), place)
    with pytest.raises(ValueError, match="negative must not hold NaN"):
        worst_places(np.zeros(1), np.array([np.nan, 0.0]), place)
    with pytest.raises(ValueError, match="place must hold 3"):
        worst_places(np.zeros(1), np.zeros(3), place)
    with pytest.raises(ValueError, match="positive must not be empty"):
        worst_places(np.zeros(0), np.zeros(2), place)
    with pytest.raises(TypeError):
        worst_places(np.zeros(1), np.zeros(2), place.astype(np.int32))
