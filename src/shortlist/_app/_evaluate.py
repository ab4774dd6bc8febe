"""``shortlist evaluate``: how good a scored list was."""

from __future__ import annotations

from typing import Any

import click

from . import _options
from ._lists import print_json, warn


@click.command(no_args_is_help=True)
@click.argument("scored")
@_options.label
@_options.positive
@click.option(
    "--score", required=True, metavar="COLUMN", help="Column of scores, higher is better."
)
@_options.budget(True, "Length of the list to judge: 100, 0.05 or 5%.")
@_options.encoding
@_options.as_json
def evaluate(
    scored: str,
    label: str,
    positive: str | None,
    score: str,
    budget: int | float,
    encoding: str,
    as_json: bool,
) -> None:
    r"""Judge the first k rows of SCORED, now that the labels are known.

    Prints hits, precision and recall among the k rows with the highest scores, and the share
    of positives above every negative, each with a 95 % interval (Wilson's). Rows of equal
    score count by their mean over all orders.

    \b
    shortlist evaluate scored.csv --label fraud --score s -k 100
    """
    from .._files import spooled
    from ..metrics import interval
    from ..picking.history import check_budget
    from ._labels import read_labels, read_numbers
    from ._tables import Table

    with spooled(scored) as path:
        table = Table(path, "standard input" if scored == "-" else scored, encoding)
        table.check_columns([label], "named by --label")
        table.check_columns([score], "named by --score")
        rows = table.read([label, score])
    present, y, chosen = read_labels(rows[label], positive, table.name)
    if not present.all():
        warn(f"{(~present).sum():,} rows without a label are left out.")
    scores = read_numbers(rows[score][present], table.name)
    k = check_budget(budget, len(y))
    found = {
        name: interval(name, y, scores, method="wilson", **params)
        for name, params in (
            ("precision_at_k", {"k": k}),
            ("recall_at_k", {"k": k}),
            ("positives_at_top", {}),
        )
    }
    figures: dict[str, dict[str, Any]] = {
        name: {"estimate": value.estimate, "low": value.low, "high": value.high}
        for name, value in found.items()
    }
    precision = figures["precision_at_k"]
    hits = {key: value * k for key, value in precision.items()}
    if as_json:
        print_json(
            {
                "command": "evaluate",
                "k": k,
                "rows": len(y),
                "positives": int(y.sum()),
                "positive_label": chosen,
                "confidence": found["precision_at_k"].confidence,
                "hits": hits,
                **figures,
            }
        )
        return
    click.echo(f"{len(y):,} rows, {int(y.sum()):,} labelled {chosen!r}; list of {k:,}")
    lines = [
        (f"hits in the first {k:,}", hits, "{:.4g}"),
        ("precision", precision, "{:.1%}"),
        (f"recall, of all {chosen!r}", figures["recall_at_k"], "{:.1%}"),
        ("above every other row", figures["positives_at_top"], "{:.1%}"),
    ]
    width = max(len(name) for name, _, _ in lines)
    for name, value, style in lines:
        estimate, low, high = (style.format(value[key]) for key in ("estimate", "low", "high"))
        click.echo(f"  {name:<{width}}  {estimate:>7}   95 % interval {low} to {high}")
