"""Nasty two-class data, ways to store it, and what every certificate must satisfy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

OFFSETS = (1e4, 1e6, 1e8, 1e12)
SCALES = (1e-12, 1e-6, 1e6, 1e12)


@dataclass(frozen=True)
class Nasty:
    """Training data with a name; `y` is 0 or 1, `weight` may be None."""

    name: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    def cast(self, dtype: Any) -> Nasty:
        """Return the data as it is when stored in another precision."""
        return replace(self, X=self.X.astype(dtype))

    @property
    def full_weight(self) -> np.ndarray:
        """Return the weights, ones where there are none."""
        return np.ones(len(self.y)) if self.weight is None else self.weight


def plain(rng: np.random.Generator, n_rows: int = 60, n_features: int = 3) -> Nasty:
    """Return eighths of small integers, so that few digits are needed; classes overlap."""
    X = rng.integers(-20, 20, (n_rows, n_features)) / 8.0
    y = (X[:, 0] + rng.normal(size=n_rows) > 1.0).astype(int)
    y[:2] = 0, 1
    return Nasty("plain", X, y)


def _moved(offset: float) -> Callable[[Nasty, np.random.Generator], Nasty]:
    return lambda data, rng: replace(data, X=data.X + offset)


def _scaled(scale: float) -> Callable[[Nasty, np.random.Generator], Nasty]:
    return lambda data, rng: replace(data, X=data.X * scale)


def _moved_some(data: Nasty, rng: np.random.Generator) -> Nasty:
    shift = np.zeros(data.X.shape[1])
    shift[0] = -3e7
    return replace(data, X=data.X + shift)


def _mixed(data: Nasty, rng: np.random.Generator) -> Nasty:
    return replace(data, X=data.X * 10.0 ** rng.integers(-6, 7, data.X.shape[1]))


def _constant(data: Nasty, rng: np.random.Generator) -> Nasty:
    n = len(data.y)
    return replace(data, X=np.column_stack([data.X, np.full(n, 1e7), np.ones(n), np.zeros(n)]))


def _missing(data: Nasty, rng: np.random.Generator) -> Nasty:
    """Return a far column in which some values are zero."""
    X = data.X.copy()
    X[:, 0] += 1e6
    X[rng.random(len(X)) < 0.1, 0] = 0.0
    return replace(data, X=X)


def _two_values(data: Nasty, rng: np.random.Generator) -> Nasty:
    return replace(data, X=np.where(data.X > 0.5, 1e8, 0.0))


def _ties(data: Nasty, rng: np.random.Generator) -> Nasty:
    return replace(data, X=np.sign(data.X))


def _duplicates(data: Nasty, rng: np.random.Generator) -> Nasty:
    row = rng.integers(0, max(2, len(data.y) // 6), len(data.y))
    y = data.y.copy()
    return replace(data, X=data.X[row], y=y)


def _one_row(data: Nasty, rng: np.random.Generator) -> Nasty:
    return replace(data, X=np.repeat(data.X[:1] + 1e5, len(data.y), axis=0))


def _one_positive(data: Nasty, rng: np.random.Generator) -> Nasty:
    y = np.zeros_like(data.y)
    y[1] = 1
    return replace(data, y=y)


def _one_negative(data: Nasty, rng: np.random.Generator) -> Nasty:
    y = np.ones_like(data.y)
    y[0] = 0
    return replace(data, y=y)


def _weights(data: Nasty, rng: np.random.Generator) -> Nasty:
    weight = rng.choice([0.0, 0.3, 1.0, 2.0, 7.5], len(data.y))
    weight[:2] = 1.0
    return replace(data, weight=weight)


def _far_and_weighted(data: Nasty, rng: np.random.Generator) -> Nasty:
    return replace(_weights(data, rng), X=data.X * 1e-3 + 1e5)


KINDS: dict[str, Callable[[Nasty, np.random.Generator], Nasty]] = {
    "plain": lambda data, rng: data,
    **{f"offset {offset:g}": _moved(offset) for offset in OFFSETS},
    **{f"scale {scale:g}": _scaled(scale) for scale in SCALES},
    "one column far": _moved_some,
    "mixed scales": _mixed,
    "constant columns": _constant,
    "zeros in a far column": _missing,
    "two values": _two_values,
    "ties": _ties,
    "duplicates": _duplicates,
    "one distinct row": _one_row,
    "one positive": _one_positive,
    "one negative": _one_negative,
    "weights": _weights,
    "far and weighted": _far_and_weighted,
}


def some_slow(cases: Sequence[Any]) -> list[Any]:
    """Return the cases, the second half for the slow tests."""
    usual = len(cases) // 2
    return [*cases[:usual], *(pytest.param(c, marks=pytest.mark.slow) for c in cases[usual:])]


def in_turns(models: Sequence[Any]) -> list[Any]:
    """Return every model with every kind of data; every other pair is for the slow tests.

    Each model meets half of the kinds and each kind half of the models in the usual run.
    """
    return [
        pytest.param(model, kind, marks=pytest.mark.slow) if (i + j) % 2 else (model, kind)
        for i, model in enumerate(models)
        for j, kind in enumerate(KINDS)
    ]


SHIFT_FREE = ("linear", "rbf", "laplacian")
STORAGES = ("dense", "csr", "memmap", "blocks", "dask")


def make(kind: str, seed: int = 0, n_rows: int = 60, n_features: int = 3) -> Nasty:
    """Return data of one of the `KINDS`."""
    rng = np.random.default_rng(seed)
    data = KINDS[kind](plain(rng, n_rows, n_features), rng)
    return replace(data, name=kind)


def stored(data: Nasty, storage: str, folder: Any) -> tuple[Any, ...]:
    """Return the arguments of ``fit`` for the data in one of the `STORAGES`."""
    X, y, weight = data.X, data.y, data.weight
    if storage == "csr":
        return sparse.csr_array(X), y, weight
    if storage == "memmap":
        path = os.path.join(folder, f"{np.random.default_rng().integers(1 << 60)}.npy")
        np.save(path, X)
        return np.load(path, mmap_mode="r"), y, weight
    if storage == "blocks":
        from shortlist.blocks import Blocks

        return (Blocks(X, y, weight, block_bytes=2000),)
    if storage == "dask":
        import dask.array as da

        chunk = max(1, len(y) // 3)
        parts = [
            None if part is None else da.from_array(part, chunks=chunk) for part in (y, weight)
        ]
        return (da.from_array(X, chunks=(chunk, X.shape[1])), *parts)
    return X, y, weight


def exact_rows(X: Any) -> np.ndarray:
    """Return rows in extended precision, moved to the origin without rounding to speak of.

    For models that do not depend on where the origin is.
    """
    X = np.asarray(X.todense() if sparse.issparse(X) else X).astype(np.longdouble)
    return X - (X.min(axis=0) + X.max(axis=0)) / 2


def exact_kernel(name: str, X: np.ndarray, gamma: Any, degree: int, coef0: float) -> np.ndarray:
    """Return the kernel matrix of the rows by its formula, in extended precision."""
    X = exact_rows(X) if name in SHIFT_FREE else X.astype(np.longdouble)
    gamma, coef0 = np.longdouble(gamma), np.longdouble(coef0)
    inner = X @ X.T
    if name == "linear":
        return inner
    if name == "poly":
        return (gamma * inner + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(gamma * inner + coef0)
    if name == "tanimoto":
        square = np.diagonal(inner)
        return _ratio(inner, square[:, None] + square - inner)
    # One column after the other: all entries of all pairs would be much memory.
    columns = [(column[:, None], column) for column in X.T]
    if name == "rbf":
        return np.exp(-gamma * sum((one - other) ** 2 for one, other in columns))
    if name == "laplacian":
        return np.exp(-gamma * sum(np.abs(one - other) for one, other in columns))
    if name == "chi2":
        terms = (_ratio((one - other) ** 2, one + other, 0.0) for one, other in columns)
        return np.exp(-gamma * sum(terms))
    low = sum(np.minimum(one, other) for one, other in columns)
    return _ratio(low, sum(np.maximum(one, other) for one, other in columns))


def _ratio(above: np.ndarray, below: np.ndarray, empty: float = 1.0) -> np.ndarray:
    """Return the quotients; of nothing by nothing, `empty`."""
    return np.divide(above, below, out=np.full_like(above, empty), where=below > 0)


def check_certificate(
    certificate: Any, recomputed: float, upper: float = np.inf, slack: float = 1e-9
) -> None:
    """Assert what must be true of every certificate, whatever ended the fit.

    Parameters
    ----------
    certificate : Certificate
        What the fit says.
    recomputed : float
        Objective at the public attributes, in extended precision.
    upper : float
        Objective of some other model: no lower bound may exceed it.
    slack : float
        Relative error of these two.
    """
    c = certificate
    assert np.isfinite([c.primal, c.dual]).all(), c
    assert c.gap >= 0.0, c
    room = slack * abs(c.primal) + c.rounding
    assert abs(c.primal - recomputed) <= room, (c, recomputed)
    assert c.dual <= min(upper, recomputed) + slack * abs(c.primal), (c, recomputed, upper)
    assert (c.status == "converged") == (c.relative_gap <= c.tol), c
