"""A metric as the library sees it: a formula on rungs and what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._rungs import Rungs, rungs_around, rungs_of
from ._sample import Sample, warn_undefined


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of a ranked binary list.

    Attributes
    ----------
    name : str
        Name of the public function.
    formula : callable
        ``formula(rungs, **params)``, the value. It serves the estimate and
        every resample of it.
    needs : tuple of {"positive", "negative"}
        Classes without which the metric is undefined.
    cut : callable or None
        ``cut(sample, margin, **params)``: a score such that nothing below it
        matters. ``margin(m)`` is the number of further rows
        to include when the m-th row may move, as it does in a resample.
    trials : callable or None
        ``trials(rungs, **params)``: the metric is ``unit * hits / trials`` with
        binomial hits; returns ``(trials, unit)``.
    """

    name: str
    formula: Callable[..., float]
    needs: tuple[str, ...] = ()
    cut: Callable[..., Any] | None = None
    trials: Callable[..., tuple[float, float]] | None = None

    def missing(self, sample: Sample) -> str | None:
        """Return the class that the sample lacks, if the metric needs it."""
        if "positive" in self.needs and not sample.positive.any():
            return "positive"
        if "negative" in self.needs and sample.positive.all():
            return "negative"
        return None

    def rungs(self, sample: Sample, **params: Any) -> Rungs:
        """Group the rows no finer than this metric needs."""
        if self.cut is None:
            return rungs_of(sample)
        return rungs_around(sample, self.cut(sample, _no_margin, **params))

    def __call__(self, sample: Sample, **params: Any) -> float:
        """Evaluate the metric, with a warning and NaN where it is undefined."""
        missing = self.missing(sample)
        if missing is not None:
            return warn_undefined(self.name, missing, stacklevel=4)
        return float(self.formula(self.rungs(sample, **params), **params))


def _no_margin(rows: float) -> float:
    return 0.0
