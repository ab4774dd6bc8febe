"""Run every speed benchmark and write the table of ratios into ``benchmarks/README.md``.

    python -m benchmarks.all --quick     under a quarter of an hour
    python -m benchmarks.all             every cell: hours
    python -m benchmarks.all --render    only write the table from the last figures

The figures are kept in ``results/summary.json``: the last quick run and the last whole
run of each benchmark, with their dates.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = ("linear", "kernel", "topk", "ranking", "transductive", "metrics", "scale", "rivals")
START, END = "<!-- table: python -m benchmarks.all -->", "<!-- end of table -->"


def run(name: str, quick: bool) -> dict | None:
    """Run one benchmark in a process of its own; return its summary, None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "summary.json"
        command = [sys.executable, "-m", f"benchmarks.{name}", "--summary", str(file)]
        start = time.perf_counter()
        done = subprocess.run(command + ["--quick"] * quick, check=False)
        print(f"== {name}: {time.perf_counter() - start:.0f} s\n", file=sys.stderr, flush=True)
        if done.returncode or not file.exists():
            return None
        return json.loads(file.read_text(encoding="utf-8"))


def table(figures: dict[str, dict[str, dict]]) -> str:
    """One line per ratio, with the last whole run beside the last quick one."""
    lines = ["| what | against | whole run | quick run |", "|---|---|---|---|"]
    for name in BENCHMARKS:
        modes = figures.get(name, {})
        dates = {mode: modes[mode]["date"] for mode in modes}
        when = ", ".join(f"{mode} {dates[mode]}" for mode in ("full", "quick") if mode in dates)
        lines.append(f"| **`python -m benchmarks.{name}`** | {when or 'not run'} | | |")
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for mode, content in modes.items():
            for row in content["rows"]:
                cells.setdefault((row["what"], row["against"]), {})[mode] = row["result"]
        for (what, against), values in cells.items():
            lines.append(
                f"| {what} | {against} | {values.get('full', '')} | {values.get('quick', '')} |"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small part of each benchmark")
    parser.add_argument("--render", action="store_true", help="run nothing, write the table")
    parser.add_argument("--only", nargs="*", choices=BENCHMARKS, help="run only these")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of README.md and results")
    options = parser.parse_args(arguments)
    store = options.out / "results" / "summary.json"
    figures = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    failed = []
    for name in [] if options.render else options.only or BENCHMARKS:
        content = run(name, options.quick)
        if content is None:
            failed.append(name)
        else:
            figures.setdefault(name, {})["quick" if options.quick else "full"] = content
            store.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    page = options.out / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n{table(figures)}\n{END}{after}", encoding="utf-8")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
