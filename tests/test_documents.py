"""What the README and the page of the command line show is run."""

import functools
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from shortlist import picking
from shortlist._app import app
from shortlist.datasets import load_tumours

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/command-line.md")


def blocks(page, language):
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)\n```", text, re.DOTALL)


def commands(page):
    """Every call of the command, in order; installing is tested elsewhere."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("shortlist ")]


@pytest.fixture
def short_race(monkeypatch):
    race = functools.partial(picking.pick, cv=3, repeats=1)

    def quick(*args, **options):
        model = "PatMat" if options.get("goal", "hits") == "hits" else "RankSVM"
        return race(*args, **(options | {"models": [model]}))

    monkeypatch.setattr(picking, "pick", quick)
    monkeypatch.setattr("shortlist.picking.terms.replay._FEW_REPLAYS", 15)


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, tmp_path, monkeypatch, short_race):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 600
    fraud = rng.random(n) < 0.3
    hours = np.cumsum(np.where(np.arange(n) < 300, 3, 1))
    rows = pd.DataFrame(
        {
            "payment_id": [f"P{i:04d}" for i in range(n)],
            "amount": [f"{value:,.2f}" for value in np.exp(rng.normal(7, 1, n) + fraud)],
            "country": rng.choice(["DE", "FR", "NL"], n),
            "customer": rng.integers(0, 150, n),
            "booked_at": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h"),
        }
    )
    known = rows.assign(fraud=np.where(fraud, "yes", "no"))
    known.iloc[:300].to_csv("history.csv", index=False)
    rows.iloc[300:450].to_csv("candidates.csv", index=False)
    rows.iloc[450:].to_csv("more.csv", index=False)
    rows.iloc[300:450].to_csv("molecules.csv", index=False)
    potency = (5 + 2 * fraud + rng.normal(size=n)).round(2)
    rows.assign(potency=potency).iloc[:300].to_csv("assayed.csv", index=False)
    rows[["customer"]].iloc[300:330].to_csv("handled.csv", index=False)
    known.to_csv("outcomes.csv", index=False)
    known.assign(score=rng.normal(size=n)).to_csv("scored.csv", index=False)
    found = commands(page)
    assert found
    for line in found:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert len(pd.read_csv("shortlist.csv")) == 100
    assert Path("report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    if "command-line" in page:
        check_lists(rows)


def check_lists(rows):
    """What the page promises of each list."""
    assert 0 < len(pd.read_csv("worth.csv")) <= 50
    customers = pd.read_csv("customers.csv")["customer"]
    assert customers.is_unique
    assert not set(customers) & set(rows["customer"].iloc[300:330])
    limited = pd.read_csv("limited.csv")
    assert (limited["country"] == "DE").sum() <= 10
    assert (limited["country"] == "NL").sum() >= 15
    assert limited["customer"].value_counts().max() <= 2
    for name, length in (
        ("limited", 50),
        ("diverse", 50),
        ("rare", 50),
        ("next-week", 20),
        ("strangers", 20),
        ("assay-best", 30),
    ):
        assert len(pd.read_csv(f"{name}.csv")) == length, name
    assert len(pd.read_csv("assay-next.csv")) == 30
    assert pd.read_csv("assay-best.csv")["country"].value_counts().max() <= 12


def test_python_of_the_readme(short_race, monkeypatch):
    monkeypatch.setattr("shortlist.pick", picking.pick, raising=False)
    X, y = load_tumours()
    names = {"X": X[:300], "y": y[:300], "candidates": X[300:]}
    for code in blocks("README.md", "python"):
        exec(compile(code, "README.md", "exec"), names)
    assert len(names["found"].selected) == 100


def test_options_on_the_page_exist():
    known = {
        option for command in app.commands.values() for p in command.params for option in p.opts
    }
    text = (ROOT / "docs/command-line.md").read_text("utf-8")
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert used <= known, used - known


def test_types_and_endings_on_the_page_are_all():
    from shortlist._app._deciding import TYPES
    from shortlist._app._lists import ENDINGS

    text = (ROOT / "docs/command-line.md").read_text("utf-8")
    for name in (*TYPES, *ENDINGS):
        assert f"`{name}`" in text or f"={name}`" in text, name


def test_cells_on_the_page_are_read_as_it_says():
    """Every example in the table of kinds, in the kind of its line."""
    from shortlist._app._dates import look_at_dates
    from shortlist._app._numbers import look_at_numbers

    text = (ROOT / "docs/command-line.md").read_text("utf-8")
    for kind, look in (("number", look_at_numbers), ("date", look_at_dates)):
        line = next(line for line in text.splitlines() if line.startswith(f"| {kind} |"))
        cells = re.findall(r"`([^`]+)`", line.split("|")[2])
        assert len(cells) > 6
        assert all(look([cell], [1]).readable == 1.0 for cell in cells), cells
