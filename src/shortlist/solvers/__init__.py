"""Solvers by name: each declares what it needs of a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..certificate import Monitor
from .accelerated import accelerated
from .newton import newton
from .pair_newton import pair_newton
from .rank_frank_wolfe import rank_frank_wolfe


@dataclass(frozen=True)
class Solver:
    """A named solver.

    Attributes
    ----------
    name : str
        Public name.
    run : callable
        ``run(problem, monitor)`` returns the solution.
    needs : str
        The capability a problem must list in ``offers``.
    max_iter : int
        Iteration limit where the user gives none.
    """

    name: str
    run: Callable[[Any, Monitor], Any]
    needs: str
    max_iter: int


# The first that suits a problem is its default. Names are unique among those that suit.
SOLVERS = {
    (solver.name, solver.needs): solver
    for solver in (
        Solver("newton", newton, needs="working set of linear rows", max_iter=500),
        Solver("accelerated", accelerated, needs="dual projection", max_iter=100_000),
        Solver("newton", pair_newton, needs="sum over pairs", max_iter=500),
        Solver("fw", rank_frank_wolfe, needs="sum over hinged pairs", max_iter=100_000),
    )
}


def find_solver(name: str, problem: Any) -> Solver:
    """Return the solver called `name`, if it can solve `problem`."""
    suitable = {
        solver.name: solver for solver in SOLVERS.values() if solver.needs in problem.offers
    }
    if name == "auto":
        return next(iter(suitable.values()))
    if name not in suitable:
        needs = [solver.needs for solver in SOLVERS.values() if solver.name == name]
        reason = (
            f"it needs a {' or a '.join(needs)}, which this problem does not offer"
            if needs
            else "there is no such solver"
        )
        choices = ", ".join(repr(choice) for choice in ["auto", *suitable])
        raise ValueError(f"solver={name!r} cannot be used: {reason}. Choose one of {choices}.")
    return suitable[name]
