r"""Conditional gradient on the dual of the pair hinge: the published method.

.. math:: \max_{0 \le \alpha \le c} \; \sum\alpha_{ij}
          - \tfrac12 \Bigl\| \sum\alpha_{ij}(\phi_i - \phi_j) \Bigr\|^2

The vertex :math:`s` that maximises the linearised dual is "every violated pair at its
bound". With :math:`w` the model of :math:`\alpha` and :math:`w_s` that of the vertex, the
step is :math:`\gamma = \min(1, h / \|w_s - w\|^2)`, where
:math:`h = \sum s - \sum\alpha - (w_s - w) \cdot w` equals the duality gap
:math:`P(w) - D(\alpha)`. Pairs stay implicit: only :math:`w` and :math:`\sum\alpha` are kept.

Reference: E. Bach, "ROSVM package, mathematical background", 2020, Algorithm 1. Corrected:
the step adds :math:`\gamma(s - \alpha)`, and the gap itself is the stopping rule.
"""

from __future__ import annotations

from functools import partial

from ..certificate import Monitor
from .problem import Pairs, primal_value
from .proof import prove_average
from .spaces import BestPoint

_ANY_WIDTH = 1.0


def rank_frank_wolfe(problem: Pairs, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : Pairs
        With the hinge.
    monitor : Monitor
        Tolerance, limits, the record of the fit and the best model that was proved.
    """
    point, total = problem.zero(), 0.0
    best = BestPoint(point, problem.value_at_zero)
    while True:
        before = monitor.seconds
        sums = problem.sums(point, _ANY_WIDTH)
        monitor.reserve = 3.0 * (monitor.seconds - before)
        monitor.passes += 1
        square = point.dot(point)
        best.offer(point, primal_value(problem, sums))
        proof = partial(prove_average, problem, best.point, point, total, monitor.iteration)
        if monitor.check(best.primal, total - 0.5 * square, proof):
            return
        direction = sums.vertex_model().plus(-1.0, point)
        gap = sums.violated - total - direction.dot(point)
        length = direction.dot(direction)
        step = min(1.0, gap / length) if length > 0.0 else 1.0
        if gap <= 0.0 or step == 0.0:
            monitor.stall()
            return
        point = point.plus(step, direction)
        total += step * (sums.violated - total)
        monitor.iteration += 1
