"""``shortlist evaluate``: how good a scored list was."""

from __future__ import annotations

import math
from typing import Any

import click

from . import _options
from ._lists import print_json, warn


@click.command(no_args_is_help=True)
@click.argument("scored")
@_options.label
@_options.positive
@click.option(
    "--score",
    default="score",
    show_default=True,
    metavar="COLUMN",
    help="Column of scores, higher is better.",
)
@_options.budget(False, "Length of the list to judge: 100, 0.05 or 5%. Without it, all of it.")
@click.option("--truth", metavar="FILE", help="Table with the outcomes, if SCORED has none.")
@click.option(
    "--on",
    "keys",
    multiple=True,
    metavar="COLUMN",
    help="Column that names a row in both files. May be repeated.",
)
@click.option(
    "--against",
    metavar="FILE",
    help="Model (.skops) that made the list: says whether its promise was kept.",
)
@click.option(
    "--log",
    metavar="FILE",
    help="Ledger (.csv) to append the list to; with several lists it tells chance from decay.",
)
@_options.encoding
@_options.as_json
def evaluate(
    scored: str,
    label: str,
    positive: str | None,
    score: str,
    budget: int | float | None,
    truth: str | None,
    keys: tuple[str, ...],
    against: str | None,
    log: str | None,
    encoding: str,
    as_json: bool,
) -> None:
    """Judge the first k rows of SCORED, now that the labels are known.

    Prints hits, precision and recall among the k rows with the highest scores, and the share
    of positives above every negative, each with a 95 % interval (Wilson's). Rows of equal
    score count by their mean over all orders.

    \b
    shortlist evaluate scored.csv --label fraud -k 100
    shortlist evaluate list.csv --truth outcomes.csv --on payment_id --label fraud
    shortlist evaluate outcomes.csv --label fraud --against model.skops --log lists.csv
    """  # noqa: D301
    if (truth is None) != (not keys):
        raise click.UsageError("--truth FILE and --on COLUMN belong together.")
    if log is not None and against is None:
        raise click.UsageError("--log FILE needs --against MODEL: a ledger holds promises.")
    if log is not None and not log.lower().endswith(".csv"):
        raise click.UsageError(f"--log {log} must end in .csv.")
    _options.check_streams((scored, truth or ""), None, as_json)

    from ._judging import read_scored

    saved = None
    if against is not None:
        from ._keeping import load_promise

        saved = load_promise(against)
        positive = saved.positive if positive is None else positive
    y, scores, listed, chosen, notes = read_scored(
        scored,
        truth,
        keys,
        label=label,
        positive=positive,
        score=score,
        encoding=encoding,
        # Which label is looked for is known: a list may be all hits, or none.
        alone=saved is not None,
    )
    from ..metrics import interval
    from ..picking.history import check_budget

    for note in notes:
        warn(note)
    k = check_budget(listed if budget is None else budget, listed)
    found = {
        name: interval(name, y, scores, method="wilson", **params)
        for name, params in (
            ("precision_at_k", {"k": k}),
            ("recall_at_k", {"k": k}),
            ("positives_at_top", {}),
        )
        if name == "precision_at_k" or 0 < y.sum() < len(y)
    }
    figures: dict[str, dict[str, Any]] = {
        name: {"estimate": value.estimate, "low": value.low, "high": value.high}
        for name, value in found.items()
    }
    precision = figures["precision_at_k"]
    hits = {key: value * k for key, value in precision.items()}
    kept: dict[str, Any] = {}
    said: list[str] = []
    if against is not None and saved is not None:
        from ._keeping import keep_promise

        found_hits = hits["estimate"]
        kept, said = keep_promise(scored, against, saved, log, found_hits, k, listed, label, chosen)
    if as_json:
        print_json(
            {
                "command": "evaluate",
                "k": k,
                "rows": len(y),
                "positives": int(y.sum()),
                "positive_label": chosen,
                "confidence": found["precision_at_k"].confidence,
                "warnings": notes,
                "hits": hits,
                **figures,
                **kept,
            }
        )
        return
    click.echo(f"{len(y):,} rows, {int(y.sum()):,} labelled {chosen!r}; list of {k:,}")
    lines: list[tuple[str, dict[str, Any], str | None]] = [
        (f"hits in the first {k:,}", hits, None),
        ("precision", precision, "{:.1f} %"),
        (f"recall, of all {chosen!r}", figures.get("recall_at_k", {}), "{:.1f} %"),
        ("above every other row", figures.get("positives_at_top", {}), "{:.1f} %"),
    ]
    lines = [line for line in lines if line[1]]
    width = max(len(name) for name, _, _ in lines)
    for name, value, style in lines:
        estimate, low, high = (
            _count(value[key], key) if style is None else style.format(100 * value[key])
            for key in ("estimate", "low", "high")
        )
        click.echo(f"  {name:<{width}}  {estimate:>7}   95 % interval {low} to {high}")
    for line in said:
        click.echo(line)


def _count(hits: float, key: str) -> str:
    """Hits: whole where they are whole, one decimal where ties share them; ends rounded out."""
    ends = {"low": math.floor, "high": math.ceil}
    whole = ends.get(key, round)(round(hits, 9))
    return f"{whole:,}" if key in ends or abs(hits - whole) < 1e-9 else f"{hits:,.1f}"
