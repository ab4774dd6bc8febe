"""Rows that are partly one row and partly another, made in the form the models take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..._scores import take_rows
from ..race.history import stacked
from .shapley import Chain
from .subject import Subject, column_values

Differ = Callable[[int, int], np.ndarray]
Mix = Callable[[list[Chain]], Any]


def mixer(
    subject: Subject, rows: Any, others: Any, made: Any, background: Any
) -> tuple[Mix, Differ]:
    """Return how to mix, and which columns there are to mix.

    Parameters
    ----------
    subject : Subject
        Where columns and features come from.
    rows, others : table
        The rows and the background, as people know them.
    made, background : matrix
        The same, as the models take them.
    """
    if subject.owner is None:
        return _tables(subject, rows, others)
    if sparse.issparse(made):
        return _sparse(made.tocsr(), sparse.csr_matrix(background))
    return _dense(np.asarray(made), np.asarray(background), subject.owner, len(subject.columns))


def _dense(rows: np.ndarray, others: np.ndarray, owner: np.ndarray, n: int) -> tuple[Mix, Differ]:
    def differ(row: int, other: int) -> np.ndarray:
        a, b = rows[row], others[other]
        unequal = (a != b) & ~((a != a) & (b != b))
        return np.unique(owner[unequal])

    def mix(chains: list[Chain]) -> np.ndarray:
        parts = []
        changed = np.zeros(n, dtype=int)
        for chain in chains:
            # Place in the order of the column behind each feature; columns that are equal: any.
            changed[chain.order] = np.arange(len(chain.order))
            mask = chain.mask[:, changed[owner]]
            parts.append(np.where(mask, rows[chain.row], others[chain.other]))
            changed[chain.order] = 0
        return np.concatenate(parts)

    return mix, differ


def _sparse(rows: Any, others: Any) -> tuple[Mix, Differ]:
    """Every feature is a column; only those that are not zero in both rows are looked at."""

    def differ(row: int, other: int) -> np.ndarray:
        gap = rows[row] - others[other]
        gap.eliminate_zeros()
        return np.sort(gap.indices)

    def mix(chains: list[Chain]) -> Any:
        parts = []
        for chain in chains:
            if not len(chain.mask):
                continue
            a, b = rows[chain.row], others[chain.other]
            same = np.setdiff1d(a.indices, chain.order)
            columns = np.append(chain.order, same)
            left, right = (np.asarray(each[:, columns].toarray()).ravel() for each in (a, b))
            mask = np.hstack([chain.mask, np.ones((len(chain.mask), len(same)), dtype=bool)])
            data = np.where(mask, left, right)
            steps, width = data.shape
            part = sparse.csr_matrix(
                (data.ravel(), np.tile(columns, steps), np.arange(steps + 1) * width),
                shape=(steps, rows.shape[1]),
            )
            part.eliminate_zeros()
            part.sort_indices()
            parts.append(part)
        return sparse.vstack(parts, "csr")

    return mix, differ


def _tables(subject: Subject, rows: Any, others: Any) -> tuple[Mix, Differ]:
    """Mix before the features are made, because they look at several columns at once."""
    n, m = int(rows.shape[0]), len(subject.columns)
    both = stacked([rows, others])
    codes = np.column_stack([_codes(column_values(both, place)) for place in range(m)])

    def differ(row: int, other: int) -> np.ndarray:
        return np.flatnonzero(codes[row] != codes[n + other])

    def mix(chains: list[Chain]) -> Any:
        parts = []
        for chain in chains:
            which = np.full((len(chain.mask), m), n + chain.other)
            which[:, chain.order] = np.where(chain.mask, chain.row, n + chain.other)
            parts.append(which)
        return subject.make(_gathered(both, np.concatenate(parts)))

    return mix, differ


def _codes(values: np.ndarray) -> np.ndarray:
    """Return a number for each different value; missing ones are one of them."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(_key(value), len(seen)) for value in values.tolist()])


def _key(value: Any) -> Any:
    return None if value != value else value if value.__hash__ is not None else repr(value)


def _gathered(table: Any, which: np.ndarray) -> Any:
    """Return a table whose cell (i, j) is that of row ``which[i, j]``."""
    if not hasattr(table, "columns"):
        if sparse.issparse(table):
            table = table.toarray()
        return np.asarray(table)[which, np.arange(which.shape[1])]
    columns = [take_rows(table[[name]], which[:, j]) for j, name in enumerate(table.columns)]
    if hasattr(table, "iloc"):
        import pandas as pd

        return pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    import polars as pl

    return pl.concat(columns, how="horizontal")
