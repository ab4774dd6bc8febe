"""shortlist: learn the top of the list."""

from .top import CollapsedWarning, TopPush
from .transductive import TransductiveTopK

__all__ = ["CollapsedWarning", "TopPush", "TransductiveTopK"]
__version__ = "0.1.0"
