from itertools import pairwise, permutations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB

from drawing import draws
from shortlist.display import TopListDisplay

small = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=6)


def expected_hits(y, scores):
    """Mean hit at each rank over all orders of the rows that respect the scores."""
    orders = [
        order
        for order in permutations(range(len(y)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    return np.mean([[y[row] for row in order] for order in orders], axis=0)


@pytest.mark.filterwarnings("ignore:recall of budget_curve is undefined")
@draws(20)
@given(data=small)
def test_marks_are_the_mean_over_all_tie_orders(data):
    y, scores = (list(part) for part in zip(*data, strict=True))
    display = TopListDisplay.from_predictions(np.array(y), scores, k=len(y))
    plt.close(display.figure_)
    np.testing.assert_allclose(display.hits[""], expected_hits(y, scores), atol=1e-12)


def heights(collection):
    return [np.ptp(path.vertices[:, 1]) for path in collection.get_paths()]


def test_hits_stand_above_and_misses_hang_below():
    display = TopListDisplay.from_predictions(
        [1, 0, 1, 0, 0], {"a": [5, 4, 3, 2, 1], "b": [1, 1, 0, 0, 0]}, k=4
    )
    up, down = display.marks_["a"]
    assert len(up.get_paths()) == 2
    assert len(down.get_paths()) == 2
    ranks = sorted(round(path.vertices[:, 0].mean()) for path in up.get_paths())
    assert ranks == [1, 3]
    bottom_of_hits = max(path.vertices[:, 1].max() for path in up.get_paths())
    top_of_misses = min(path.vertices[:, 1].min() for path in down.get_paths())
    assert display.ax_.yaxis_inverted()
    assert bottom_of_hits <= 0 <= top_of_misses
    tied_up, tied_down = display.marks_["b"]
    assert len(heights(tied_up)) == len(heights(tied_down)) == 4
    assert heights(tied_up)[0] == pytest.approx(heights(up)[0] / 2)


def test_models_stand_under_each_other_with_their_counts():
    display = TopListDisplay.from_predictions([1, 0, 1], {"a": [3, 1, 2], "b": [0, 0, 0]}, k=2)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "b"]
    counts = [text.get_text() for text in display.ax_.texts]
    assert counts == ["2 of 2", "1.33 of 2"]


def test_k_as_a_fraction_and_beyond_the_rows():
    assert len(TopListDisplay.from_predictions([1, 0, 1, 0], [1, 2, 3, 4], k=0.5).hits[""]) == 2
    assert len(TopListDisplay.from_predictions([1, 0, 1, 0], [1, 2, 3, 4], k=99).hits[""]) == 4


def test_from_estimators(cancer):
    model, X, y = cancer
    other = GaussianNB().fit(X, y)
    display = TopListDisplay.from_estimator({"one": model, "two": other}, X, y, k=20)
    order = np.argsort(-model.decision_function(X), kind="stable")
    np.testing.assert_array_equal(display.hits["one"], y[order[:20]])
    single = TopListDisplay.from_estimator(model, X, y, k=20)
    assert list(single.hits) == ["LogisticRegression"]
    np.testing.assert_array_equal(single.hits["LogisticRegression"], display.hits["one"])


def test_from_cv_results(cancer):
    _, X, y = cancer
    results = cross_validate(GaussianNB(), X, y, cv=3, return_estimator=True, return_indices=True)
    display = TopListDisplay.from_cv_results(results, X, y, k=10)
    assert list(display.hits) == ["fold 1", "fold 2", "fold 3"]
    test = results["indices"]["test"][1]
    expected = TopListDisplay.from_estimator(results["estimator"][1], X[test], y[test], k=10)
    np.testing.assert_array_equal(display.hits["fold 2"], expected.hits["GaussianNB"])


def test_a_long_list_is_still_two_collections():
    rng = np.random.default_rng(0)
    display = TopListDisplay.from_predictions(rng.random(3000) < 0.5, rng.random(3000), k=2000)
    assert len(display.ax_.collections) == 2
