r"""What a list will bring, from lists that could have been made before.

The history's held-out rows stand for where candidates come from. A *replay* draws as many of
them as there are candidates, lets the same rule choose the list by the same gains, and counts
what the list would have brought. Drawn from a history that was itself redrawn each time, the
replays spread as the truth may: by the luck of these candidates and by what a short history
leaves open.

Bounds make what a list brings a concave function of the history: where more of the best rows
lie in one group, the bound takes more away. Redrawn histories are more uneven than the one
there is, which is more uneven than the truth, each by about as much (Efron and Tibshirani, "An
introduction to the bootstrap", 1993, chapter 10). So replays under limits are moved up by twice
what redrawing takes away.

Only rows that could get on the list are written out: a row that is drawn a hundred times
fills at most k places, and of a cell of the groupings only the best 2 k rows matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, t

from .selection import Rule, needs_programme, select

_REPLAYS = 400
# Where every list is an integer programme.
_FEW_REPLAYS = 100


@dataclass(frozen=True)
class Records:
    """Held-out rows of the history, as the rule sees them.

    Attributes
    ----------
    gain : ndarray
        Expected gain of each row, by models that had not seen it: what ranks them.
    outcome : ndarray
        What each row brought, in the unit of the gain.
    hit : ndarray
        What each row counts as a hit.
    weight : ndarray
        How often each stands for a candidate.
    rule : Rule
        Entities and groups of these rows, and the budget of the candidates.
    kept : float
        Share of an entity's rows that a draw keeps: candidates may hold fewer of each.
    """

    gain: np.ndarray
    outcome: np.ndarray
    hit: np.ndarray
    weight: np.ndarray
    rule: Rule
    kept: float = 1.0

    def take(self, rows: np.ndarray) -> Records:
        """Return some of the rows."""
        return replace(
            self,
            gain=self.gain[rows],
            outcome=self.outcome[rows],
            hit=self.hit[rows],
            weight=self.weight[rows],
            rule=self.rule.take(rows),
        )

    def ranked_by(self, gain: np.ndarray) -> Records:
        """Return the same rows in another order."""
        return replace(self, gain=gain)


@dataclass(frozen=True)
class Replays:
    r"""What each replayed list brought.

    Attributes
    ----------
    outcome, hits, length, largest : ndarray
        Sum of each list, its hits, its rows, and what its best row brought.
    effective : float
        Rows of the history that carry the sum: :math:`(\sum c_i)^2 / \sum c_i^2` of what each
        adds to the lists.
    """

    outcome: np.ndarray
    hits: np.ndarray
    length: np.ndarray
    largest: np.ndarray
    effective: float = np.inf

    def interval(
        self, values: np.ndarray, confidence: float = 0.9, stretch: float = 1.0
    ) -> tuple[float, float, float]:
        """Mean and central interval of some of these figures, made wider by `stretch`."""
        tail = 50.0 * (1.0 - confidence)
        mean = float(values.mean())
        low, high = np.percentile(values, [tail, 100.0 - tail])
        # Where next to no list brings anything, their mean may lie beyond the ends.
        low, high = min(float(low), mean), max(float(high), mean)
        return mean, mean - stretch * (mean - low), mean + stretch * (high - mean)

    def gains(self, per_row: bool) -> np.ndarray:
        """Return what each list brought: the sum, or the mean of its rows."""
        return self.outcome / np.maximum(self.length, 1.0) if per_row else self.outcome

    def corrected(self, as_it_is: Replays) -> Replays:
        """Return replays without the bias of redrawing, known from the history as it is."""
        pairs = ((self.outcome, as_it_is.outcome), (self.hits, as_it_is.hits))
        outcome, hits = (2.0 * float(plain.mean()) - float(mine.mean()) for mine, plain in pairs)
        return self.moved_to(outcome, hits)

    def moved_to(self, outcome: float, hits: float) -> Replays:
        """Return replays that spread as these do, around other means."""
        return replace(
            self,
            outcome=self.outcome + (outcome - self.outcome.mean()),
            hits=self.hits + (hits - self.hits.mean()),
        )

    @property
    def few_rows(self) -> float:
        """How much wider an interval is whose spread is known from so few rows: Student's."""
        rows = max(2.0, self.effective)
        return float(t.ppf(0.95, rows - 1.0) / norm.ppf(0.95))

    @property
    def one_row_carries_it(self) -> bool:
        """Whether the best row of a list usually brings more than half of its sum."""
        carried = (self.outcome > 0.0) & (self.largest > 0.5 * self.outcome)
        return bool(carried.mean() > 0.5)


def replay(
    records: Records,
    cells: np.ndarray | None,
    n_candidates: int,
    seed: int,
    replays: int | None = None,
    redrawn: bool = True,
) -> Replays:
    """Replay the list.

    Parameters
    ----------
    records : Records
        Held-out rows.
    cells : ndarray or None
        How many candidates lie in each cell of the rule's groupings (see :func:`cells_of`),
        where that is known; draws then keep these numbers.
    n_candidates : int
        Candidates, or entities among them where the list takes one row of each.
    seed : int
        Of the draws.
    replays : int, default=None
        How many lists are made; None is 400, or 100 where each is an integer programme.
    redrawn : bool, default=True
        Whether the history is redrawn each time.

    Returns
    -------
    Replays
        What they brought.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.replay import Records, replay
    >>> from shortlist.picking.terms.selection import Rule
    >>> hit = np.arange(1000) < 100
    >>> records = Records(hit * 1.0, hit * 5.0, hit * 1.0, np.ones(1000), Rule(k=20))
    >>> replays = replay(records, None, 500, seed=0)
    >>> float(replays.outcome.mean()), float(replays.hits.mean())
    (100.0, 20.0)
    """
    rng = np.random.default_rng(seed)
    ranked = _Ranked(records)
    pool = ranked.pool()
    if replays is None:
        replays = _FEW_REPLAYS if needs_programme(records.rule) else _REPLAYS
    found, carried = np.empty((4, replays)), np.zeros(len(records.gain))
    for number in range(replays):
        if records.kept < 1.0:
            pool = ranked.pool(rng.random(len(records.gain)) < records.kept)
        rows, entity = pool.draw(rng, cells, n_candidates, redrawn)
        rule = replace(records.rule.take(rows), entity=entity)
        rule = possible(rule)
        chosen = rows[select(records.gain[rows], rule)]
        outcome = records.outcome[chosen]
        np.add.at(carried, chosen, np.abs(outcome))
        found[:, number] = (
            outcome.sum(),
            records.hit[chosen].sum(),
            len(chosen),
            outcome.max(initial=0.0),
        )
    square = float(carried @ carried)
    effective = float(carried.sum()) ** 2 / square if square > 0.0 else np.inf
    return Replays(found[0], found[1], found[2], found[3], effective)


def cells_of(rule: Rule, n_rows: int) -> tuple[np.ndarray, int]:
    """Return the cell of the groupings that each row lies in, and how many cells there are."""
    if not rule.limits:
        return np.zeros(n_rows, dtype=np.intp), 1
    shape = tuple(len(limit.labels) for limit in rule.limits)
    cell = np.ravel_multi_index(tuple(limit.group for limit in rule.limits), shape)
    return cell, int(np.prod(shape))


class _Ranked:
    """Held-out rows in the order of their gains."""

    def __init__(self, records: Records) -> None:
        n = len(records.gain)
        rule = records.rule
        self._k = rule.k
        self._entities = rule.entity is not None
        self._cell, self._n_cells = cells_of(rule, n)
        order = np.lexsort((np.arange(n), -records.gain))
        self._rank = np.empty(n, dtype=np.intp)
        self._rank[order] = np.arange(n)
        self._unit, self._weight = np.arange(n), records.weight
        self._by_pair, self._pair = self._unit, self._unit
        if rule.entity is not None:
            _, self._unit = np.unique(rule.entity, return_inverse=True)
            # An entity is as frequent among the candidates as its rows are, on average.
            self._weight = np.bincount(self._unit, records.weight) / np.bincount(self._unit)
            # Of an entity's rows in one cell only the best can be on the list.
            pair = self._unit * self._n_cells + self._cell
            self._by_pair = np.lexsort((self._rank, pair))
            self._pair = pair[self._by_pair]

    def pool(self, kept: np.ndarray | None = None) -> _Pool:
        """Return those that take part: all, or of entities' rows those that are `kept`."""
        rows, pair = self._by_pair, self._pair
        if self._entities and kept is not None and kept.any():
            inside = kept[rows]
            rows, pair = rows[inside], pair[inside]
        rows = rows[np.diff(pair, prepend=-1) != 0]
        rows = rows[np.argsort(self._rank[rows])]
        cell, unit = self._cell[rows], self._unit[rows]
        by_cell = np.argsort(cell, kind="stable")
        start = np.searchsorted(cell[by_cell], np.arange(self._n_cells + 1))
        share = np.zeros(len(self._weight))
        share[unit] = self._weight[unit]
        return _Pool(self._k, self._entities, rows, cell, unit, by_cell, start, share / share.sum())


@dataclass(frozen=True)
class _Pool:
    """Rows ready to be drawn from, best first.

    Attributes
    ----------
    k : int
        Length of the list.
    entities : bool
        Whether several rows may be of one entity.
    rows, cell, unit : ndarray of int
        The rows, their cells of the groupings, and what is drawn with them: an entity, or
        the row itself.
    by_cell, start : ndarray of int
        Their places in the order of the cells, and where each cell starts there.
    share : ndarray
        How often each unit is drawn.
    """

    k: int
    entities: bool
    rows: np.ndarray
    cell: np.ndarray
    unit: np.ndarray
    by_cell: np.ndarray
    start: np.ndarray
    share: np.ndarray

    def draw(
        self,
        rng: np.random.Generator,
        cells: np.ndarray | None,
        n_candidates: int,
        redrawn: bool,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return rows that could get on the list, and their entities."""
        share = self.share
        if redrawn:
            # A history that was drawn anew: Bayesian bootstrap.
            share = share * rng.standard_exponential(len(share))
            share /= share.sum()
        if self.entities:
            count = rng.multinomial(n_candidates, share)
        elif cells is None:
            count = self._draw_top(rng, share, n_candidates)
        else:
            count = np.zeros(len(share), dtype=np.int64)
            for c in np.flatnonzero(cells):
                inside = self.unit[self.by_cell[self.start[c] : self.start[c + 1]]]
                # A cell that the history does not know is like all of it.
                inside = inside if len(inside) else np.arange(len(share))
                mass = share[inside]
                count[inside] += rng.multinomial(int(cells[c]), mass / mass.sum())
        copies = np.minimum(count, self.k)[self.unit]
        # A cell fills at most k places; twice as many are enough where entities lie in several.
        sorted_copies = copies[self.by_cell]
        ahead = np.cumsum(sorted_copies) - sorted_copies
        ahead -= np.append(ahead, 0)[self.start[self.cell[self.by_cell]]]
        copies[self.by_cell] = np.clip(2 * self.k - ahead, 0, sorted_copies)
        rows = np.repeat(self.rows, copies)
        if not self.entities:
            return rows, None
        start = np.repeat(np.cumsum(copies) - copies, copies)
        copy = np.arange(len(rows)) - start
        return rows, np.repeat(self.unit, copies) * (self.k + 1) + copy

    def _draw_top(
        self, rng: np.random.Generator, share: np.ndarray, n_candidates: int
    ) -> np.ndarray:
        """Draw the best rows one by one and all others as one.

        So many are the best that they fill the list four times over, in expectation: what else
        is drawn cannot be on it. Where it could, by a rare chance, all rows are drawn.
        """
        enough = (4.0 * self.k + 20.0) / n_candidates
        ranked = self.unit[: 1 + int(np.searchsorted(np.cumsum(share[self.unit]), enough))]
        mass = share[ranked]
        drawn = rng.multinomial(n_candidates, np.append(mass, max(0.0, 1.0 - mass.sum())))[:-1]
        if drawn.sum() < self.k and len(ranked) < len(share):
            return rng.multinomial(n_candidates, share)
        count = np.zeros(len(share), dtype=np.int64)
        count[ranked] = drawn
        return count


def possible(rule: Rule) -> Rule:
    """Lower the least of groups that these rows cannot meet."""
    limits = []
    for limit in rule.limits:
        there = np.bincount(limit.group, minlength=len(limit.labels))
        if rule.entity is not None:
            pairs = np.unique(np.stack([limit.group, rule.entity]), axis=1)
            there = np.bincount(pairs[0], minlength=len(limit.labels))
        limits.append(replace(limit, least=np.minimum(limit.least, there)))
    return replace(rule, limits=tuple(limits))
