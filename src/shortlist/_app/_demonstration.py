"""The work of ``shortlist demo``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from .._files import free_names
from .._written import percent
from ..datasets import load_credit
from ..picking.race.models import Task, default_features
from ._picking import run_pick
from ._terms import Request

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
        f"{len(past)} loans whose outcome is known, {percent(bad[past].mean())} of them bad. "
        f"{len(now)} others: which {budget} should be looked at?\n"
    )
    with tempfile.TemporaryDirectory(prefix="shortlist-") as folder:
        history, candidates = Path(folder, "history.csv"), Path(folder, "candidates.csv")
        outcome = np.where(bad, "bad", "good")
        loans.assign(outcome=outcome).iloc[past].to_csv(history, index=False)
        loans.iloc[now].to_csv(candidates, index=False)
        result = run_pick(
            Request(
                candidates=str(candidates),
                history=str(history),
                label="outcome",
                positive="bad",
                budget=budget,
                output=output,
                report=report,
                ids=["loan"],
                seed=seed,
                force=force,
                names=("the loans to choose from", "the loans of the past"),
                title=f"{budget} of {len(now)} loans to look at",
            )
        )
    hits = int(bad[now][result.selected].sum())
    expected = result.expected
    click.echo(
        f"\nThe outcome of these loans is known, too: {hits} of the {budget} were bad"
        f"{compared(hits, expected.low, expected.high, expected.confidence)} "
        f"{against(hits, _logistic_hits(loans, bad, past, now, budget))} "
        f"A blind choice would have found {budget * bad[now].mean():.0f}.\n"
        f"On files of your own:\n"
        f"  shortlist pick candidates.csv --history history.csv --label outcome --positive bad "
        f"-k {budget} --id loan -o {output} --report {report}"
    )


def _logistic_hits(
    loans: Any, bad: np.ndarray, past: np.ndarray, now: np.ndarray, budget: int
) -> int:
    """Hits of the list that plain logistic regression would have made."""
    table = loans.drop(columns="loan")
    task = Task(budget / len(now), len(past), False, None, "quick", 0)
    plain = task.scaled(LogisticRegression(max_iter=1000))
    plain = make_pipeline(default_features(table), plain).fit(table.iloc[past], bad[past])
    order = np.argsort(-plain.decision_function(table.iloc[now]), kind="stable")
    return int(bad[now][order[:budget]].sum())


def against(hits: int, yardstick: int) -> str:
    """Say how a count of hits compares with that of logistic regression.

    Examples
    --------
    >>> from shortlist._app._demonstration import against
    >>> against(20, 16)
    "Logistic regression's list holds 16."
    >>> against(16, 17)
    "Logistic regression's list holds 17: on one short list luck decides, see the ± above."
    """
    text = f"Logistic regression's list holds {yardstick}"
    if hits > yardstick:
        return f"{text}."
    return f"{text}: on one short list luck decides, see the ± above."


def compared(hits: int, low: float, high: float, confidence: float) -> str:
    """Say how a count of hits compares with what was promised.

    Examples
    --------
    >>> from shortlist._app._demonstration import compared
    >>> compared(16, 17.2, 26.8, 0.9)
    ', just below the 17 to 27 that were promised: one list in ten is outside.'
    >>> compared(20, 17.2, 26.8, 0.9)
    ', within the 17 to 27 that were promised.'
    """
    lowest, highest = round(low), round(high)
    promised = f"the {lowest} to {highest} that were promised"
    if lowest <= hits <= highest:
        return f", within {promised}."
    far = lowest - hits if hits < lowest else hits - highest
    side = "below" if hits < lowest else "above"
    just = "just " if far <= max(1, (highest - lowest) // 4) else ""
    every = round(1.0 / (1.0 - confidence))
    often = {10: "one list in ten", 20: "one list in twenty"}.get(every, f"one list in {every}")
    return f", {just}{side} {promised}: {often} is outside."
