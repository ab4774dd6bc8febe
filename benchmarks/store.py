"""Finished cells of a long benchmark, one CSV line each, so that a rerun goes on where it ended."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


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
            with path.open(newline="", encoding="utf-8") as file:
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
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(text))
            if new:
                writer.writeheader()
            writer.writerow(text)
        self.rows.append(text)
        self._done.add(self._key(text))
