"""Rows that are there twice: within the history, and in both files.

A candidate that is in the history has a known outcome: its score is not a forecast, and
choosing it finds nothing new. Rows are compared in all columns that both files have, ids
among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .._checks import spelling
from ._columns import Columns

# Without ids, equal rows are taken for the same case only where nearly all rows differ.
_COINCIDENCE = 0.01


class Copies:
    """Marks of the rows of a history, to know them again.

    Parameters
    ----------
    columns : Columns
        How the columns are read.
    shared : sequence of str
        Other columns that both files have: ids, and what is not learned from.
    identified : bool
        Whether an id is among them.
    """

    def __init__(self, columns: Columns, shared: Sequence[str], identified: bool) -> None:
        self._columns = columns
        self._shared = list(shared)
        self._identified = identified
        self._known = np.empty(0, dtype=np.uint64)
        self._telling = identified
        self.repeated = 0

    def marks(self, rows: pd.DataFrame, typed: pd.DataFrame) -> np.ndarray:
        """Return a number for each row; equal rows have equal ones."""
        frame = typed.reset_index(drop=True)
        others = {f"other {name}": rows[name].map(spelling).to_numpy() for name in self._shared}
        return pd.util.hash_pandas_object(frame.assign(**others), index=False).to_numpy()

    def learn(self, marks: np.ndarray) -> None:
        """Remember the rows of the history."""
        self._known = np.unique(marks)
        self.repeated = len(marks) - len(self._known)
        self._telling = self._identified or self.repeated <= _COINCIDENCE * len(marks)

    def known(self, marks: np.ndarray) -> np.ndarray:
        """Which rows are in the history."""
        found: np.ndarray = np.isin(marks, self._known)
        return found

    @property
    def telling(self) -> bool:
        """Whether an equal row is the same case, rather than one that happens to be alike."""
        return self._telling
