"""The command line: ``shortlist``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing."""
    try:
        from ._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(
            f"The command line needs {error.name}, which is not installed. "
            'Install it with: pip install "shortlist[app]"'
        )
    app()
