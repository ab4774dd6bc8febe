"""``shortlist pick --precision`` in place of ``-k``."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlist import picking

PICK = ("pick", "c.csv", "--history", "h.csv", "--label", "bad", "--id", "no")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    race = picking.pick

    def quick(*args, **options):
        return race(*args, **(options | {"models": ["PatMat"], "effort": "quick", "cv": 3}))

    monkeypatch.setattr(picking, "pick", quick)
    rng = np.random.default_rng(0)
    bad = rng.random(900) < 0.3
    rows = pd.DataFrame(
        {
            "no": [f"N{i}" for i in range(900)],
            "x": rng.normal(size=900) + 3 * bad,
            "z": rng.normal(size=900),
        }
    )
    rows.assign(bad=np.where(bad, "yes", "no"))[:600].to_csv("h.csv", index=False)
    rows[600:].to_csv("c.csv", index=False)
    return pd.Series(bad[600:], index=rows["no"][600:])


def test_as_many_as_stay_good(tables, invoke):
    done = invoke(*PICK, "--precision", "0.8", "--json", "--report", "r.html")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["k"] == len(found["list"]) == found["guarantee"]["length"] > 30
    assert "on average over such lists at least 80 % are hits" in found["verdict"]
    assert tables[[entry["no"] for entry in found["list"]]].mean() > 0.6
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Share of hits that is guaranteed on average: 90 % for the first" in page


def test_an_empty_list_is_a_file_of_names(tables, invoke):
    options = ("--precision", "0.99", "--confidence", "0.99", "-o", "l.csv", "--report", "r.html")
    done = invoke(*PICK, *options)
    assert done.exit_code == 0, done.output
    assert "No list can be guaranteed 99 %" in done.output
    assert len(pd.read_csv("l.csv")) == 0
    assert "No row is taken." in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say how many: -k 100, or --precision 0.8"),
        (("-k", "5", "--precision", "0.8"), "say how many"),
        (("-k", "5", "--confidence", "0.9"), "--confidence belongs to --precision"),
        (("--precision", "80"), "precision=80.0 is not in"),
        (("--precision", "0.8", "--group", "z"), "cannot be guaranteed together with groups"),
    ],
)
def test_what_cannot_be_asked(tables, invoke, options, message):
    done = invoke(*PICK, *options)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
