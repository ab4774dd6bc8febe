r"""How many? The longest list whose share of hits is guaranteed.

Half of the history, or up to four fifths where much is asked or positives are rare, is drawn
at random, and the negatives among these rows are set aside before anything is learned. The
race, the combination and the final fit see the rest: all positives and the other negatives.
So whatever was tried and chosen, a candidate without a hit is scored as one of the negatives
set aside, and their order is a matter of chance. That is all the guarantee rests on.
Positives, of which there are few, are not wasted on checking.

- *Expected*: of c rows drawn, :math:`N(s)` were set aside and score at least :math:`s`. Then
  :math:`(1 + N(s)) / (c + 1)` is a p-value for "no hit" (Y. Jin and E. J. Candès, JMLR 24,
  2023, whose Theorem 3 says that Benjamini and Hochberg's rule keeps the expected share of
  misses with it). They ask for a model that has not seen the c rows. It is enough that it
  does not change when one of these rows is exchanged with a candidate without a hit: the
  model that has learned from all positives among the c rows *and that candidate* is such a
  one, and where the candidate has no hit it is the model that was used.
- Where the share of positives is known to differ (`base_rate`), only rows without a hit are
  compared: :math:`(1 + N(s)) / (a + 1)` for :math:`a` of them, at the level divided by their
  share (S. Bates et al., Annals of Statistics 51, 2023, Theorem 2).
- Where the candidates differ from the history by known weights (`shift`), p-values are
  weighted and the list is pruned (Y. Jin and E. J. Candès, Biometrika, 2025; see
  :func:`shortlist.metrics.conformal_selection`). All weights of the rows drawn count, as all
  of these rows do without weights.
- *High probability*: bounds of the misses that hold for all lengths of the list at once
  (:func:`shortlist.metrics.false_discovery_band`), with as many candidates in the urn as may
  be without a hit.

Both assume that the candidates come from where the history came from, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from ..._checks import check_choice, check_rate
from ..._scores import positive_scores, take_rows
from ..._written import percent
from ...metrics.discoveries import (
    DiscoveryBand,
    band,
    density_ratio,
    expected_list,
    weighted_list,
)
from ..race.history import History
from ..result import Shortlist
from .comparison import ExpectedHits

KINDS = ("expected", "high_probability")
# Precisions whose longest lists are told.
TOLD = (0.9, 0.8, 0.7, 0.5)
# Rows drawn to check the guarantee: at least and at most these shares, and no more than so many.
_DRAWN, _FAR_DRAWN, _MOST_DRAWN = 0.5, 0.8, 40_000
# Rows drawn for each row of the shortest list that can be promised, as a part of the positives.
_FINE = 4.0
# Part of the risk that is spent on bounding the misses among all candidates.
_SPENT = 0.1


@dataclass(frozen=True)
class Wish:
    """What the user asks of the list.

    Attributes
    ----------
    precision : float
        Share of hits.
    kind : {"expected", "high_probability"}
        Whether it holds on average over lists, or for this list with a confidence.
    confidence : float
        That confidence.
    """

    precision: float
    kind: str
    confidence: float


@dataclass(frozen=True, eq=False)
class Guarantee:
    """What is guaranteed of the list, and of lists of other lengths.

    Attributes
    ----------
    wish : Wish
        What was asked for.
    length : int
        The longest list that keeps it; 0 where none does.
    rows : ndarray of int
        That list, best first.
    lengths : dict
        The longest lists for other shares of hits, of the same kind.
    band : DiscoveryBand
        Bounds of the misses in lists of every length, all true at once with the confidence
        of the wish.
    n_aside : int
        Negatives that were set aside to check it.
    """

    wish: Wish
    length: int
    rows: np.ndarray
    lengths: Mapping[float, int]
    band: DiscoveryBand
    n_aside: int

    def other_lengths(self) -> str:
        """Say how long the list may be for other shares of hits."""
        kind = (
            "on average"
            if self.wish.kind == "expected"
            else f"with {percent(self.wish.confidence)} confidence"
        )
        parts = [
            f"{percent(share)} for the first {size:,}" if size else f"{percent(share)} for none"
            for share, size in self.lengths.items()
        ]
        return f"Share of hits that is guaranteed {kind}: {', '.join(parts)}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "precision": self.wish.precision,
            "kind": self.wish.kind,
            "confidence": self.wish.confidence,
            "length": self.length,
            "lengths": {f"{share:g}": size for share, size in self.lengths.items()},
            "set_aside": self.n_aside,
            "words": str(self),
        }

    def __str__(self) -> str:
        wish, source = self.wish, "if the candidates come from where the history came from"
        goal = f"{percent(wish.precision)} of the list to be hits"
        if not self.length:
            longer = {share: size for share, size in self.lengths.items() if size}
            best = max(longer, default=None)
            return (
                f"No list can be guaranteed {goal}: {self.n_aside} negatives were set aside to "
                "check it, and too many of them score as high as the best candidates, or they are "
                "too few to tell. "
                + (
                    "Bring more labelled rows, or ask for less."
                    if best is None
                    else f"{percent(best)} can be guaranteed for the first {longer[best]}."
                )
            )
        how = (
            f"on average over such lists at least {percent(wish.precision)} are hits"
            if wish.kind == "expected"
            else f"at least {percent(wish.precision)} of this list are hits, with "
            f"{percent(wish.confidence)} confidence"
        )
        return (
            f"{self.length} candidates is the longest list of which it is guaranteed that {how}, "
            f"{source} ({self.n_aside} negatives were set aside to check it)."
        )


def check_wish(k: Any, precision: Any, guarantee: Any, confidence: Any) -> Wish:
    """Return the wish, which stands in the place of a budget."""
    if k is not None:
        raise ValueError(
            f"k={k!r} and precision={precision!r} both say how many: keep one. found.at(k) reads "
            "other budgets afterwards."
        )
    check_choice("guarantee", guarantee, KINDS)
    return Wish(
        check_rate(precision, "precision", low_open=True, high_open=True),
        guarantee,
        check_rate(confidence, "confidence", low_open=True, high_open=True),
    )


def refuse_beside(wish: Wish, **said: Any) -> None:
    """Raise an error where something else decides what is on the list."""
    given = [name for name, value in said.items() if value is not None and value is not False]
    if given:
        raise ValueError(
            f"precision={wish.precision:g} cannot be guaranteed together with {', '.join(given)}: "
            "it counts rows that are drawn one by one, and takes them by their score alone. "
            f"Leave out {' and '.join(given)}, or set k."
        )


@dataclass(frozen=True, eq=False)
class Shift:
    """Density of the candidates over that of the history, row by row.

    Attributes
    ----------
    aside : ndarray
        Ratio of the negatives set aside.
    total : float
        Sum of the ratios of all rows drawn.
    candidates : ndarray
        Ratio of the candidates.
    """

    aside: np.ndarray
    total: float
    candidates: np.ndarray

    def of_candidates(self, rows: np.ndarray) -> Shift:
        """Return it for some of the candidates."""
        return replace(self, candidates=self.candidates[rows])


@dataclass(frozen=True, eq=False)
class Reserve:
    """Negatives that nothing is learned from.

    Attributes
    ----------
    wish : Wish
        What they will check.
    rows : array, sparse matrix or frame
        Their features.
    drawn : int
        Rows of the history they were found among.
    counts : (negatives, rows)
        Of the whole history.
    shift : Shift or None
        How the candidates differ from the history.
    """

    wish: Wish
    rows: Any
    drawn: int
    counts: tuple[int, int]
    shift: Shift | None = None

    @property
    def share(self) -> float:
        """Share of positives in the history."""
        return 1.0 - self.counts[0] / self.counts[1]

    def apply(self, found: Shortlist) -> Shortlist:
        """Return the longest list that keeps the wish."""
        terms, seed = found.plan.terms, found.settings["seed"]
        open_to = np.flatnonzero(terms.candidates.allowed)
        scores = found.scores[open_to]
        promise = guarantee(
            self.wish,
            positive_scores(found.model, self.rows, 1),
            self.drawn,
            scores,
            self.counts,
            terms.base_rate,
            seed,
            None if self.shift is None else self.shift.of_candidates(open_to),
        )
        best = open_to[promise.rows]
        listed = found.at(max(promise.length, 1))
        said = f"{promise} {listed.verdict}" if promise.length else str(promise)
        if found.drift.found:
            said = f"The candidates are not like the history: what follows may not hold. {said}"
        listed = replace(listed, selected=best, guarantee=promise, verdict=said)
        if promise.length:
            return listed
        nothing = ExpectedHits(0.0, 0.0, 0.0, listed.expected.confidence)
        gain = replace(listed.expected_gain, value=0.0, low=0.0, high=0.0, most_hits=0.0)
        return replace(listed, k=0, expected_hits=nothing, expected_gain=gain)


def check_shift(given: Any, wish: Wish | None, base_rate: Any, n: int, m: int) -> Shift:
    """Return the density ratios of history and candidates."""
    if wish is None or wish.kind != "expected" or base_rate is not None:
        raise ValueError(
            "shift belongs to a precision that is guaranteed on average: pass precision, leave "
            "guarantee='expected', and leave out base_rate."
        )
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(
            "shift must be a pair of arrays, the density ratio of each row of the history and of "
            f"each candidate, got {type(given).__name__}."
        )
    sides = zip(("the history", "the candidates"), given, (n, m), strict=True)
    ratios = [density_ratio(f"shift of {side}", ratio, size) for side, ratio, size in sides]
    return Shift(ratios[0], 0.0, ratios[1])


def reserve(
    history: History, wish: Wish, seed: int, shift: Shift | None = None
) -> tuple[History, np.ndarray, Reserve]:
    """Draw rows at random and set the negatives among them aside.

    Returns what is left of the history, with negatives that stand for those set aside as well,
    its row numbers, and the reserve.
    """
    positive = history.positive
    drawn = rows_drawn(wish, int(positive.sum()), len(positive))
    rows = np.random.default_rng([seed, 25]).choice(len(positive), drawn, replace=False)
    aside = np.sort(rows[~positive[rows]])
    negatives = int((~positive).sum())
    if not len(aside) or negatives - len(aside) < 2:
        raise ValueError(
            f"precision={wish.precision:g} needs negatives to learn from and others to check it "
            f"with, and the history has {negatives}: bring at least 10, and hundreds to guarantee "
            "much."
        )
    kept = np.ones(len(positive), dtype=bool)
    kept[aside] = False
    left = np.flatnonzero(kept)
    weight = np.where(positive[left], 1.0, negatives / (negatives - len(aside)))
    rest = replace(history, X=take_rows(history.X, left), positive=positive[left], weight=weight)
    if shift is not None:
        shift = Shift(shift.aside[aside], float(shift.aside[rows].sum()), shift.candidates)
    checked = take_rows(history.X, aside)
    return rest, left, Reserve(wish, checked, drawn, (negatives, len(positive)), shift)


def rows_drawn(wish: Wish, positives: int, rows: int) -> int:
    r"""Return how many rows of the history check the guarantee.

    Even with no negative above it, a list of :math:`m` candidates is promised only from
    :math:`m / ((1 - \text{precision}) (c + 1))` rows on. With half of the history that is too
    coarse where much is asked or positives are rare; then c is larger, such that this is a
    quarter of the positives to expect. It is a function of counts that do not change when a
    row drawn is exchanged with a candidate without a hit, as the theorem asks.
    """
    enough = _FINE * rows / ((1.0 - wish.precision) * max(positives, 1))
    drawn = min(max(enough, _DRAWN * rows), _FAR_DRAWN * rows)
    return min(int(drawn), _MOST_DRAWN)


def guarantee(
    wish: Wish,
    aside: np.ndarray,
    drawn: int,
    scores: np.ndarray,
    counts: tuple[int, int],
    base_rate: float | None,
    seed: int,
    shift: Shift | None = None,
) -> Guarantee:
    """Return the guarantee for candidates with these scores.

    Parameters
    ----------
    wish : Wish
        What the user asks.
    aside : ndarray
        Scores of the negatives that were set aside.
    drawn : int
        Rows they were found among.
    scores : ndarray
        Scores of the candidates that may be taken.
    counts : (negatives, rows)
        Of the whole history.
    base_rate : float or None
        Share of positives among the candidates, if the user knows it.
    seed : int
        Calibrates the band.
    shift : Shift or None
        How the candidates differ from the history; the band then says nothing of them.
    """
    risk = 1.0 - wish.confidence
    most = most_misses(counts, len(scores), _SPENT * risk, base_rate)
    bounds = band(aside, len(aside), scores, most, 1.0 - (1.0 - _SPENT) * risk, seed)
    bounds = replace(bounds, confidence=wish.confidence)

    order = np.argsort(-scores, kind="stable")

    def longest(share: float) -> np.ndarray:
        if wish.kind == "high_probability":
            return order[: bounds.longest(share)]
        if shift is not None:
            parts = aside, shift.aside, shift.total, scores, shift.candidates
            chosen = weighted_list(*parts, 1.0 - share)
            return chosen[np.argsort(-scores[chosen], kind="stable")]
        if base_rate is None:
            return expected_list(aside, drawn, scores, 1.0 - share)
        return expected_list(aside, len(aside), scores, (1.0 - share) / (1.0 - base_rate))

    asked = sorted({wish.precision, *TOLD}, reverse=True)
    found = {share: longest(share) for share in asked}
    lengths = {share: len(rows) for share, rows in found.items()}
    rows = found[wish.precision]
    return Guarantee(wish, len(rows), rows, lengths, bounds, len(aside))


def most_misses(counts: tuple[int, int], m: int, risk: float, base_rate: float | None) -> int:
    """Bound how many of m candidates are without a hit, but for a chance of `risk`.

    Without a known share: the largest number that the labels of the history do not refute,
    since the rows without a hit are dealt to history and candidates by chance.
    """
    if base_rate is not None:
        return int(binom.isf(risk, m, 1.0 - base_rate))
    negatives, rows = counts
    low, high = 0, m
    while low < high:
        middle = (low + high + 1) // 2
        refuted = hypergeom.cdf(negatives, rows + m, negatives + middle, rows) <= risk
        low, high = (low, middle - 1) if refuted else (middle, high)
    return low
