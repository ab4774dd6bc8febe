"""The list under the user's terms: what is on it, what it brings, and what the terms cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._written import amount, percent
from ..forecast.comparison import ExpectedHits
from ..forecast.outlook import CONFIDENCE, hit_interval
from ..forecast.probability import shift_towards, shifted
from ..race.combining import HeldOut
from ..race.goals import GOALS
from .replay import Records, Replays, cells_of, replay
from .selection import select
from .terms import Side, Terms
from .windows import Window, levelled, past_windows, stretch, trend


@dataclass(frozen=True)
class ExpectedGain:
    """What the list is expected to bring, in the unit of `value` and `cost`.

    Attributes
    ----------
    value : float
        Expected sum; with ``goal="mean"``, the mean of a row.
    low, high : float
        Ends of the interval that holds the actual sum with probability `confidence`.
    confidence : float
        That probability.
    most_hits : float
        What the list by probability, or by expected outcome, alone would bring.
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
        Calibrated probability of every candidate; of numeric outcomes, what is expected.
    records : Records
        Held-out rows of the history with the rule for them; their budget is set later.
    side : Side
        Terms of these rows.
    held_probability : ndarray
        Their probabilities.
    seed : int
        Of the replays.
    fold : ndarray
        The fold that held each of these rows out.
    recent : ndarray of bool
        Rows that stand for the candidates: with times, those of the latest windows.
    time : ndarray or None
        Times of these rows.
    """

    terms: Terms
    probability: np.ndarray
    records: Records
    side: Side
    held_probability: np.ndarray
    seed: int
    fold: np.ndarray
    recent: np.ndarray
    time: np.ndarray | None

    @property
    def decides(self) -> bool:
        """Whether the terms change the list or what is expected of it."""
        return self.terms.ruled or self.terms.time is not None

    def assumed(self) -> str:
        """Say what is taken for granted about the candidates."""
        weight = self.records.weight[self.recent]
        share = float(weight @ self.records.hit[self.recent] / weight.sum())
        if self.terms.goal != "hits":
            return (
                "The candidates are taken to be like the history, where the mean is "
                f"{amount(share)}."
            )
        source = "as in the history" if self.terms.base_rate is None else "as you said"
        return f"{percent(share)} of the candidates are taken to be positive, {source}."

    def at(self, k: int, refused: bool = False) -> dict[str, Any]:
        """Return what depends on the budget: rows, expected hits and gain, and words.

        Where a forecast is refused, the words are about what would be if nothing had changed.
        """
        terms, coming = self.terms, self.terms.candidates
        rule = terms.rule(k, coming)
        gain = coming.gain(self.probability)
        selected = select(gain, rule, coming.allowed)
        # Where few rows are worth their cost, the forecast is that of so few.
        places = k if terms.fill else len(selected)
        past = replays = self._replay(places, self.records.gain)
        windows = self._windows(places)
        per_row, counted, shift = terms.goal == "mean", terms.goal == "hits", 0.0
        if counted:
            shift = self._shift(selected, float(past.hits.mean()))
            told = shifted(self.probability, shift)
            gain = coming.gain(told)
            # The past says how far such a list may miss, the rows what is expected of this one.
            replays = past.moved_to(float(gain[selected].sum()), float(told[selected].sum()))
        gains = replays.gains(per_row)
        brought = [
            window.gain / (max(1, window.taken) if per_row else window.size) for window in windows
        ]
        recent = len(np.unique(self.fold[self.recent]))
        wider = max(stretch(gains, brought, recent), replays.few_rows)
        value, low, high = replays.interval(gains, CONFIDENCE, wider)
        if (self.records.outcome >= 0.0).all():
            low = max(0.0, low)
        most_hits, cost = value, 0.0
        if terms.valued and counted:
            by_hits = select(self.probability, replace(rule, fill=True), coming.allowed)
            most_hits = float(gain[by_hits].sum())
        elif terms.valued:
            by_outcome = self._replay(k, self.held_probability)
            most_hits = float(by_outcome.gains(per_row).mean())
        if rule.limits:
            free = select(gain, rule.without_limits(), coming.allowed)
            cost = _total(gain[free], per_row) - _total(gain[selected], per_row)
        expected = ExpectedGain(value, low, high, CONFIDENCE, most_hits, cost)
        hits = None
        if counted:
            found = [window.hits / window.size for window in windows]
            wider = stretch(replays.hits, found, recent)
            hits = _whole(replays.interval(replays.hits, CONFIDENCE, wider), len(selected))
            if hits.value < 1.0 and len(selected):
                # No hit in the past is no proof that there is none: half a hit is added.
                seen = places * float(self.recent.sum()) / len(coming.value)
                share = hits.value / len(selected)
                most = hit_interval(len(selected), share, np.inf, seen, 0.0, CONFIDENCE)[1]
                hits = replace(hits, high=max(hits.high, most))
                room = most * coming.value[selected].mean() - coming.cost[selected].sum()
                expected = replace(expected, high=max(expected.high, float(room)))
            expected = _between_none_and_all(expected, coming.take(selected))
            if not terms.valued:
                expected = replace(expected, value=hits.value, low=hits.low, high=hits.high)
        return {
            "selected": selected,
            "shift": shift,
            "expected_hits": hits,
            "expected_gain": expected,
            "windows": windows,
            "notes": [
                *self._notes(k, selected, past, expected, refused),
                *trend(windows, terms.calendar, terms.goal != "hits"),
                self.assumed(),
            ],
        }

    def _shift(self, selected: np.ndarray, hits: float) -> float:
        """Return what is added to the log odds of all candidates: a list sums to its forecast.

        Under `value` and `cost` nothing is. The probabilities chose the rows there, and what a
        row is expected to bring is why it is on the list. Elsewhere only their order chose, and
        of each entity the best row was taken: they go towards what the past says of such lists.
        """
        if self.terms.valued or not len(selected):
            return 0.0
        return shift_towards(self.probability[selected], hits)

    def _open(self) -> Side:
        """Return the candidates that may be taken."""
        return self.terms.candidates.take(np.flatnonzero(self.terms.candidates.allowed))

    def _replay(self, k: int, gain: np.ndarray) -> Replays:
        """Replay lists of `k` rows that are ranked by these gains."""
        recent = np.flatnonzero(self.recent)
        rule = replace(self.terms.rule(k, self.side.take(recent)), fill=True)
        records = replace(self.records.ranked_by(gain).take(recent), rule=rule)
        records = records.ranked_by(levelled(records.gain, self.fold[recent], records.weight))
        coming = self._open()
        n, cells = coming.longest, None
        if coming.entity is None and self.terms.bounds:
            cell, n_cells = cells_of(self.terms.rule(k, coming), n)
            cells = np.bincount(cell, minlength=n_cells)
        replays = replay(records, cells, n, self.seed)
        if rule.limits:
            replays = replays.corrected(replay(records, cells, n, self.seed, redrawn=False))
        return replays

    def _windows(self, k: int) -> tuple[Window, ...]:
        """Make the list in every window of the past."""
        if self.time is None or k == 0:
            return ()
        rule = replace(self.terms.rule(k, self.side), fill=True)
        return past_windows(
            replace(self.records, rule=rule),
            self.fold,
            self.time,
            k / self.terms.candidates.longest,
        )

    def _notes(
        self, k: int, selected: np.ndarray, replays: Replays, gain: ExpectedGain, refused: bool
    ) -> list[str]:
        """Say what the terms did, in sentences."""
        terms, notes, cost = self.terms, [], gain.limits_cost
        hits = terms.goal == "hits"
        value, low, high, other_value = (
            amount(sum_, like=gain.value)
            for sum_ in (gain.value, gain.low, gain.high, gain.most_hits)
        )
        between = f"{value} ({low} to {high})"
        other = "with most hits" if hits else "by outcome alone"
        if refused and (terms.valued or not hits):
            notes.append(f"If nothing had changed, this list would be worth {value}.")
        elif terms.valued:
            notes.append(f"This list is worth {between}; the list {other} {other_value}.")
        elif not hits:
            notes.append(
                f"Expect a {terms.goal} of {between} with {percent(CONFIDENCE)} probability."
            )
        unit = " expected hits" if hits and not terms.valued else ""
        if not terms.fill and len(selected) < k:
            notes.append(
                f"The list holds {len(selected)} of {k} rows: no other row is expected to bring "
                "more than it costs."
            )
        elif len(selected) < k:
            notes.append(f"The terms leave {len(selected)} rows for a budget of {k}.")
        if terms.bounds:
            price = amount(cost, like=gain.value)
            # Fewer rows may have a larger mean, and a price may be too small to be written.
            free = cost <= 0.0 or not price.strip("0.")
            notes.append(f"The limits cost {'nothing' if free else price + unit}.")
        if (terms.valued or not hits) and replays.one_row_carries_it:
            notes.append("One row usually brings more than half of the sum: expect large swings.")
        return notes


def _whole(interval: tuple[float, float, float], k: int) -> ExpectedHits:
    """Return an interval of hits, which lie between none and all."""
    value, low, high = (float(end) for end in np.clip(interval, 0.0, k))
    return ExpectedHits(value, low, high, CONFIDENCE).between(low, high)


def _between_none_and_all(expected: ExpectedGain, chosen: Side) -> ExpectedGain:
    """Return a sum that lies between no hit of the list and all of them."""
    least = float((np.minimum(chosen.value, 0.0) - chosen.cost).sum())
    most = float((np.maximum(chosen.value, 0.0) - chosen.cost).sum())
    ends = np.clip([expected.value, expected.low, expected.high], least, most)
    value, low, high = (float(end) for end in ends)
    return replace(expected, value=value, low=low, high=high)


def _total(gain: np.ndarray, per_row: bool) -> float:
    return float(gain.sum() / max(1, len(gain)) if per_row else gain.sum())


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
    used = held_out.fold < held_out.first
    fold, z, outcome = held_out.fold[used], held_out.log_odds[used], held_out.outcome[used]
    weight = held_out.weight[used]
    recent = np.ones(len(z), dtype=bool)
    if latest is not None:
        recent = fold >= held_out.first - latest
    seen = float(weight[recent] @ outcome[recent] / weight[recent].sum())

    def curve_of(some: np.ndarray) -> Any:
        made = GOALS[terms.goal].calibrate(z[some], outcome[some], weight[some])
        return made if terms.base_rate is None else made.at_base_rate(terms.base_rate, seen)

    curve = curve_of(recent)
    probability = np.array(curve(z))
    if terms.valued:
        # Values let the curve decide the order: one that has seen a row's outcome would flatter.
        for number in np.unique(fold):
            others = recent & (fold != number)
            if len(np.unique(outcome[others])) > 1:
                probability[fold == number] = curve_of(others)(z[fold == number])
    if terms.base_rate is not None:
        rate = terms.base_rate
        weight = weight * np.where(outcome > 0.0, rate / seen, (1 - rate) / (1 - seen))
    rows = held_out.row[used]
    side = terms.history.take(rows)
    kept = 1.0
    if side.entity is not None:
        if terms.time is not None:
            # The same entity in another window is another chance to find it.
            side = replace(side, entity=side.entity * (int(fold.max()) + 1) + fold)
        kept = min(1.0, _rows_each(terms.candidates.entity) / _rows_each(side.entity))
    records = Records(
        side.gain(probability),
        outcome * side.value - side.cost,
        outcome,
        weight,
        terms.rule(1, side),
        kept,
    )
    time = None if terms.time is None else terms.time[rows]
    return Plan(terms, curve(log_odds), records, side, probability, seed, fold, recent, time)


def _rows_each(entity: np.ndarray | None) -> float:
    """Return the mean number of rows of an entity."""
    assert entity is not None
    return len(entity) / len(np.unique(entity))
