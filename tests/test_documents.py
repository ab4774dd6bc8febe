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
    quick = functools.partial(picking.pick, models=["PatMat"], cv=3, repeats=1)
    monkeypatch.setattr(picking, "pick", quick)


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, tmp_path, monkeypatch, short_race):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 600
    fraud = rng.random(n) < 0.3
    rows = pd.DataFrame(
        {
            "payment_id": [f"P{i:04d}" for i in range(n)],
            "amount": [f"{value:,.2f}" for value in np.exp(rng.normal(7, 1, n) + fraud)],
            "country": rng.choice(["DE", "FR", "NL"], n),
        }
    )
    known = rows.assign(fraud=np.where(fraud, "yes", "no"))
    known.iloc[:300].to_csv("history.csv", index=False)
    rows.iloc[300:450].to_csv("candidates.csv", index=False)
    rows.iloc[450:].to_csv("more.csv", index=False)
    known.to_csv("outcomes.csv", index=False)
    known.assign(score=rng.normal(size=n)).to_csv("scored.csv", index=False)
    found = commands(page)
    assert found
    for line in found:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert len(pd.read_csv("shortlist.csv")) == 100
    assert Path("report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


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
    from shortlist._app._writing import ENDINGS

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
