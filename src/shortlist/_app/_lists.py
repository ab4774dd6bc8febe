"""The list that the commands write: rank, row, score, ids, reasons, then the other columns."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ._tables import Table

OWN = ("rank", "row", "score", "probability")


@dataclass(frozen=True)
class Listed:
    """The chosen rows, best first, and what is known about them.

    Attributes
    ----------
    rows : ndarray of int
        Rows of the file.
    score : ndarray
        Their scores.
    probability : ndarray or None
        Their probabilities to be positive.
    reasons : list of list of str
        Why they are on the list; of the first of them, where it is long.
    ids : sequence of str
        Columns that name a row.
    """

    rows: np.ndarray
    score: np.ndarray
    probability: np.ndarray | None = None
    reasons: list[list[str]] = field(default_factory=list)
    ids: Sequence[str] = ()

    def blocks(self, table: Table) -> Iterator[pd.DataFrame]:
        """Yield rank, row, score, probability, ids, reasons and all columns, in parts."""
        import numpy as np
        import pandas as pd

        number = max(map(len, self.reasons), default=0)
        why = [f"reason_{place + 1}" for place in range(number)]
        order = [*self.ids, *(name for name in table.columns if name not in set(self.ids))]
        own = [*(OWN if self.probability is not None else OWN[:3]), *why]
        names = {name: f"{name} (input)" for name in own if name in order}
        if not len(self.rows):
            yield pd.DataFrame(columns=[*own, *(names.get(name, name) for name in order)])
            return
        done = 0
        for block in table.take(self.rows):
            some = slice(done, done + len(block))
            block = block[order].rename(columns=names)
            for place, name in enumerate(why):
                texts = [
                    reasons[place] if place < len(reasons) else None
                    for reasons in self.reasons[some]
                ]
                texts += [None] * (len(block) - len(texts))
                block.insert(len(self.ids) + place, name, texts)
            if self.probability is not None:
                block.insert(0, "probability", self.probability[some])
            block.insert(0, "score", self.score[some])
            block.insert(0, "row", self.rows[some])
            block.insert(0, "rank", np.arange(done + 1, done + 1 + len(block)))
            done += len(block)
            yield block

    def entries(self, table: Table) -> list[dict[str, Any]]:
        """Return the list for a machine: rank, row, score, probability, ids and reasons."""
        own = OWN if self.probability is not None else OWN[:3]
        keep = [*own, *(f"{name} (input)" if name in own else name for name in self.ids)]
        found = [
            record for block in self.blocks(table) for record in block[keep].to_dict("records")
        ]
        for record, reasons in zip(found, self.reasons, strict=False):
            record["reasons"] = reasons
        return found


def first_rows(
    blocks: Iterator[pd.DataFrame], store: list[Any], most: int
) -> Iterator[pd.DataFrame]:
    """Pass blocks on and keep the first rows of them in `store`."""
    left = most
    for block in blocks:
        if left > 0:
            store.append(block.head(left))
            left -= len(store[-1])
        yield block


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
