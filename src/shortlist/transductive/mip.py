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

Reference: Liu, Dietterich, Li and Zhou, IJCAI 2016, equation (4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..certificate import Monitor, Status
from .allowed_set import AllowedSet
from .problem import BudgetedSVM
from .solution import Solution
from .swap import swap

_INSTALL = (
    'method="exact" needs SCIP, which is not installed. Install it with '
    "`pip install 'shortlist[exact]'` or `pip install pyscipopt`, or use method=\"swap\"."
)

_CPU_CLOCK = 1  # of SCIP's parameter timing/clocktype

_STATUS: dict[str, Status] = {
    "optimal": "converged",
    "gaplimit": "converged",
    "userinterrupt": "stopped",
    "nodelimit": "max_iter",
}


def exact(problem: BudgetedSVM, monitor: Monitor, restarts: int, seed: int) -> Solution:
    """Prove the optimum, starting from the swap search.

    Parameters
    ----------
    problem : BudgetedSVM
        Training rows, candidates and budget.
    monitor : Monitor
        Tolerance, limits and the record of the fit.
    restarts, seed : int
        Passed to the swap search.

    Returns
    -------
    Solution
        The best model found; the monitor holds the proven bound.
    """
    _scip()
    start = swap(problem, monitor, restarts, seed)
    if monitor.status != "local":
        return start
    monitor.status = None
    return branch_and_bound(problem, monitor, start, warm=True)


def branch_and_bound(
    problem: BudgetedSVM,
    monitor: Monitor,
    start: Solution,
    warm: bool,
    cpu_limit: float | None = None,
) -> Solution:
    """Run SCIP, with tight constants from `start` and, if `warm`, with it as incumbent.

    Ctrl-C ends the search with the best model so far. A limit in CPU seconds replaces
    that of the monitor, which would rob a search on a busy machine.
    """
    tree = _Tree(problem, start)
    if warm:
        tree.suggest(start)
    tree.watch(monitor)
    status = tree.run(monitor, cpu_limit)
    found = tree.polished()
    best = found if found is not None and (not warm or found.primal < start.primal) else start
    bound = min(tree.bound(), best.primal)
    monitor.primal = min(monitor.primal, best.primal)
    monitor.check(best.primal, bound)
    monitor.status = _STATUS.get(status, "time_limit") if monitor.status is None else monitor.status
    return best


class _Tree:
    """The mixed-integer programme in SCIP."""

    def __init__(self, problem: BudgetedSVM, start: Solution) -> None:
        scip = _scip()
        self.problem = problem
        self._constants = score_bounds(problem, start.primal)
        reach = float(np.sqrt(2.0 * start.primal))
        rows = problem.rows.dense()
        model = self.model = scip.Model()
        model.hideOutput()
        total = scip.quicksum
        self._w = [model.addVar(lb=-reach, ub=reach) for _ in range(problem.rows.n_features)]
        self._b = model.addVar(lb=None)
        self._norm = model.addVar(lb=0.0)
        self._slack = [model.addVar(lb=0.0) for _ in problem.training]
        self._eta = [model.addVar(vtype="B") for _ in problem.candidates]

        def score(row: int) -> Any:
            terms = zip(rows[row], self._w, strict=True)
            return total(float(x) * w for x, w in terms if x) + self._b

        model.addCons(total(w * w for w in self._w) <= 2.0 * self._norm)
        for row, sign, slack in zip(problem.training, problem.sign, self._slack, strict=True):
            model.addCons(float(sign) * score(row) + slack >= 1.0)
        constants = zip(problem.candidates, self._constants, self._eta, strict=True)
        for row, constant, eta in constants:
            model.addCons(score(row) <= max(float(constant), 0.0) * eta)
        counted = zip(problem.count, self._eta, strict=True)
        model.addCons(total(float(n) * eta for n, eta in counted) <= float(problem.k))
        losses = zip(problem.c, self._slack, strict=True)
        model.setObjective(self._norm + total(float(c) * xi for c, xi in losses))

    def suggest(self, start: Solution) -> None:
        """Give SCIP the incumbent."""
        problem, model = self.problem, self.model
        training, candidates = problem.split_scores(start.w, -start.threshold)
        solution = model.createSol()
        for variable, value in zip(self._w, start.w, strict=True):
            model.setSolVal(solution, variable, float(value))
        model.setSolVal(solution, self._b, -start.threshold)
        model.setSolVal(solution, self._norm, 0.5 * float(start.w @ start.w) * (1.0 + 1e-9))
        loss = np.maximum(1.0 - problem.sign * training, 0.0)
        for variable, value in zip(self._slack, loss, strict=True):
            model.setSolVal(solution, variable, float(value))
        for variable, value in zip(self._eta, candidates > 0.0, strict=True):
            model.setSolVal(solution, variable, float(value))
        model.addSol(solution)

    def watch(self, monitor: Monitor) -> None:
        """Report every better solution to the monitor; stop when it says so."""
        scip = _scip()
        handler: Any = scip.Eventhdlr

        class Watch(handler):
            def eventinit(self) -> None:
                self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

            def eventexec(self, event: Any) -> None:
                monitor.iteration = self.model.getNNodes()
                bound = min(self.model.getDualbound(), monitor.primal)
                if monitor.check(monitor.primal, bound):
                    self.model.interruptSolve()

        self.model.includeEventhdlr(Watch(), "watch", "tell the monitor")

    def run(self, monitor: Monitor, cpu_limit: float | None) -> str:
        """Search until the gap, the time limit or Ctrl-C."""
        self.model.setParam("limits/gap", monitor.tol)
        self.model.setParam("limits/nodes", int(monitor.max_iter))
        if cpu_limit is not None:
            self.model.setParam("timing/clocktype", _CPU_CLOCK)
            self.model.setParam("limits/time", cpu_limit)
        elif monitor.time_limit is not None:
            left = max(monitor.time_limit - monitor.seconds, 0.0)
            self.model.setParam("limits/time", left)
        self.model.optimize()
        monitor.iteration = max(monitor.iteration, int(self.model.getNNodes()))
        return str(self.model.getStatus())

    def bound(self) -> float:
        """Return the proven lower bound."""
        return float(self.model.getDualbound())

    def polished(self) -> Solution | None:
        """Return the exact model for SCIP's allowed set, free of its tolerances."""
        if not self.model.getNSols():
            return None
        values = self.model.getBestSol()
        allowed = np.array([self.model.getSolVal(values, eta) > 0.5 for eta in self._eta])
        state = AllowedSet(self.problem)
        state.become(allowed)
        return state.solution()


def score_bounds(problem: BudgetedSVM, incumbent: float) -> np.ndarray:
    """Largest score of every candidate among models no worse than `incumbent`."""
    negative = problem.sign < 0.0
    X = problem.rows.take(problem.training[negative]).dense()
    c = problem.c[negative]
    reach = np.sqrt(2.0 * incumbent)
    bounds = np.empty(problem.n_candidates)
    for j, x in enumerate(problem.rows.take(problem.candidates).dense()):
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
