"""The list under the user's terms: what is on it, what it brings, and what the terms cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .combining import HeldOut
from .comparison import ExpectedHits
from .outlook import CONFIDENCE
from .probability import Calibration, calibrate
from .replay import Records, Replays, cells_of, replay
from .selection import select
from .terms import Side, Terms


@dataclass(frozen=True)
class ExpectedGain:
    """What the list is expected to bring, in the unit of `value` and `cost`.

    Attributes
    ----------
    value : float
        Expected sum.
    low, high : float
        Ends of the interval that holds the actual sum with probability `confidence`.
    confidence : float
        That probability.
    most_hits : float
        What the list with most hits would bring.
    limits_cost : float
        What the limits take away from the list, in expectation.
    """

    value: float
    low: float
    high: float
    confidence: float
    most_hits: float
    limits_cost: float = 0.0


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is needed to make the list for any budget.

    Attributes
    ----------
    terms : Terms
        What the user said.
    probability : ndarray of shape (n_candidates,)
        Calibrated probability of every candidate.
    records : Records
        Held-out rows of the history with the rule for them; their budget is set later.
    side : Side
        Terms of these rows.
    held_probability : ndarray
        Their probabilities.
    seed : int
        Of the replays.
    """

    terms: Terms
    probability: np.ndarray
    records: Records
    side: Side
    held_probability: np.ndarray
    seed: int

    @property
    def decides(self) -> bool:
        """Whether the terms change the list or what is expected of it."""
        return self.terms.ruled or self.terms.time is not None

    def assumed(self) -> str:
        """Say which share of positives is taken for granted."""
        weight, positive = self.records.weight, self.records.hit > 0.0
        share = float(weight[positive].sum() / weight.sum())
        source = "as in the history" if self.terms.base_rate is None else "as you said"
        return f"{percent(share)} of the candidates are taken to be positive, {source}."

    def at(self, k: int) -> dict[str, Any]:
        """Return what depends on the budget: rows, expected hits and gain, and words."""
        terms, coming = self.terms, self.terms.candidates
        rule = terms.rule(k, coming)
        gain = coming.gain(self.probability)
        selected = select(gain, rule, coming.allowed)
        replays = self._replay(k, self.records.gain)
        value, low, high = replays.interval(replays.outcome, CONFIDENCE)
        hits = replays.interval(replays.hits, CONFIDENCE)
        most_hits, cost = value, 0.0
        if terms.valued:
            by_hits = self._replay(k, self.held_probability, fill=True)
            most_hits = float(by_hits.outcome.mean())
        if rule.limits:
            free = select(gain, rule.without_limits(), coming.allowed)
            cost = float(gain[free].sum() - gain[selected].sum())
        return {
            "selected": selected,
            "expected_hits": ExpectedHits(*hits, CONFIDENCE),
            "expected_gain": ExpectedGain(value, low, high, CONFIDENCE, most_hits, cost),
            "notes": self._notes(
                k,
                selected,
                replays,
                ExpectedGain(value, low, high, CONFIDENCE, most_hits, cost),
            ),
        }

    def _replay(self, k: int, gain: np.ndarray, fill: bool | None = None) -> Replays:
        records = self.records.ranked_by(gain)
        rule = self.terms.rule(k, self.side)
        rule = rule if fill is None else replace(rule, fill=fill)
        coming = self.terms.candidates.take(np.flatnonzero(self.terms.candidates.allowed))
        n, cells = len(coming.value), None
        if coming.entity is not None:
            n = len(np.unique(coming.entity))
        elif self.terms.bounds:
            cell, n_cells = cells_of(self.terms.rule(k, coming), n)
            cells = np.bincount(cell, minlength=n_cells)
        return replay(replace(records, rule=rule), cells, n, self.seed)

    def _notes(
        self, k: int, selected: np.ndarray, replays: Replays, gain: ExpectedGain
    ) -> list[str]:
        """Say what the terms did, in sentences."""
        terms, notes, cost = self.terms, [], gain.limits_cost
        if terms.valued:
            notes.append(
                f"This list is worth {amount(gain.value)} ({amount(gain.low)} to "
                f"{amount(gain.high)}); the list with most hits {amount(gain.most_hits)}."
            )
        unit = "" if terms.valued else " expected hits"
        if terms.valued and len(selected) < k:
            notes.append(
                f"The list holds {len(selected)} of {k} rows: no other row is expected to bring "
                "more than it costs."
            )
        elif len(selected) < k:
            notes.append(f"The terms leave {len(selected)} rows for a budget of {k}.")
        if terms.bounds:
            notes.append(f"The limits cost {amount(cost)}{unit}.")
        if terms.valued and replays.one_row_carries_it:
            notes.append("One row usually brings more than half of the sum: expect large swings.")
        return [*notes, self.assumed()]


def make_plan(
    terms: Terms, held_out: HeldOut, log_odds: np.ndarray, seed: int, latest: int | None = None
) -> Plan:
    """Calibrate, and put the held-out rows under the terms.

    Parameters
    ----------
    terms : Terms
        What the user said, for the history's rows of positive weight.
    held_out : HeldOut
        Log odds of rows by models that did not learn from them.
    log_odds : ndarray
        Those of the candidates.
    seed : int
        Of the replays.
    latest : int or None
        Folds at the end that stand for the candidates; None: all of the first repeat.
    """
    fold = held_out.fold
    used = fold < held_out.first
    if latest is not None:
        used &= fold >= held_out.first - latest
    positive, weight, z = (
        held_out.positive[used],
        held_out.weight[used],
        held_out.log_odds[used],
    )
    curve: Calibration = calibrate(z, positive, weight)
    if terms.base_rate is not None:
        seen = float(weight[positive].sum() / weight.sum())
        curve = curve.at_base_rate(terms.base_rate, seen)
        thinned = np.where(positive, terms.base_rate / seen, (1 - terms.base_rate) / (1 - seen))
        weight = weight * thinned
    side = terms.history.take(held_out.row[used])
    kept = 1.0
    if side.entity is not None:
        if terms.time is not None:
            # The same entity in another window is another chance to find it.
            windows = int(fold.max()) + 1
            side = replace(side, entity=side.entity * windows + fold[used])
        kept = min(1.0, _rows_each(terms.candidates.entity) / _rows_each(side.entity))
    probability = curve(z)
    records = Records(
        side.gain(probability),
        positive * side.value - side.cost,
        positive.astype(np.float64),
        weight,
        terms.rule(1, side),
        kept,
    )
    return Plan(terms, curve(log_odds), records, side, probability, seed)


def _rows_each(entity: np.ndarray | None) -> float:
    """Return the mean number of rows of an entity."""
    assert entity is not None
    return len(entity) / len(np.unique(entity))


def percent(share: float) -> str:
    """Write a share with two digits or more.

    Examples
    --------
    >>> from shortlist.picking.plan import percent
    >>> percent(0.3), percent(0.0123)
    ('30%', '1.2%')
    """
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.01 else f"{share:.2%}"


def amount(value: float) -> str:
    """Write a sum with three digits or more, thousands apart.

    Examples
    --------
    >>> from shortlist.picking.plan import amount
    >>> amount(41234.6), amount(3.14159), amount(-0.05)
    ('41,235', '3.14', '-0.05')
    """
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:,.{digits}f}"
