"""shortlist: learn the top of the list."""

from .top import CollapsedWarning, PatMat, TopPush

__all__ = ["CollapsedWarning", "PatMat", "TopPush"]
__version__ = "0.1.0"
