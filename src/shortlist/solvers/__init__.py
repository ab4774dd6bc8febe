"""Solvers by name: each declares what it needs of a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .accelerated import accelerated
from .feasible_direction import feasible_direction
from .mip import exact
from .newton import newton
from .swap import swap


@dataclass(frozen=True)
class Solver:
    """A named solver.

    Attributes
    ----------
    name : str
        Public name.
    run : callable
        ``run(problem, monitor)`` returns the solution; some take options of their own.
    needs : str
        The capability a problem must list in ``offers``.
    max_iter : int
        Iteration limit where the user gives none.
    """

    name: str
    run: Callable[..., Any]
    needs: str
    max_iter: int


SOLVERS = {
    solver.name: solver
    for solver in (
        Solver("newton", newton, needs="working set of linear rows", max_iter=500),
        Solver("accelerated", accelerated, needs="dual projection", max_iter=100_000),
        Solver("swap", swap, needs="budget of candidates", max_iter=1_000_000),
        Solver(
            "feasible_direction", feasible_direction, needs="budget of candidates", max_iter=1000
        ),
        Solver("exact", exact, needs="budget of candidates", max_iter=1_000_000_000),
    )
}


def find_solver(name: str, problem: Any) -> Solver:
    """Return the solver called `name`, if it can solve `problem`."""
    suitable = [solver.name for solver in SOLVERS.values() if solver.needs in problem.offers]
    if name == "auto":
        return SOLVERS[suitable[0]]
    if name not in suitable:
        reason = (
            f"it needs a {SOLVERS[name].needs}, which this problem does not offer"
            if name in SOLVERS
            else "there is no such solver"
        )
        choices = ", ".join(repr(choice) for choice in ["auto", *suitable])
        raise ValueError(f"solver={name!r} cannot be used: {reason}. Choose one of {choices}.")
    return SOLVERS[name]
