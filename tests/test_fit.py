"""Labels and rows as every fit takes them in."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from shortlist import RankSVM, TopPush
from shortlist._fit import validate_binary

X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 0, 1, 1, 0],
        [1.0, -1.0, 1.0, 1.0, -1.0, -1.0],
        [True, False, True, True, False, False],
        np.array([3, 7, 7, 3, 3, 3], dtype=np.uint8),
        ["no", "yes", "no", "no", "yes", "yes"],
        [0, 2**40, 0, 0, 2**40, 2**40],
    ],
)
def test_two_labels_are_those_that_sorting_finds(y):
    y = np.asarray(y)
    last = np.unique(y)[1]
    data = validate_binary(TopPush(pos_label=last), X, y, None)
    np.testing.assert_array_equal(data.classes, np.unique(y))
    np.testing.assert_array_equal(data.positive, np.flatnonzero(y == last))
    np.testing.assert_array_equal(data.negative, np.flatnonzero(y != last))
    turned = validate_binary(TopPush(pos_label=data.classes[0]), X, y, [1, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(turned.classes, np.unique(y)[::-1])
    assert set(turned.positive) == set(data.negative) - {3}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.5, 0.5, 1.5, 0.5, 0.5], "Unknown label type: continuous"),
        ([0, 1, 2, 0, 1, 2], "Only binary classification is supported"),
        ([1, 1, 1, 1, 1, 1], "one class only"),
    ],
)
def test_other_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        TopPush().fit(X, y)


@pytest.mark.parametrize("estimator", [TopPush(), TopPush(kernel="rbf"), RankSVM()])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["C", "F", "csr", "frame", "float32"])
def test_rows_that_are_not_finite_are_refused(estimator, bad, kind):
    spoiled = X + 1.0
    spoiled[4, 1] = bad
    given = {
        "C": lambda: spoiled,
        "F": lambda: np.asfortranarray(spoiled),
        "csr": lambda: sparse.csr_array(spoiled),
        "frame": lambda: pd.DataFrame(spoiled, columns=["a", "b"]),
        "float32": lambda: spoiled.astype(np.float32),
    }[kind]()
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        estimator.fit(given, [0, 1, 0, 1, 1, 0])
