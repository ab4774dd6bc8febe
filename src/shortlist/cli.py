"""The command line: ``shortlist``."""

from __future__ import annotations

import sys

# What the extra brings; anything else that is missing is a fault of the installation.
_EXTRA = ("click", "rich", "skrub", "skops", "pandas", "pyarrow")


def main() -> None:
    """Run the command line, or say what is missing."""
    try:
        from ._app import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.exit(
            f"The command line needs {error.name}, which is not installed. "
            'Install it with: pip install "shortlist[app]"'
        )
