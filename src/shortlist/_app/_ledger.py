"""The ledger: what lists were promised and what they brought, one line of a CSV file each."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._written import fixed
from ..picking.forecast.comparison import counted
from ..picking.forecast.ledger import LEVEL, Decay, Line, judge
from ..picking.forecast.promise import Promise
from ._tables import TableError

_FIELDS = (
    "date",
    "list",
    "model",
    "k",
    "promised",
    "low",
    "high",
    "confidence",
    "luck",
    "found",
    "p_value",
    "digest",
)
_NUMBERS = ("k", "promised", "low", "high", "confidence", "luck", "found")


@dataclass(frozen=True)
class Kept:
    """How a list compares with its promise.

    Attributes
    ----------
    promise : Promise
        What was promised.
    found : float
        Hits.
    p_value : float
        Chance of hits as far out.
    """

    promise: Promise
    found: float
    p_value: float

    @property
    def inside(self) -> bool:
        """Whether the interval holds the hits."""
        return self.promise.low <= self.found <= self.promise.high

    def __str__(self) -> str:
        p, chance = self.promise, self.p_value
        where = "inside" if self.inside else "outside"
        shown = "p < 0.001" if chance < 0.001 else f"p = {chance:.2g}"
        return (
            f"promised {counted(p.value)} ({fixed(p.low, 0)} to {fixed(p.high, 0)}), found "
            f"{_found(self.found)}: {where}, {shown}"
        )

    def record(self) -> dict[str, Any]:
        """Return plain values."""
        p = self.promise
        return {
            "k": p.k,
            "promised": p.value,
            "low": p.low,
            "high": p.high,
            "confidence": p.confidence,
            "luck": p.luck,
            "found": self.found,
            "p_value": self.p_value,
            "inside": self.inside,
        }


def compare(promise: Promise, found: float) -> Kept:
    """Compare hits with their promise."""
    return Kept(promise, found, promise.p_value(found))


def _found(hits: float) -> str:
    """Write hits that were counted; ties at the end of a list may share one."""
    return fixed(hits, 0 if float(hits).is_integer() else 1)


def digest(path: Path) -> str:
    """Return what names the content of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Ledger:
    """A CSV file of lists, which only grows.

    Parameters
    ----------
    path : Path
        The file; made by the first :meth:`add`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, str]] = []
        if path.exists():
            text = path.read_text("utf-8-sig")
            reader = csv.DictReader(io.StringIO(text, newline=""))
            names = reader.fieldnames or []
            lacking = [name for name in _FIELDS if name not in names]
            if names and lacking:
                raise TableError(
                    f"{path} is no ledger of shortlist: it lacks the column {lacking[0]!r}. Name "
                    "another file with --log; it is made where there is none."
                )
            self.rows = list(reader)
        self.lines = [self._line(row, number) for number, row in enumerate(self.rows, 2)]

    def _line(self, row: dict[str, str], number: int) -> Line:
        try:
            value = {name: float(row[name]) for name in _NUMBERS}
            if not 0 <= value["found"] <= value["k"] or value["k"] < 1:
                raise ValueError("hits beyond the list")
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{self.path}: line {number} cannot be read ({error}). Correct or remove it."
            ) from error
        promise = Promise(
            int(value["k"]),
            value["promised"],
            value["low"],
            value["high"],
            value["confidence"],
            value["luck"],
        )
        return Line(promise, value["found"], row["model"])

    def add(self, kept: Kept, name: str, content: str, model: str) -> bool:
        """Append a list; return False where it is there already."""
        if any(row["digest"] == content and row["model"] == model for row in self.rows):
            return False
        record = kept.record()
        row = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "list": name,
            "model": model,
            "digest": content,
            **{
                key: f"{value:.6g}" if isinstance(value, float) else str(value)
                for key, value in record.items()
                if key in _FIELDS
            },
        }
        begin = b"" if not self.path.exists() else self.path.read_bytes()
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, _FIELDS, lineterminator="\n")
        if not begin.strip():
            writer.writeheader()
        elif not begin.endswith(b"\n"):
            text.write("\n")
        writer.writerow(row)
        with self.path.open("ab") as file:
            file.write(text.getvalue().encode("utf-8", "replace"))
        self.rows.append(row)
        self.lines.append(self._line(row, len(self.rows) + 1))
        return True

    def verdict(self) -> tuple[str, Decay]:
        """Say whether the lists bring what they were promised."""
        decay = judge(self.lines)
        n = len(self.lines)
        promised, found = (
            sum(line.promise.value for line in self.lines),
            sum(line.found for line in self.lines),
        )
        inside = sum(line.promise.low <= line.found <= line.promise.high for line in self.lines)
        said = (
            f"{n:,} lists so far: promised {counted(promised)}, found {_found(found)}; "
            f"{inside:,} of {n:,} inside their intervals."
        )
        if n == 1:
            said = "The first list of this ledger."
        if decay.noticed is not None:
            said += (
                f" This is decay, not chance: noticed at list {decay.noticed}. Learn again from "
                "newer rows."
            )
        else:
            said += " No sign of decay."
        rate = round(1.0 / LEVEL)
        return (
            f"{said} (Evidence {decay.evidence[-1]:.2g}, decay at {rate}; a ledger without decay "
            f"reaches it in at most one of {rate} cases, however long it grows.)"
        ), decay
