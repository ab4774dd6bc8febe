"""Another address of :mod:`shortlist.pairs`."""

from .pairs import RankSVM

__all__ = ["RankSVM"]
