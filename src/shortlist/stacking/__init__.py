"""A combiner trained for the top of the list: TopStack."""

from .estimator import TopStack

__all__ = ["TopStack"]
