"""Solvers by name: each declares what it needs of a problem."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from .certificate import Monitor

# A capability, named in the error of the solver that needs it.
WITHOUT_COUPLING = (
    "dual without caps that couple the rows (moving two rows at a time jams at their "
    "corners, far from the optimum; k=1 and the squared-hinge PatMat have no such caps)"
)


@dataclass(frozen=True)
class Solver:
    """A named solver, loaded when it runs.

    Attributes
    ----------
    name : str
        Public name, unique among the solvers that suit one problem.
    home : str
        ``module:function`` within the package.
    needs : str
        The capability a problem must list in ``offers``.
    max_iter : int
        Iteration limit where the user gives none.
    """

    name: str
    home: str
    needs: str
    max_iter: int

    def run(self, problem: Any, monitor: Monitor, **options: Any) -> Any:
        """Solve `problem` to the monitor's tolerance; some solvers take options."""
        module, function = self.home.split(":")
        solve = getattr(importlib.import_module(f".{module}", __package__), function)
        return solve(problem, monitor, **options)


_PAIRS_INSIDE = "pairs.interior_point:pair_interior_point"

# The first that suits a problem is its default.
SOLVERS = (
    Solver("newton", "top.newton:newton", "working set of linear rows", 500),
    Solver("accelerated", "top.accelerated:accelerated", "dual projection", 100_000),
    Solver("smo", "top.smo:smo", "kernel rows", 10_000_000),
    Solver("coordinate", "top.coordinate:coordinate", WITHOUT_COUPLING, 10_000_000),
    Solver("interior_point", _PAIRS_INSIDE, "strong loss of few kernel pairs", 200),
    Solver("newton", "pairs.newton:pair_newton", "sum over pairs", 500),
    Solver("interior_point", _PAIRS_INSIDE, "hinge of few kernel pairs", 200),
    Solver("fw", "pairs.frank_wolfe:rank_frank_wolfe", "sum over hinged pairs", 100_000),
    Solver(
        "proximal_newton", "topk.proximal_newton:proximal_newton", "small linear top-k model", 2_000
    ),
    Solver("block", "topk.block:block", "top-k blocks", 20_000),
    Solver("block_fw", "topk.block:block_fw", "top-k blocks", 20_000),
    Solver("fw", "topk.frank_wolfe:fw", "top-k vertices", 20_000),
    Solver("away", "topk.frank_wolfe:away", "top-k vertices", 20_000),
    Solver("pairwise", "topk.frank_wolfe:pairwise", "top-k vertices", 20_000),
    Solver("swap", "transductive.swap:swap", "budget of candidates", 1_000_000),
    Solver(
        "feasible_direction",
        "transductive.feasible_direction:feasible_direction",
        "budget of candidates",
        1000,
    ),
    Solver(
        "cutting_plane", "rivals.cutting_plane:cutting_plane", "most violated labelling", 20_000
    ),
    Solver("linear_programme", "rivals.push_programme:linear_programme", "linear programme", 1000),
    Solver("boundary_rows", "rivals.aatp:boundary_rows", "boundary rows", 1_000_000_000),
    Solver(
        "concave_convex", "rivals.transductive_svm:concave_convex", "candidates with a balance", 20
    ),
    Solver("exact", "transductive.mip:exact", "budget of candidates", 1_000_000_000),
)


def find_solver(name: str, problem: Any) -> Solver:
    """Return the solver called `name`, if it can solve `problem`."""
    suitable = {solver.name: solver for solver in SOLVERS if solver.needs in problem.offers}
    if name == "auto":
        return next(iter(suitable.values()))
    if name not in suitable:
        needs = [solver.needs for solver in SOLVERS if solver.name == name]
        reason = (
            f"it needs a {' or a '.join(needs)}, which this problem does not offer"
            if needs
            else "there is no such solver"
        )
        choices = ", ".join(repr(choice) for choice in ["auto", *suitable])
        raise ValueError(f"solver={name!r} cannot be used: {reason}. Choose one of {choices}.")
    return suitable[name]
