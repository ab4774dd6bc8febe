"""The candidates twice: as people know them, and as the models take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ..race.history import Candidates


@dataclass(frozen=True, eq=False)
class Subject:
    """Rows that reasons are given for.

    Attributes
    ----------
    columns : list
        Names of the columns that people know.
    take : callable
        From row numbers to a table of these columns.
    blocks : callable
        Returns an iterator over all candidates, in such tables.
    make : callable
        From such a table to what the models take.
    owner : ndarray of int or None
        The column behind each number that the models take; None where the features mix
        columns, so that rows can only be mixed before they are made.
    """

    columns: list[Any]
    take: Callable[[np.ndarray], Any]
    blocks: Callable[[], Iterator[Any]]
    make: Callable[[Any], Any]
    owner: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Shown:
    """The rows in the columns that people know, for a look at drift.

    Attributes
    ----------
    history : table
        All rows of the history.
    columns : list
        Names of the columns.
    new : callable
        Returns the candidates of :func:`shortlist.picking.drift.drift.drawn_rows`.
    """

    history: Any
    columns: list[Any]
    new: Callable[[], Any]


def subject_of(pool: Candidates, transformer: Any) -> Subject:
    """Return the candidates of `pick`, whose features were made by a fitted transformer."""
    like = pool.like
    columns = (
        list(like.columns)
        if hasattr(like, "columns")
        else [f"x{j}" for j in range(int(like.shape[1]))]
    )
    return Subject(
        columns, pool.take, pool.blocks, transformer.transform, owners(transformer, columns)
    )


def owners(transformer: Any, columns: list[Any]) -> np.ndarray | None:
    """Return the column behind each feature; None where that is not known."""
    steps = [step for _, step in getattr(transformer, "steps", [(None, transformer)])]
    owner = np.arange(len(columns))
    for step in steps:
        if isinstance(step, StandardScaler) or (
            isinstance(step, FunctionTransformer) and step.func is None
        ):
            continue
        made_of = getattr(step, "output_to_input_", None)
        if step is not steps[0] or not isinstance(made_of, dict):
            return None
        place = {name: at for at, name in enumerate(columns)}
        sources = [made_of[name] for name in step.all_outputs_]
        if not all(source in place for source in sources):
            return None
        owner = np.array([place[source] for source in sources], dtype=int)
    return owner


def column_values(table: Any, place: int) -> np.ndarray:
    """Return one column of a table."""
    if hasattr(table, "columns"):
        return np.asarray(table[table.columns[place]])
    if sparse.issparse(table):
        return np.asarray(table[:, [place]].toarray()).ravel()
    return np.asarray(table)[:, place]
