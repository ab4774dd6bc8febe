"""The headline ratios of a benchmark: printed at its end, and kept for the table of all."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path


class Summary:
    """Collects lines "what, against what, result" and writes them as JSON where asked.

    Parameters
    ----------
    path : Path or None
        File to write; None prints only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.rows: list[dict[str, str]] = []

    def add(self, what: str, against: str, result: str, size: str) -> None:
        """Note one ratio, and the size of the run that gave it."""
        result = f"{result} ({size})"
        self.rows.append({"what": what, "against": against, "result": result})

    def close(self) -> None:
        """Print the lines, and write them."""
        print("\nSummary")
        for row in self.rows:
            print(f"- {row['what']}, against {row['against']}: {row['result']}")
        if self.path:
            content = {"date": f"{datetime.date.today():%Y-%m-%d}", "rows": self.rows}
            self.path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def parser_of(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every speed benchmark has."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small part, in a minute or two")
    parser.add_argument("--summary", type=Path, help="write the headline ratios to this JSON file")
    return parser
