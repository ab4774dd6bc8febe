"""The commands and what can be said to them; their work is in files of its own.

Imports nothing heavy: ``--help`` is there at once, and so is what is wrong with the words.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from . import _options
from ._group import app

__all__ = ["app"]


@app.command(no_args_is_help=True)
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
    type=_options.Share(),
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
    from ._picking import run_pick
    from ._terms import Request

    run_pick(Request(candidates=candidates, history=history, **options))


@app.command(no_args_is_help=True)
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
    _options.check_streams((candidates,), options["output"], options["as_json"])
    from ._scoring import run_score

    run_score(candidates, **options)


@app.command(no_args_is_help=True)
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

    from ._judging import run_evaluate

    run_evaluate(
        scored,
        label=label,
        positive=positive,
        score=score,
        budget=budget,
        truth=truth,
        keys=keys,
        against=against,
        log=log,
        encoding=encoding,
        as_json=as_json,
    )


@app.command(no_args_is_help=True)
@click.argument("file")
@click.option("--label", metavar="COLUMN", help="Column that says what each row was.")
@_options.ids
@_options.drop
@_options.types
@_options.encoding
@_options.as_json
def columns(
    file: str,
    label: str | None,
    ids: tuple[str, ...],
    drop: tuple[str, ...],
    types: tuple[str, ...],
    encoding: str,
    as_json: bool,
) -> None:
    """Show how the columns of FILE are read.

    Numbers, dates, categories or text, with an example. Only looks: shortlist pick reads the
    history in the same way, and the candidates like the history.

    \b
    shortlist columns history.csv --type zip=category
    """  # noqa: D301
    from ._look import run_columns

    run_columns(file, label, ids, drop, types, encoding, as_json)


@app.command(no_args_is_help=True)
@click.argument("model")
@click.option("-o", "--output", required=True, metavar="FILE", help="The ONNX file, .onnx.")
@click.option(
    "--single",
    is_flag=True,
    help="Numbers, but not dates, go in and scores come out in single precision.",
)
@_options.force
def export(model: str, output: str, single: bool, force: bool) -> None:
    """Write MODEL, from shortlist pick --save, as ONNX.

    The file runs without Python, wherever ONNX runs. Its inputs are the columns the model
    has learned from, each of shape (rows, 1): numbers, with "nan" where one is missing; dates
    as seconds since 1970; categories and text, empty where one is missing. Its outputs are the
    scores, higher is better, and the label, 1 for the rows above the cut of the budget; for a
    numeric outcome only the scores, which are the outcomes to expect. A file with free text
    needs ONNX Runtime: the standard has no operator that takes words apart.

    \b
    shortlist export model.skops -o model.onnx
    """  # noqa: D301
    from .._files import Outputs
    from ._tables import check_model

    if Path(output).suffix.lower() != ".onnx":
        raise click.UsageError(f"-o {output}: a file of this kind ends in .onnx.")
    outputs = Outputs(output, force=force)
    check_model(model)
    try:
        from ._exporting import write_model
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'{error.name} is not installed; install it with: pip install "shortlist[app,onnx]"'
        ) from None
    from ._model_file import load_model

    saved = load_model(Path(model))
    written, kinds, made = write_model(saved, "float32" if single else "float64")
    with outputs:
        outputs[output].write_bytes(written)
    counts = Counter(kinds.values())
    told = ", ".join(f"{count} of kind {kind}" for kind, count in sorted(counts.items()))
    click.echo(
        f"{saved.winner} is in {output}. Inputs are {len(kinds)} columns, "
        f"{told}; {'outputs are' if len(made) > 1 else 'the output is'} {' and '.join(made)}."
    )


@app.command()
@click.option(
    "-k", "budget", type=click.IntRange(1, 300), default=30, show_default=True, help="Budget."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Splits the loans.")
@_options.force
def demo(budget: int, seed: int, force: bool) -> None:
    """Find bad loans in bundled real data; takes less than a minute.

    Learns from 700 loans whose outcome is known, chooses among 300 others those to look at,
    and leaves shortlist.csv and report.html in the current folder.
    """
    from ._demonstration import run_demo

    run_demo(budget, seed, force)
