"""What a shortlist says in words: one precision, and differences a reader can check."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.picking.comparison import Comparison, Entry, ExpectedHits, expectation, verdict

hits = st.floats(0.0, 1e5)


def entry(name, found, baseline, error=1.26, **settings):
    part = {"is_baseline": False, "is_winner": False, "weight": 0.0, **settings}
    return Entry(name, name, found, found, found, found - baseline, error, seconds=0.0, **part)


def compared(best, base, error=1.26):
    entries = (
        entry("winner", best, base, error, is_winner=True, weight=1.0),
        entry("baseline", base, base, error, is_baseline=True),
    )
    return Comparison(entries, 100, {})


def numbers(text):
    return [Decimal(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*\.?\d*", text)]


@given(hits, hits)
def test_the_written_difference_is_that_of_the_written_hits(best, base):
    found = compared(best, base)
    said = verdict(found, 100)
    first, _, second, difference, error = numbers(said.replace(", ", " ").rstrip("."))
    assert first - second == difference
    assert error == Decimal("1.3")
    # The table and the forecast have the same numbers.
    line = next(line for line in str(found).splitlines() if line.startswith("winner *"))
    assert Decimal(line.split()[2]) == first
    assert Decimal(line.split()[6]) == difference
    assert numbers(expectation(ExpectedHits(best, 1, 2, 0.9)).replace(", ", " "))[0] == first


@pytest.mark.parametrize(
    ("best", "base", "said"),
    [
        (6.66, 6.44, "winner finds 6.7 of 100, baseline 6.4; difference 0.3 ± 1.3, within noise."),
        (16.0, 15.0, "winner finds 16 of 100, baseline 15; difference 1 ± 1.3, within noise."),
        (61.2, 52.0, "winner finds 61.2 of 100, baseline 52; difference 9.2 ± 1.3."),
    ],
)
def test_verdicts(best, base, said):
    assert verdict(compared(best, base), 100) == said


def test_a_single_fold_has_no_noise_to_tell():
    assert "difference 2, of unknown noise" in verdict(compared(4.0, 2.0, math.inf), 100)
