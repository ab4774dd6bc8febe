"""Lists with a guarantee: against enumeration, slow definitions and many draws."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from shortlist.metrics import conformal_selection, false_discovery_band
from shortlist.metrics.discoveries import above, urn_bounds

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


def by_definition(aside, n, scores, level):
    """Benjamini and Hochberg's rule on conformal p-values, written out."""
    p = np.array([(1 + sum(a >= s for a in aside)) / (n + 1) for s in scores])
    m = len(scores)
    best = 0
    for r in range(1, m + 1):
        if (p <= level * r / m + 1e-12).sum() >= r:
            best = r
    return set(np.flatnonzero(p <= level * best / m + 1e-12)) if best else set()


def by_pruning(aside, ratio, total, scores, own, level):
    """Weighted conformal selection with deterministic pruning, written out."""
    m = len(scores)

    def size_of(p):
        return max(
            (r for r in range(1, m + 1) if (p <= level * r / m + 1e-12).sum() >= r), default=0
        )

    mass = np.array([sum(w for a, w in zip(aside, ratio, strict=True) if a >= s) for s in scores])
    first, size = [], {}
    for j in range(m):
        p = (mass + own[j] * np.array([scores[j] >= s for s in scores])) / (total + own[j])
        p[j] = 0.0
        size[j] = size_of(p)
        if (mass[j] + own[j]) / (total + own[j]) <= level * size[j] / m + 1e-12:
            first.append(j)
    fits = [r for r in range(m + 1) if sum(size[j] <= r for j in first) >= r]
    return {j for j in first if size[j] <= max(fits)}


@draws(150)
@given(labelled=SCORES, candidates=SCORES, hits=st.integers(0, 5), level=st.floats(0.05, 0.9))
def test_the_list_of_an_expected_precision_is_its_definition(labelled, candidates, hits, level):
    y = np.array([False] * len(labelled) + [True] * hits)
    score = np.array(labelled + [9] * hits, dtype=float)
    chosen = conformal_selection(y, score, candidates, 1 - level)
    assert set(chosen) == by_definition(labelled, len(y), candidates, level)
    ranked = np.asarray(candidates)[chosen]
    assert (np.diff(ranked) <= 0).all()


@draws(100)
@given(
    labelled=SCORES,
    candidates=SCORES,
    level=st.floats(0.05, 0.9),
    seed=st.integers(0, 100),
    equal=st.booleans(),
)
def test_the_weighted_list_is_its_definition(labelled, candidates, level, seed, equal):
    rng = np.random.default_rng(seed)
    ratio = np.ones(len(labelled)) if equal else rng.integers(1, 5, len(labelled)) / 2.0
    own = np.ones(len(candidates)) if equal else rng.integers(1, 5, len(candidates)) / 2.0
    y = np.zeros(len(labelled), dtype=bool)
    chosen = conformal_selection(
        y, labelled, candidates, 1 - level, weight=ratio, candidate_weight=own
    )
    expected = by_pruning(labelled, ratio, ratio.sum(), candidates, own, level)
    assert set(chosen) == expected
    if equal:  # never longer than the plain rule, which these weights describe
        assert set(chosen) <= by_definition(labelled, len(y), candidates, level)


@pytest.mark.parametrize(("n", "m"), [(4, 6), (7, 3), (5, 5), (1, 8)])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_the_urn_is_bounded_at_once_in_enough_of_all_orders(n, m, confidence):
    """Over all orders of the urn, one by one. The level itself is drawn: average over draws."""
    kept = []
    for seed in range(4):
        bounds = urn_bounds(n, m, confidence, n, seed)
        good = 0
        orders = list(combinations(range(n + m), n))
        for places in orders:
            before = [place - i for i, place in enumerate(places)]
            good += all(g <= b for g, b in zip(before, bounds, strict=False))
        kept.append(good / len(orders))
    assert np.mean(kept) >= confidence - 0.02


@pytest.mark.slow
def test_the_band_holds_in_as_many_draws_as_it_says():
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(300):
        y, new = rng.random(150) < 0.3, rng.random(100) < 0.3
        score = np.round(rng.normal(size=150) + 2 * y, 1)
        candidates = np.round(rng.normal(size=100) + 2 * new, 1)
        band = false_discovery_band(
            y, score, candidates, confidence=0.8, random_state=rng.integers(9**9)
        )
        misses = np.cumsum(~new[np.argsort(-candidates, kind="stable")])
        broken += bool((misses > band.false).any())
        assert (np.diff(band.false) >= 0).all()
        assert (np.diff(band.false) <= 1 + 1e-12).all()
    assert broken <= 0.2 * 300 + 3 * np.sqrt(300 * 0.2 * 0.8)


@pytest.mark.parametrize("precision", [0.5, 0.9])
@pytest.mark.parametrize(("n", "m", "share"), [(60, 100, 0.3), (200, 50, 0.05)])
def test_the_false_discovery_rate_is_kept(n, m, share, precision):
    rng = np.random.default_rng(1)
    lost = []
    for _ in range(400):
        y, new = rng.random(n) < share, rng.random(m) < share
        chosen = (
            conformal_selection(
                y,
                np.round(rng.normal(size=n) + 3 * y),
                np.round(rng.normal(size=m) + 3 * new),
                precision,
            )
            if y.any() and not y.all()
            else []
        )
        lost.append(1 - new[chosen].mean() if len(chosen) else 0.0)
    assert np.mean(lost) <= 1 - precision + 3 * np.std(lost) / np.sqrt(len(lost))


def test_no_list_is_good_enough():
    y, score = np.array([0, 1] * 5), np.arange(10.0)
    assert len(conformal_selection(y, score, np.zeros(20), 0.9)) == 0
    assert false_discovery_band(y, score, np.zeros(20)).longest(0.9) == 0


def test_everything_is_taken_where_no_row_misses():
    y, score = np.ones(400, dtype=int), np.zeros(400)
    assert len(conformal_selection(y, score, np.zeros(20), 0.9)) == 20
    assert false_discovery_band(y, score, np.zeros(20)).longest(0.8) == 20


def test_what_is_passed_must_fit():
    y, score = [0, 1, 0], [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"precision=1\.5"):
        conformal_selection(y, score, score, 1.5)
    with pytest.raises(ValueError, match="belong together"):
        conformal_selection(y, score, score, 0.5, weight=[1, 1, 1])
    with pytest.raises(ValueError, match="candidate_weight must hold 3 finite"):
        conformal_selection(y, score, score, 0.5, weight=[1, 1, 1], candidate_weight=[1, -1, 1])
    with pytest.raises(ValueError, match="confidence=1"):
        false_discovery_band(y, score, score, confidence=1)
    with pytest.raises(ValueError, match="y_true has 2 rows"):
        false_discovery_band(y[:2], score, score)


def test_ties_count_against_the_list():
    assert above(np.array([1.0, 2.0]), np.array([2.0, 1.5, 0.0])).tolist() == [1, 1, 2]
