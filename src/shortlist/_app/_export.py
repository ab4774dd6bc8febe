"""``shortlist export``: a saved model as ONNX."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from . import _options


@click.command(no_args_is_help=True)
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
    as seconds since 1970; categories as text, empty where one is missing. Its outputs are the
    scores, higher is better, and the label, 1 for the rows above the cut of the budget; for a
    numeric outcome only the scores, which are the outcomes to expect. Columns of free text
    cannot be exported: ONNX does not take words apart.

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
