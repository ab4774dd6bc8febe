"""Rows so far below the threshold that changes of their scores wait.

Late rounds of a solver move every score a little, and most rows lie far below the score at which a
row would join the working set. A row waits while it lies below by more than half as much again as
any row that is followed has risen since the row's own score was known. What it is owed, the change
of the coefficients since then, is added when it must follow after all. That a row that waits
cannot matter is a claim, like all that a solver says: a proof computes every score anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .working_set import largest

# Adds kernel rows, times each set of coefficients, to each output: only at some rows, if given.
AddRows = Callable[[list[np.ndarray], np.ndarray, list[np.ndarray], np.ndarray | None], None]

# A row that waits is so many times too low to join if it rises like the others.
_SAFE = 1.5
# Rows that are followed first, at least: so many, and this share.
_FEW, _SHARE = 1_000, 0.05
# Rows that must be able to wait, so many and this share, for any to do so.
LEAST, _WORTH = 4_000, 0.3


class Waiting:
    """The rows of a level that wait.

    Parameters
    ----------
    length : int
        Rows of the level.
    add_rows : callable
        Adds kernel rows to scores.

    Attributes
    ----------
    rows : ndarray of bool
        Those that wait.
    """

    def __init__(self, length: int, add_rows: AddRows) -> None:
        self.rows = np.zeros(length, dtype=bool)
        self._add_rows = add_rows
        self._owed = np.zeros(length)
        self._risen = 0.0

    def catch_up(self, scores: np.ndarray) -> None:
        """Bring the scores of all rows that wait up to date."""
        self._pay(np.flatnonzero(self.rows), scores)
        self.rows[:] = False

    def move(
        self,
        positions: np.ndarray,
        c: np.ndarray,
        outside: np.ndarray,
        low: np.ndarray,
        joins: float,
        scores: np.ndarray,
    ) -> None:
        """Bring scores up to date after a change, but those that can wait.

        Parameters
        ----------
        positions, c : ndarray
            Rows whose coefficients have changed, and by how much.
        outside : ndarray of bool
            Rows outside the working set.
        low : ndarray of bool
            Rows that cannot matter while their scores are low.
        joins : float
            Score from which on such a row would join.
        scores : ndarray
            Scores of all rows; those that wait are the last known.
        """
        fresh = not self.rows.any()
        if fresh:
            self._owed[:] = 0.0
            self._risen = 0.0
        undecided = outside & low if fresh else self.rows
        self._owed[positions] += c
        followed = np.flatnonzero(outside & ~undecided)
        before = scores[followed]
        self._add(scores, positions, c, followed)
        rise = (scores[followed] - before)[low[followed]]
        self._risen += float(rise.max(initial=0.0))

        left = np.flatnonzero(undecided)
        worth = max(LEAST, _WORTH * np.count_nonzero(outside & low))
        near = self._nearest(scores[left]) if fresh else np.zeros(len(left), dtype=bool)
        while True:
            near |= scores[left] >= joins - _SAFE * self._risen
            if np.count_nonzero(~near) < worth:
                near[:] = True
            if not near.any():
                break
            self._risen = max(self._risen, self._pay(left[near], scores))
            left = left[~near]
            near = np.zeros(len(left), dtype=bool)
        self.rows[:] = False
        self.rows[left] = True

    @staticmethod
    def _nearest(scores: np.ndarray) -> np.ndarray:
        near, few = np.zeros(len(scores), dtype=bool), max(_FEW, int(_SHARE * len(scores)))
        near[largest(np.arange(len(scores)), scores, few)] = True
        return near

    def _pay(self, rows: np.ndarray, scores: np.ndarray) -> float:
        """Add what rows are owed; return by how much their scores rise at most."""
        if not len(rows):
            return 0.0
        before, positions = scores[rows], np.flatnonzero(self._owed)
        self._add(scores, positions, self._owed[positions], rows)
        return float((scores[rows] - before).max())

    def _add(
        self, scores: np.ndarray, positions: np.ndarray, c: np.ndarray, rows: np.ndarray
    ) -> None:
        if len(rows):
            self._add_rows([scores], positions, [c], rows)
