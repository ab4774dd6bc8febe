"""What a list is to be full of: hits, or the largest sum or mean of an outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...stacking import SumStack, TopStack
from ...stacking.sums import line
from ..forecast.outlook import Outlook
from ..forecast.probability import calibrate
from . import models, regressors
from .combining import Combination
from .history import HEAD, History, check_history
from .outcomes import Line, SumOutlook, check_outcomes
from .race import Race


@dataclass(frozen=True)
class Goal:
    """How to read, learn and forecast one kind of outcome.

    Attributes
    ----------
    name : str
        As the user says it.
    read : callable
        From rows and outcomes to a checked history.
    families : mapping
        Models that compete, the yardstick first.
    outlook : type
        Forecasts from folds.
    stack : callable
        Makes one estimator of the fitted members.
    calibrate : callable
        From held-out scores, outcomes and weights to the map from a score to the expected
        outcome.
    """

    name: str
    read: Callable[[Any, Any, Any, Any, Any], History]
    families: Mapping[str, models.Family]
    outlook: type[Outlook]
    stack: Callable[[Race, Combination, Any, list[Any]], Any]
    calibrate: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

    @property
    def numeric(self) -> bool:
        """Whether outcomes are numbers."""
        return self.name != "hits"

    @property
    def unit(self) -> str:
        """What the comparison of the models counts."""
        return "sum" if self.numeric else "hits"


def _top_stack(race: Race, combination: Combination, made: Any, fitted: list[Any]) -> TopStack:
    stack = TopStack(_members(race, combination), race.rate, head=HEAD, cv=race.folds.first)
    stack.classes_ = np.array([0, 1])
    validate_data(stack, made, skip_check_array=True)
    names = [name for name, _ in stack.estimators]
    return stack._assemble(names, fitted, combination.head, combination.threshold)


def _sum_stack(race: Race, combination: Combination, made: Any, fitted: list[Any]) -> SumStack:
    members = _members(race, combination)
    return SumStack(members).assemble(made, [name for name, _ in members], fitted, combination.head)


def _members(race: Race, combination: Combination) -> list[tuple[str, Any]]:
    return [(race.models[i].name, race.models[i].final) for i in combination.members]


def _probability(scores: np.ndarray, outcome: np.ndarray, weight: np.ndarray) -> Any:
    return calibrate(scores, outcome > 0.0, weight)


def _expected(scores: np.ndarray, outcome: np.ndarray, weight: np.ndarray) -> Line:
    return Line(*line(scores, outcome, weight))


GOALS: dict[str, Goal] = {
    "hits": Goal("hits", check_history, models.FAMILIES, Outlook, _top_stack, _probability)
} | {
    name: Goal(name, check_outcomes, regressors.FAMILIES, SumOutlook, _sum_stack, _expected)
    for name in ("sum", "mean")
}
