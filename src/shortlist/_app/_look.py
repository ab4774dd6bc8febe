"""How the columns were read, as a table for people."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ._cells import printable
from ._lists import print_json

if TYPE_CHECKING:
    from ._columns import Column, Columns

_HEAD = ("column", "kind", "example", "missing", "different", "what was done")
# Lines that are shown where nobody has asked for the table.
SHORT = 40


def column_lines(columns: Columns, name: str, most: int | None = None) -> list[str]:
    """Return the table "How I read your columns", line by line.

    Parameters
    ----------
    columns : Columns
        How they were read.
    name : str
        The file.
    most : int, default=None
        Columns that are shown; None is all.
    """
    shown = columns.all if most is None else columns.all[:most]
    rows = columns.all[0].rows if columns.all else 0
    cells = [_HEAD, *(_cells(column) for column in shown)]
    widths = [max(_width(row[place]) for row in cells) for place in range(len(_HEAD) - 1)]
    lines = [f"How I read the columns of {name} ({rows:,} rows):"]
    for number, row in enumerate(cells):
        padded = [
            f"{' ' * (width - _width(cell))}{cell}"
            if place in (3, 4)
            else f"{cell}{' ' * (width - _width(cell))}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append(f"  {'  '.join(padded)}  {row[-1]}".rstrip())
        if number:
            lines += [f"  {'':{widths[0]}}  ! {note}" for note in shown[number - 1].notes]
    hidden = len(columns.all) - len(shown)
    if hidden:
        noted = [column for column in columns.all[len(shown) :] if column.notes]
        lines.append(f"  and {hidden:,} more; shortlist columns {name} shows all of them")
        lines += [
            f"  {printable(column.name, 32)}: {note}" for column in noted for note in column.notes
        ]
    return lines


def _cells(column: Column) -> tuple[str, ...]:
    return (
        printable(column.name, 32),
        column.kind,
        column.example,
        _share(column.missing + column.unreadable, column.rows),
        f"{column.distinct:,}",
        column.done,
    )


def _width(text: str) -> int:
    """Places that text takes on a terminal: two for a Chinese sign, none for an accent."""
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def _share(count: int, rows: int) -> str:
    """Return a share in per cent; "0 %" and "100 %" only where that is exact."""
    if not count:
        return "0 %"
    percent = 100.0 * count / rows
    if percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if count < rows else "100 %"


def column_records(columns: Columns) -> list[dict[str, Any]]:
    """Return the table for programs."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "used": column.used,
            "example": column.example,
            "rows": column.rows,
            "missing": column.missing,
            "unreadable": column.unreadable,
            "distinct": column.distinct,
            "done": column.done,
            "notes": column.notes,
        }
        for column in columns.all
    ]


def role_of(
    label: str | None, ids: Sequence[str], drop: Sequence[str], group: str | None
) -> dict[str, str]:
    """Columns that models do not learn from, and what they are."""
    roles = dict.fromkeys(drop, "dropped") | dict.fromkeys(ids, "id")
    if group is not None:
        roles[group] = "group"
    if label is not None:
        roles[label] = "label"
    return roles


def run_columns(
    file: str,
    label: str | None,
    ids: Sequence[str],
    drop: Sequence[str],
    types: Sequence[str],
    encoding: str,
    as_json: bool,
) -> None:
    """Do what ``shortlist columns`` says."""
    from .._files import spooled
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
        from ._hints import find_hints

        rows = table.read()
    found, typed = read_columns(
        rows, parse_types(types, rows.columns), role_of(label, ids, drop, None), table.decimal
    )
    hints = list(find_hints(rows, typed, found, None))
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
