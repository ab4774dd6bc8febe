"""Tables of the report: figures behind charts, definitions, and the list itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from ._figures import Figures
from ._html import Html, element, join
from ._words import DASH, count, plain

if TYPE_CHECKING:
    from ..picking.result import Shortlist

_ROWS = 20
_COLUMNS = 12
# What page.css leaves of them in print.
_PAPER_COLUMNS = 6
_CHARACTERS = 80
_UNBROKEN = 40


def data_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table that opens on demand."""
    return element(
        "details",
        element("summary", title),
        scrolling(_table(title, head, rows), title),
    )


def definitions(*pairs: tuple[str, Any]) -> Html:
    """Return a list of names and values."""
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", DASH if value is None else value))
            for name, value in pairs
        ),
    )


def scrolling(content: Html, label: str) -> Html:
    """Return a part that scrolls sideways on its own, also with the keyboard."""
    return element("div", content, class_="scroll", role="region", aria_label=label, tabindex=0)


def listed_rows(shortlist: Shortlist, rows: Any, fig: Figures) -> Html:
    """Return the first rows of the list as a table, and say what it leaves out."""
    names, cells = ([], None) if rows is None else _columns(rows, shortlist.k)
    shown = min(_ROWS, shortlist.k if cells is None else len(cells))
    body = []
    for place in range(shown):
        row = int(shortlist.selected[place])
        body.append(
            (
                f"{place + 1}",
                f"{row:,}",
                plain(float(shortlist.scores[row])),
                count(fig.at("hits", place + 1)),
                *(() if cells is None else cells[place][:_COLUMNS]),
            )
        )
    so_far = f"{shortlist.comparison.unit.capitalize()} so far"
    head = ("Rank", "Row", "Score", so_far, *names[:_COLUMNS])
    label = f"First {shown} of {shortlist.k:,}" if shown < shortlist.k else f"All {shown}"
    remark = f"Rows count from 0. “{so_far}” is what to expect from the top down to this row."
    if len(names) > _COLUMNS:
        remark += f" {len(names) - _COLUMNS:,} more columns are not shown."
    table = _table(f"{label}, best first", head, body, numbers=4)
    paper = f"On paper: {_PAPER_COLUMNS} of the {len(names)} columns."
    return join(
        scrolling(table, "The list"),
        element("p", remark, class_="note"),
        element("p", paper, class_="note paper") if len(names) > _PAPER_COLUMNS else None,
    )


def _table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int | None = None
) -> Html:
    """Return a table; the first cell of a row is its heading."""

    def class_(column: int, cell: str = "") -> str | None:
        if numbers is None or column < numbers:
            return "number"
        return "short" if len(cell) <= _UNBROKEN else "long"

    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell, class_=class_(j, cell)) for j, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    return element(
        "table",
        element("caption", caption),
        element(
            "thead",
            element(
                "tr",
                *(
                    element("th", name, scope="col", class_=class_(j, name) if j else None)
                    for j, name in enumerate(head)
                ),
            ),
        ),
        element("tbody", *body),
    )


def _columns(rows: Any, k: int) -> tuple[list[str], list[list[str]]]:
    """Return the names and the first rows of a pandas or polars frame, as text."""
    if not hasattr(rows, "columns"):
        raise TypeError(
            f"rows must be a pandas or polars frame of the selected rows, got "
            f"{type(rows).__name__}; pass candidates.iloc[shortlist.selected]."
        )
    if len(rows) > k:
        raise ValueError(
            f"rows holds {len(rows)} rows and the shortlist {k}; pass the selected rows only, "
            "best first: candidates.iloc[shortlist.selected]."
        )
    first = rows.head(_ROWS)
    values = first.iter_rows() if hasattr(first, "iter_rows") else first.to_numpy(dtype=object)
    return [str(name) for name in rows.columns], [[_cell(v) for v in row] for row in values]


def _cell(value: Any) -> str:
    if value is None or str(value) in ("NaT", "<NA>"):
        return DASH
    if isinstance(value, Real) and not isinstance(value, bool | Integral):
        return DASH if math.isnan(value) else f"{float(value):.6g}"
    text = str(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
