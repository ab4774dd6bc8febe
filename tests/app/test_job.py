"""What ``shortlist pick`` says about the files it was given, and what follows from it."""

import functools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlist import picking
from shortlist._app import _progress, app
from shortlist._app._deciding import read_columns
from shortlist._app._demonstration import compared
from shortlist._app._hints import find_hints
from shortlist._app._lists import ENDINGS
from shortlist._app._tables import Table

PICK = ("pick", "c.csv", "--history", "h.csv", "--label", "y")


@pytest.fixture(autouse=True)
def short_race(monkeypatch):
    quick = functools.partial(picking.pick, models=["PatMat"], cv=3, repeats=1)
    monkeypatch.setattr(picking, "pick", quick)


@pytest.fixture
def messy(tmp_path, monkeypatch):
    """A history of 120 payments as spreadsheets write them, and 60 candidates."""
    rng = np.random.default_rng(0)
    n = 180
    y = rng.random(n) < 0.3
    amount = np.exp(rng.normal(6, 1, n) + y)
    rows = pd.DataFrame(
        {
            "payment": [f"P{i:05d}" for i in range(n)],
            "amount": [f"€ {value:,.2f}" for value in amount],
            "rate": [f"{value:.1f} %" for value in 100 * rng.random(n)],
            "booked": (
                pd.Timestamp("2023-01-01") + pd.to_timedelta(np.arange(n) * 7, "h")
            ).strftime("%d.%m.%Y %H:%M"),
            "customer": [f"C{value:03d}" for value in rng.integers(0, 40, n)],
            "same": "x",
            "note": ["=1+1" if i % 9 == 0 else "-5" if i % 7 == 0 else "ok" for i in range(n)],
        }
    )
    monkeypatch.chdir(tmp_path)
    rows.assign(y=y.astype(int)).iloc[:120].to_csv("h.csv", index=False)
    rows.iloc[120:].to_csv("c.csv", index=False)
    return rows, y


def test_the_columns_are_told_on_standard_error_in_json_and_in_the_report(messy, invoke):
    done = invoke(*PICK, "-k", "5", "--id", "payment", "--report", "r.html", "--json")
    assert done.exit_code == 0, done.output
    assert "How I read the columns of h.csv (120 rows):" in done.stderr
    lines = {line.split()[0]: line for line in done.stderr.splitlines() if line.startswith("  ")}
    assert "number, decimal point, without €" in lines["amount"]
    assert "divided by 100" in lines["rate"]
    assert "date, day first" in lines["booked"]
    assert "not used: the same in every row" in lines["same"]
    told = json.loads(done.stdout)
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {
        "payment": "id", "amount": "number", "rate": "number", "booked": "date",
        "customer": "text", "same": "constant", "note": "category", "y": "label",
    }  # fmt: skip
    assert told["seconds"]["total"] >= told["seconds"]["models"] > 0
    assert {"reading", "columns", "features", "writing"} < set(told["seconds"])
    assert any("customer repeats" in hint and "--group customer" in hint for hint in told["hints"])
    assert "rows are dated: --time booked?" in told["hints"]
    page = Path("r.html").read_text("utf-8")
    assert "How the columns were read" in page
    assert "number, decimal point, without €" in page


def test_types_are_overridden_and_mistakes_named(messy, invoke):
    done = invoke(*PICK, "-k", "5", "--type", "amount=category", "--type", "note=text", "--json",
                  "--drop", "rate")  # fmt: skip
    assert done.exit_code == 0, done.output
    kinds = {column["name"]: column["kind"] for column in json.loads(done.stdout)["columns"]}
    assert kinds["amount"] == "category"
    assert kinds["note"] == "text"
    assert kinds["rate"] == "dropped"
    for option, words in (
        ("amount=money", "COLUMN=TYPE"),
        ("amount", "COLUMN=TYPE"),
        ("amuont=number", "Did you mean 'amount'"),
    ):
        done = invoke(*PICK, "-k", "5", "--type", option)
        assert done.exit_code == 1, done.output
        assert words in done.stderr


def test_the_model_file_reads_as_the_history_was_read(messy, invoke):
    """Candidates that look American are still read by the history's convention."""
    for name in ("h.csv", "c.csv"):
        table = pd.read_csv(name, dtype=str)
        table["amount"] = [
            value.replace(",", "_").replace(".", ",").replace("_", ".") for value in table["amount"]
        ]
        table.to_csv(name, index=False)
    done = invoke(*PICK, "-k", "5", "--id", "payment", "-o", "list.csv", "--save", "m.skops")
    assert done.exit_code == 0, done.output
    assert "decimal comma" in done.stderr
    done = invoke("score", "c.csv", "--model", "m.skops", "-k", "5", "-o", "again.csv")
    assert done.exit_code == 0, done.output
    assert pd.read_csv("again.csv")["row"].tolist() == pd.read_csv("list.csv")["row"].tolist()
    few = pd.read_csv("c.csv", dtype=str).head(3)
    few["amount"] = ["1,234", "€ 12.345", "1,234.50"]
    few.to_csv("few.csv", index=False)
    from shortlist._app._model_file import load_model

    typed = load_model("m.skops").columns.apply(Table("few.csv").read())
    np.testing.assert_array_equal(typed["amount"], [1.234, 12345.0, np.nan])


def test_candidates_that_are_known_are_left_out(messy, invoke):
    history = pd.read_csv("h.csv", dtype=str)
    known = history.drop(columns="y").iloc[5:9]
    pd.concat([known, pd.read_csv("c.csv", dtype=str)]).to_csv("c.csv", index=False)
    done = invoke(*PICK, "-k", "64", "--id", "payment")
    assert done.exit_code == 1
    assert "more than the 60 candidates whose outcome is not known" in done.stderr
    for options, rows in (((), 60), (("--keep-known",), 64)):
        done = invoke(*PICK, "-k", str(rows), "--id", "payment", "--json", *options)
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert told["candidates"] == rows
        assert "4 of the 64 rows of c.csv are in h.csv" in done.stderr
        assert ("left out of the list and of the forecast" in done.stderr) == (rows == 60)
        listed = {entry["payment"] for entry in told["list"]}
        assert (listed & set(known["payment"]) == set()) == (rows == 60)
    # Row numbers are those of the file, known rows counted.
    assert {entry["row"] for entry in told["list"]} == set(range(64))
    table = pd.read_csv("c.csv", dtype=str)
    assert all(table["payment"][entry["row"]] == entry["payment"] for entry in told["list"])


def test_rows_that_repeat_are_counted(messy, invoke):
    history = pd.read_csv("h.csv", dtype=str)
    pd.concat([history, history.iloc[:7]]).to_csv("h.csv", index=False)
    done = invoke(*PICK, "-k", "5", "--id", "payment", "--json")
    assert done.exit_code == 0, done.output
    assert "7 rows of h.csv repeat another row, id and label included" in done.stderr
    assert json.loads(done.stdout)["history"] == 120
    done = invoke(*PICK, "-k", "5", "--json")
    assert "7 rows of h.csv repeat another row in every column" in done.stderr
    assert json.loads(done.stdout)["history"] == 127


def test_one_per_and_time(messy, invoke, monkeypatch):
    done = invoke(*PICK, "-k", "10", "--id", "payment", "--one-per", "customer", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    customer = pd.read_csv("c.csv", dtype=str).set_index("payment")["customer"]
    chosen = [customer[entry["payment"]] for entry in told["list"]]
    assert len(set(chosen)) == len(chosen) == 10
    monkeypatch.setattr(picking, "pick", functools.partial(picking.pick, cv=5, repeats=None))
    done = invoke(
        *PICK, "-k", "5", "--id", "payment", "--time", "booked", "--delay", "2d", "--json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds["booked"] == "time"
    for options, words in (
        (("--delay", "2d"), "needs --time"),
        (("--time", "note"), "which is no date"),
        (("--one-per", "client"), "no column 'client'"),
    ):
        done = invoke(*PICK, "-k", "5", *options)
        assert done.exit_code == 1, done.output
        assert words in done.stderr


def test_alike_by_chance_is_not_the_same(tmp_path, monkeypatch, invoke):
    """Two columns of few values: candidates look like rows of the history, and stay."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 4, 90), "b": rng.choice(["x", "z"], 90)})
    rows.assign(y=(rows["a"] + rng.integers(0, 3, 90) > 3).astype(int)).iloc[:60].to_csv(
        "h.csv", index=False
    )
    rows.iloc[60:].to_csv("c.csv", index=False)
    done = invoke(*PICK, "-k", "5", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["candidates"] == 30
    assert "every row of c.csv is in h.csv" in done.stderr


def test_lists_in_every_format_come_back(messy, invoke):
    done = invoke(*PICK, "-k", "20", "--id", "payment", "--save", "m.skops")
    assert done.exit_code == 0, done.output
    original = pd.read_csv("c.csv", dtype=str, keep_default_na=False)
    for ending in ENDINGS:
        done = invoke("score", "c.csv", "--model", "m.skops", "-k", "20", "-o", f"list{ending}")
        assert done.exit_code == 0, done.output
        listed = Table(f"list{ending}").read()
        rows = listed["row"].astype(int)
        for name in original.columns:
            assert listed[name].tolist() == original[name].iloc[rows].tolist(), ending
        done = invoke("columns", f"list{ending}")
        assert done.exit_code == 0, done.output


def test_spreadsheet_safe(messy, invoke):
    for options, formula in (((), "=1+1"), (("--spreadsheet-safe",), "'=1+1")):
        done = invoke(*PICK, "-k", "60", "-o", "list.csv", "--force", *options)
        assert done.exit_code == 0, done.output
        assert set(pd.read_csv("list.csv", dtype=str)["note"]) == {formula, "-5", "ok"}
    done = invoke(*PICK, "-k", "60", "-o", "list.xlsx")
    assert done.exit_code == 0, done.output
    import openpyxl

    cells = [cell for row in openpyxl.load_workbook("list.xlsx").active.rows for cell in row]
    assert {cell.data_type for cell in cells if cell.value == "=1+1"} == {"s"}


def test_hints_name_only_what_the_command_understands():
    rng = np.random.default_rng(0)
    n = 100
    rows = pd.DataFrame(
        {
            "order no": np.arange(1000, 1000 + n).astype(str),
            "booked_at": pd.date_range("2023-01-01", periods=n).strftime("%Y-%m-%d"),
            "born": rng.permutation(pd.date_range("1960-01-01", periods=n).strftime("%Y-%m-%d")),
            "customer": [f"C{value}" for value in rng.integers(0, 50, n)],
            "user_id": rng.integers(10, 50, n).astype(str),
            "amount": np.round(rng.random(n) * 1e4, 2).astype(str),
            "text": [f"words that differ {i}" for i in range(n)],
        }
    )
    columns, typed = read_columns(rows)
    repeats = n - rows["customer"].nunique()
    users = n - rows["user_id"].nunique()
    found = list(find_hints(rows, typed, columns, None))
    assert found[0] == "rows are dated: --time booked_at?"
    assert f"customer repeats {repeats} times: --group customer, --one-per customer?" in found
    assert f"user_id repeats {users} times: --group user_id, --one-per user_id?" in found
    assert '"order no" differs in every row, like an id: --id "order no"?' in found
    assert len(found) == 4
    understood = {name for option in app.commands["pick"].params for name in option.opts}
    assert set(re.findall(r"--[a-z-]+", " ".join(found))) <= understood
    # A row that is there twice hides no id.
    twice = pd.concat([rows, rows[:1]], ignore_index=True)
    told = list(find_hints(twice, *reversed(read_columns(twice)), None))
    assert '"order no" differs in nearly every row, like an id: --id "order no"?' in told
    # Dates in no order, but the candidates come after them.
    shuffled = typed.assign(booked_at=rng.permutation(typed["booked_at"]))
    assert not any("dated" in h for h in find_hints(rows, shuffled, columns, None))
    later = typed.assign(booked_at=typed["booked_at"] + 1e9)
    assert "rows are dated: --time booked_at?" in find_hints(rows, shuffled, columns, later)


def test_evaluate_joins_the_outcome(tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": ["a", "b", "c", "d"], "score": [4.0, 3.0, 2.0, 1.0]}).to_csv(
        "list.csv", index=False
    )
    pd.DataFrame({"id": ["d", "c", "b", "x", "a"], "fraud": ["no", "", "yes", "no", "yes"]}).to_csv(
        "out.csv", index=False
    )
    join = ("evaluate", "list.csv", "--truth", "out.csv", "--on", "id", "--label", "fraud")
    done = invoke(*join, "-k", "2", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["rows"] == 4
    assert told["hits"]["estimate"] == 2
    assert "1 rows of out.csv are not in list.csv and count as not chosen" in done.stderr
    assert "1 rows without a label" in done.stderr
    done = invoke(*join)
    assert "list of 3" in done.stdout
    assert re.search("hits in the first 3 +2 ", done.stdout)
    for change, words in (
        (("--on", "nr"), "no column 'nr'"),
        (("--label", "froud"), "Did you mean 'fraud'"),
    ):
        done = invoke(*join, *change)
        assert done.exit_code == 1
        assert words in done.stderr
    done = invoke(*join[:4], "--label", "fraud")
    assert done.exit_code == 2
    assert "belong together" in done.stderr
    pd.DataFrame({"id": ["a", "a"], "fraud": ["no", "yes"]}).to_csv("out.csv", index=False)
    done = invoke(*join)
    assert done.exit_code == 1
    assert "more than one row with 'id' = a" in done.stderr


def test_long_ids_are_joined_digit_by_digit(tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    ids = [str(10**18 + number) for number in range(6)]
    pd.DataFrame({"id": ids, "score": range(6)}).to_csv("list.csv", index=False)
    # The same ids as whole numbers, and in another order.
    pd.DataFrame({"id": [int(i) for i in ids[::-1]], "fraud": [1, 1, 0, 0, 0, 0]}).to_parquet(
        "out.parquet"
    )
    done = invoke("evaluate", "list.csv", "--truth", "out.parquet", "--on", "id",
                  "--label", "fraud", "-k", "2", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["hits"]["estimate"] == 2


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "SECONDS", 0.001)
    with _progress.progress() as show:
        show(1, 4, "fold 1 of 5")
        while "fold 1 of 5, 25 % done" not in capsys.readouterr().err:
            pass


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        (16, "just below the 17 to 27 that were promised: one list in ten is outside"),
        (2, ", below the 17 to 27"),
        (17, "within the 17 to 27"),
        (40, ", above the 17 to 27"),
    ],
)
def test_the_demo_explains_its_outcome(hits, said):
    assert said in compared(hits, 17.2, 26.8, 0.9)


def test_help_prints_no_escapes_and_keeps_its_lines(invoke):
    for name in ("", *app.commands):
        text = invoke(*filter(None, [name]), "--help").stdout
        assert "\\b" not in text
        assert "\x08" not in text
    assert "\n  0    done\n" in invoke("--help").stdout.replace("    0    done", "  0    done")
    assert "\n  shortlist pick today.csv --history" in invoke("pick", "--help").stdout
