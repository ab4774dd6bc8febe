"""The top of a two-class list: TopPush and PatMat."""

from ..certificate import CollapsedWarning
from .estimators import PatMat, TopPush

__all__ = ["CollapsedWarning", "PatMat", "TopPush"]
