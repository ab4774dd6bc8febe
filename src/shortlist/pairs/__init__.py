"""The order of all pairs: RankSVM."""

from .estimator import RankSVM

__all__ = ["RankSVM"]
