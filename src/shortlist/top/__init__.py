"""The top of a two-class list: TopPush and PatMat."""

from .classifier import CollapsedWarning
from .estimators import PatMat, TopPush

__all__ = ["CollapsedWarning", "PatMat", "TopPush"]
