r"""Which rows go on the list: the largest gain that the rules allow.

.. math:: \max_{x \in \{0,1\}^m} \sum_i g_i x_i \quad\text{with}\quad \sum_i x_i \le k, \quad
          \sum_{i \in e} x_i \le 1, \quad l_g \le \sum_{i \in g} x_i \le u_g

over the rows :math:`i`, entities :math:`e` and limited groups :math:`g`. Without limits, and
with one grouping, a sorted list gives the optimum; several groupings at once, or entities whose
rows lie in several groups, make a small integer programme. Rows of the same groups are
interchangeable up to their gain, so only the best k of each cell of the groupings enter it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp


class InfeasibleError(ValueError):
    """No list keeps these limits."""


@dataclass(frozen=True)
class Limit:
    """How many rows of each group a list may hold.

    Attributes
    ----------
    name : str
        What the rows are grouped by.
    group : ndarray of int
        Group of every row.
    labels : sequence
        Name of every group.
    least, most : ndarray
        Bounds of every group; `most` may be infinite.
    """

    name: str
    group: np.ndarray
    labels: Sequence
    least: np.ndarray
    most: np.ndarray

    def take(self, rows: np.ndarray) -> Limit:
        """Return the limit of some of the rows."""
        return replace(self, group=self.group[rows])

    def words(self, g: Any) -> str:
        """Say one bound, for a message."""
        parts = []
        if self.least[g] > 0:
            parts.append(f"at least {self.least[g]:g}")
        if np.isfinite(self.most[g]):
            parts.append(f"at most {self.most[g]:g}")
        return f"{' and '.join(parts) or 'any number'} of {self.name}={self.labels[g]!s}"


@dataclass(frozen=True)
class Rule:
    """What a list may hold.

    Attributes
    ----------
    k : int
        Rows at most.
    entity : ndarray of int or None
        Entity of every row, of which the list holds one row at most.
    limits : tuple of Limit
        Bounds per group.
    fill : bool
        Whether rows of no gain are taken to fill the budget.
    """

    k: int
    entity: np.ndarray | None = None
    limits: tuple[Limit, ...] = ()
    fill: bool = True

    def take(self, rows: np.ndarray) -> Rule:
        """Return the rule for some of the rows."""
        return replace(
            self,
            entity=None if self.entity is None else self.entity[rows],
            limits=tuple(limit.take(rows) for limit in self.limits),
        )

    def without_limits(self) -> Rule:
        """Return the rule with its budget and entities only."""
        return replace(self, limits=())


def select(gain: np.ndarray, rule: Rule, allowed: np.ndarray | None = None) -> np.ndarray:
    """Return the rows of the best list, largest gain first, ties by row number.

    Parameters
    ----------
    gain : ndarray of shape (n_rows,)
        What taking each row brings, in expectation.
    rule : Rule
        What the list may hold.
    allowed : ndarray of bool, default=None
        Rows that may be taken at all.

    Returns
    -------
    ndarray of int
        Row numbers.

    Raises
    ------
    InfeasibleError
        Where no list keeps the limits; it names them.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.selection import Limit, Rule, select
    >>> region = Limit("region", np.array([0, 0, 1]), ["north", "south"],
    ...                least=np.zeros(2), most=np.array([1.0, np.inf]))
    >>> select(np.array([3.0, 2.0, 1.0]), Rule(k=2, limits=(region,)))
    array([0, 2])
    """
    gain = np.asarray(gain, dtype=np.float64)
    rows = np.arange(len(gain)) if allowed is None else np.flatnonzero(allowed)
    rule = rule.take(rows)
    _check_possible(rule)
    local = gain[rows]
    best = _programme if needs_programme(rule) else _sorted_list
    chosen = rows[best(local, rule)]
    return chosen[np.lexsort((chosen, -gain[chosen]))]


def _best_of_entity(gain: np.ndarray, entity: np.ndarray) -> np.ndarray:
    """Return the best row of every entity, in the order of their gains."""
    order = np.lexsort((np.arange(len(gain)), -gain))
    _, first = np.unique(entity[order], return_index=True)
    return order[np.sort(first)]


def needs_programme(rule: Rule) -> bool:
    """Whether a sorted list is not enough."""
    return len(rule.limits) > 1 or (bool(rule.limits) and _straddles(rule))


def _straddles(rule: Rule) -> bool:
    """Whether rows of one entity lie in several limited groups."""
    if rule.entity is None:
        return False
    group = rule.limits[0].group
    order = np.lexsort((group, rule.entity))
    same = np.diff(rule.entity[order]) == 0
    return bool((same & (np.diff(group[order]) != 0)).any())


def _sorted_list(gain: np.ndarray, rule: Rule) -> np.ndarray:
    """Solve for one grouping: the least of each group first, then the best that still fit."""
    if rule.entity is None:
        order = np.lexsort((np.arange(len(gain)), -gain))
    else:
        order = _best_of_entity(gain, rule.entity)
    if not rule.limits:
        worth = len(order) if rule.fill else int(np.count_nonzero(gain[order] > 0.0))
        return order[: min(rule.k, worth)]
    limit = rule.limits[0]
    group = limit.group[order]
    by_group = np.argsort(group, kind="stable")
    start = np.searchsorted(group[by_group], np.arange(len(limit.labels)))
    place = np.empty(len(order), dtype=np.intp)  # place of a row within its group
    place[by_group] = np.arange(len(order)) - start[group[by_group]]
    needed = place < limit.least[group]
    optional = ~needed & (place < limit.most[group])
    if not rule.fill:
        optional &= gain[order] > 0.0
    extra = np.flatnonzero(optional)[: rule.k - int(needed.sum())]
    return order[np.sort(np.concatenate([np.flatnonzero(needed), extra]))]


def _check_possible(rule: Rule) -> None:
    """Raise an error for limits that contradict one another within one grouping."""
    for limit in rule.limits:
        room = np.bincount(limit.group, minlength=len(limit.labels)).astype(float)
        if rule.entity is not None:
            pairs = np.unique(np.stack([limit.group, rule.entity]), axis=1)
            room = np.bincount(pairs[0], minlength=len(limit.labels)).astype(float)
        for g in np.flatnonzero(limit.least > np.minimum(room, limit.most)):
            there = f"there are {room[g]:g}" if limit.least[g] > room[g] else "that contradicts"
            raise InfeasibleError(f"The list must hold {limit.words(g)}: {there}. Lower the bound.")
        if limit.least.sum() > rule.k:
            held = ", ".join(limit.words(g) for g in np.flatnonzero(limit.least > 0))
            raise InfeasibleError(
                f"The list must hold {held}: together {limit.least.sum():g}, and the budget is "
                f"{rule.k}. Lower the bounds or raise k."
            )


def _programme(gain: np.ndarray, rule: Rule) -> np.ndarray:
    """Solve several groupings at once as an integer programme."""
    kept = _contenders(gain, rule)
    limits = [limit.take(kept) for limit in rule.limits]
    g = gain[kept]
    constraints = [sparse.csr_array(np.ones((1, len(kept))))]
    low, high = [np.array([-np.inf])], [np.array([float(rule.k)])]
    if rule.entity is not None:
        _, entity = np.unique(rule.entity[kept], return_inverse=True)
        constraints.append(_members(entity, int(entity.max()) + 1))
        low.append(np.full(constraints[-1].shape[0], -np.inf))
        high.append(np.ones(constraints[-1].shape[0]))
    for limit in limits:
        constraints.append(_members(limit.group, len(limit.labels)))
        low.append(np.where(limit.least > 0, limit.least, -np.inf))
        high.append(limit.most)
    members, lower, upper = sparse.vstack(constraints), np.concatenate(low), np.concatenate(high)
    scale = max(float(np.abs(g).max()), np.finfo(float).tiny)
    # A row of no gain costs a little: it is taken only where a bound needs it.
    worth = g / scale if rule.fill else np.where(g > 0.0, g / scale, np.minimum(g / scale, -1e-6))
    best = None
    if rule.fill:
        # Usually the budget can be filled; where not, as far as the limits let it.
        full = np.concatenate([[float(rule.k)], lower[1:]])
        best = _maximise(worth, members, full, upper)
        if best is None:
            longest = _maximise(np.ones(len(kept)), members, lower, upper)
            if longest is not None:
                lower = np.concatenate([[float(longest.sum())], lower[1:]])
    if best is None:
        best = _maximise(worth, members, lower, upper)
    if best is None:
        raise InfeasibleError(_conflict(rule, limits, members, lower, upper))
    return kept[best]


def _maximise(
    worth: np.ndarray, members: sparse.csr_array, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray | None:
    """Return which rows are taken, None where nothing keeps the bounds."""
    solved = milp(
        -worth,
        constraints=LinearConstraint(_narrow(members), lower, upper),
        integrality=np.ones(len(worth)),
        bounds=Bounds(0.0, 1.0),
        options={"mip_rel_gap": 0.0},
    )
    return None if solved.x is None else solved.x > 0.5


def _contenders(gain: np.ndarray, rule: Rule) -> np.ndarray:
    """Rows that some best list may hold: the best k of each cell of the groupings.

    That holds with entities as well. Were a row below the best k of its cell on the list, one
    of these k, whose entities differ, would be of an entity that is not, and could replace it.
    """
    order = np.lexsort((np.arange(len(gain)), -gain))
    cells = np.stack([limit.group for limit in rule.limits])
    _, cell = np.unique(cells, axis=1, return_inverse=True)
    cell = cell.ravel()
    if rule.entity is not None:
        # Of the rows of an entity in one cell only the best can be on the list.
        pairs = np.stack([cell[order], rule.entity[order]])
        _, first = np.unique(pairs, axis=1, return_index=True)
        order = order[np.sort(first)]
    by_cell = np.argsort(cell[order], kind="stable")
    start = np.searchsorted(cell[order][by_cell], np.arange(cell.max() + 1))
    place = np.empty(len(order), dtype=np.intp)
    place[by_cell] = np.arange(len(order)) - start[cell[order][by_cell]]
    return np.sort(order[place < rule.k])


def _narrow(matrix: Any) -> sparse.csc_array:
    """Return the matrix with the 32-bit indices that HiGHS takes; later versions see to it."""
    matrix = sparse.csc_array(matrix)
    matrix.indices, matrix.indptr = (
        part.astype(np.int32) for part in (matrix.indices, matrix.indptr)
    )
    return matrix


def _members(group: np.ndarray, n_groups: int) -> sparse.csr_array:
    n = len(group)
    return sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(n_groups, n))


def _conflict(
    rule: Rule,
    limits: list[Limit],
    members: sparse.csr_array,
    lower: np.ndarray,
    upper: np.ndarray,
) -> str:
    """Name the lower bounds that cannot all be met: those that a cheapest relaxation gives up."""
    n_bounds, n = members.shape
    wanted = np.flatnonzero(np.isfinite(lower))
    slack = sparse.csr_array(
        (np.ones(len(wanted)), (wanted, np.arange(len(wanted)))), shape=(n_bounds, len(wanted))
    )
    solved = milp(
        np.concatenate([np.zeros(n), np.ones(len(wanted))]),
        constraints=LinearConstraint(_narrow(sparse.hstack([members, slack])), lower, upper),
        integrality=np.ones(n + len(wanted)),
        bounds=Bounds(0.0, np.concatenate([np.ones(n), lower[wanted]])),
    )
    first = n_bounds - sum(len(limit.labels) for limit in limits)
    names = [limit.words(g) for limit in limits for g in range(len(limit.labels))]
    missed = [] if solved.x is None else wanted[solved.x[n:] > 0.5]
    text = ", ".join(names[bound - first] for bound in missed) or "all of the limits"
    return (
        f"No list of {rule.k} rows keeps all limits at once: it would have to give up "
        f"{text}. Lower these bounds or raise k."
    )
