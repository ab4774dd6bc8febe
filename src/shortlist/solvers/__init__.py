"""Solvers by name: each declares what it needs of a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..certificate import Monitor
from .accelerated import accelerated
from .block import block, block_fw
from .frank_wolfe import away, fw, pairwise
from .newton import newton
from .proximal_newton import proximal_newton


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


SOLVERS = {
    solver.name: solver
    for solver in (
        Solver("newton", newton, needs="working set of linear rows", max_iter=500),
        Solver("accelerated", accelerated, needs="dual projection", max_iter=100_000),
        Solver(
            "proximal_newton", proximal_newton, needs="small linear top-k model", max_iter=2_000
        ),
        Solver("block", block, needs="top-k blocks", max_iter=20_000),
        Solver("block_fw", block_fw, needs="top-k blocks", max_iter=20_000),
        Solver("fw", fw, needs="top-k vertices", max_iter=20_000),
        Solver("away", away, needs="top-k vertices", max_iter=20_000),
        Solver("pairwise", pairwise, needs="top-k vertices", max_iter=20_000),
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
