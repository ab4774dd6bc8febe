"""``shortlist evaluate --against --log``: the promise, the ledger and what it says."""

import csv
import functools
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from shortlist import picking
from shortlist._app import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model made from a small history, and outcomes of its list."""
    root = tmp_path_factory.mktemp("ledger")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": np.arange(500), "a": rng.normal(size=500), "b": rng.normal(size=500)}
    )
    frame["hit"] = np.where(
        rng.random(500) < 0.15 + 0.5 / (1 + np.exp(-2 * frame["a"])), "yes", "no"
    )
    frame[:300].to_csv(root / "history.csv", index=False)
    frame[300:].drop(columns="hit").to_csv(root / "candidates.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        # What is judged here is the promise; a short race makes a small file.
        short = functools.partial(picking.pick, models=["PatMat"], cv=3, repeats=1)
        patch.setattr(picking, "pick", short)
        run(
            root,
            "pick candidates.csv --history history.csv --label hit -k 20 --id id -o list.csv "
            "--save model.skops --reasons 2",
        )
    listed = pd.read_csv(root / "list.csv")
    listed.merge(frame[["id", "hit"]], on="id").to_csv(root / "outcomes.csv", index=False)
    frame[["id", "hit"]].to_csv(root / "truth.csv", index=False)
    return root


def run(root, line, code=0):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        result = CliRunner().invoke(app, line.split())
    assert result.exit_code == code, result.output
    return result.output


def outcomes(folder, hits, name):
    listed = pd.read_csv(folder / "list.csv")
    label = np.where(np.arange(20) < hits, "yes", "no")
    listed.assign(hit=label, note=name).to_csv(folder / name, index=False)
    return name


def test_the_list_has_chances_and_reasons(folder):
    listed = pd.read_csv(folder / "list.csv")
    assert list(listed.columns) == [
        "rank", "row", "score", "probability", "id", "reason_1", "reason_2", "a", "b"
    ]  # fmt: skip
    assert listed["probability"].between(0, 1).all()
    assert listed["reason_1"].str.contains(r"[ab] \S+ .*[+-]\d").all()


def test_promised_and_found(folder):
    said = run(folder, "evaluate outcomes.csv --label hit --against model.skops")
    line = said.splitlines()[-1]
    assert line.startswith("promised ")
    assert ", found " in line
    assert ": inside, p = " in line
    found = json.loads(
        run(folder, "evaluate outcomes.csv --label hit --against model.skops --json")
    )
    promise = found["promise"]
    assert promise["low"] <= promise["promised"] <= promise["high"]
    assert promise["found"] == found["hits"]["estimate"]
    chance = pd.read_csv(folder / "list.csv")["probability"].sum()
    assert promise["promised"] == pytest.approx(chance, abs=0.01)


def test_outcomes_in_another_file(folder):
    here = run(folder, "evaluate outcomes.csv --label hit --against model.skops").splitlines()[-1]
    there = run(
        folder, "evaluate list.csv --truth truth.csv --on id --label hit --against model.skops"
    ).splitlines()[-1]
    assert here == there


def test_the_ledger_grows_and_notices_decay(folder, tmp_path):
    log = tmp_path / "lists.csv"
    call = f"evaluate {{}} --label hit --against model.skops --log {log}"
    said = run(folder, call.format("outcomes.csv"))
    assert "The first list of this ledger" in said
    again = run(folder, call.format("outcomes.csv"))
    assert "already" in again
    with log.open() as file:
        assert len(list(csv.DictReader(file))) == 1
    for number in range(4):
        said = run(folder, call.format(outcomes(folder, 3, f"week{number}.csv")))
    assert "5 lists so far" in said
    assert "decay, not chance" in said
    assert "outside, p " in said
    values = json.loads(run(folder, call.format(outcomes(folder, 3, "week9.csv")) + " --json"))
    assert values["ledger"]["noticed"] <= 5
    assert values["ledger"]["lists"] == 6


@pytest.mark.parametrize("hits", [0, 20])
def test_a_list_of_one_class_is_judged(folder, hits):
    name = outcomes(folder, hits, f"only{hits}.csv")
    said = run(folder, f"evaluate {name} --label hit --against model.skops")
    assert f"found {hits}:" in said
    assert "recall" not in said


def test_errors_name_the_remedy(folder, tmp_path):
    assert "--log FILE needs --against" in run(
        folder, "evaluate outcomes.csv --label hit --log lists.csv", code=2
    )
    assert "must end in .csv" in run(
        folder, "evaluate outcomes.csv --label hit --against model.skops --log lists.txt", code=2
    )
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    said = run(
        folder, f"evaluate outcomes.csv --label hit --against model.skops --log {other}", code=1
    )
    assert "is no ledger of shortlist" in said
    assert other.read_text() == "a,b\n1,2\n"
    broken = tmp_path / "broken.csv"
    call = f"evaluate outcomes.csv --label hit --against model.skops --log {broken}"
    run(folder, call)
    broken.write_text(broken.read_text().replace(",20,", ",many,"))
    assert "line 2 cannot be read" in run(folder, call, code=1)
