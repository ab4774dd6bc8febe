r"""Global optimum of the budgeted SVM by branch and bound (SCIP).

.. math:: \min t + \sum c_i \xi_i \quad\text{s.t.}\quad t \ge \tfrac12\|w\|^2, \;
          \xi_i \ge 1 - y_i(w \cdot x_i + b), \;
          w \cdot \hat x_j + b \le G_j \eta_j, \; \sum n_j \eta_j \le k, \;
          \eta \in \{0, 1\}

An incumbent of value :math:`U` bounds every score from above, which makes the constants
:math:`G_j` tight: for any set A of negative rows with weight :math:`c_A` and mean
:math:`\bar x_A`, :math:`c_A (1 + w \cdot \bar x_A + b) + \tfrac12\|w\|^2 \le U`, hence

.. math:: w \cdot \hat x_j + b \le \max_{\rho \le \sqrt{2U}}
          \rho \|\hat x_j - \bar x_A\| - \frac{\rho^2}{2 c_A} + \frac{U}{c_A} - 1 .

SCIP sees rows of at most unit length and an objective divided by the sum of the weights, so
that its absolute tolerances mean the same for all data. Its bound is used less what they
allow: a margin may be missed by the tolerance, which costs at most the weights' sum times
it; a candidate by the tolerance and, since a binary may be off by it too, by its constant
times that, which again costs at most the weights' sum, for the multipliers of the two
classes balance; and the square of the weights by it.

Reference: Liu, Dietterich, Li and Zhou, IJCAI 2016, equation (4).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..certificate import Monitor, Proof, Status
from .allowed_set import AllowedSet
from .problem import BudgetedSVM, Solution
from .swap import search

_INSTALL = (
    'solver="exact" needs SCIP, which is not installed. Install it with '
    "`pip install 'shortlist[exact]'` or `pip install pyscipopt`, or use solver=\"swap\"."
)

_CPU_CLOCK = 1  # of SCIP's parameter timing/clocktype
_TOLERANCE = 1e-7  # of primal and dual feasibility; smaller ones upset the linear solver
_LARGEST = 1e15  # coefficient; SCIP takes 1e20 for infinite
# Seconds between two looks at the clock and for signals, and what SCIP needs to end.
_LOOK, _ENDING = 0.05, 0.1

_STATUS: dict[str, Status] = {
    "optimal": "stalled",
    "gaplimit": "stalled",
    "userinterrupt": "stopped",
    "nodelimit": "max_iter",
}


def exact(problem: BudgetedSVM, monitor: Monitor, restarts: int, seed: int) -> None:
    """Prove the optimum, starting from the swap search.

    Parameters
    ----------
    problem : BudgetedSVM
        Training rows, candidates and budget.
    monitor : Monitor
        Tolerance, limits and the record of the fit.
    restarts, seed : int
        Passed to the swap search.
    """
    _scip()
    start = search(problem, monitor, restarts, seed)
    if monitor.status == "local":
        monitor.status = None
        branch_and_bound(problem, monitor, start, warm=True)


def branch_and_bound(
    problem: BudgetedSVM,
    monitor: Monitor,
    start: Solution,
    warm: bool,
    cpu_limit: float | None = None,
) -> Solution:
    """Run SCIP, with tight constants from `start` and, if `warm`, with it as incumbent.

    Returns the best model, which the monitor knows. A limit in CPU seconds replaces that of
    the monitor, which would rob a search on a busy machine.
    """
    if 1.0 / (_length(problem) ** 2 * float(problem.c.sum())) > _LARGEST:
        # Rows so short that no weight is worth its square: SCIP has no number for that.
        monitor.stall()
        return start
    try:
        tree = _Tree(problem, start, monitor.exhausted)
    except _OutOfTimeError:
        return start
    if warm:
        tree.suggest(start)
    status = tree.run(monitor, start, cpu_limit)
    found = tree.polished(monitor.exhausted)
    best = found if found is not None and (not warm or found.primal < start.primal) else start
    bound = tree.bound()
    monitor.primal = min(monitor.primal, best.primal)
    monitor.check(best.primal, bound, partial(Proof, best, best.primal, bound, best.error))
    if monitor.status is None:
        monitor.status = _STATUS.get(status, "time_limit")
    return best


def _length(problem: BudgetedSVM) -> float:
    return problem.reach.length or 1.0


class _OutOfTimeError(Exception):
    """The time limit passed before the search began."""


class _Tree:
    """The mixed-integer programme in SCIP."""

    def __init__(self, problem: BudgetedSVM, start: Solution, stop: Callable[[], bool]) -> None:
        scip = _scip()
        self.problem = problem
        self._length = _length(problem)
        self._total = float(problem.c.sum())
        value = start.primal + start.error
        self._constants = np.maximum(score_bounds(problem, value, stop), 0.0) * (1.0 + 1e-9)
        rows = problem.rows.dense() / self._length
        reach = float(np.sqrt(2.0 * value)) * self._length
        model = self.model = scip.Model()
        model.hideOutput()
        total = scip.quicksum
        self._w = [model.addVar(lb=-reach, ub=reach) for _ in range(problem.rows.n_features)]
        self._b = model.addVar(lb=None)
        self._norm = model.addVar(lb=0.0)
        self._slack = [model.addVar(lb=0.0) for _ in problem.training]
        self._eta = [model.addVar(vtype="B") for _ in problem.candidates]

        def score(row: int) -> Any:
            if stop():
                raise _OutOfTimeError
            terms = zip(rows[row], self._w, strict=True)
            return total(float(x) * w for x, w in terms if x) + self._b

        model.addCons(total(w * w for w in self._w) <= 2.0 * self._norm)
        for row, sign, slack in zip(problem.training, problem.sign, self._slack, strict=True):
            model.addCons(float(sign) * score(row) + slack >= 1.0)
        constants = zip(problem.candidates, self._constants, self._eta, strict=True)
        for row, constant, eta in constants:
            model.addCons(score(row) <= float(constant) * eta)
        counted = zip(problem.count, self._eta, strict=True)
        model.addCons(total(float(n) * eta for n, eta in counted) <= float(problem.k))
        losses = zip(problem.c / self._total, self._slack, strict=True)
        norm = float(1.0 / (self._length**2 * self._total))
        model.setObjective(norm * self._norm + total(float(c) * xi for c, xi in losses))

    def suggest(self, start: Solution) -> None:
        """Give SCIP the incumbent."""
        problem, model = self.problem, self.model
        training, candidates = problem.split_scores(start.w, start.b)
        solution = model.createSol()
        w = start.w * self._length
        for variable, value in zip(self._w, w, strict=True):
            model.setSolVal(solution, variable, float(value))
        model.setSolVal(solution, self._b, start.b)
        model.setSolVal(solution, self._norm, 0.5 * float(w @ w) * (1.0 + 1e-9))
        loss = np.maximum(1.0 - problem.sign * training, 0.0)
        for variable, value in zip(self._slack, loss, strict=True):
            model.setSolVal(solution, variable, float(value))
        for variable, value in zip(self._eta, candidates > 0.0, strict=True):
            model.setSolVal(solution, variable, float(value))
        model.addSol(solution)

    def _watch(self, monitor: Monitor, start: Solution, failures: list[BaseException]) -> None:
        """Report every better solution to the monitor; stop when it says so."""
        scip = _scip()
        handler: Any = scip.Eventhdlr
        tree = self

        class Watch(handler):
            def eventinit(self) -> None:
                self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

            def eventexec(self, event: Any) -> None:
                # What a callback raises would be lost in SCIP.
                try:
                    monitor.iteration = self.model.getNNodes()
                    bound = tree.bound()
                    proof = partial(Proof, start, start.primal, bound, start.error)
                    if monitor.check(monitor.primal, bound, proof):
                        self.model.interruptSolve()
                except BaseException as error:
                    failures.append(error)
                    self.model.interruptSolve()

        self.model.includeEventhdlr(Watch(), "watch", "tell the monitor")

    def run(self, monitor: Monitor, start: Solution, cpu_limit: float | None) -> str:
        """Search until the gap or a limit; Ctrl-C and what a callback raises end it, too."""
        set_parameter = self.model.setParam
        set_parameter("numerics/feastol", _TOLERANCE)
        set_parameter("numerics/dualfeastol", _TOLERANCE)
        set_parameter("misc/catchctrlc", False)
        set_parameter("limits/gap", 0.5 * monitor.tol)
        set_parameter("limits/nodes", int(monitor.max_iter))
        left = np.inf
        if cpu_limit is not None:
            set_parameter("timing/clocktype", _CPU_CLOCK)
            set_parameter("limits/time", cpu_limit)
        elif monitor.time_limit is not None:
            left = max(monitor.time_limit - _ENDING, 0.0)
            set_parameter("limits/time", max(left - monitor.seconds, 0.0))
        failures: list[BaseException] = []
        self._watch(monitor, start, failures)
        # Python handles signals between steps of its own: SCIP runs beside it.
        search = threading.Thread(target=self.model.optimizeNogil, daemon=True)
        search.start()
        try:
            while search.is_alive():
                search.join(_LOOK)
                if monitor.seconds > left:
                    self.model.interruptSolve()
        except BaseException:
            while search.is_alive():
                self.model.interruptSolve()
                search.join(_LOOK)
            raise
        if failures:
            raise failures[0]
        monitor.iteration = max(monitor.iteration, int(self.model.getNNodes()))
        late = cpu_limit is None and monitor.seconds > left
        return "timelimit" if late else str(self.model.getStatus())

    def bound(self) -> float:
        """Return the proven lower bound, less what SCIP's tolerances allow."""
        bound = float(self.model.getDualbound())
        if abs(bound) >= self.model.infinity():
            return -np.inf
        allowed = 4.0 + 2.0 * float(self._constants.max(initial=0.0))
        allowed += (1.0 + abs(bound)) / (self._length**2 * self._total) + abs(bound)
        return self._total * (bound - _TOLERANCE * allowed)

    def polished(self, stop: Callable[[], bool]) -> Solution | None:
        """Return the exact model for SCIP's allowed set, free of its tolerances."""
        if not self.model.getNSols():
            return None
        values = self.model.getBestSol()
        allowed = np.array([self.model.getSolVal(values, eta) > 0.5 for eta in self._eta])
        state = AllowedSet(self.problem, stop)
        state.become(allowed)
        return state.solution()


def score_bounds(
    problem: BudgetedSVM, incumbent: float, stop: Callable[[], bool] = lambda: False
) -> np.ndarray:
    """Largest score of every candidate among models no worse than `incumbent`."""
    negative = problem.sign < 0.0
    X = problem.rows.take(problem.training[negative]).dense()
    c = problem.c[negative]
    reach = np.sqrt(2.0 * incumbent)
    bounds = np.empty(problem.n_candidates)
    for j, x in enumerate(problem.rows.take(problem.candidates).dense()):
        if stop():
            raise _OutOfTimeError
        order = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")
        weight = np.cumsum(c[order])
        mean = np.cumsum(c[order, None] * X[order], axis=0) / weight[:, None]
        distance = np.sqrt(((mean - x) ** 2).sum(axis=1))
        rho = np.minimum(weight * distance, reach)
        highest = rho * distance - rho**2 / (2.0 * weight) + incumbent / weight - 1.0
        bounds[j] = highest.min()
    return bounds


def _scip() -> Any:
    try:
        import pyscipopt
    except ImportError as error:
        raise ImportError(_INSTALL) from error
    return pyscipopt
