"""The list that the commands write: rank, row, score, ids, then the other columns."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ._tables import Table

OWN = ("rank", "row", "score")


def list_blocks(
    table: Table, selected: np.ndarray, scores: np.ndarray, ids: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """Yield the chosen rows, best first, a bounded number at a time."""
    import numpy as np
    import pandas as pd

    order = [*ids, *(name for name in table.columns if name not in set(ids))]
    names = {name: f"{name} (input)" for name in OWN if name in order}
    if not len(selected):
        yield pd.DataFrame(columns=[*OWN, *(names.get(name, name) for name in order)])
        return
    done = 0
    for block in table.take(selected):
        rows = selected[done : done + len(block)]
        block = block[order].rename(columns=names)
        block.insert(0, "score", scores[rows])
        block.insert(0, "row", rows)
        block.insert(0, "rank", np.arange(done + 1, done + 1 + len(block)))
        done += len(block)
        yield block


def first_rows(blocks: Iterator[pd.DataFrame], store: list[Any]) -> Iterator[pd.DataFrame]:
    """Pass blocks on and keep the first rows of the first one in `store`."""
    for number, block in enumerate(blocks):
        if number == 0:
            store.append(block.head(20))
        yield block


def entries(
    table: Table, selected: np.ndarray, scores: np.ndarray, ids: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the list for a machine: rank, row, score and ids of each row."""
    keep = [*OWN, *(f"{name} (input)" if name in OWN else name for name in ids)]
    return [
        record
        for block in list_blocks(table, selected, scores, ids)
        for record in block[keep].to_dict("records")
    ]


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(plain(content), ensure_ascii=False, indent=2))


def plain(value: Any) -> Any:
    """Values that JSON knows; a number without a value is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def warn(message: str) -> None:
    """Say something the user should look at."""
    click.secho(f"Warning: {message}", fg="yellow", err=True)
