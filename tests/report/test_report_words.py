"""Numbers, sentences and axes of the report."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortlist.certificate import Certificate
from shortlist.picking.forecast.comparison import COMBINATION, Comparison, Entry
from shortlist.report._figures import Scale, rounded_around, rounded_up
from shortlist.report._words import (
    at_most,
    certified,
    duration,
    family,
    percent,
    rough,
    sentence,
    signed,
)

sizes = st.floats(1e-12, 1e12)


@pytest.mark.parametrize(
    ("value", "decimals", "written"),
    [
        (0, 0, "0"),
        (2.25, 1, "2.2"),
        (2.35, 1, "2.4"),
        (9.6, 0, "10"),
        (0.34, 0, "0.3"),
        (0.034, 0, "0.03"),
        (0.034, 1, "0.03"),
        (61_234.4, 0, "61,234"),
    ],
)
def test_rough_numbers(value, decimals, written):
    assert rough(value, decimals) == written


@pytest.mark.parametrize(
    ("share", "written"),
    [(0, "0 %"), (0.0004, "0.04 %"), (0.00996, "1.0 %"), (0.0949, "9.5 %"), (1, "100 %")],
)
def test_percentages(share, written):
    assert percent(share) == written


def difference(best, base, error):
    part = {"weight": 0.0, "seconds": 0.0, "difference_error": error}
    entries = [
        Entry(
            name,
            name,
            found,
            found,
            found,
            found - base,
            is_baseline=not first,
            is_winner=first,
            **part,
        )
        for name, found, first in (("winner", best, True), ("baseline", base, False))
    ]
    return signed(Comparison(tuple(entries), 50, {}), entries[0])


def test_what_is_not_known_is_a_dash():
    assert [rough(math.nan, 0), percent(math.nan)] == 2 * ["–"]
    assert difference(17.0, 20.0, math.inf) == "−3 ± ∞"
    assert difference(32.0, 20.0, 4.0) == "+12 ± 4"
    assert difference(32.0, math.nan, 4.0) == "–"


def test_a_sentence_begins_with_a_capital():
    assert [sentence(words) for words in ("logistic", "TopPush", "")] == ["Logistic", "TopPush", ""]


def test_durations():
    assert [duration(s) for s in (0.123, 9, 42.4, 125)] == ["0.12 s", "9 s", "42 s", "2 min 5 s"]


@given(share=sizes)
def test_a_bound_is_never_rounded_down(share):
    written = float(at_most(share).removesuffix(" %"))
    assert 100 * share <= written * (1 + 1e-12)
    assert written <= 100 * share * 1.11


STATUSES = {
    "converged": "Proven: no TopPush with these settings",
    "max_iter": "stopped early, at the limit of iterations. Proven: no TopPush",
    "time_limit": "stopped early, at the time limit",
    "stopped": "stopped early, because the callback asked for it",
    "local": "no bound to the best is claimed",
}


@pytest.mark.parametrize("status", STATUSES)
def test_certificates_in_words(status):
    proof, limits = certified(Certificate(2.0, 1.5, status, 0.001), "TopPush")
    assert STATUSES[status] in proof
    assert "cross-validation" in limits
    # 0.5 of 2 is the gap; a local optimum claims nothing.
    assert ("25 %" in proof) == (status != "local")
    assert ("within 0.1 %" in limits) == (status in ("max_iter", "time_limit", "stopped"))


def test_a_combination_is_proven_as_far_as_its_problem_goes():
    proof, _ = certified(Certificate(2.0, 1.5, "converged", 0.3), COMBINATION)
    assert proof == (
        "Proven: in the problem that half of the weights come from, no others reach an objective "
        "more than 25 % lower."
    )


def test_no_certificate_and_no_bound():
    assert "comes with no proof" in certified(None, "logistic regression")[0]
    endless = Certificate(2.0, -math.inf, "time_limit", 0.001)
    assert "nothing, because no bound was found" in certified(endless, "TopPush")[0]


@given(value=sizes, at_most=st.integers(2, 8))
def test_a_rounded_end_holds_the_value_closely(value, at_most):
    end = rounded_up(value, at_most)
    assert value * (1 - 1e-8) <= end <= 2.5 * value
    scale = Scale(0.0, end)
    ticks = scale.ticks(at_most)
    assert 2 <= len(ticks) <= at_most + 1
    assert ticks[0][0] == 0
    assert ticks[-1][0] == pytest.approx(100, abs=1e-6) or len(ticks) > 1


@given(low=st.floats(-1e6, 1e6), width=st.floats(0, 1e6), at_most=st.integers(2, 6))
def test_round_ends_hold_both_values(low, width, at_most):
    scale = rounded_around(low, low + width, at_most)
    margin = 1e-6 * (abs(low) + width + 1)
    assert scale.low <= low + margin
    assert scale.high >= low + width - margin
    assert scale.low < scale.high


@given(
    low=st.floats(-1e300, 1e300),
    high=st.floats(-1e300, 1e300),
    share=st.floats(0, 1),
)
@example(low=0.0, high=5e-324, share=1.0)
def test_places_are_on_the_axis(low, high, share):
    low, high = min(low, high), max(low, high)
    scale = Scale(low, high)
    at = scale.place(low * (1 - share) + high * share)
    assert -1e-6 <= at <= 100 + 1e-6
    assert all(-1e-6 <= place <= 100 + 1e-6 for place, _ in scale.ticks())
    assert len(scale.ticks()) <= 8


@given(high=st.integers(1, 10**9), at_most=st.integers(4, 8))
def test_logarithmic_ticks(high, at_most):
    scale = Scale(1.0, float(high), log=True)
    ticks = scale.ticks(at_most)
    assert 1 <= len(ticks) <= max(at_most, 10)
    places = [place for place, _ in ticks]
    assert places == sorted(places)
    assert np.all(np.diff(places) > 0)
    assert 0 <= places[0] <= places[-1] <= 100 + 1e-6


def test_kinds_of_models_have_plain_names():
    assert family("LightGBM") == "Boosted trees (LightGBM)"
    assert family("mine <b>") == "mine <b>"
