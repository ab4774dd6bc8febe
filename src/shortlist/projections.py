"""Another address of :mod:`shortlist.top.projections`."""

from .top.projections import project_balanced

__all__ = ["project_balanced"]
