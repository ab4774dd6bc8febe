"""``shortlist score``: a saved model on other rows."""

from __future__ import annotations

from typing import Any

import click

from . import _options


@click.command(no_args_is_help=True)
@click.argument("candidates")
@click.option("--model", required=True, metavar="FILE", help="From shortlist pick --save.")
@_options.budget(False, "How many rows to keep: 100, 0.05 or 5%. Without it, all, best first.")
@_options.output
@_options.ids
@_options.encoding
@_options.safe
@_options.force
@_options.as_json
def score(candidates: str, **options: Any) -> None:
    """Rank the rows of CANDIDATES with a saved model.

    The file must have the columns that the model has learned from. Loading a model runs no
    code of the file; one with unknown parts is refused.

    \b
    shortlist score more.csv --model model.skops -k 50 -o list.csv
    """  # noqa: D301
    from ._scoring import run_score

    _options.check_streams((candidates,), options["output"], options["as_json"])
    run_score(candidates, **options)
