r"""Local search over the set of allowed candidates.

For a fixed set of `k` allowed candidates the problem is convex. Its multipliers
:math:`\beta_j` say what a forbidden candidate would gain by being allowed; only those
with :math:`\beta_j > 0` can lower the objective, and at most one more than the number of
features have it. The lowest score says who leaves.

1. *Peel*: start at the plain SVM and forbid the lowest positive candidates, a share at a
   time, re-solving in between, until the rest fits the budget.
2. *Exchange*: allow one candidate by multiplier, forbid another by score, keep the first
   exchange that lowers the objective. The dual value is a lower bound all along, so most
   failures are abandoned after a few pivots.
3. *Restart*: exchange a few candidates at random, search again, keep the best.

The plain SVM's optimum bounds the objective from below and is reported as ``dual``.
Work is bounded by a multiple of the plain SVM's, counted in multiplications, so that
the result does not depend on the machine.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..certificate import Monitor
from .allowed_set import AllowedSet, thresholded
from .problem import BudgetedSVM, Solution

_PEEL = 0.2
_WORK_RATIO = 15.0
_WORK_FLOOR = 5e8
_PROGRESS = 1e-7
_FEWEST_LEAVERS = 3


def swap(problem: BudgetedSVM, monitor: Monitor, restarts: int, seed: int) -> None:
    """Search for a good set of allowed candidates.

    Parameters
    ----------
    problem : BudgetedSVM
        Training rows, candidates and budget.
    monitor : Monitor
        Limits and the record of the fit. Ends as "local", or as "converged" when the
        plain SVM keeps the budget.
    restarts : int
        Perturbed restarts after the first local optimum.
    seed : int
        Seed of the perturbations.
    """
    search(problem, monitor, restarts, seed)


def search(problem: BudgetedSVM, monitor: Monitor, restarts: int, seed: int) -> Solution:
    """Do as :func:`swap`, and return the best model found."""
    return _Search(AllowedSet(problem, monitor.exhausted), monitor, seed).run(restarts)


class _Search:
    def __init__(self, state: AllowedSet, monitor: Monitor, seed: int) -> None:
        self.state = state
        self.problem = state.problem
        self.monitor = monitor
        self._random = np.random.default_rng(seed)
        self._work_limit = max(_WORK_RATIO * state.relaxed_work, _WORK_FLOOR)
        self.best = Solution(np.zeros(self.problem.rows.n_features), 0.0, 0.0, np.inf, 0.0)

    def run(self, restarts: int) -> Solution:
        state, monitor = self.state, self.monitor
        # The result is never worse than moving the plain SVM's cut-off.
        self._accept(thresholded(self.problem, state))
        if monitor.status is not None:
            return self.best
        if not state.relaxed_is_feasible():
            self._peel()
        self._accept(state.solution())
        self._exchange()
        best_set = state.allowed.copy()
        for _ in range(restarts):
            if self._spent():
                break
            before = self.best
            self._perturb()
            self._accept(state.solution())
            self._exchange()
            if self.best is before:
                state.become(best_set)
            else:
                best_set = state.allowed.copy()
        if monitor.status is None:
            self._check()
        if monitor.status is None:
            monitor.accept(state.prove(self.best))
            monitor.status = "local"
        return self.best

    def _spent(self) -> bool:
        over = self.state.work > self._work_limit
        return over or self.monitor.status is not None or self.monitor.exhausted()

    def _accept(self, found: Solution) -> None:
        if found.primal < self.best.primal * (1.0 - _PROGRESS):
            self.best = found
            self._check()

    def _check(self) -> None:
        proof = partial(self.state.prove, self.best)
        self.monitor.check(self.best.primal, self.state.relaxed_bound, proof)

    def _solve(self, ceiling: float = np.inf) -> bool:
        self.monitor.iteration += 1
        return self.state.optimise(ceiling)

    def _peel(self) -> None:
        """Forbid the lowest candidates, a share at a time."""
        state, problem = self.state, self.problem
        while not problem.fits(state.allowed):
            scores = state.scores()
            positive = state.allowed & (scores > 0.0)
            surplus = float(problem.count[positive].sum()) - problem.k
            if surplus <= 0.0 or self._spent():
                state.forbid(*np.flatnonzero(state.allowed & ~problem.best(scores)))
            else:
                state.forbid(*np.flatnonzero(state.allowed & ~positive))
                order = np.flatnonzero(positive)
                order = order[np.argsort(scores[order], kind="stable")]
                dropped = np.cumsum(problem.count[order])
                share = int(np.searchsorted(dropped, _PEEL * surplus)) + 1
                state.forbid(*order[:share])
            self._solve()

    def _exchange(self) -> None:
        """Exchange candidates while the objective drops."""
        while not self._spent() and self._improve():
            self._accept(self.state.solution())

    def _improve(self) -> bool:
        state, problem = self.state, self.problem
        ceiling = state.value * (1.0 - _PROGRESS)
        multipliers = np.where(state.allowed, 0.0, state.multipliers())
        entering = np.argsort(-multipliers, kind="stable")[: np.count_nonzero(multipliers)]
        state.save()
        for e in entering:
            if problem.count[e] > problem.k:
                continue
            state.allow(e)
            self._solve()
            if problem.fits(state.allowed) and state.value <= ceiling:
                return True
            # With one candidate too many the objective is a bound for every exchange.
            promising = state.value <= ceiling
            scores = state.scores()
            state.restore()
            if not promising:
                continue
            for leaving in self._leavers(e, scores):
                state.allow(e)
                state.forbid(*leaving)
                if self._solve(ceiling):
                    return True
                state.restore()
                if self._spent():
                    return False
        return False

    def _leavers(self, entering: int, scores: np.ndarray) -> list[np.ndarray]:
        """Return groups of candidates to give up, the least costly first.

        All of them on a small problem; only the lowest where the work would not allow it.
        """
        inside = np.flatnonzero(self.state.allowed)
        inside = inside[np.argsort(scores[inside], kind="stable")]
        counts = self.problem.count[inside]
        needed = float(counts.sum()) + self.problem.count[entering] - self.problem.k
        most = max(_FEWEST_LEAVERS, int(_WORK_FLOOR / (50.0 * self.state.relaxed_work)))
        groups = []
        for first in range(min(most, len(inside))):
            rest = np.delete(np.arange(len(inside)), first)
            given = counts[first] + np.concatenate([[0.0], np.cumsum(counts[rest])])
            extra = int(np.searchsorted(given, needed * (1.0 - 1e-12)))
            if extra <= len(rest):
                groups.append(inside[np.concatenate([[first], rest[:extra]])])
        return groups

    def _perturb(self) -> None:
        """Allow a few candidates of positive multiplier, forbid as many at random."""
        state, problem = self.state, self.problem
        wanting = np.flatnonzero(~state.allowed & (state.multipliers() > 0.0))
        kick = min(2 + int(self._random.integers(3)), len(wanting))
        allowed = state.allowed.copy()
        entering = self._random.permutation(wanting)[:kick]
        for j in self._random.permutation(np.flatnonzero(allowed)):
            trial = allowed.copy()
            trial[entering] = True
            if problem.fits(trial):
                break
            allowed[j] = False
        allowed[entering] = True
        if problem.fits(allowed):
            state.become(allowed)
            self.monitor.iteration += 1
