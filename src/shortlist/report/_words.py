"""Sentences of the report. `page.js` writes numbers by the rules of :mod:`shortlist._written`."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

from .._written import fixed
from .._written import percent as written_percent
from ..certificate import Certificate
from ..picking.forecast.comparison import COMBINATION, Comparison, Entry

DASH = "–"

# What intervals of this kind held on lists of real sets; benchmarks/results/pick.md.
COVERED = (
    "On 1,805 lists from 28 public data sets, intervals made in this way held the number of hits "
    "in 90.1 % of the cases; they promise 90 %."
)

_FAMILIES = {
    COMBINATION: "The combination of those below",
    "logistic regression": "Logistic regression, the yardstick",
    "LightGBM": "Boosted trees (LightGBM)",
    "gradient boosting": "Boosted trees",
    "extra trees": "Forest of random trees",
    "random forest": "Forest of decision trees",
    "SVC rbf": "Support vector machine",
    "PatMat": "Straight lines trained for the top (Pat&Mat)",
    "PatMat rbf": "Curves trained for the top (Pat&Mat)",
    "PatMat of sets": "Overlaps trained for the top (Pat&Mat)",
}


def family(name: str) -> str:
    """Call a kind of model by words that need no course in it; one of the user's by its name."""
    return _FAMILIES.get(name, name)


def sentence(words: str) -> str:
    """Begin with a capital: names of models need not."""
    return words[:1].upper() + words[1:]


def rough(value: float, decimals: int) -> str:
    """Write a number beside others of so many decimals; a small one with a digit of its own.

    Examples
    --------
    >>> from shortlist.report._words import rough
    >>> rough(9.6, 0), rough(0.34, 0), rough(0.0, 0), rough(12.34, 1)
    ('10', '0.3', '0', '12.3')
    """
    if not math.isfinite(value):
        return DASH
    own = 0 if not value or value >= 0.5 else 1 if value >= 0.05 else 2
    return fixed(value, max(decimals, own))


def percent(share: float) -> str:
    """Write a share."""
    return written_percent(share) if math.isfinite(share) else DASH


def at_most(share: float) -> str:
    """Write a bound: two digits, rounded up, because a proof must not promise more."""
    rounded = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(100 * share)
    return f"{rounded:f} %"


def plain(value: float) -> str:
    """Write any number with five digits."""
    return f"{value:.5g}" if math.isfinite(value) else DASH


def signed(comparison: Comparison, entry: Entry) -> str:
    """Write a difference to the yardstick with half the width of its interval."""
    if entry.is_baseline or not math.isfinite(entry.difference):
        return DASH
    gap = comparison.difference(entry)
    sign = "−" if gap < 0 else "+" if gap > 0 else ""
    return f"{sign}{comparison.written(abs(gap))} ± {comparison.noise(entry)}"


def ends(comparison: Comparison, low: float, high: float) -> str:
    """Write an interval: hits are counted, so its ends are whole."""
    return " to ".join(end(comparison, value) for value in (low, high))


def end(comparison: Comparison, value: float) -> str:
    """Write an end of an interval."""
    return fixed(value, 0) if comparison.unit == "hits" else comparison.written(value)


def duration(seconds: float) -> str:
    """Write a time a person can read."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def combined(comparison: Comparison) -> str:
    """Say what was combined, heaviest first."""
    used = [e for e in comparison if e.weight and e.family != COMBINATION]
    if len(used) < 2:
        return "nothing: one model ranks the candidates"
    parts = sorted(used, key=lambda entry: -entry.weight)
    return ", ".join(f"{entry.name} {percent(entry.weight)}" for entry in parts)


def certified(certificate: Certificate | None, model: str) -> tuple[str, str]:
    """Say what a certificate proves, and what it does not, in two sentences.

    Examples
    --------
    >>> from shortlist.certificate import Certificate
    >>> from shortlist.report._words import certified
    >>> certified(Certificate(2.0, 1.5, "converged", 0.3), "TopPush")[0]
    'Proven: no TopPush with these settings reaches a training objective more than 25 % lower.'
    """
    new_rows = "It says nothing about new rows: that is what the cross-validation above measures."
    if certificate is None:
        return (
            f"{sentence(model)} is fitted without a certificate: its training comes with no proof.",
            "The forecast does not need one: it comes from cross-validation.",
        )
    if certificate.status == "local":
        return (
            f"{sentence(model)} solves a problem with many local optima: the search ended in one "
            "of them, and no bound to the best is claimed.",
            "The forecast does not need one: it comes from cross-validation.",
        )
    gap = certificate.relative_gap
    # Of a combination the certificate is that of the problem its weights are taken from.
    rivals = (
        "in the problem that half of the weights come from, no others reach an"
        if model == COMBINATION
        else f"no {model} with these settings reaches a training"
    )
    bound = (
        f"{rivals} objective more than {at_most(gap)} lower"
        if math.isfinite(gap)
        else "nothing, because no bound was found in time"
    )
    if certificate.status == "converged":
        return f"Proven: {bound}.", f"The proof is about training. {new_rows}"
    reason = {
        "max_iter": "at the limit of iterations",
        "time_limit": "at the time limit",
        "stopped": "because the callback asked for it",
    }[certificate.status]
    return (
        f"Training stopped early, {reason}. Proven: {bound}.",
        f"It was meant to come within {100 * certificate.tol:.2g} %. {new_rows}",
    )
