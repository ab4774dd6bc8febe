"""``shortlist pick``: from two files and a number to a list."""

from __future__ import annotations

from typing import Any

import click

from . import _options


@click.command(no_args_is_help=True)
@click.argument("candidates")
@click.option(
    "--history", required=True, metavar="FILE", help="Rows whose outcome is known, with the label."
)
@_options.label
@_options.positive
@_options.budget(True, "Budget: how many rows you can handle; 100, 0.05 or 5%.")
@_options.output
@click.option("--report", metavar="FILE", help="A page (.html) that shows and defends the list.")
@click.option("--save", metavar="FILE", help="The model (.skops), for shortlist score.")
@_options.ids
@_options.drop
@click.option(
    "--group", metavar="COLUMN", help="Rows with the same value here are tested together."
)
@click.option(
    "--one-per", metavar="COLUMN", help="At most one row of the list for each value of this column."
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="When each row happened: models learn from the past and are tested on what came later.",
)
@click.option("--delay", metavar="TIME", help="With --time: until a label is known, such as 7d.")
@_options.types
@click.option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    help="How much is tried, and how often.",
)
@click.option(
    "--keep-known",
    is_flag=True,
    help="Keep candidates that are in the history, too; they are left out otherwise.",
)
@_options.encoding
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything random.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Processes; -1 for all cores.")
@_options.safe
@_options.force
@_options.as_json
def pick(candidates: str, history: str, **options: Any) -> None:
    """Choose the best rows of CANDIDATES, judging by a history.

    Compares models on the history at this budget by cross-validation, combines the best, and
    writes the chosen rows, best first: rank, row (counted from 0), score, ids, the columns of
    the file. Both files need the same columns, apart from the label; columns only CANDIDATES
    has are carried along.

    \b
    shortlist pick today.csv --history last-year.csv --label fraud -k 100 -o list.csv
    """  # noqa: D301
    from ._picking import Request, run_pick

    _options.check_streams((candidates, history), options["output"], options["as_json"])
    if options["output"] is None and not options["as_json"]:
        options["output"] = "-"
    run_pick(Request(candidates, history, **options))
