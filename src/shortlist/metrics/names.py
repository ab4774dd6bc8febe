"""The one table of names: what a metric is called in ``scorer``, ``interval`` and ``compare``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import at_k, at_threshold, ranking
from ._measure import Measure

SCORES = ("decision_function", "predict_proba")


@dataclass(frozen=True, slots=True)
class Entry:
    """One metric and how a name spells its parameter.

    Attributes
    ----------
    function : callable
        The public metric.
    measure : Measure or None
        Its formula, if it is a function of rungs.
    parameter : str or None
        The parameter that a number after the name sets.
    kind : {"k", "rate", "count", "number"}
        How that number reads: a count or a fraction, a rate, a count, any number.
    optional : bool
        Whether the name may stand without a number.
    response : str or tuple of str
        The estimator's method that gives the scores.
    """

    function: Callable[..., float]
    measure: Measure | None = None
    parameter: str | None = None
    kind: str = "number"
    optional: bool = False
    response: str | tuple[str, ...] = SCORES

    def forms(self, name: str) -> list[str]:
        """Return the spellings of this entry."""
        if self.parameter is None:
            return [name]
        numbered = f"{name}_<{self.parameter}>"
        return [name, numbered] if self.optional else [numbered]


TABLE: dict[str, Entry] = {
    "precision_at": Entry(at_k.precision_at_k, at_k.PRECISION_AT_K, "k", "k"),
    "recall_at": Entry(at_k.recall_at_k, at_k.RECALL_AT_K, "k", "k"),
    "lift_at": Entry(at_k.lift_at_k, at_k.LIFT_AT_K, "k", "k"),
    "enrichment_factor_at": Entry(at_k.enrichment_factor, at_k.LIFT_AT_K, "k", "k"),
    "positives_at_top": Entry(at_threshold.positives_at_top, at_threshold.POSITIVES_AT_TOP),
    "precision_at_recall": Entry(
        at_threshold.precision_at_recall, at_threshold.PRECISION_AT_RECALL, "recall", "rate"
    ),
    "recall_at_precision": Entry(
        at_threshold.recall_at_precision, at_threshold.RECALL_AT_PRECISION, "precision", "rate"
    ),
    "recall_at_fpr": Entry(at_threshold.recall_at_fpr, at_threshold.RECALL_AT_FPR, "fpr", "rate"),
    "positives_at_quantile": Entry(
        at_threshold.positives_at_quantile, at_threshold.POSITIVES_AT_QUANTILE, "tau", "rate"
    ),
    "partial_auc": Entry(ranking.partial_auc, ranking.PARTIAL_AUC, "max_fpr", "rate", True),
    "bedroc": Entry(ranking.bedroc, ranking.BEDROC, "alpha", "number", True),
    "average_precision": Entry(ranking.average_precision),
    "top_k_accuracy": Entry(ranking.top_k_accuracy, None, "k", "count", True),
    "pairwise_accuracy": Entry(ranking.pairwise_accuracy, response="predict"),
    "ndcg": Entry(ranking.ndcg, response="predict"),
    "ndcg_at": Entry(ranking.ndcg, None, "k", "count", response="predict"),
}

MEASURES: dict[Callable[..., float], Measure] = {
    entry.function: entry.measure for entry in TABLE.values() if entry.measure is not None
}

_NUMBERED = re.compile(r"(?P<name>\w+?)_(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)(?P<percent>%?)")


def metric_names() -> list[str]:
    """Return the names that :func:`scorer`, :func:`interval` and :func:`compare` know.

    Returns
    -------
    list of str
        ``<k>`` and the like stand for a number.

    Examples
    --------
    >>> from shortlist.metrics import metric_names
    >>> metric_names()[:3]
    ['precision_at_<k>', 'recall_at_<k>', 'lift_at_<k>']
    """
    return [form for name, entry in TABLE.items() for form in entry.forms(name)]


def resolve(name: str) -> tuple[Entry, dict[str, Any]]:
    """Return the metric that a name means and the parameter it carries.

    A name is a name of the table with its number (``"precision_at_100"``,
    ``"recall_at_5%"``) or the name of a function (``"precision_at_k"``), whose
    parameters are then passed beside it.
    """
    for key, entry in TABLE.items():
        if name == entry.function.__name__ or (name == key and key in entry.forms(key)):
            return entry, {}
    match = _NUMBERED.fullmatch(name)
    if match and match["name"] in TABLE:
        entry = TABLE[match["name"]]
        if entry.parameter is not None:
            return entry, {entry.parameter: _number(name, match, entry.kind)}
    raise ValueError(_unknown(name))


def _number(name: str, match: re.Match[str], kind: str) -> int | float:
    text, percent = match["number"], bool(match["percent"])
    if kind in ("k", "count") and text.isdigit() and not percent:
        return int(text)
    if kind == "count" or (kind == "number" and percent):
        raise ValueError(f"{name!r} carries {text}{match['percent']} where a count is needed.")
    return float(text) / 100 if percent else float(text)


def _unknown(name: str) -> str:
    forms = metric_names()
    stem = re.sub(r"_[\d.]+%?$", "", name)
    near = difflib.get_close_matches(stem, [re.sub(r"_<\w+>$", "", form) for form in forms], n=1)
    hint = ""
    if near:
        meant = [form for form in forms if re.sub(r"_<\w+>$", "", form) == near[0]]
        hint = f" Did you mean {' or '.join(repr(form) for form in meant)}?"
    return (
        f"{name!r} is not the name of a metric.{hint} Known names: {', '.join(forms)}; "
        "<k> is a count, a fraction or a percentage: precision_at_100, recall_at_5%."
    )
