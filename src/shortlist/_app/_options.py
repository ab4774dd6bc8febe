"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class Budget(click.ParamType):
    """A number of rows, a fraction or a percentage."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Read ``100``, ``0.05`` or ``5%``."""
        if not isinstance(value, str):
            return value
        text = value.strip().replace("_", "")
        if text.isdecimal() and int(text) >= 1:
            return int(text)
        share = _share(text)
        if not 0.0 < share < 1.0:
            self.fail(
                f"{value!r} is no budget: give a count such as 100, or a share such as 0.05 or 5%.",
                param,
                ctx,
            )
        return share


class Share(click.ParamType):
    """A fraction or a percentage."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read ``0.05`` or ``5%``."""
        share = _share(value.strip()) if isinstance(value, str) else float(value)
        if not 0.0 < share < 1.0:
            self.fail(f"{value!r} is no share: give one such as 0.01 or 1%.", param, ctx)
        return share


def _share(text: str) -> float:
    """Read ``0.05`` or ``5%``; zero where it is neither."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return 0.0


def _option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    return click.option(*names, **settings)


label = _option(
    "--label", required=True, metavar="COLUMN", help="Column that says what each row was."
)
positive = _option(
    "--positive",
    metavar="VALUE",
    help="Label you look for. Needed unless the labels are 0/1, no/yes or false/true.",
)
output = _option(
    "-o",
    "--output",
    metavar="FILE",
    help="The list: .csv, .tsv (or .csv.gz), .parquet, .feather or .xlsx. Without it, CSV on "
    "standard output.",
)
ids = _option(
    "--id",
    "ids",
    multiple=True,
    metavar="COLUMN",
    help="Column that names a row: carried to the list, never learned from. May be repeated.",
)
drop = _option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    help="Column that must not be learned from. May be repeated.",
)
types = _option(
    "--type",
    "types",
    multiple=True,
    metavar="COLUMN=TYPE",
    help="What a column holds, where it is read wrongly: number, decimal-point, decimal-comma, "
    "date, day-first, month-first, category or text. May be repeated.",
)
safe = _option(
    "--spreadsheet-safe",
    "safe",
    is_flag=True,
    help="Put an apostrophe before text that a spreadsheet would run as a formula.",
)
encoding = _option(
    "--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of text files."
)
force = _option("--force", is_flag=True, help="Replace files that exist.")
as_json = _option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")


def budget(required: bool, text: str) -> Callable[[Any], Any]:
    """Return the option ``-k``."""
    return click.option("-k", "budget", type=Budget(), required=required, help=text)


def check_streams(inputs: tuple[str, ...], output: str | None, as_json: bool) -> None:
    """Refuse to read standard input twice, or to write two things to standard output."""
    if inputs.count("-") > 1:
        raise click.UsageError("only one file can be read from standard input.")
    if as_json and output == "-":
        raise click.UsageError("--json and -o - both write to standard output; name a file.")
