"""``shortlist columns``: a look at a file, and nothing else."""

from __future__ import annotations

import click

from . import _options
from ._lists import print_json


@click.command(no_args_is_help=True)
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
    """Show how the columns of FILE are read: numbers, dates, categories, text.

    Only looks. shortlist pick reads the history in the same way, and the candidates like the
    history.

    \b
    shortlist columns history.csv --type zip=category
    """  # noqa: D301
    from .._files import spooled
    from ._cells import printable
    from ._look import column_lines, column_records, role_of
    from ._tables import Table, TableError

    with spooled(file) as path:
        table = Table(path, "standard input" if file == "-" else file, encoding)
        named = [text.rpartition("=")[0] for text in types]
        for wanted, option in (
            ([] if label is None else [label], "--label"),
            (ids, "--id"),
            (drop, "--drop"),
            ([name for name in named if name], "--type"),
        ):
            table.check_columns(wanted, f"named by {option}")
        if not table.n_rows:
            raise TableError(f"{table.name} has a line of names and no rows.")

        from ._deciding import parse_types, read_columns
        from ._hints import find_hints, pick_options

        rows = table.read()
    found, typed = read_columns(
        rows, parse_types(types, rows.columns), role_of(label, ids, drop, None), table.decimal
    )
    hints = list(find_hints(rows, typed, found, None, pick_options()))
    if as_json:
        print_json(
            {"command": "columns", "rows": len(rows), "columns": column_records(found),
             "hints": hints, "warnings": table.notes}
        )  # fmt: skip
        return
    for line in [*table.notes, *column_lines(found, printable(table.name, 200))]:
        click.echo(line)
    for hint in hints:
        click.echo(f"Hint: {hint}")
