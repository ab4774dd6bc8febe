"""The budgeted SVM for a fixed set of allowed candidates, re-solved as the set changes.

Allowing a candidate moves its multiplier to zero, forbidding one lets it grow; all
other multipliers follow, so an exchange costs a few pivots instead of a fresh
quadratic programme. See ``_core/active_set.hpp`` for the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..certificate import Proof
from ..rows.rounding import UNIT
from .problem import BudgetedSVM, Solution

# Far more than a fit needs; only a numerical accident comes here.
_PIVOTS_PER_ROW = 50
_PIVOTS_AT_A_TIME = 2000
# Noise in scores that is too small to matter.
_FINE = 1e-9
_ABOVE_CEILING, _OUT_OF_PIVOTS = 1, 2


class AllowedSet:
    """A set of allowed candidates with the optimal model for it.

    Starts at the plain SVM: every candidate is allowed.

    Parameters
    ----------
    problem : BudgetedSVM
        Training rows, candidates and budget.
    stop : callable or None
        Asked now and then; a true answer ends an optimisation before its optimum.

    Attributes
    ----------
    allowed : ndarray of bool
        The set.
    relaxed_bound : float
        Proven lower bound of the objective, whatever is allowed: the plain SVM's.
    relaxed_work : float
        Multiplications that the plain SVM took.
    """

    def __init__(self, problem: BudgetedSVM, stop: Callable[[], bool] | None = None) -> None:
        self.problem = problem
        self.allowed = np.ones(problem.n_candidates, dtype=bool)
        self._qp = problem.active_set()
        self._stop = stop
        self._saved = self.allowed.copy()
        self._max_pivots = 10_000 + _PIVOTS_PER_ROW * (problem.n_training + problem.n_candidates)
        self.optimise()
        self.relaxed_bound = problem.lower_bound(self._qp.multipliers()[: problem.n_training])
        self.relaxed_work = self._qp.work

    @property
    def value(self) -> float:
        """Lower bound of the objective for the allowed set, tight at its optimum."""
        return self._qp.value

    @property
    def work(self) -> float:
        """Multiplications so far, about: a clock that is the same on every machine."""
        return self._qp.work

    def allow(self, *candidates: int) -> None:
        """Let candidates be positive; the model stays optimal for the rows that count."""
        for j in candidates:
            self._qp.release(self.problem.n_training + int(j))
            self.allowed[j] = True

    def forbid(self, *candidates: int) -> None:
        """Hold candidates at or below zero from the next `optimise` on."""
        for j in candidates:
            self._qp.bound(self.problem.n_training + int(j), np.inf)
            self.allowed[j] = False

    def become(self, allowed: np.ndarray) -> None:
        """Change to another allowed set and optimise."""
        self.allow(*np.flatnonzero(allowed & ~self.allowed))
        self.forbid(*np.flatnonzero(~allowed & self.allowed))
        self.optimise()

    def optimise(self, ceiling: float = np.inf) -> bool:
        """Find the best model; False if its objective certainly exceeds `ceiling`."""
        for _ in range(0, self._max_pivots, _PIVOTS_AT_A_TIME):
            status = self._qp.optimise(ceiling, _PIVOTS_AT_A_TIME)
            if status != _OUT_OF_PIVOTS or (self._stop is not None and self._stop()):
                break
        return status != _ABOVE_CEILING

    def save(self) -> None:
        """Remember the set and its model."""
        self._qp.save()
        self._saved = self.allowed.copy()

    def restore(self) -> None:
        """Go back to what was saved."""
        self._qp.restore()
        self.allowed[:] = self._saved

    def scores(self) -> np.ndarray:
        """Scores of the candidates."""
        return self.problem.split_scores(*self._model())[1]

    def multipliers(self) -> np.ndarray:
        """How much the objective gains per unit of score granted to each candidate."""
        return self._qp.multipliers()[self.problem.n_training :]

    def solution(self) -> Solution:
        """Return the current model, its intercept lowered where rounding asks for it."""
        return self.problem.lowered(*self._model(), self.allowed)

    def _model(self) -> tuple[np.ndarray, float]:
        """Return the weights and the intercept.

        Weights that are a small difference of large multipliers lose their digits. The rows
        whose multipliers are free have margins that are known, and give them back.
        """
        problem = self.problem
        w, b, multipliers = self._qp.weights(), self._qp.intercept, self._qp.multipliers()
        noise = UNIT * float(multipliers.sum()) * problem.reach.length**2
        if noise <= _FINE:
            return w, b
        upper = np.concatenate([problem.c, np.where(self.allowed, 0.0, np.inf)])
        free = np.flatnonzero((multipliers > 0.0) & (multipliers < upper))
        stored = np.concatenate([problem.training, problem.candidates])[free]
        target = np.concatenate([problem.sign, np.zeros(problem.n_candidates)])[free]
        length = problem.reach.length
        rows = problem.rows.take(stored).dense() / length
        rows = np.column_stack([rows, np.ones(len(rows))])
        missed = target - rows[:, :-1] @ (w * length) - b
        change = np.linalg.lstsq(rows, missed, rcond=1e-10)[0]
        better, lifted = w + change[:-1] / length, b + float(change[-1])
        values = [problem.objective(*v) for v in self._judged((w, b), (better, lifted))]
        return (better, lifted) if values[1] < values[0] else (w, b)

    def _judged(self, *models: tuple[np.ndarray, float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield weights and training scores, lowered to the allowed set."""
        for w, b in models:
            training, candidates = self.problem.split_scores(w, b)
            outside = candidates[~self.allowed]
            yield w, training - (max(float(outside.max()), 0.0) if len(outside) else 0.0)

    def prove(self, found: Solution) -> Proof:
        """Return what is known of `found`: its objective, and the plain SVM's bound."""
        return Proof(found, found.primal, self.relaxed_bound, found.error)

    def relaxed_is_feasible(self) -> bool:
        """Whether the plain SVM keeps the budget, and so solves the problem.

        Its positive candidates become the allowed set if so.
        """
        scores = self.scores()
        if not self.problem.fits(scores > 0.0):
            return False
        self.become(self.problem.best(scores))
        return True


def thresholded(problem: BudgetedSVM, state: AllowedSet) -> Solution:
    """Return the plain SVM of `state` with its intercept lowered to the budget."""
    plain = state.solution()
    return moved(problem, plain.w, plain.b)


def moved(problem: BudgetedSVM, w: np.ndarray, b: float) -> Solution:
    """Return the model with its intercept lowered to the budget."""
    return problem.lowered(w, b, problem.best(problem.split_scores(w, b)[1]))
