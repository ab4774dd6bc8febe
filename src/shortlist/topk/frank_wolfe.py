r"""Frank-Wolfe on the dual of the top-k problems: the published methods, as reference.

All rows move at once. With scores :math:`Z = K A` the best vertex of row i is
:math:`u_i = -c_i \partial\Phi(z_i; y_i)`, and a step of length :math:`\gamma` along
:math:`\Delta` raises the dual by :math:`\gamma g - \gamma^2/2 \langle \Delta, K\Delta \rangle`
with :math:`g = \langle \Delta, E_y - Z \rangle`; its maximum is closed form.

``fw``        :math:`\Delta = U - A`; then :math:`g` is the duality gap.
``away``      or :math:`\Delta = A - V` away from the worst vertex V in use, where steeper.
``pairwise``  :math:`\Delta = U - V`: weight moves from V to U.

Reference: T. Kato, Y. Hirohashi, "Learning weighted top-k support vector machine", ACML
2019, Theorem 4; S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
optimization variants", NIPS 2015. Corrected: the gradient is :math:`E_y - Z` (eq. (22)
prints the opposite sign).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..certificate import Monitor, Proof
from .problem import TopKProblem
from .scores import inner


@dataclass
class _Atom:
    """A vertex in use, with its weight in A."""

    vertex: sparse.csr_array
    own: float
    weight: float

    def slope(self, Z: np.ndarray) -> float:
        """Inner product of the vertex with the gradient."""
        return self.own - inner(self.vertex, Z)


def fw(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` by the standard method.

    Parameters
    ----------
    problem : TopKProblem
        Linear or kernel scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit.
    """
    _run(problem, monitor, "fw")


def away(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` with away steps; see :func:`fw`."""
    _run(problem, monitor, "away")


def pairwise(problem: TopKProblem, monitor: Monitor) -> None:
    """Solve `problem` with pairwise steps; see :func:`fw`."""
    _run(problem, monitor, "pairwise")


def _run(problem: TopKProblem, monitor: Monitor, variant: str) -> None:
    shape = (len(problem.y), problem.n_classes)
    A = sparse.csr_array(shape)
    Z = np.zeros(shape)
    atoms = [_Atom(A, 0.0, 1.0)]
    best, least = A, problem.value_at_zero
    monitor.accept(problem.zero_proof())

    def prove() -> Proof:
        model = None if best is A else problem.scores.model(best)
        return problem.prove(problem.point_of(A), model)

    while True:
        began, refuted = monitor.seconds, monitor.refuted
        U, loss = problem.vertices(Z)
        norm, own = inner(A, Z), problem.own(A)
        primal = 0.5 * norm + loss
        if primal < least:
            best, least = A, primal
        if monitor.check(least, own - 0.5 * norm, prove):
            return
        if problem.indefinite and monitor.refuted > refuted:
            monitor.status = "local"
            return
        if monitor.refuted > refuted:
            Z = problem.product(A)
            assert monitor.proof is not None
            least = monitor.proof.primal
            continue
        gap = primal - own + 0.5 * norm
        atom = _Atom(U, problem.own(U), 0.0)
        if variant == "fw":
            direction, slope, longest = U - A, gap, 1.0
        else:
            worst = min(atoms, key=lambda held: held.slope(Z))
            retreat = own - norm - worst.slope(Z)
            if variant == "pairwise":
                direction, slope, longest = U - worst.vertex, gap + retreat, worst.weight
            elif gap >= retreat:
                direction, slope, longest = U - A, gap, 1.0
            else:
                direction, slope = A - worst.vertex, retreat
                longest = worst.weight / max(1.0 - worst.weight, 1e-300)
        moved = problem.product(direction)
        curvature = inner(direction, moved)
        if not np.isfinite(curvature) or not slope > 0.0:
            monitor.stall()
            return
        step = min(longest, slope / curvature) if curvature > 0.0 else longest
        A = sparse.csr_array(A + step * direction)
        A.eliminate_zeros()
        Z += step * moved
        if variant != "fw":
            _reweigh(atoms, atom, worst, step, variant, gap >= retreat)
        monitor.iteration += 1
        monitor.passes += 2
        monitor.reserve = 2.0 * (monitor.seconds - began)


def _reweigh(
    atoms: list[_Atom], new: _Atom, worst: _Atom, step: float, variant: str, towards: bool
) -> None:
    """Update the weights of the vertices in use, and forget those of weight zero."""
    if variant == "pairwise":
        worst.weight -= step
        new.weight = step
    else:
        shrink = 1.0 - step if towards else 1.0 + step
        for held in atoms:
            held.weight *= shrink
        if towards:
            new.weight = step
        else:
            worst.weight -= step
    if new.weight > 0.0:
        atoms.append(new)
    atoms[:] = [held for held in atoms if held.weight > 1e-14]
