"""``shortlist demo``: the whole job on bundled data."""

from __future__ import annotations

import click

from . import _options


@click.command()
@click.option(
    "-k", "budget", type=click.IntRange(1, 300), default=30, show_default=True, help="Budget."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Splits the loans.")
@_options.force
def demo(budget: int, seed: int, force: bool) -> None:
    """Find bad loans in bundled real data; takes less than a minute.

    Learns from 700 loans whose outcome is known, chooses among 300 others those to look at,
    and leaves shortlist.csv and report.html in the current folder.
    """
    from ._demonstration import run_demo

    run_demo(budget, seed, force)
