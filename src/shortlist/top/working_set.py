"""Which rows a kernel solver works on: samples to start from, rows to take in, their matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..rows.cache import RowCache
from .kernel_problem import DualPoint, KernelTopProblem, alpha_bound
from .problem import TopTerms

_SAMPLE = 1500
_GROWTH = 4
_PART = 1024
_JOIN = 500


@dataclass(frozen=True)
class Chosen:
    """Variables of a restricted problem: alpha numbers, beta numbers, ascending.

    Attributes
    ----------
    alpha, beta : ndarray of int
        The variables.
    crowded : bool
        Whether some that matter had to be left out.
    """

    alpha: np.ndarray
    beta: np.ndarray
    crowded: bool


def choose(
    terms: TopTerms, point: DualPoint, held: DualPoint, scores: np.ndarray, most: int
) -> Chosen:
    """Choose the variables in the model and those that violate optimality.

    Parameters
    ----------
    terms : TopTerms
        The problem.
    point : DualPoint
        Where the restricted problem starts.
    held : DualPoint
        The point whose scores are known; its variables take part.
    scores : ndarray
        Scores of all rows.
    most : int
        Rows whose square matrix the memory allows.
    """
    alpha, beta, threshold = point.alpha, point.beta, terms.threshold
    form, upper = threshold.form(terms.ranked_weight), alpha_bound(terms)
    ridge = terms.loss.ridge / terms.c
    slope_a = 1.0 + threshold.shift - ridge * alpha - scores[terms.positive]
    slope_b = -scores[terms.ranked]
    if form == "norm":
        norm = np.sqrt(float((beta / terms.ranked_weight) @ beta))
        slope_b += threshold.price / norm * beta / terms.ranked_weight
    inside = (beta > 0.0) | (held.beta > 0.0)
    # Slope at which a row may join: that of the scale of all beta, and, where only
    # rows of the threshold trade among themselves, that of the least of them.
    total = float(slope_b @ beta)
    if form == "priced":
        total += threshold.price * threshold.level(beta, terms.ranked_weight)
    level_a = level_b = total / float(beta.sum())
    if form == "tied":
        level_b = float(slope_b[inside].max())
    use_a = np.flatnonzero((alpha > 0.0) | (held.alpha > 0.0) | (slope_a > level_a))
    use_b, new_b = np.flatnonzero(inside), np.flatnonzero(~inside & (slope_b < level_b))
    size = len(use_a) + len(use_b)
    joining, room = max(_JOIN, size // 4), most - size
    new_b = largest(new_b, -slope_b[new_b], min(joining, room) if room > _JOIN else joining)
    use_b = np.concatenate([use_b, new_b])
    crowded = len(use_a) + len(use_b) > most
    if crowded:
        quarter = max(1, most // 4)
        use_a = steepest(slope_a, alpha < upper, alpha > 0.0, quarter)
        below = np.ones(len(beta), dtype=bool)
        if form in ("tied", "priced"):
            level = threshold.level(beta, terms.ranked_weight)
            below = beta < terms.ranked_weight * level * (1.0 - 1e-12)
        use_b = steepest(slope_b, inside, below, quarter)
    return Chosen(np.sort(use_a), np.sort(use_b), crowded)


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
    others = problem.ranked[~np.isin(problem.ranked, problem.positive)]
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
