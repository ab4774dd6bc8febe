"""Commands, for whoever installed the extra ``app``.

Their module imports nothing heavy: ``--help`` is there at once.
"""

from __future__ import annotations

import click

from .. import __version__
from ._commands import columns, demo, evaluate, export, pick, score
from ._group import Commands

__all__ = ["app"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shortlist")
def app() -> None:
    """Choose the few rows to act on: learn from labelled rows, rank the others.

    Files are CSV, TSV, Parquet, Feather or .xlsx; "-" reads standard input and writes standard
    output.

    \b
    Exit codes:
      0    done
      1    could not be done: a file or its content does not allow it
      2    the command was not understood
      130  interrupted with Ctrl-C; nothing was written
      129, 143  asked to end by SIGHUP or SIGTERM; nothing was written
    """  # noqa: D301


for command in (pick, score, evaluate, columns, export, demo):
    app.add_command(command)
