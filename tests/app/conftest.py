"""Small real files: the bundled loans, split into a history and candidates."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from shortlist._app import app
from shortlist.datasets import load_credit

COMMAND = str(Path(sys.executable).with_name("shortlist"))


@pytest.fixture(scope="session")
def loans():
    """Rows with ids, and whether they went bad; a few columns keep the fits short."""
    X, y = load_credit()
    X = X[["checking account", "months", "purpose", "amount", "savings", "age"]].copy()
    X.insert(0, "loan", [f"{number:05d}" for number in range(len(X))])
    order = np.random.default_rng(1).permutation(len(X))[:240]
    return X.iloc[order].reset_index(drop=True), y[order]


@pytest.fixture
def files(loans, tmp_path, monkeypatch):
    """history.csv with 160 labelled rows, candidates.csv with 80 others."""
    X, y = loans
    X.assign(outcome=np.where(y, "bad", "good")).iloc[:160].to_csv(
        tmp_path / "history.csv", index=False
    )
    X.iloc[160:].to_csv(tmp_path / "candidates.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke():
    """Run a command in this process."""

    def run(*arguments, **settings):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)

    return run


@pytest.fixture
def run():
    """Run the installed command in a process of its own."""

    def run(*arguments, command=(COMMAND,), **settings):
        return subprocess.run(
            [*command, *map(str, arguments)],
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            **settings,
        )

    return run
