"""shortlist: learn the top of the list."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, display, metrics
    from .budget import BudgetClassifier
    from .pairs import RankSVM
    from .picking import Shortlist, pick
    from .stacking import TopStack
    from .top import CollapsedWarning, PatMat, TopPush
    from .topk import TopKSVC
    from .transductive import TransductiveTopK

__all__ = [
    "BudgetClassifier",
    "CollapsedWarning",
    "PatMat",
    "RankSVM",
    "Shortlist",
    "TopKSVC",
    "TopPush",
    "TopStack",
    "TransductiveTopK",
    "datasets",
    "display",
    "metrics",
    "pick",
]
__version__ = "0.1.0"

# Everything loads when it is first asked for: importing the package costs next to nothing.
_HOME = {
    "BudgetClassifier": "budget",
    "CollapsedWarning": "top",
    "PatMat": "top",
    "RankSVM": "pairs",
    "Shortlist": "picking",
    "TopKSVC": "topk",
    "TopPush": "top",
    "TopStack": "stacking",
    "TransductiveTopK": "transductive",
    "pick": "picking",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
