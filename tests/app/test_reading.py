"""Numbers and dates, against the writers and the slow ways they come from."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist._app._columns import Columns
from shortlist._app._dates import look_at_dates, read_date
from shortlist._app._deciding import read_columns
from shortlist._app._features import Features
from shortlist._app._numbers import COMMA, POINT, look_at_numbers, read_number

AMOUNT = st.decimals(-(10**12), 10**12, places=2, allow_nan=False)
AFFIXES = st.sampled_from(
    [("", ""), ("€ ", ""), ("$", ""), ("", " €"), ("CHF ", ""), ("", " EUR"), ("kr ", "")]
)


def written(amount, decimal, group, affixes, minus):
    """An amount as a program of some country writes it."""
    text = f"{abs(amount):,.2f}".replace(",", "_").replace(".", decimal).replace("_", group)
    text = f"{affixes[0]}{text}{affixes[1]}"
    if amount >= 0:
        return text
    return {"before": f"-{text}", "behind": f"{text}-", "brackets": f"({text})"}[minus]


CONVENTIONS = [
    (POINT, ","), (POINT, " "), (POINT, "'"), (POINT, "\u202f"), (POINT, ""),
    (COMMA, "."), (COMMA, " "), (COMMA, "\u00a0"), (COMMA, "’"), (COMMA, ""),
]  # fmt: skip


@given(
    st.lists(AMOUNT, min_size=1, max_size=8),
    st.sampled_from(CONVENTIONS),
    AFFIXES,
    st.sampled_from(["before", "behind", "brackets"]),
)
def test_amounts_come_back(amounts, convention, affixes, minus):
    decimal, group = convention
    cells = [written(amount, decimal, group, affixes, minus) for amount in amounts]
    found = look_at_numbers(cells, [1] * len(cells))
    # Two decimals are never thousands: the column is certain.
    assert (found.decimal, found.certain, found.readable) == (decimal, True, 1.0)
    assert [read_number(cell, decimal) for cell in cells] == [float(amount) for amount in amounts]


@given(st.from_regex(r"-?[0-9]{1,5}([.,][0-9]{1,4}){0,2}", fullmatch=True))
def test_short_cuts_read_as_the_long_way_does(cell):
    """Of plain cells both readings are found without regular expressions."""
    long_way = {decimal: read_number(f"{cell} €", decimal) for decimal in (POINT, COMMA)}
    found = look_at_numbers([cell], [1])
    both = [decimal for decimal, number in long_way.items() if number is not None]
    assert found.readable == (1.0 if found.decimal in both else 0.0)
    assert found.evidence == (len(both) == 1)
    if long_way[POINT] is not None:
        assert read_number(cell, POINT) == long_way[POINT]
    assert found.certain == (len(both) < 2 or len(set(long_way.values())) == 1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_comes_back(number):
    assert read_number(repr(number), POINT) == number


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_none(text):
    for decimal in (POINT, COMMA):
        number = read_number(text, decimal)
        assert number is None or isinstance(number, float)
    assert look_at_numbers([text], [1]).readable in (0.0, 1.0)
    assert look_at_dates([text], [1]).readable in (0.0, 1.0)


@pytest.mark.parametrize(
    "text",
    ["1,23", "1.2.3", "12,34,56", "1 23", "--5", "5 %%", "$", "€€5", "(5", "5)", "(-5)", "1_000",
     "0x10", "5 apples", "1,234,56.7", "", "e5", "١٢ kg"],
)  # fmt: skip
def test_these_are_no_numbers_with_a_point(text):
    assert read_number(text, POINT) is None


LAYOUTS = {
    "year-month-day": ["%Y-%m-%d", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"],
    "yearmonthday": ["%Y%m%d"],
    "day first": ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%d-%m-%y", "%d.%m.%Y, %H:%M:%S"],
    "month first": ["%m/%d/%Y", "%m/%d/%y %I:%M %p", "%m-%d-%Y %H:%M:%S"],
    "day, name of month, year": ["%d%b%Y", "%d%b%Y:%H:%M:%S", "%d-%b-%y", "%d %B %Y"],
    "name of month, day, year": ["%b %d, %Y", "%B %d %Y"],
    "year-month": ["%Y-%m"],
}


@given(
    st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)), min_size=1, max_size=5),
    st.sampled_from([(name, form) for name, forms in LAYOUTS.items() for form in forms]),
)
def test_dates_come_back(moments, layout):
    name, form = layout
    cells = [moment.strftime(form) for moment in moments]
    found = look_at_dates(cells, [1] * len(cells))
    assert found.readable == 1.0
    if found.certain:
        assert found.layout == name
    for cell in cells:
        seconds = read_date(cell, name)
        parsed = datetime.strptime(cell, form).replace(microsecond=0)
        assert datetime(1970, 1, 1) + timedelta(seconds=seconds) == parsed


def test_impossible_dates_are_none():
    for cell, layout in (
        ("31.02.2020", "day first"), ("2020-13-01", "year-month-day"), ("1.1.0", "day first"),
        ("2020-01-01 25:00", "year-month-day"), ("13:00 PM", "day first"),
        ("1 Foo 2020", "day, name of month, year"),
    ):  # fmt: skip
        assert read_date(cell, layout) is None


def test_features_are_those_of_rows_one_by_one():
    """A block of candidates gives the features that its rows give alone."""
    rng = np.random.default_rng(0)
    n = 60
    rows = pd.DataFrame(
        {
            "x": [f"{v:.2f}" if v > -1 else "" for v in rng.normal(size=n)],
            "at": pd.date_range("2020-01-30", periods=n, freq="29h").strftime("%d.%m.%Y %H:%M"),
            "kind": rng.choice(["a", "b", ""], n),
            "note": [f"pay {rng.integers(9)} late {i}" for i in range(n)],
        }
    )
    columns, typed = read_columns(rows)
    features = Features(columns, typed)
    made = features.make(typed)
    features.forget()
    alone = pd.concat([features.make(columns.apply(rows.iloc[[i]])) for i in range(n)])
    pd.testing.assert_frame_equal(alone, made)
    np.testing.assert_allclose(made.mean(), 0.0, atol=1e-9)
    np.testing.assert_allclose(made.std(ddof=0), 1.0)
    again = Features.from_plain(features.to_plain())
    pd.testing.assert_frame_equal(again.make(typed), made)
    # Weekday, month and hour are those of the calendar.
    raw = features._encoders["at"].make(typed["at"].to_numpy())
    names = features._encoders["at"].names("at")
    when = pd.to_datetime(rows["at"], dayfirst=True)
    for part, wanted in (
        ("year", when.dt.year), ("month", when.dt.month), ("day", when.dt.day),
        ("weekday", when.dt.weekday), ("hour", when.dt.hour),
    ):  # fmt: skip
        np.testing.assert_array_equal(raw[:, names.index(f"at {part}")], wanted)


def test_a_new_category_is_none_of_the_old_and_copies_read_alike():
    columns, typed = read_columns(pd.DataFrame({"k": ["a", "b", "a"], "x": ["1", "2", "4"]}))
    features = Features(columns, typed)
    new = features.make(columns.apply(pd.DataFrame({"k": ["c"], "x": ["3"]})))
    old = features.make(typed)
    assert new["k = a"].iloc[0] == old["k = a"].min()
    assert new["k = b"].iloc[0] == old["k = b"].min()
    again = Columns.from_plain(columns.to_plain())
    assert again.to_plain() == columns.to_plain()
