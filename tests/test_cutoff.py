"""The cut rules: exact counts, and rates that hold as often as promised."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from sklearn.naive_bayes import GaussianNB

from budget_models import column, identity
from shortlist._cutoff import first_k, threshold_for_fpr, threshold_for_precision
from shortlist.budget import BudgetClassifier

ties = st.lists(st.sampled_from([-1e300, -1.0, 0.0, 5e-324, 1.0, 2.0, 1e300]), min_size=1)
numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1)
labels_and_scores = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0])), min_size=1, max_size=14
)


# ------------------------------------------------------------------ the first k


def first_k_oracle(scores, k):
    ranked = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[ranked[:k]] = True
    return chosen


@given(scores=ties | numbers, k=st.integers(1, 12))
def test_first_k_matches_a_full_sort(scores, k):
    scores = np.array(scores)
    chosen, left_out = first_k(scores, k)
    np.testing.assert_array_equal(chosen, first_k_oracle(scores, k))
    expected = np.sum(scores[~chosen] == scores[chosen].min()) if not chosen.all() else 0
    assert left_out == expected


@given(scores=ties, k=st.integers(1, 12))
def test_predict_takes_exactly_k(scores, k):
    model = BudgetClassifier(identity(), k=k).fit(column([0, 1]), [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.predict(column(scores)).sum() == min(k, len(scores))


@given(scores=numbers, fraction=st.floats(0.01, 1.0))
def test_fraction_rounds_up(scores, fraction):
    model = BudgetClassifier(identity(), fraction=fraction).fit(column([0, 1]), [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = model.predict(column(scores)).sum()
    assert 1 <= taken <= len(scores)
    assert taken >= fraction * len(scores) * (1 - 1e-9)
    assert taken - 1 < fraction * len(scores)


def test_fraction_is_not_fooled_by_rounding():
    model = BudgetClassifier(identity(), fraction=0.07).fit(column([0, 1]), [0, 1])
    assert model.predict(column(np.arange(100))).sum() == 7


def test_a_tie_at_the_cut_warns_and_takes_earlier_rows():
    model = BudgetClassifier(identity(), k=2).fit(column([0, 1]), [0, 1])
    with pytest.warns(UserWarning, match="3 rows were left out although their score equals"):
        predicted = model.predict(column([1, 1, 1, 5, 1]))
    assert predicted.tolist() == [1, 0, 0, 1, 0]


def test_no_warning_when_the_tie_lies_inside_the_list():
    model = BudgetClassifier(identity(), k=3).fit(column([0, 1]), [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(column([2, 2, 1, 0, 2])).tolist() == [1, 1, 0, 0, 1]


# ------------------------------------------------------------------ thresholds


def fpr_oracle(positive, scores, fpr):
    """Lowest observed threshold whose false-positive rate on these rows fits."""
    negatives = scores[~positive]
    fitting = [t for t in np.unique(negatives) if np.mean(negatives > t) <= fpr]
    return min(fitting)


def precision_oracle(positive, scores, precision):
    """Longest list {score > t} over all t whose precision on these rows fits."""
    candidates = np.append(np.unique(scores), -np.inf)
    fitting = [
        t for t in candidates if np.any(scores > t) and positive[scores > t].mean() >= precision
    ]
    return scores > min(fitting) if fitting else np.zeros(len(scores), dtype=bool)


@given(data=labels_and_scores, fpr=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]))
def test_fpr_threshold_matches_brute_force(data, fpr):
    positive, scores = (np.array(part) for part in zip(*data, strict=True))
    if positive.all():
        positive[0] = False
    threshold = threshold_for_fpr(positive, scores, fpr)
    flagged = scores > threshold
    expected = scores > fpr_oracle(positive, scores, fpr)
    np.testing.assert_array_equal(flagged[~positive], expected[~positive])


@given(
    m=st.integers(1, 400),
    fpr=st.floats(0.001, 0.9),
    confidence=st.floats(0.01, 0.999),
)
@pytest.mark.filterwarnings("ignore:.*nothing is flagged:UserWarning")
def test_promised_fpr_flags_as_many_as_the_binomial_allows(m, fpr, confidence):
    scores = np.arange(m, dtype=float)
    flagged = int(np.sum(scores > threshold_for_fpr(np.zeros(m, bool), scores, fpr, confidence)))
    risks = binom.cdf(np.arange(m), m, fpr)
    fitting = np.flatnonzero(risks <= 1 - confidence)
    assert flagged == (fitting.max() if len(fitting) else 0)


@given(data=labels_and_scores, precision=st.sampled_from([0.1, 0.5, 2 / 3, 0.9, 1.0]))
def test_precision_threshold_matches_brute_force(data, precision):
    positive, scores = (np.array(part) for part in zip(*data, strict=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threshold = threshold_for_precision(positive, scores, precision)
    expected = precision_oracle(positive, scores, precision)
    np.testing.assert_array_equal(scores > threshold, expected)
    assert bool(caught) == (not expected.any())


@pytest.mark.filterwarnings("ignore:.*nothing is flagged:UserWarning")
@given(
    data=st.lists(st.tuples(st.booleans(), st.floats(-1e6, 1e6)), min_size=5, max_size=60),
    scale=st.sampled_from([1e-12, 1e12]),
)
def test_thresholds_follow_the_scale_of_the_scores(data, scale):
    positive, scores = (np.array(part) for part in zip(*data, strict=True))
    scores = np.round(scores)
    positive[:2] = [True, False]
    for rule, wish in ((threshold_for_fpr, 0.2), (threshold_for_precision, 0.3)):
        plain = scores > rule(positive, scores, wish)
        np.testing.assert_array_equal(plain, scores * scale > rule(positive, scores * scale, wish))


def test_the_careful_threshold_is_never_lower():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.normal(size=400)
        positive = rng.random(400) < norm.cdf(2 * scores)
        for rule, wish in ((threshold_for_fpr, 0.1), (threshold_for_precision, 0.7)):
            plain = rule(positive, scores, wish)
            some = rule(positive, scores, wish, confidence=0.6)
            much = rule(positive, scores, wish, confidence=0.99)
            assert plain <= some <= much


def sample(rng, n, digits):
    """Rows with P(positive) = 0.3, scores N(1.5, 1) or N(0, 1), maybe rounded into ties."""
    positive = rng.random(n) < 0.3
    scores = rng.normal(size=n) + 1.5 * positive
    return positive, scores if digits is None else np.round(scores, digits)


def true_rates(threshold, digits):
    """False-positive rate and precision of {score > threshold} in that population."""
    if digits is not None:
        threshold = np.round(threshold, digits) + 0.5 * 10.0**-digits
    fpr, tpr = norm.sf(threshold), norm.sf(threshold - 1.5)
    return fpr, 0.3 * tpr / (0.3 * tpr + 0.7 * fpr)


@pytest.mark.parametrize("digits", [None, pytest.param(0, marks=pytest.mark.slow), 1])
def test_promised_fpr_holds_as_often_as_promised(digits):
    rng = np.random.default_rng(1)
    broken = []
    for _ in range(1000):
        threshold = threshold_for_fpr(*sample(rng, 300, digits), 0.1, confidence=0.9)
        broken.append(true_rates(threshold, digits)[0] > 0.1)
    assert np.mean(broken) <= 0.1 + 3 * np.sqrt(0.09 / 1000)
    if digits is None:
        assert np.mean(broken) >= 0.04, "the bound gives away too much"


@pytest.mark.parametrize("digits", [None, 0, 1])
@pytest.mark.parametrize(
    ("precision", "n", "worth"),
    [(0.6, 600, 0.15), pytest.param(0.8, 3000, 0.07, marks=pytest.mark.slow)],
)
def test_promised_precision_holds_as_often_as_promised(digits, precision, n, worth):
    rng = np.random.default_rng(2)
    broken, flagged = [], []
    for _ in range(400):
        positive, scores = sample(rng, n, digits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            threshold = threshold_for_precision(positive, scores, precision, confidence=0.9)
        flagged.append(np.mean(scores > threshold))
        broken.append(np.isfinite(threshold) and true_rates(threshold, digits)[1] < precision)
    assert np.mean(broken) <= 0.1 + 3 * np.sqrt(0.09 / 400)
    if digits != 0:
        assert np.mean(flagged) > worth, "the bound gives away too much"


@pytest.mark.parametrize(
    "levels",
    [pytest.param(None, marks=pytest.mark.slow), 40, pytest.param(3, marks=pytest.mark.slow)],
)
def test_choosing_among_many_lists_is_paid_for(levels):
    """Scores without information, base rate just below the wish: any list breaks it.

    Testing each list at the full risk would break the promise in a third of the runs.
    """
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(2000):
        positive = rng.random(500) < 0.499
        scores = rng.random(500) if levels is None else rng.integers(levels, size=500) * 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            broken += np.isfinite(threshold_for_precision(positive, scores, 0.5, confidence=0.9))
    assert broken / 2000 <= 0.1 + 3 * np.sqrt(0.09 / 2000)


def test_the_plain_precision_is_optimistic_so_the_option_is_needed():
    rng = np.random.default_rng(3)
    broken = []
    for _ in range(500):
        positive, scores = sample(rng, 600, None)
        broken.append(true_rates(threshold_for_precision(positive, scores, 0.8), None)[1] < 0.8)
    assert np.mean(broken) > 0.4


@pytest.mark.parametrize(
    "wish", [{"fpr": 0.2}, pytest.param({"precision": 0.7}, marks=pytest.mark.slow)]
)
def test_promise_holds_for_the_kept_model_on_new_rows(wish):
    """End to end: fit, hold out, cut, and measure on a large fresh sample."""
    rng = np.random.default_rng(4)

    def draw(n):
        X = rng.normal(size=(n, 3))
        return X, (X[:, 0] + rng.normal(size=n) > 0.5).astype(int)

    X_new, y_new = draw(10_000)
    broken = []
    for seed in range(100):
        model = BudgetClassifier(
            GaussianNB(), confidence=0.8, cv=0.5, random_state=seed, **wish
        ).fit(*draw(2000))
        flagged = model.predict(X_new) == 1
        if "fpr" in wish:
            broken.append(flagged[y_new == 0].mean() > wish["fpr"])
        else:
            broken.append(y_new[flagged].mean() < wish["precision"])
    assert np.mean(broken) <= 0.2 + 3 * np.sqrt(0.16 / 100)


@pytest.mark.parametrize(
    ("wish", "rows", "message"),
    [
        ({"fpr": 0.01, "confidence": 0.95}, 100, "50 held-out negatives: it takes at least 299"),
        ({"fpr": 0.0, "confidence": 0.95}, 100, "it takes at least inf"),
        ({"precision": 0.99, "confidence": 0.95}, 100, "could prove it"),
        ({"precision": 0.95}, 100, "the best list tried holds 50 positives among 100 rows"),
    ],
)
def test_a_wish_out_of_reach_flags_nothing_and_says_why(wish, rows, message):
    y = np.arange(rows) % 2
    X = np.zeros((rows, 1))
    with pytest.warns(UserWarning, match=message):
        model = BudgetClassifier(identity(), **wish).fit(X, y)
    assert model.threshold_ == np.inf
    assert not model.predict(column([1e300, 0.0])).any()


def test_299_negatives_are_enough_for_one_percent():
    scores, positive = np.arange(299.0), np.zeros(299, bool)
    assert threshold_for_fpr(positive, scores, 0.01, 0.95) == 298
    with pytest.warns(UserWarning, match="it takes at least 299"):
        assert threshold_for_fpr(positive[1:], scores[1:], 0.01, 0.95) == np.inf
