"""The k best of many blocks of scores: each block's k best, then a merge.

Blocks are numbered in the order of their rows and are joined in that order, so that among
equal scores the earlier row comes first, as in memory. No block brings more than k rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._cutoff import first_k
from ..metrics._sample import check_score


@dataclass(frozen=True)
class FirstRows:
    """The k best rows of some neighbouring blocks, in the order of the rows.

    Attributes
    ----------
    score : ndarray
        Their scores.
    block, row : ndarray of int
        Where they are: number of the block, and row in it.
    lengths : dict
        Rows of every block.
    left_out : int
        Rows left out although their score equals the lowest one taken.
    """

    score: np.ndarray
    block: np.ndarray
    row: np.ndarray
    lengths: dict[int, int]
    left_out: int


def first_rows(number: int, scores: Any, k: int) -> FirstRows:
    """Return the k best rows of one block."""
    scores = np.asarray(scores)
    n = len(scores)
    if n:
        scores = check_score(scores, f"partition {number} of scores")
    chosen, left_out = first_k(scores, k)
    row = np.flatnonzero(chosen)
    block = np.full(len(row), number, dtype=np.int64)
    return FirstRows(scores[row], block, row, {number: n}, left_out)


def merge(parts: list[FirstRows], k: int) -> FirstRows:
    """Return the k best of the best of neighbouring blocks."""
    score, block, row = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("score", "block", "row")
    )
    chosen, left_out = first_k(score, k)
    if chosen.any():
        last = score[chosen].min()
        left_out += sum(
            part.left_out for part in parts if len(part.score) and part.score.min() == last
        )
    lengths = {number: n for part in parts for number, n in part.lengths.items()}
    return FirstRows(score[chosen], block[chosen], row[chosen], lengths, left_out)


def rows_of_block(best: FirstRows, number: int) -> np.ndarray:
    """Mark the rows of one block that are among the best."""
    chosen = np.zeros(best.lengths[number], dtype=bool)
    chosen[best.row[best.block == number]] = True
    return chosen
