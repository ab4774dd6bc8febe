"""Which rows a kernel solver works on: samples to start from, rows to take in, their matrix."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..rows.cache import RowCache
from .kernel_problem import KernelTopProblem

_SAMPLE = 1500
_GROWTH = 4
_PART = 1024


def fill_caps(beta: np.ndarray, cap: np.ndarray, ranking: np.ndarray) -> None:
    """Cut `beta` at `cap` and put what is cut off first on the rows in use, then by rank."""
    total = float(beta.sum())
    np.minimum(beta, cap, out=beta)
    used = beta > 0.0
    for rows in (ranking[used[ranking]], ranking[~used[ranking]]):
        room = cap[rows] - beta[rows]
        missing = total - float(beta.sum())
        beta[rows] += np.clip(missing - (np.cumsum(room) - room), 0.0, room)


def sample_order(problem: KernelTopProblem) -> tuple[np.ndarray, list[int]]:
    """Order of the rows, and how many of them each level uses."""
    others = problem.negative[~np.isin(problem.negative, problem.positive)]
    n = len(problem.positive) + len(others)
    if problem.kernel.precomputed:
        # No entry has to be computed, and in their own order none has to be copied.
        return np.sort(np.concatenate([problem.positive, others])), [n]
    if n <= 2 * _SAMPLE:
        return np.concatenate([problem.positive, others]), [n]
    rng = np.random.default_rng(problem.seed)
    positive = rng.permutation(problem.positive)
    negative = rng.permutation(others)
    sizes = [n]
    while sizes[0] > 2 * _SAMPLE:
        sizes.insert(0, sizes[0] // _GROWTH)
    order, levels, done_p, done_n = [], [], 0, 0
    for size in sizes:
        p = min(len(positive), max(round(len(positive) * size / n), min(200, size // 2)))
        q = min(len(negative), max(round(len(negative) * size / n), min(200, size // 2)))
        order += [positive[done_p:p], negative[done_n:q]]
        done_p, done_n = p, q
        levels.append(p + q)
    return np.concatenate(order), levels


def steepest(slope: np.ndarray, up: np.ndarray, down: np.ndarray, count: int) -> np.ndarray:
    """Steepest variables that can go up and those that can go down, `count` of each."""
    up, down = np.flatnonzero(up), np.flatnonzero(down)
    return np.union1d(largest(up, slope[up], count), largest(down, -slope[down], count))


def largest(index: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` entries of `index` with the largest values."""
    if len(index) <= count:
        return index
    return index[np.argpartition(-values, count - 1)[:count]]


def square(cache: RowCache, rows: np.ndarray, length: int) -> np.ndarray:
    """Kernel matrix of `rows`: from rows of the cache what they hold, the rest computed."""
    held = cache.holds(rows, length)
    if held.all():
        return cache.block(rows, rows)
    out = np.empty((len(rows), len(rows)), dtype=cache.kernel.dtype)
    lack = np.flatnonzero(~held)
    for some, columns in ((np.flatnonzero(held), np.arange(len(rows))), (lack, lack)):
        for start in range(0, len(some), _PART):
            part = some[start : start + _PART]
            _core.mirror(cache.block(rows[part], rows[columns]), out, part, columns)
    return out
