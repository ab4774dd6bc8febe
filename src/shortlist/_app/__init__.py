"""Commands, for whoever installed the extra ``app``.

Their module imports nothing heavy: ``--help`` is there at once.
"""

from ._commands import app

__all__ = ["app"]
