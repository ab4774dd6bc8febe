"""Command line of the papers' tables."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import kernels, retention, topk, toppush, transductive
from .runner import FOLDER, RESULTS, Settings, Table, page, run

PAGES: dict[str, tuple[Table, ...]] = {
    "toppush": toppush.TABLES,
    "kernels": kernels.TABLES,
    "topk": topk.TABLES,
    "retention": retention.TABLES,
    "transductive": transductive.TABLES,
}
TABLES = {table.name: table for tables in PAGES.values() for table in tables}


def render(folder: Path) -> list[Path]:
    """Write one page per paper from the tables that have finished cells."""
    pages = []
    for name, tables in PAGES.items():
        there = [table for table in tables if table.path(folder).exists()]
        if not there:
            continue
        text = "\n".join(page(table, folder) for table in there)
        path = folder / FOLDER / f"{name}.md"
        path.write_text(text)
        pages.append(path)
    if not pages:
        raise SystemExit(f"No finished cells in {folder}: run a table first.")
    return pages


def settings(table: Table, options: argparse.Namespace) -> Settings:
    chosen = table.quick if options.quick else table.full
    given = {
        key: value
        for key in ("trials", "folds", "limit", "rows")
        if (value := getattr(options, key)) is not None
    }
    if options.sets:
        given["sets"] = tuple(options.sets)
    return replace(chosen, **given)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Tables and figures of the papers, cell by cell; a rerun skips what is done.",
    )
    commands = parser.add_subparsers(dest="table", required=True, metavar="TABLE")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", type=Path, help=f"folder of the results, default {RESULTS.name}")
    shared = argparse.ArgumentParser(add_help=False, parents=[common])
    shared.add_argument("--quick", action="store_true", help="seconds, on bundled data")
    shared.add_argument("--sets", nargs="+", help="only these data sets")
    shared.add_argument("--only", nargs="+", help="only cells with one of these keys")
    shared.add_argument("--trials", type=int, help="random splits, default the paper's number")
    shared.add_argument("--folds", type=int, help="folds of the inner choice that are run")
    shared.add_argument("--limit", type=float, help="CPU seconds for a slow reference")
    shared.add_argument("--rows", type=int, help="at most so many training rows")
    for table in TABLES.values():
        commands.add_parser(table.name, parents=[shared], help=table.title.replace("%", "%%"))
    commands.add_parser("render", parents=[common], help="pages and plots from finished cells")
    options = parser.parse_args(arguments)
    if options.table == "render":
        for path in render(options.out or RESULTS):
            print(path)
        return
    table = TABLES[options.table]
    chosen = settings(table, options)
    if options.quick and options.out is None:
        # A tiny run proves that the code works; its figures have no place among the results.
        with tempfile.TemporaryDirectory() as scratch:
            run(table, chosen, Path(scratch), options.only)
            print(page(table, Path(scratch)))
    else:
        run(table, chosen, options.out or RESULTS, options.only)


if __name__ == "__main__":
    # A run that is told to end still notes what it finished.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    main()
