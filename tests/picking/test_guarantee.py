"""pick with a guaranteed precision instead of a budget."""

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from shortlist import pick
from shortlist.picking.forecast.guarantee import Wish, guarantee, most_misses

MODELS = {"nearest": KNeighborsClassifier(3), "line": LogisticRegression()}


def rows(n, rng, share=0.3, shift=2.0):
    y = rng.random(n) < share
    return rng.normal(size=(n, 3)) + shift * y[:, None], y.astype(int)


@pytest.fixture(scope="module")
def job():
    rng = np.random.default_rng(0)
    X, y = rows(600, rng)
    C, truth = rows(400, rng)
    return X, y, C, truth


@pytest.fixture(scope="module")
def found(job):
    X, y, C, _ = job
    return pick(X, y, C, precision=0.8, models=MODELS)


def test_the_list_is_the_first_rows_by_score(found, job):
    promise, truth = found.guarantee, job[3]
    assert found.k == len(found.selected) == promise.length > 50
    assert set(found.scores[found.selected]) == set(np.sort(found.scores)[::-1][: found.k])
    assert 1 - truth[found.selected].mean() < 0.35
    assert list(promise.lengths) == [0.9, 0.8, 0.7, 0.5]
    assert (np.diff(list(promise.lengths.values())) >= 0).all()
    assert f"{found.k} candidates is the longest list" in found.verdict
    assert "on average over such lists at least 80 % are hits" in found.verdict


def test_the_picture_says_how_many(found):
    pytest.importorskip("matplotlib").use("Agg")
    ax = found.plot()
    marked = {text.get_text() for text in ax.texts}
    assert "80 %" in marked
    line = found.forecast.next_precision
    assert (np.diff(line) <= 1e-12).all()
    assert np.isclose(line @ np.diff(found.forecast.budgets, prepend=0), found.forecast.hits[-1])


def test_nothing_learns_from_what_was_set_aside(found, job):
    y = job[1]
    assert found.n_history + found.guarantee.n_aside == len(y)
    assert found.n_positive == y.sum()


def test_a_confident_list_is_shorter_and_other_budgets_promise_nothing(found, job):
    X, y, C, _ = job
    sure = pick(X, y, C, precision=0.8, guarantee="high_probability", models=MODELS)
    assert 0 < sure.k <= found.k
    assert sure.k == sure.guarantee.band.longest(0.8) == found.guarantee.band.longest(0.8)
    assert "of this list are hits, with 90 % confidence" in sure.verdict
    assert sure.at(10).guarantee is None
    assert sure.at(10).k == 10


def test_an_empty_list_says_why(job):
    X, y, C, _ = job
    few = np.flatnonzero(y)[:6].tolist() + np.flatnonzero(y == 0)[:30].tolist()
    found = pick(X[few], y[few], C, precision=0.99, models=MODELS)
    assert found.k == len(found.selected) == found.expected_hits.value == 0
    assert found.verdict.startswith("No list can be guaranteed 99 % of the list to be hits")
    assert len(found.to_frame(C)) == 0
    assert "0 of 400" in repr(found)


def test_rows_left_out_are_not_counted(job):
    X, y, C, truth = job
    handled = np.flatnonzero(truth)[:40]
    found = pick(X, y, C, precision=0.7, models=MODELS, exclude=handled, base_rate=0.25)
    assert found.k == len(found.selected) > 0
    assert not set(found.selected) & set(handled)


def test_a_known_shift_gives_the_pruned_list(job):
    X, y, C, _ = job
    flat = (np.full(len(X), 2.0), np.full(len(C), 2.0))
    plain = pick(X, y, C, precision=0.7, models=MODELS)
    same = pick(X, y, C, precision=0.7, models=MODELS, shift=flat)
    assert 0 < same.k <= plain.k
    assert set(same.selected) <= set(plain.selected)
    tilted = (np.exp(0.3 * X[:, 0]), np.exp(0.3 * C[:, 0]))
    other = pick(X, y, C, precision=0.7, models=MODELS, shift=tilted)
    assert other.k == len(other.selected) == other.guarantee.length
    assert "70 % for the first" in other.guarantee.other_lengths()
    for said, message in (
        ({"k": 5}, "shift belongs to a precision"),
        ({"precision": 0.7, "base_rate": 0.2}, "leave out base_rate"),
    ):
        with pytest.raises(ValueError, match=message):
            pick(X, y, C, models=MODELS, shift=flat, **said)
    with pytest.raises(ValueError, match="shift of the candidates must hold 400 finite"):
        pick(X, y, C, precision=0.7, models=MODELS, shift=(flat[0], flat[0]))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"k": 5, "precision": 0.8}, "k=5 and precision=0.8 both say how many"),
        ({}, "Say how many: k=100, or precision=0.8"),
        ({"precision": 80}, "precision=80 is not in"),
        ({"precision": 0.8, "guarantee": "sure"}, "guarantee='sure'"),
        ({"precision": 0.8, "confidence": 1.0}, "confidence=1.0 is not in"),
        ({"precision": 0.8, "groups": np.zeros(600)}, "together with groups"),
        ({"precision": 0.8, "value": 3.0, "cost": 1.0}, "together with value, cost"),
    ],
)
def test_wishes_that_cannot_be_kept(job, said, message):
    X, y, C, _ = job
    with pytest.raises(ValueError, match=message):
        pick(X, y, C, **said)


def test_a_history_without_negatives_to_spare():
    X, y = np.zeros((6, 1)), [1, 1, 1, 1, 0, 0]
    with pytest.raises(ValueError, match="the history has 2: bring at least 10"):
        pick(X, y, X, precision=0.8)


@pytest.mark.parametrize(
    "share",
    [pytest.param(0.05, marks=pytest.mark.slow), pytest.param(0.3, marks=pytest.mark.slow), 0.7],
)
def test_the_rate_is_kept_by_a_model_that_remembers_its_rows(share):
    """One neighbour scores the positives it has learned from; those set aside it has not.

    Positives among the rows drawn are learned from and counted: the point of the theorem.
    """
    rng = np.random.default_rng(2)
    lost, sure = [], 0
    for seed in range(250):
        n, m = 120, 80
        y, truth = rng.random(n) < share, rng.random(m) < share
        x = np.round(rng.normal(size=n) + 1.5 * y, 1)
        c = np.round(rng.normal(size=m) + 1.5 * truth, 1)
        drawn = rng.choice(n, n // 2, replace=False)
        aside = drawn[~y[drawn]]
        rest = np.setdiff1d(np.arange(n), aside)
        positive, negative = x[rest][y[rest]], x[rest][~y[rest]]
        if not len(positive) or not len(negative) or not len(aside):
            lost.append(0.0)
            continue

        def score(at, positive=positive, negative=negative):
            near = [np.abs(at[:, None] - part).min(1) for part in (negative, positive)]
            return near[0] - near[1]

        promise = guarantee(
            Wish(0.7, "expected", 0.8),
            score(x[aside]),
            len(drawn),
            score(c),
            (int((~y).sum()), n),
            None,
            seed,
        )
        ranked = ~truth[np.argsort(-score(c), kind="stable")]
        lost.append(ranked[: promise.length].mean() if promise.length else 0.0)
        sure += bool((np.cumsum(ranked) > promise.band.false).any())
    assert np.mean(lost) <= 0.3 + 3 * np.std(lost) / np.sqrt(len(lost))
    assert sure <= 0.2 * 250 + 3 * np.sqrt(250 * 0.2 * 0.8)


@pytest.mark.parametrize(("counts", "m"), [((30, 40), 12), ((3, 9), 5), ((9, 9), 4), ((0, 9), 7)])
def test_most_misses_against_a_list_of_all_numbers(counts, m):
    negatives, n = counts
    kept = [u for u in range(m + 1) if hypergeom.cdf(negatives, n + m, negatives + u, n) > 0.05]
    assert most_misses(counts, m, 0.05, None) == max(kept)
