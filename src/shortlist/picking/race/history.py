"""What :func:`shortlist.pick` was given, checked: the history, the candidates, the folds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length, column_or_1d

from ..._checks import check_k, check_number, check_weight, list_length, positive_index
from ..._scores import take_rows
from ...metrics._rungs import rungs_of
from ...metrics._sample import Sample
from ...stacking.heads import Head, fit_head

# What weighs the members: by the benchmark of pick, the best of those that TopStack offers.
HEAD = "mixed"
# Rows of either class that are held out, at least, where not all folds are visited, and parts
# that these are tested in.
_ENOUGH = 100
_PARTS = 4
# Rows that are scored at a time.
_BLOCK = 65_536


@dataclass(frozen=True)
class History:
    """Labelled rows of positive weight.

    Attributes
    ----------
    X : array, sparse matrix or frame
        The rows, as they were passed.
    positive : ndarray of bool
        True where the label is the positive one.
    weight : ndarray or None
        Multiplicity of each row; None when every row counts once.
    groups : ndarray or None
        Rows of a group stay in one fold.
    positive_label : label
        The label that is looked for.
    """

    X: Any
    positive: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    positive_label: Any

    def __len__(self) -> int:
        return len(self.positive)

    def mass(self, rows: np.ndarray) -> float:
        """Weight of some rows."""
        return float(len(rows) if self.weight is None else self.weight[rows].sum())

    @cached_property
    def outcome(self) -> np.ndarray:
        """What taking each row brought: one for a hit."""
        return self.positive.astype(np.float64)

    @cached_property
    def target(self) -> np.ndarray:
        """What models learn."""
        return self.positive.astype(int)

    def shares(self, rows: np.ndarray, scores: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Hits per row, when the best of some rows are taken at each rate."""
        weight = None if self.weight is None else self.weight[rows]
        return shares(self.positive[rows], scores, weight, rates)

    def head(self, rows: np.ndarray, scores: np.ndarray, budget: float, seed: int) -> Head:
        """Weigh held-out scores of some rows, of shape (n_rows, n_members)."""
        positive = self.positive[rows]
        if not 0 < positive.sum() < len(positive):
            # One class only: nothing to learn from, so nothing is preferred.
            n = scores.shape[1]
            return Head(np.ones(n), np.zeros(n), np.full(n, 1.0 / n), 1.0, 0.0)
        weight = None if self.weight is None else self.weight[rows]
        return fit_head(scores, positive, weight, head=HEAD, budget=budget, seed=seed)


def shares(
    positive: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, rates: np.ndarray
) -> np.ndarray:
    """Return the expected hits per row when the list is cut at each of the rates.

    A fold of weight W is cut at the rate times W, which need not be a whole number: inside a
    row, as inside a tie, hits grow linearly.
    """
    whole = weight is None or bool(np.all(weight == np.floor(weight)))
    total = float(len(scores) if weight is None else weight.sum())
    return rungs_of(Sample(positive, scores, weight, whole)).hits(rates * total) / total


def check_history(X: Any, y: Any, sample_weight: Any, groups: Any, pos_label: Any) -> History:
    """Check the labelled rows; rows of weight zero are gone."""
    X = as_table(X, "X")
    y = column_or_1d(y)
    check_consistent_length(X, y, sample_weight, groups)
    labels = _labels(y)
    if len(labels) != 2:
        found = ", ".join(repr(label) for label in labels.tolist()[:5])
        raise ValueError(
            f"y holds {'one class only' if len(labels) == 1 else f'{len(labels)} classes'} "
            f"({found}{', ...' if len(labels) > 5 else ''}); pick needs two: the rows you look "
            "for, and the others. " + _remedy(y, len(labels))
        )
    label = labels.tolist()[positive_index(labels, pos_label, refuse=True)]
    weight = None if sample_weight is None else check_weight(sample_weight, len(y))
    groups = None if groups is None else column_or_1d(groups)
    is_positive = np.asarray(y == label, dtype=bool)
    if weight is not None and not (weight > 0.0).all():
        rows = np.flatnonzero(weight > 0.0)
        X, is_positive, weight = take_rows(X, rows), is_positive[rows], weight[rows]
        groups = None if groups is None else groups[rows]
    for some, what in ((is_positive, "positive"), (~is_positive, "other")):
        if some.sum() < 2:
            raise ValueError(
                f"the history has {int(some.sum())} {what} rows of positive weight; at least two "
                "are needed, one to learn from and one to check."
            )
    return History(X, is_positive, weight, groups, label)


def _remedy(y: np.ndarray, n_labels: int) -> str:
    if n_labels == 1:
        return "Add rows of the other class."
    if y.dtype.kind not in "iuf":
        return "Pass y == label."
    return (
        "Pass y == label, or y >= threshold. For the largest sum or mean of these numbers (a "
        "potency, an amount, grades) pass goal='sum' or goal='mean'."
    )


def _labels(y: np.ndarray) -> np.ndarray:
    missing = _missing(y)
    if missing.any():
        raise ValueError(
            f"y is missing in {int(missing.sum())} rows, the first is row "
            f"{int(np.argmax(missing))}; drop those rows first."
        )
    try:
        return np.unique(y)
    except TypeError as error:
        raise ValueError("y mixes numbers and text; use labels of one kind.") from error


def _missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "O":
        return np.array([value is None or value != value for value in y], dtype=bool)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def as_table(data: Any, name: str) -> Any:
    """Rows with two dimensions: a frame, a CSR matrix or an array."""
    if hasattr(data, "columns"):
        return data
    if sparse.issparse(data):
        return data.tocsr()
    array = np.asarray(data)
    if array.dtype.kind in "bO":
        # Imputation takes no booleans, and numbers may come as objects, None among them.
        with suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    if array.ndim != 2:
        raise ValueError(
            f"{name} has shape {array.shape}; rows and columns are needed, shape (n_rows, "
            "n_features). Use reshape(-1, 1) for a single feature."
        )
    return array


class Candidates:
    """The rows to choose from: at once, or in blocks from a function.

    Parameters
    ----------
    source : array, sparse matrix, frame or callable
        The rows, or a function without arguments that returns a fresh iterator of blocks.
    like : array, sparse matrix or frame
        The history; candidates must have its columns.
    """

    def __init__(self, source: Any, like: Any) -> None:
        self._source = source
        self.like = like
        self.streamed = callable(source)
        if self.streamed:
            self.n_rows = sum(block.shape[0] for block in self._stream())
        else:
            self._table = self._same_columns(as_table(source, "candidates"))
            self.n_rows = int(self._table.shape[0])
        if self.n_rows == 0:
            raise ValueError("candidates is empty; at least one row is needed.")

    def blocks(self) -> Iterator[Any]:
        """Yield the rows, a bounded number at a time."""
        if self.streamed:
            yield from self._stream()
            return
        rows = getattr(self._table, "iloc", self._table)
        for start in range(0, self.n_rows, _BLOCK):
            yield rows[start : start + _BLOCK]

    def whole(self) -> Any:
        """All rows at once."""
        return self._table

    def take(self, rows: np.ndarray) -> Any:
        """Return some of the rows, by their numbers; rows that stream are read once more."""
        return rows_of(self._stream(), rows) if self.streamed else take_rows(self._table, rows)

    def _stream(self) -> Iterator[Any]:
        for block in self._source():
            table = self._same_columns(as_table(block, "candidates"))
            if table.shape[0]:
                yield table

    def _same_columns(self, table: Any) -> Any:
        like = self.like
        if not hasattr(like, "columns") and hasattr(table, "columns"):
            table = np.asarray(table)
        if hasattr(table, "columns"):
            wanted = list(like.columns)
            if list(table.columns) == wanted:
                return table
            missing = [name for name in wanted if name not in set(table.columns)]
            if missing:
                listed = ", ".join(repr(name) for name in missing[:5])
                raise ValueError(
                    f"candidates lacks {len(missing)} of the columns of X: {listed}"
                    f"{', ...' if len(missing) > 5 else ''}. Both must hold the same features."
                )
            return table[wanted]
        if table.shape[1] != like.shape[1]:
            raise ValueError(
                f"candidates has {table.shape[1]} columns and X {like.shape[1]}; both must hold "
                "the same features."
            )
        return table


def rows_of(blocks: Iterator[Any], rows: np.ndarray) -> Any:
    """Return rows of a table that comes in blocks, in the order that is asked for."""
    order = np.argsort(rows, kind="stable")
    wanted, parts, first = rows[order], [], 0
    for block in blocks:
        inside = wanted[(wanted >= first) & (wanted < first + block.shape[0])] - first
        if len(inside):
            parts.append(take_rows(block, inside))
        first += block.shape[0]
    back = np.empty(len(rows), dtype=int)
    back[order] = np.arange(len(rows))
    return take_rows(stacked(parts), back)


def stacked(tables: list[Any]) -> Any:
    """Return tables of the same columns as one."""
    if len(tables) == 1:
        return tables[0]
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    if hasattr(tables[0], "columns"):
        import polars as pl

        return pl.concat(tables)
    return sparse.vstack(tables, "csr") if sparse.issparse(tables[0]) else np.concatenate(tables)


def check_budget(k: Any, n_candidates: int) -> int:
    """Budget as a number of candidates."""
    places = int(list_length(check_k(k), n_candidates, whole=True))
    if places > n_candidates:
        raise ValueError(
            f"k={k!r} is more than the {n_candidates} candidates; choose k of at most "
            f"{n_candidates}."
        )
    return places


@dataclass(frozen=True)
class Folds:
    """Splits of the history.

    Attributes
    ----------
    splits : list of (train, test)
        Row numbers.
    first : int
        How many of them make the first repeat: each row is tested at most once in it.
    weight : ndarray
        Weight of each test part.
    ratio : float
        Mean weight of a test part relative to its training part.
    text : str
        What was done, in words.
    note : str or None
        What the user should know about it.
    at_random : bool
        Whether every row was dealt by itself.
    """

    splits: list[tuple[np.ndarray, np.ndarray]]
    first: int
    weight: np.ndarray
    ratio: float
    text: str
    note: str | None
    at_random: bool = False

    def rounds(self) -> list[list[int]]:
        """Return the folds by their training part: those of a round are tested by one fit."""
        found: list[list[int]] = []
        for fold, (train, _) in enumerate(self.splits):
            if found and np.array_equal(self.splits[found[-1][0]][0], train):
                found[-1].append(fold)
            else:
                found.append([fold])
        return found


def make_folds(
    history: History,
    cv: Any,
    repeats: int | None,
    seed: int,
    limit: int | None = None,
    fewest: int | None = None,
) -> Folds:
    """Split the history; training parts without both classes are left out.

    With an integer `cv`, a history of more rows than `limit` is split as a sample of them. With
    `fewest` only so many folds are visited, or more until enough of either class are held out.
    Each is then tested in parts: how far folds differ would be hard to say of one or two.
    """
    rows = np.arange(len(history))
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        check_number("cv", cv, least=2, integer=True)
        repeats = 1 if repeats is None else repeats
        check_number("repeats", repeats, least=1, integer=True)
        if limit is not None and len(history) > limit:
            rows = _sample(history, limit, seed)
        folds, rarer, note = _affordable(history, int(cv), rows)
        kind = StratifiedKFold if history.groups is None else StratifiedGroupKFold
        visited = folds if fewest is None else max(fewest, int(np.ceil(folds * _ENOUGH / rarer)))
        parts = 1 if visited >= folds else max(2, _PARTS // visited)
        partly = 1 < parts <= rarer // folds
        splitters = [
            kind(folds * parts if partly else folds, shuffle=True, random_state=seed + repeat)
            for repeat in range(repeats)
        ]
        if partly:
            splitters = [_InParts(splitter, visited, parts) for splitter in splitters]
        how = "stratified" if history.groups is None else "grouped, stratified"
        text = f"{visited} of {folds} folds of a {how}" if partly else f"{folds}-fold {how}"
        text += f" cross-validation, {repeats} times" if repeats > 1 else " cross-validation"
        if len(rows) < len(history):
            text += (
                f" of {len(rows):,} rows; the final models learn from all {len(history):,}, so "
                "that the list may be better than forecast"
            )
    else:
        if repeats not in (None, 1):
            raise ValueError(
                f"repeats={repeats!r} has no meaning with cv={cv!r}: a splitter is used as it is. "
                "Give cv as an integer, or leave out repeats."
            )
        splitters = [check_cv(cv, history.positive, classifier=True)]
        text, note = str(splitters[0]), None
    groups = None if history.groups is None else history.groups[rows]
    per_repeat = [
        [
            (rows[train], rows[test])
            for train, test in splitter.split(rows, history.positive[rows], groups)
            if 0 < history.positive[rows[train]].sum() < len(train) and len(test)
        ]
        for splitter in splitters
    ]
    per_repeat = [repeat for repeat in per_repeat if repeat]
    splits = [split for repeat in per_repeat for split in repeat]
    if not splits:
        raise ValueError(
            f"cv={cv!r} leaves no training part with both classes. Use fewer folds, or sort the "
            "rows so that early ones hold both classes."
        )
    tested = np.array([history.mass(test) for _, test in splits])
    trained = np.array([history.mass(train) for train, _ in splits])
    ratio = float(np.mean(tested / trained))
    at_random = isinstance(cv, int | np.integer) and history.groups is None
    return Folds(splits, len(per_repeat[0]), tested, ratio, text, note, at_random)


@dataclass(frozen=True)
class _InParts:
    """The first of some folds, each tested in parts.

    Attributes
    ----------
    splitter : splitter
        Makes the parts of all folds.
    visited : int
        Folds to visit.
    parts : int
        Parts of each.
    """

    splitter: Any
    visited: int
    parts: int

    def split(
        self, X: Any, y: np.ndarray, groups: np.ndarray | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test parts; those of a fold have the same training part."""
        parts = [test for _, test in self.splitter.split(X, y, groups)]
        for fold in range(self.visited):
            tested = parts[fold * self.parts : (fold + 1) * self.parts]
            train = np.setdiff1d(np.arange(len(y)), np.concatenate(tested), assume_unique=True)
            for test in tested:
                yield train, test


def thinned(positive: np.ndarray, rows: np.ndarray, size: int, seed: int, least: int) -> np.ndarray:
    """Return some of the rows, as many of each class in proportion, but `least` if there are."""
    if len(rows) <= size:
        return rows
    rng = np.random.default_rng(seed)
    drawn = []
    for some in (rows[positive[rows]], rows[~positive[rows]]):
        count = max(round(size * len(some) / len(rows)), min(least, len(some)))
        drawn.append(rng.choice(some, count, replace=False))
    return np.sort(np.concatenate(drawn))


def _sample(history: History, size: int, seed: int) -> np.ndarray:
    """Rows of a sample: so many of each class, two at least, or whole groups up to so many."""
    if history.groups is None:
        return thinned(history.positive, np.arange(len(history)), size, seed, 2)
    rng = np.random.default_rng(seed)
    labels, group, sizes = np.unique(history.groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(labels))
    taken = order[np.cumsum(sizes[order]) <= size]
    return np.flatnonzero(np.isin(group, taken if len(taken) else order[:1]))


def _affordable(history: History, folds: int, rows: np.ndarray) -> tuple[int, int, str | None]:
    """Folds with a row of either class each, rows of the rarer class, and what was changed."""
    positive = history.positive[rows]
    if history.groups is None:
        fewest = int(min(positive.sum(), (~positive).sum()))
        unit = "rows"
    else:
        groups = history.groups[rows]
        fewest = min(len(np.unique(groups[some])) for some in (positive, ~positive))
        unit = "groups"
    if fewest < 2:
        raise ValueError(
            f"one class is in {fewest} {unit} only; at least two are needed, one to learn from "
            "and one to check."
        )
    if fewest >= folds:
        return folds, fewest, None
    return (
        fewest,
        fewest,
        (
            f"cv={folds} was lowered to {fewest}, because one class has only {fewest} {unit}. The "
            "estimate is rough; more labelled rows would sharpen it."
        ),
    )
