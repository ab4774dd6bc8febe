"""Models combined: TopStack for the top of the list, SumStack for numeric outcomes."""

from .estimator import TopStack
from .sums import SumStack

__all__ = ["SumStack", "TopStack"]
