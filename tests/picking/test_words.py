"""What a shortlist says in words: one number, one precision, differences a reader can check."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import pick
from shortlist.datasets import load_tumours
from shortlist.picking.forecast.comparison import (
    Comparison,
    Entry,
    ExpectedHits,
    expectation,
    in_unit_of,
    ranking,
)

hits = st.floats(0.0, 1e5)


def entry(name, found, baseline, error=1.26, **settings):
    part = {"is_baseline": False, "is_winner": False, "weight": 0.0, **settings}
    return Entry(name, name, found, found, found, found - baseline, error, seconds=0.0, **part)


def compared(best, base, error=1.26, unit="hits"):
    entries = (
        entry("winner", best, base, error, is_winner=True, weight=1.0),
        entry("baseline", base, base, error, is_baseline=True),
    )
    return Comparison(entries, 100, {}, unit)


def numbers(text):
    return [Decimal(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", text)]


@given(hits, hits)
def test_the_written_difference_is_that_of_the_written_hits(best, base):
    found = compared(best, base)
    promise = numbers(expectation(ExpectedHits(best, 1, 2, 0.9), 100).replace(", ", " "))[0]
    second, difference, error = numbers(ranking(found, 100).replace(", ", " ").rstrip("."))
    assert promise - second == difference
    within = "within noise" in ranking(found, 100)
    assert within == (best - base <= 1.26)
    assert (difference <= error) if within else (difference >= error)
    # One precision: as many decimals in every number.
    decimals = {number.as_tuple().exponent for number in (promise, second, difference, error)}
    assert decimals == {0 if best >= 9.95 else -1}
    line = next(line for line in str(found).splitlines() if line.startswith("winner *"))
    assert Decimal(line.split()[2].replace(",", "")) == promise
    assert Decimal(line.split()[6].replace(",", "")) == difference


@pytest.mark.parametrize(
    ("best", "base", "said"),
    [
        (6.66, 6.44, "about 6.4: difference 0.3 ± 1.3, within noise."),
        (16.0, 15.0, "about 15: difference 1 ± 2, within noise."),
        (61.2, 52.0, "about 52: difference 9 ± 1."),
    ],
)
def test_comparisons_in_words(best, base, said):
    assert ranking(compared(best, base), 100) == f"Ranked by winner; by baseline it would be {said}"


def test_a_single_fold_has_no_noise_to_tell():
    found = ranking(compared(4.0, 2.0, math.inf), 100)
    assert "difference 2.0, of unknown noise" in found


def test_expectations_in_words():
    promise = ExpectedHits(23.8, 18.0, 27.0, 0.9)
    said = expectation(promise, 30)
    assert said == "Expect about 24 of 30 to be hits, 18 to 27 with 90 % probability."
    assert "If nothing had changed, about 24 of 30" in expectation(promise, 30, refused=True)


def test_models_are_compared_in_the_unit_of_the_forecast():
    found = in_unit_of(compared(24.0, 20.0), ExpectedHits(12.0, 8.0, 15.0, 0.9))
    assert (found.winner.hits, found.winner.low, found.winner.high) == (12.0, 8.0, 15.0)
    assert found.baseline.hits == 10.0
    assert found.winner.difference == 2.0
    # Sums may be negative: they are moved, and their differences stay as they were measured.
    sums = in_unit_of(compared(-1.0, -3.0, unit="sum"), ExpectedHits(5.0, 1.0, 9.0, 0.9))
    assert (sums.winner.hits, sums.baseline.hits, sums.winner.difference) == (5.0, 3.0, 2.0)
    mean = in_unit_of(compared(100.0, 50.0, unit="sum"), ExpectedHits(2.0, 1.0, 3.0, 0.9), True)
    assert (mean.baseline.hits, mean.unit) == (1.5, "mean")


def test_there_is_one_number_for_the_list_wherever_it_is_asked_for():
    X, y = load_tumours()
    plain = pick(X[:300], y[:300], X[300:], k=20, models=["PatMat"])
    rare = pick(X[:300], y[:300], X[300:], k=20, models=["PatMat"], base_rate=0.05)
    for found in (plain, plain.at(35), rare):
        value = found.expected_hits.value
        at = found.forecast.budgets.tolist().index(found.k)
        assert found.comparison.winner.hits == value
        assert found.forecast.hits[at] == pytest.approx(value)
        assert found.forecast.baseline_hits[at] == pytest.approx(found.comparison.baseline.hits)
        assert found.probability[found.selected].sum() == pytest.approx(value)
        assert found.verdict.count(found.comparison.written(value)) >= 1
