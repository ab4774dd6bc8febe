"""The list on the page: which columns are shown, its cells, and the reasons of each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .._written import amount
from ..picking.reasons.reasons import cell_text
from ._words import DASH, percent

if TYPE_CHECKING:
    from ..picking.reasons.reasons import Reasons
    from ..picking.result import Shortlist

# Columns beside those that name a row; the others come with the reasons.
_SHOWN = 4
_CHARACTERS = 80
_REASONS = 5
_DOWNLOADED = 500
_GAP = {"text": DASH, "raw": None}


def listed(
    shortlist: Shortlist, rows: Any, reasons: Reasons | None, ids: Sequence[str]
) -> dict[str, Any]:
    """Return everything the page says about the rows of the list.

    Parameters
    ----------
    shortlist : Shortlist
        The list.
    rows : frame or None
        The selected rows, best first.
    reasons : Reasons or None
        Why they are on it; of the first of them, where it is long.
    ids : sequence of str
        Columns that name a row.
    """
    names, cells = ([], []) if rows is None else _cells(rows, len(shortlist.selected))
    matter = [] if reasons is None else importance(reasons)
    places = _places(names, ids, [entry["column"] for entry in matter])
    # Numeric outcomes have no chances: what is expected stands in their place.
    counted = shortlist.probability is not None
    chance = shortlist.probability if counted else shortlist.gain
    assert chance is not None
    valued = counted and shortlist.plan.terms.valued
    worth = shortlist.gain if valued else None
    strongest = 0.0 if reasons is None else float(np.abs(reasons.value).max(initial=0.0))
    body = []
    for place, row in enumerate(shortlist.selected.tolist()):
        own = cells[place] if place < len(cells) else len(names) * [_GAP]
        why = (
            [] if reasons is None or place >= len(reasons.rows) else _why(reasons, place, strongest)
        )
        body.append(
            {
                "rank": place + 1,
                "row": row,
                "chance": _chance(float(chance[row])) if counted else f"{chance[row]:,.4g}",
                "bar": f"{100 * float(chance[row]):.1f}%" if counted else None,
                "worth": None if worth is None else amount(float(worth[row])),
                "cells": [own[j]["text"] for j in places],
                "why": why,
            }
        )
    return {
        "names": [names[j] for j in places],
        "ids": sum(names[j] in set(ids) for j in places),
        "numbers": [_all_numbers(cells, j) for j in places],
        "rows": body,
        "matter": matter,
        "counted": counted,
        "valued": valued,
        "hidden": len(names) - len(places),
        "explained": 0 if reasons is None else len(reasons.rows),
        "data": _data(shortlist, counted, chance, names, cells, places, reasons),
    }


def _chance(share: float) -> str:
    """Write a probability; what is not certain is not called so."""
    return "> 99 %" if 0.995 <= share < 1.0 else percent(share)


def importance(reasons: Reasons) -> list[dict[str, Any]]:
    """Return the columns that move the scores of the list most, on average, in shares."""
    size = np.abs(reasons.value).mean(axis=0)
    total = float(size.sum())
    order = np.argsort(-size, kind="stable")[:8]
    if not total > 0:
        return []
    largest = float(size[order[0]])
    return [
        {
            "column": str(reasons.columns[j]),
            "share": percent(float(size[j]) / total),
            "bar": f"{100 * float(size[j]) / largest:.1f}%",
        }
        for j in order
        if size[j] > 0
    ]


def _places(names: list[str], ids: Sequence[str], matter: list[str]) -> list[int]:
    """Choose the columns to show: names of rows, then those that matter, then the first."""
    first = [j for j, name in enumerate(names) if name in set(ids)]
    known = {name: j for j, name in reversed(list(enumerate(names)))}
    rest = [known[name] for name in matter if name in known]
    rest += [j for j in range(len(names)) if j not in rest]
    chosen = [j for j in dict.fromkeys(rest) if j not in first]
    return first + chosen[:_SHOWN]


def _why(reasons: Reasons, place: int, strongest: float) -> list[dict[str, Any]]:
    found = []
    for j in reasons.strongest(place, _REASONS):
        value = float(reasons.value[place, j])
        size = f"{abs(value):.{2 if abs(value) < 0.995 else 1}f}"
        usual = cell_text(reasons.usual[j])
        shown = cell_text(reasons.cells[j][place])
        width = 50 * abs(value) / strongest
        found.append(
            {
                "column": str(reasons.columns[j]),
                "cell": "missing" if shown is None else shown,
                "usual": None if usual == shown else usual,
                "value": f"{'−' if value < 0 else '+'}{size}",
                "sign": "down" if value < 0 else "up",
                "x": f"{50 - width if value < 0 else 50:.1f}%",
                "width": f"{width:.1f}%",
            }
        )
    return found


def _all_numbers(cells: list[list[dict[str, Any]]], j: int) -> bool:
    values = [row[j]["raw"] for row in cells if row[j]["raw"] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _cells(rows: Any, k: int) -> tuple[list[str], list[list[dict[str, Any]]]]:
    """Return the names and the rows of a pandas or polars frame, as text and as plain values."""
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
    values = rows.iter_rows() if hasattr(rows, "iter_rows") else rows.to_numpy(dtype=object)
    return [str(name) for name in rows.columns], [[_cell(v) for v in row] for row in values]


def _cell(value: Any) -> dict[str, Any]:
    if value is None or str(value) in ("NaT", "<NA>"):
        return _GAP
    if isinstance(value, bool | np.bool_):
        return {"text": str(value), "raw": str(value)}
    if isinstance(value, Real):
        if isinstance(value, Integral):
            return {"text": f"{int(value):,}" if abs(int(value)) >= 10_000 else str(int(value)),
                    "raw": int(value)}  # fmt: skip
        number = float(value)
        if math.isnan(number):
            return _GAP
        return {"text": f"{number:.6g}", "raw": number if math.isfinite(number) else str(number)}
    text = str(value)
    if text.endswith(" 00:00:00"):
        text = text.removesuffix(" 00:00:00")
    short = text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
    return {"text": short, "raw": text}


def _data(
    shortlist: Shortlist,
    counted: bool,
    chance: np.ndarray,
    names: list[str],
    cells: list[list[dict[str, Any]]],
    places: list[int],
    reasons: Reasons | None,
) -> dict[str, Any]:
    """Return the list for the script: to sort, to search, to unfold and to download."""
    told = [] if reasons is None else reasons.texts(3)
    number = max(map(len, told), default=0)
    return {
        "names": ["rank", "row", "score", "probability" if counted else "expected", *names],
        "shown": places,
        "reasons": [f"reason_{j + 1}" for j in range(number)],
        "why": told,
        "rows": [
            [
                place + 1,
                row,
                float(f"{shortlist.scores[row]:.6g}"),
                float(f"{chance[row]:.4g}"),
                *(_raw(cell["raw"]) for cell in (cells[place] if place < len(cells) else [])),
            ]
            for place, row in enumerate(shortlist.selected.tolist())
        ],
    }


def _raw(value: Any) -> Any:
    return value[:_DOWNLOADED] if isinstance(value, str) else value
