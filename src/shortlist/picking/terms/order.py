"""From what the user ordered to checked terms, and the folds that belong to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..race.history import Candidates, Folds, History, as_table
from .clusters import NAME, cluster_rows
from .terms import Reader, Terms, read_terms
from .times import span, time_splits


def read_order(
    X: Any,
    candidates: Any,
    sample_weight: Any,
    clusters: Clusters | None = None,
    **said: Any,
) -> tuple[Any, Candidates, Terms]:
    """Return history and candidates without ids and times, and the terms of their rows.

    Rows of the history that weigh nothing are left out of the terms, as they will be of the
    history.
    """
    X = as_table(X, "X")
    pool = Candidates(candidates, X)
    whole = None if pool.streamed else as_table(candidates, "candidates")
    reader = Reader(X, whole, int(X.shape[0]), pool.n_rows)
    terms = read_terms(reader, **said)
    if reader.dropped:
        X = X[[name for name in X.columns if name not in reader.dropped]]
        pool = Candidates(pool.whole(), X)
    if clusters is not None:
        terms = terms.limited(NAME, *_clustered(X, pool, clusters))
    if sample_weight is not None:
        used = np.flatnonzero(np.asarray(sample_weight) > 0)
        time = None if terms.time is None else terms.time[used]
        terms = replace(terms, history=terms.history.take(used), time=time)
    return X, pool, terms


@dataclass(frozen=True)
class Clusters:
    """Clusters that were asked for, and what they are found with.

    Attributes
    ----------
    number : int
        How many.
    y, features, seed
        As in :func:`shortlist.picking.terms.clusters.cluster_rows`.
    """

    number: Any
    y: Any
    features: Any
    seed: int


def _clustered(X: Any, pool: Candidates, asked: Clusters) -> tuple[np.ndarray, np.ndarray]:
    if pool.streamed:
        raise ValueError(
            f"clusters={asked.number!r} needs all candidates at once, not a function of blocks."
        )
    return cluster_rows(X, asked.y, pool.whole(), asked.number, asked.features, asked.seed)


def time_folds(
    terms: Terms, history: History, only_new: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the windows of the history that are tested."""
    assert terms.time is not None
    group = None
    if history.groups is not None:
        group = np.unique(history.groups, return_inverse=True)[1]
    splits = time_splits(
        terms.time,
        history.positive,
        terms.window,
        terms.delay,
        group=group,
        only_new=only_new,
    )
    if not splits:
        raise ValueError(
            "time leaves no window to test: before each there must be labelled rows of both "
            "classes that are older than the delay. Use a longer history or a shorter delay."
        )
    return splits


def windows_in_words(folds: Folds, terms: Terms) -> str:
    """Say which windows were tested."""
    wait = "" if not terms.delay else f", labels known after {span(terms.delay, terms.calendar)}"
    length = span(terms.window, terms.calendar)
    return f"{len(folds.splits)} windows of {length}, each after what was learned from{wait}"
