"""Certificates of many random problems, checked in extended precision.

    python -m tests.certificate.random_problems --family top --count 1000

Prints a table with one line per estimator: fits, how many converged, stalled or ended
otherwise, and how many certificates were false. A false one ends the command with status 1;
its seed, given as ``--seed``, shows it again with ``--count 1``.

A family is a module of this package with a function ``random_problem(rng)`` that returns a
:class:`Case`; it is named in `FAMILIES`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the oracles

FAMILIES = {
    "pairs": "pair_problems",
    "top": "top_problems",
    "topk": "topk_problems",
    "kernel": "top_kernel_problems",
    "transductive": "transductive_problems",
    "rivals": "rival_problems",
}


@dataclass(frozen=True)
class Case:
    """One problem: how to fit it, and how to check what came back.

    Attributes
    ----------
    label : str
        Line of the table that it counts in.
    fit : callable
        Returns the fitted estimator.
    check : callable
        Takes it; raises an AssertionError where its certificate is false.
    """

    label: str
    fit: Callable[[], Any]
    check: Callable[[Any], None]


def run(family: str, count: int, seed: int) -> int:
    """Fit `count` problems, print the table, return the number of false certificates."""
    module = importlib.import_module(f".{FAMILIES[family]}", __package__)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for number in range(seed, seed + count):
        case = module.random_problem(np.random.default_rng(number))
        line = table[case.label]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = case.fit()
        except Exception as error:
            line["error"] += 1
            print(f"seed {number}: {case.label}: {type(error).__name__}: {error}")
            continue
        line[model.certificate_.status] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                case.check(model)
        except AssertionError as error:
            line["false"] += 1
            print(f"seed {number}: {case.label}: {error}")
    columns = (
        "converged",
        "stalled",
        "max_iter",
        "time_limit",
        "stopped",
        "local",
        "error",
        "false",
    )
    print(f"{'':40}{'fits':>8}" + "".join(f"{name:>11}" for name in columns))
    total: Counter[str] = Counter()
    for label in sorted(table):
        total.update(table[label])
        _print_line(label, table[label], columns)
    _print_line("all", total, columns)
    return total["false"] + total["error"]


def _print_line(label: str, line: Counter[str], columns: tuple[str, ...]) -> None:
    fits = sum(line.values()) - line["false"]
    print(f"{label:40}{fits:>8}" + "".join(f"{line[name]:>11}" for name in columns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--family", choices=sorted(FAMILIES), required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.exit(bool(run(arguments.family, arguments.count, arguments.seed)))


if __name__ == "__main__":
    main()
