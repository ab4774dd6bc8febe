"""Rows whose scores wait: what they are owed, and claims that fail because of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import PatMat, TopPush
from shortlist.top import level, waiting
from shortlist.top.waiting import Waiting


class Few:
    """Rows of a few hundred wait already."""

    _FEW, _SHARE, LEAST, _WORTH = 5, 0.05, 5, 0.1


@pytest.fixture
def few(monkeypatch):
    for name, value in vars(Few).items():
        if not name.startswith("__"):
            monkeypatch.setattr(waiting, name, value)
    monkeypatch.setattr(level, "LEAST", Few.LEAST)


def rounds(seed, n, count, scale):
    """Yield changes that become smaller, as a solver's do: rows, values, threshold."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        rows = rng.choice(n // 5, size=rng.integers(1, n // 5), replace=False)
        yield rows, scale**k * rng.normal(size=len(rows)), rng.uniform(0.2, 0.6)


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(10, 300),
    count=st.integers(1, 8),
    scale=st.floats(0.01, 1.5),
)
def test_scores_are_known_or_owed(seed, n, count, scale):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_FEW", "_SHARE", "LEAST", "_WORTH"):
            patch.setattr(waiting, name, getattr(Few, name))
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 4))
        K = X @ X.T / 10.0
        true, scores = np.zeros(n), np.zeros(n)
        low = rng.random(n) < 0.9

        def add(outputs, rows, c, to):
            outputs[0][to] += K[to][:, rows] @ c[0]

        found, last = Waiting(n, add), np.zeros(n)
        for rows, c, joins in rounds(seed, n, count, scale):
            inside = np.zeros(n, dtype=bool)
            inside[rows] = True
            if found.rows[rows].any():
                found.catch_up(scores)
                last[:] = true
            true += K[:, rows] @ c
            scores[rows] = true[rows]
            found.move(rows, c, ~inside, low, joins, scores)
            known = ~found.rows
            np.testing.assert_allclose(scores[known], true[known], atol=1e-9)
            assert not found.rows[rows].any()
            assert low[found.rows].all()
            # The last score that is known of a row that waits lies below by enough.
            last[known] = true[known]
            np.testing.assert_allclose(scores[~known], last[~known], atol=1e-9)
            assert (scores[~known] < joins).all()
        found.catch_up(scores)
        np.testing.assert_allclose(scores, true, atol=1e-9)
        assert not found.rows.any()


def test_rows_far_below_wait_and_cost_nothing(few):
    n, cost = 400, []

    def add(outputs, rows, c, to):
        outputs[0][to] += 0.01 * c[0].sum()
        cost[-1] += len(to)

    scores, found = np.linspace(0.0, -10.0, n), Waiting(n, add)
    outside = np.arange(n) > 0
    for size in (1.0, 0.1, 0.1):
        cost.append(0)
        found.move(np.array([0]), np.full(1, size), outside, outside, -0.5, scores)
    assert found.rows.sum() > 0.8 * n
    assert max(cost) < 0.15 * n


def overlapping(n=2500, d=4):
    rng = np.random.default_rng(3)
    y = (rng.random(n) < 0.15).astype(int)
    X = rng.normal(size=(n, d))
    X[y == 1, 0] += 4.0
    return X, y


MODELS = [TopPush(kernel="rbf", tol=1e-3), PatMat(0.05, C=1.0, kernel="rbf", tol=1e-3)]


def waited(monkeypatch):
    """Count the rows that wait after each round."""
    counts = []
    move = Waiting.move

    def counted(self, *args):
        move(self, *args)
        counts.append(int(self.rows.sum()))

    monkeypatch.setattr(Waiting, "move", counted)
    return counts


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_the_same_optimum(model, few, monkeypatch):
    X, y = overlapping()
    counts = waited(monkeypatch)
    model.fit(X, y)
    found = model.certificate_
    assert max(counts) > 50
    assert found.status == "converged"
    monkeypatch.setattr(waiting, "LEAST", len(X))
    counts.clear()
    model.fit(X, y)
    assert not any(counts)
    other = model.certificate_
    assert found.dual <= other.primal * (1 + 1e-12)
    assert other.dual <= found.primal * (1 + 1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_claim_that_fails_is_mended(model, few, monkeypatch):
    """Rows wait that should not: the proof says so, and all are followed from then on."""
    X, y = overlapping()
    monkeypatch.setattr(waiting, "_SAFE", -1e9)
    monkeypatch.setattr(waiting, "_WORTH", 0.0)
    counts = waited(monkeypatch)
    model.fit(X, y)
    assert max(counts) > 500
    assert model.certificate_.status == "converged"
    margins = model.decision_function(X)
    assert np.isfinite(margins).all()
    assert model.certificate_.relative_gap <= 1e-3
