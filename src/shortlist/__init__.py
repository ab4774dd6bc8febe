"""shortlist: learn the top of the list."""

from .top import CollapsedWarning, TopPush

__all__ = ["CollapsedWarning", "TopPush"]
__version__ = "0.1.0"
