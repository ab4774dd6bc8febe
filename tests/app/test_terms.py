"""What the list is for, said on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from shortlist import picking

PICK = ("pick", "c.csv", "--history", "h.csv", "--label", "bad", "-k", "12", "--id", "no")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    race = picking.pick

    def quick(*args, **options):
        model = "PatMat" if options.get("goal", "hits") == "hits" else "RankSVM"
        return race(*args, **(options | {"models": [model], "effort": "quick", "cv": 3}))

    monkeypatch.setattr(picking, "pick", quick)
    monkeypatch.setattr("shortlist.picking.terms.replay._FEW_REPLAYS", 15)
    rng = np.random.default_rng(0)
    n = 260
    bad = rng.random(n) < 0.3
    rows = pd.DataFrame(
        {
            "no": [f"N{i}" for i in range(n)],
            "amount": [f"{v:.2f}".replace(".", ",") for v in np.exp(rng.normal(6, 1, n) + bad)],
            "region": rng.choice(["north", "south", "a:b"], n),
            "customer": rng.integers(0, 90, n),
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(n) * 6, unit="h"),
            "x": rng.normal(size=n) + bad,
        }
    )
    grade = np.clip((rng.normal(size=n) + 2 * bad + 2).round(), 0, 4).astype(int)
    history = rows.iloc[:180].assign(bad=np.where(bad, "yes", "no")[:180], grade=grade[:180])
    history.to_csv("h.csv", index=False, sep=";")
    rows.iloc[180:].to_csv("c.csv", index=False, sep=";")
    rows[["no"]].iloc[180:190].to_csv("handled.csv", index=False)
    return rows.iloc[180:].set_index("no")


def told(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_money_limits_and_handled_rows_together(tables, invoke):
    options = ("--drop", "grade", "--value", "amount", "--cost", "30", "--exclude", "handled.csv")
    limits = ("--at-most", "region:a:b=2", "--at-least", "region:north=4")
    found = told(invoke(*PICK, *options, *limits, "--one-per", "customer", "--json"))
    chosen = tables.loc[[entry["no"] for entry in found["list"]]]
    assert chosen["customer"].is_unique
    assert (chosen["region"] == "a:b").sum() <= 2
    assert (chosen["region"] == "north").sum() >= 4
    assert not set(chosen.index) & set(tables.index[:10])
    gain = found["expected_gain"]
    assert gain["low"] <= gain["value"] <= gain["high"]
    assert "This list is worth" in found["verdict"]
    assert any("The limits cost" in note for note in found["notes"])


def test_grades_are_summed(tables, invoke):
    pick = ("pick", "c.csv", "--history", "h.csv", "--outcome", "grade", "-k", "12", "--id", "no")
    found = told(invoke(*pick, "--drop", "bad", "--save", "m.skops", "--json"))
    assert found["goal"] == "sum"
    assert found["expected_hits"] is None
    assert 12 * 1 < found["expected_gain"]["value"] <= 12 * 4
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds["grade"] == "outcome"
    again = told(invoke("score", "c.csv", "--model", "m.skops", "-k", "12", "--json"))
    assert [e["no"] for e in again["list"]] == [e["no"] for e in found["list"]]


def test_time_has_windows(tables, invoke):
    found = told(invoke(*PICK, "--drop", "grade", "--time", "day", "--delay", "1d", "--json"))
    assert found["windows"]
    assert found["windows"][-1]["taken"] > 0


MISTAKES = {
    ("--value", "amuont"): "Did you mean 'amount'",
    ("--value", "region"): "--value region: h.csv holds no numbers there",
    ("--at-most", "region:east=5"): "region has no value 'east'",
    ("--at-most", "region=5"): "name the group as well, COLUMN:VALUE=NUMBER",
    ("--at-most", "land:north=5"): "there is no column 'land'",
    ("--at-most", "region:north=-3"): "a whole number of rows, at least 0",
    ("--at-most-each", "region=many"): "a whole number of rows, at least 0",
    ("--at-most", "region:north=3", "--at-most", "region:north=5"): "two limits of one kind, 3 and",
    ("--at-most-each", "region=4", "--at-least", "region:north=5"): "at most 4: that contradicts",
    ("--at-least", "region:north=70"): "at least 70 of region=north: there are",
    ("--at-least", "region:north=7", "--at-least", "region:south=7"): "the budget is 12",
    ("--clusters", "20"): "--clusters 20 limits nothing by itself",
    ("--exclude", "nothing.csv"): "nothing.csv does not exist",
    ("--time", "region"): "which is no date",
    ("--delay", "2d"): "needs --time",
    ("--only-new",): "needs --time",
}


@pytest.mark.parametrize("share", ["2", "x", "101%", "0"])
def test_a_base_rate_is_a_share(tables, invoke, share):
    done = invoke(*PICK, "--drop", "grade", "--base-rate", share)
    assert done.exit_code == 2
    assert f"{share!r} is no share: give one such as 0.01 or 1%" in done.stderr


def test_a_base_rate_may_be_a_percentage(tables, invoke):
    found = told(invoke(*PICK, "--drop", "grade", "--base-rate", "4%", "--json"))
    assert "4.0 % of the candidates are taken to be positive, as you said" in found["verdict"]


def test_a_limit_of_each_group_and_one_of_its_own(tables, invoke):
    """Both are one grouping: a sorted list, no integer programme."""
    limits = ("--at-most-each", "region=5", "--at-most", "region:south=2")
    found = told(invoke(*PICK, "--drop", "grade", *limits, "--json"))
    held = tables.loc[[entry["no"] for entry in found["list"]], "region"].value_counts()
    assert held.max() == 5
    assert held["south"] == 2


def test_times_may_be_counted(tables, invoke):
    for name in ("h.csv", "c.csv"):
        rows = pd.read_csv(name, sep=";", dtype=str)
        start = pd.Timestamp("2024-03-01")
        rows["day"] = (pd.to_datetime(rows["day"]) - start).dt.days
        rows.to_csv(name, index=False, sep=";")
    found = told(invoke(*PICK, "--drop", "grade", "--time", "day", "--delay", "2", "--json"))
    assert (
        "windows of 19, each after what was learned from, labels known after 2"
        in (found["settings"]["cv"])
    )
    done = invoke(*PICK, "--drop", "grade", "--time", "day", "--delay", "2d")
    assert "delay must be a number in the unit of time" in done.stderr


def test_numbers_given_as_labels_are_pointed_to_the_outcome(tables, invoke):
    done = invoke(*("grade" if word == "bad" else word for word in PICK), "--drop", "bad")
    assert done.exit_code == 1
    assert "write --outcome grade in place of --label" in done.stderr
    words = ("region" if word == "bad" else word for word in PICK)
    done = invoke(*words, "--drop", "bad", "--drop", "grade")
    assert "--positive" in done.stderr
    assert "--outcome" not in done.stderr


@pytest.mark.parametrize("options", MISTAKES, ids=" ".join)
def test_mistakes_are_named(tables, invoke, options):
    done = invoke(*PICK, "--drop", "grade", *options)
    assert done.exit_code == 1, done.output
    assert MISTAKES[options] in done.stderr


def test_a_missing_customer_is_named_with_its_row(tables, invoke):
    rows = pd.read_csv("c.csv", sep=";", dtype=str)
    rows.loc[[4, 6], "customer"] = ""
    rows.to_csv("c.csv", index=False, sep=";")
    done = invoke(*PICK, "--drop", "grade", "--one-per", "customer")
    assert done.exit_code == 1
    assert "--one-per customer: c.csv has no value in row 4" in done.stderr


def test_a_missing_value_is_named_with_its_row(tables, invoke):
    rows = pd.read_csv("c.csv", sep=";", dtype=str)
    rows.loc[4, "amount"] = ""
    rows.to_csv("c.csv", index=False, sep=";")
    done = invoke(*PICK, "--drop", "grade", "--value", "amount")
    assert done.exit_code == 1
    assert "--value amount: c.csv has no number in row 4" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--label or --outcome"),
        (("--label", "bad", "--outcome", "grade"), "--label or --outcome"),
        (("--outcome", "grade", "--positive", "4"), "--positive is a label"),
    ],
)
def test_one_column_says_how_rows_turned_out(tables, invoke, options, words):
    done = invoke("pick", "c.csv", "--history", "h.csv", "-k", "5", *options)
    assert done.exit_code == 2
    assert words in done.stderr


def test_what_known_rows_would_bring_is_not_asked(tables, invoke):
    """They are left out: the report of a sum has no number for them."""
    history, new = (pd.read_csv(name, sep=";", dtype=str) for name in ("h.csv", "c.csv"))
    known = history[list(new)].iloc[:3]
    pd.concat([known, new]).to_csv("c.csv", index=False, sep=";")
    pick = ("pick", "c.csv", "--history", "h.csv", "--outcome", "grade", "-k", "12", "--id", "no")
    found = told(invoke(*pick, "--drop", "bad", "--report", "r.html", "--json"))
    assert not {entry["no"] for entry in found["list"]} & set(known["no"])
