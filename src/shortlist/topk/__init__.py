"""The top k of many classes: TopKSVC."""

from .estimator import TopKSVC

__all__ = ["TopKSVC"]
