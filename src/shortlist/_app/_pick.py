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
@click.option("--label", metavar="COLUMN", help="Column that says what each row was.")
@click.option(
    "--outcome",
    metavar="COLUMN",
    help="Column with a number that says what each row brought, instead of a label: the list is "
    "then the one with the largest sum.",
)
@click.option(
    "--goal",
    type=click.Choice(["sum", "mean"]),
    default="sum",
    show_default=True,
    help="With --outcome: what is to be largest.",
)
@_options.positive
@_options.budget(False, "Budget: how many rows you can handle; 100, 0.05 or 5%.")
@click.option(
    "--precision",
    type=float,
    metavar="SHARE",
    help="Instead of -k: as many rows as keep this share of hits, guaranteed on average.",
)
@click.option(
    "--confidence",
    type=float,
    metavar="SHARE",
    help="With --precision: guaranteed for this very list, with this confidence.",
)
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
@click.option(
    "--only-new",
    is_flag=True,
    help="With --time and --group or --one-per: judge by groups that were not known before.",
)
@click.option(
    "--value", metavar="COLUMN|NUMBER", help="What a hit brings: the list is then worth most."
)
@click.option("--cost", metavar="COLUMN|NUMBER", help="What taking a row costs.")
@click.option(
    "--fill", is_flag=True, help="Fill the list with rows that cost more than they bring, too."
)
@click.option(
    "--at-most",
    multiple=True,
    metavar="COLUMN:VALUE=N",
    help="At most N rows of the list with this value. May be repeated.",
)
@click.option(
    "--at-least",
    multiple=True,
    metavar="COLUMN:VALUE=N",
    help="At least N rows of the list with this value. May be repeated.",
)
@click.option(
    "--at-most-each",
    multiple=True,
    metavar="COLUMN=N",
    help="At most N rows of the list for each value of this column. May be repeated.",
)
@click.option(
    "--clusters",
    type=int,
    metavar="N",
    help="Divide the candidates into N clusters of look-alikes, for --at-most-each cluster=2.",
)
@click.option(
    "--exclude",
    metavar="FILE",
    help="Rows that are handled already, by --id or --one-per: they are not taken.",
)
@click.option(
    "--base-rate",
    type=float,
    metavar="SHARE",
    help="Share of positives among the candidates, where the history was thinned.",
)
@_options.types
@click.option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    help="How much is tried, and how often.",
)
@click.option(
    "--reasons",
    type=click.IntRange(0, 20),
    default=3,
    show_default=True,
    help="Reasons for each row of the list; 0 for none.",
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
    writes the chosen rows, best first: rank, row (counted from 0), score, probability, ids,
    reasons, the columns of the file. Both files need the same columns, apart from the label;
    columns only CANDIDATES has are carried along.

    \b
    shortlist pick today.csv --history last-year.csv --label fraud -k 100 -o list.csv
    """  # noqa: D301
    from ._picking import Request, run_pick

    _options.check_streams((candidates, history), options["output"], options["as_json"])
    if options["output"] is None and not options["as_json"]:
        options["output"] = "-"
    if (options["label"] is None) == (options["outcome"] is None):
        raise click.UsageError(
            "name one column that says how rows turned out: --label or --outcome."
        )
    if (options["budget"] is None) == (options["precision"] is None):
        raise click.UsageError("say how many: -k 100, or --precision 0.8 for as many as stay good.")
    if options["confidence"] is not None and options["precision"] is None:
        raise click.UsageError("--confidence belongs to --precision; add it, or leave both out.")
    if options["outcome"] is not None and options["positive"] is not None:
        raise click.UsageError("--positive is a label; with --outcome leave it out.")
    run_pick(Request(candidates=candidates, history=history, **options))
