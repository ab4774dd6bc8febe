"""The same estimators where the rows are: on Dask arrays and dataframes.

Names, parameters and fitted attributes are those of the in-memory estimators. Dask does
the scheduling, the transport and the recovery; this package says what each partition
computes and puts the answers together. Needs the extra ``shortlist[dask]``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import metrics
    from .budget import BudgetClassifier
    from .ranking import RankSVM
    from .top import PatMat, TopPush

__all__ = ["BudgetClassifier", "PatMat", "RankSVM", "TopPush", "metrics"]

# Loaded when first asked for: a stored model predicts where Dask is not installed.
_HOME = {"BudgetClassifier": "budget", "PatMat": "top", "RankSVM": "ranking", "TopPush": "top"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
