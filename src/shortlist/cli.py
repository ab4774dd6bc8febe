"""The command line: ``shortlist``."""

from __future__ import annotations

import sys

# What the extra brings; anything else that is missing is a fault of the installation.
_EXTRA = ("click", "jinja2", "openpyxl", "pandas", "pyarrow", "rich", "skops", "skrub")


def main() -> None:
    """Run the command line, or say what is missing."""
    try:
        from ._app import app

        app()
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _EXTRA:
            raise
        sys.exit(
            f"The command line needs {name}, which is not installed. "
            'Install it with: pip install "shortlist[app]"'
        )
    except KeyboardInterrupt:
        # Before a command has begun, while its modules load.
        print("\nInterrupted: nothing was written.", file=sys.stderr)
        sys.exit(130)
