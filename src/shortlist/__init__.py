"""shortlist: learn the top of the list."""

from .ranking import RankSVM
from .top import CollapsedWarning, TopPush

__all__ = ["CollapsedWarning", "RankSVM", "TopPush"]
__version__ = "0.1.0"
