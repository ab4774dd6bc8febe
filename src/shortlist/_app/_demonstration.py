"""The work of ``shortlist demo``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np

from .._files import free_names
from ..datasets import load_credit
from ._picking import run_pick

_HISTORY = 700


def run_demo(budget: int, seed: int, force: bool) -> None:
    """Split the bundled loans into a history and candidates, and pick."""
    loans, bad = load_credit()
    order = np.random.default_rng(seed).permutation(len(loans))
    past, now = order[:_HISTORY], order[_HISTORY:]
    loans.insert(0, "loan", [f"L{number:04d}" for number in range(len(loans))])
    names = ["shortlist.csv", "report.html"]
    output, report = names if force else free_names(*names)
    click.echo(
        f"{len(past)} loans whose outcome is known, {bad[past].mean():.0%} of them bad. "
        f"{len(now)} others: which {budget} should be looked at?\n"
    )
    with tempfile.TemporaryDirectory(prefix="shortlist-") as folder:
        history, candidates = Path(folder, "history.csv"), Path(folder, "candidates.csv")
        outcome = np.where(bad, "bad", "good")
        loans.assign(outcome=outcome).iloc[past].to_csv(history, index=False)
        loans.iloc[now].to_csv(candidates, index=False)
        result = run_pick(
            str(candidates),
            str(history),
            label="outcome",
            positive="bad",
            budget=budget,
            output=output,
            report=report,
            ids=["loan"],
            seed=seed,
            force=force,
            title=f"{budget} of {len(now)} loans to look at",
        )
    hits = int(bad[now][result.selected].sum())
    click.echo(
        f"\nThe outcome of these loans is known, too: {hits} of the {budget} were bad; "
        f"a blind choice would have found {budget * bad[now].mean():.0f}.\n"
        f"On files of your own:\n"
        f"  shortlist pick candidates.csv --history history.csv --label outcome --positive bad "
        f"-k {budget} --id loan -o {output} --report {report}"
    )
