"""Another address of :mod:`shortlist.topk`."""

from .topk import TopKSVC

__all__ = ["TopKSVC"]
