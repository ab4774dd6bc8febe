"""shortlist: learn the top of the list."""

from .multiclass import TopKSVC
from .top import CollapsedWarning, TopPush

__all__ = ["CollapsedWarning", "TopKSVC", "TopPush"]
__version__ = "0.1.0"
