"""Finished cells of a long benchmark, one CSV line each, so that a rerun goes on where it ended.

Raw tables are compressed and lie in the folder ``raw`` of the results: pages are for readers,
these for reruns. Lines are added to a ``.gz`` file without reading it.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import IO, Any


def open_text(path: Path, mode: str) -> IO[str]:
    """Open a table for reading or adding, compressed where its name says so."""
    opened = gzip.open if path.suffix == ".gz" else open
    return opened(path, f"{mode}t", newline="", encoding="utf-8")  # type: ignore[return-value]


class Store:
    """A CSV file that only grows.

    Parameters
    ----------
    path : Path
        The file; made with its folder at the first :meth:`add`.
    keys : tuple of str
        Columns that name a cell.
    """

    def __init__(self, path: Path, keys: tuple[str, ...]) -> None:
        self.path = path
        self.keys = keys
        self.rows: list[dict[str, str]] = []
        if path.exists():
            with open_text(path, "r") as file:
                self.rows = list(csv.DictReader(file))
        self._done = {self._key(row) for row in self.rows}

    def _key(self, row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[key]) for key in self.keys)

    def has(self, **cell: Any) -> bool:
        return self._key(cell) in self._done

    def add(self, **row: Any) -> None:
        """Append a finished cell, on disk before it counts as done."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = {
            name: f"{value:.6g}" if isinstance(value, float) else str(value)
            for name, value in row.items()
        }
        new = not self.path.exists()
        with open_text(self.path, "a") as file:
            writer = csv.DictWriter(file, list(text))
            if new:
                writer.writeheader()
            writer.writerow(text)
        self.rows.append(text)
        self._done.add(self._key(text))
