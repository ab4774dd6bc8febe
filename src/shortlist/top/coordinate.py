r"""Random pairs on the dual: the published kernel method, as reference.

Maximises the dual of :mod:`shortlist.top.problem` over the whole kernel matrix. One
step takes a random variable, tries every partner with the closed-form step of the
pair, and takes the best: :math:`O(n)` per step. With the squared surrogate quantile,
:math:`\delta = \|\beta\| / (2\theta\sqrt{M})` is held during a step, where it majorises,
and refreshed after it.

Reference: V. Mácha, L. Adam and V. Šmídl, "Nonlinear classifiers for ranking problems
based on kernelized SVM" (2020), Algorithm 3.1. Corrected: the bounds of a step (printed
with minimum and maximum exchanged), :math:`\delta` (:math:`\theta^2` in its
denominator), and the stopping rule (the paper's count of steps leaves gaps of 0.4 and
more; here the duality gap decides). The paper starts from "some feasible value" and the
authors' program from random numbers: so does this, at the best place of their ray,
unless it continues from an earlier fit.
The method jams for k > 1 and for the hinge quantile, so it is not offered there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..certificate import Monitor, Proof
from ..rows.cache import add_rows
from ..rows.kernels import KernelMatrix
from ..rows.threads import team
from .kernel_problem import DualPoint, Evaluation, KernelTopProblem, Layout, alpha_bound, evaluate
from .kernel_proof import KernelProver, Proved
from .level import Progress
from .working_set import Held, PairState, Violation, Working, pair_steps

# Passes in which the gap has not fallen by a tenth, after which nothing is hoped for: random pairs
# come closer slowly, but steadily.
_STALL = 1000

_Seen = tuple[Evaluation, DualPoint, np.ndarray]


def coordinate(problem: KernelTopProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : KernelTopProblem
        Kernel scores; the whole kernel matrix is held in memory.
    monitor : Monitor
        Tolerance, limits, the record of the fit and its proofs. One iteration is one step.
    """
    with np.errstate(over="ignore", invalid="ignore"), team():
        _Walk(problem, monitor).run()
    if problem.indefinite and monitor.status == "stalled":
        monitor.status = "local"


class WholeRows:
    """The kernel matrix along an order, all rows at hand.

    Parameters
    ----------
    kernel : KernelMatrix
        The entries.
    order : ndarray of int
        Training row at every position.
    """

    def __init__(self, kernel: KernelMatrix, order: np.ndarray) -> None:
        self.kernel = kernel
        self.gram = np.ascontiguousarray(kernel.entries(order, order))

    def holds(self, rows: np.ndarray, length: int) -> np.ndarray:
        """Whether each of these rows is kept: all are."""
        return np.ones(len(rows), dtype=bool)

    def add_to(
        self,
        outputs: list[np.ndarray],
        positions: np.ndarray,
        coefficients: list[np.ndarray],
        tick: Callable[[], None] = lambda: None,
        *,
        only: np.ndarray | None = None,
    ) -> None:
        """Add the rows at `positions`, times each set of coefficients, to each output."""
        for out, values in zip(outputs, coefficients, strict=True):
            add_rows(self.gram, positions, values, out)


class _Walk:
    """The solver; positions count along the layout: the positives, then the others."""

    def __init__(self, problem: KernelTopProblem, monitor: Monitor) -> None:
        self.problem = problem
        self.monitor = monitor
        others = np.setdiff1d(problem.ranked, problem.positive)
        self.layout = Layout.of(problem, np.concatenate([problem.positive, others]))
        self.rows = WholeRows(problem.kernel, self.layout.order)
        self.prover = KernelProver(problem, self.layout, self.rows)
        self.terms = self.prover.terms
        self.rng = np.random.default_rng(problem.seed)
        self.proved: Proved | None = None

    def _start(self) -> DualPoint:
        """Random numbers or the last fit, at the best place of their ray."""
        terms, rng = self.terms, self.rng
        start = self.problem.start and self.layout.placed(self.problem.start)
        if start is None or not start.alpha.any() or not start.beta.any():
            start = DualPoint(
                terms.c * rng.random(len(terms.c)),
                terms.ranked_weight * rng.random(len(terms.ranked)),
            )
        alpha = np.minimum(start.alpha, alpha_bound(terms))
        beta = start.beta * float(alpha.sum() / start.beta.sum())
        point = DualPoint(alpha, beta)
        scale = evaluate(terms, point, self._score(point)).scale
        if not scale > 0.0 or not np.isfinite(scale):
            return point
        return DualPoint(scale * alpha, scale * beta)

    def _score(self, point: DualPoint) -> np.ndarray:
        out = np.zeros(len(self.layout.order))
        c = point.coefficients(self.terms, len(out))
        self.rows.add_to([out], np.arange(len(c)), [c])
        return out

    def _work(self) -> Working:
        n = len(self.layout.order)
        every = np.arange(len(self.terms.positive)), np.arange(len(self.terms.ranked))
        return Working(np.arange(n), *every, Held(self.rows.gram))

    def run(self) -> None:
        monitor, terms = self.monitor, self.terms
        monitor.accept(self.prover.zero())
        form = terms.threshold.form(terms.ranked_weight)
        seed = int(self.rng.integers(1, 2**62))
        n_variables = len(terms.positive) + len(terms.ranked)
        point = self._start()
        scores, work = self._score(point), self._work()
        best, dual = (evaluate(terms, point, scores), point, scores), 0.0
        progress = Progress()
        while True:
            now = evaluate(terms, point, scores)
            dual = max(dual, now.dual)
            if now.primal < best[0].primal:
                best = now, point, scores
            refuted = monitor.refuted
            if monitor.time_limit is not None:
                c = best[1].coefficients(terms, len(scores))
                monitor.reserve = min(self.prover.cost(c), 0.5 * monitor.time_limit)
            prove = functools.partial(self._prove, best, (now, point, scores))
            if monitor.check(best[0].primal, dual, prove):
                return
            if self.problem.indefinite and monitor.refuted > refuted:
                monitor.stall()
                return
            if monitor.refuted > refuted and self.proved and self.proved.scores is not None:
                if self.problem.kernel.dtype == np.float32 and not self.problem.kernel.precomputed:
                    self._widen()
                    work = self._work()
                point = self.proved.point
                scores = self._score(point)
                best, dual = (evaluate(terms, point, scores), point, scores), 0.0
            if progress.stalls(best[0].primal - dual) and progress.count >= _STALL:
                # Below the rounding of float32 entries no pair is seen to gain.
                if self.rows.kernel.dtype == np.float64 or self.problem.kernel.precomputed:
                    monitor.stall()
                    return
                self._widen()
                work, scores, progress = self._work(), self._score(point), Progress()
                best, dual = (evaluate(terms, point, scores), point, scores), 0.0
            state = PairState.of(terms, form, point, scores, scores)
            most = min(n_variables, monitor.max_iter - monitor.iteration)
            steps = pair_steps(
                terms,
                work,
                point,
                scores,
                scores,
                state,
                Violation(0.0),
                most,
                seed=seed + monitor.iteration,
            )
            point, scores = DualPoint(steps.alpha, steps.beta), steps.scores
            monitor.iteration += max(1, steps.count)
            monitor.passes += 1

    def _prove(self, best: _Seen, now: _Seen) -> Proof:
        """Prove the best point; and the present one's dual, where that is what lacks."""
        self.proved = self.prover(best[1].alpha, best[1].beta, best[2])
        proof = self.proved.proof
        if now[1] is not best[1] and proof.primal - proof.dual > self.monitor.tol * proof.primal:
            self.monitor.accept(proof)
            other = self.prover(now[1].alpha, now[1].beta, now[2])
            if other.proof.dual > proof.dual:
                self.proved = other
        return self.proved.proof

    def _widen(self) -> None:
        if self.rows.kernel.dtype == np.float32:
            self.rows = WholeRows(self.problem.kernel.widened(), self.layout.order)
            self.prover.cache = self.rows
