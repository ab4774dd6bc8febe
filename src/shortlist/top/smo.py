r"""Pair steps inside a working set: the default solver of kernel problems.

Maximises the dual of :mod:`shortlist.top.problem` over :math:`(\alpha, \beta)`. One
round takes the rows that matter (those in the model, and those that violate
optimality), solves the dual restricted to them by pair steps of second order on their
own small kernel matrix, and then updates the scores of all other rows with the kernel
rows of what changed. Every round ends with a check. Where a cap couples all
:math:`\beta` (the mean of k negatives, the hinge quantile), their common scale is a
coordinate of its own: pairs alone jam.

The first rounds work on a random sample of the rows, four times larger each time: most
of its support vectors remain, and far fewer kernel rows are computed in vain.

Kernel entries may be float32. What the rounds say is a claim; the proof
(:mod:`shortlist.top.kernel_proof`) recomputes the scores in float64, and rounds whose
claim failed go on from those scores, with a float64 kernel if that fails again.

References: R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second
order information for training support vector machines", JMLR 6 (2005). The problems:
V. Mácha, L. Adam and V. Šmídl, "Nonlinear classifiers for ranking problems based on
kernelized SVM" (2020).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..certificate import Monitor, Proof
from ..rows.kernels import KernelMatrix
from ..rows.threads import team
from .gram import SQUARE, SQUARE_CROWDED, Memory
from .kernel_problem import DualPoint, KernelTopProblem, Layout
from .kernel_proof import KernelProver, Proved
from .level import Best, Level, Progress
from .working_set import (
    Chosen,
    PairState,
    Steps,
    Violation,
    Working,
    choose,
    pair_steps,
    place,
    sample_order,
)

_SAMPLE_TOL = 1e-2
_STALL = 30
_STALL_CROWDED = 1000
_STEPS_PER_ROW = 100
# How much better a restricted problem is solved after a round that has not helped.
_SHARPER = 0.3
# How much better a restricted problem is solved when rows are left out.
_SHARP_CROWDED = 0.1
# How many times the rows that matter a working set may hold before it is made anew.
_IDLE = 1.15
# Seconds by which a proof may be late.
_LATE = 0.2


def smo(problem: KernelTopProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : KernelTopProblem
        Kernel scores.
    monitor : Monitor
        Tolerance, limits, the record of the fit and its proofs. One iteration is one pair
        step.
    """
    # Sums beyond float64 are no model; a kernel that is not positive leads to them.
    with np.errstate(over="ignore", invalid="ignore"), team():
        rounds = _Rounds(problem, monitor)
        try:
            rounds.run()
        except _TimeUp:
            monitor.exhausted()
        rounds.leave()
    if problem.indefinite and monitor.status == "stalled":
        monitor.status = "local"


class _TimeUp(Exception):
    """The time limit was met in the middle of a round."""


class _Rounds:
    """The solver; positions count along the layout."""

    def __init__(self, problem: KernelTopProblem, monitor: Monitor) -> None:
        self.problem = problem
        self.monitor = monitor
        if problem.cache is None:
            order, self.levels = sample_order(problem)
        else:
            order, self.levels = problem.cache.order, [len(problem.cache.order)]
        self.layout = Layout.of(problem, order)
        self.memory = Memory(problem, order)
        self.prover = KernelProver(problem, self.layout, self.memory.cache)
        self.all = DualPoint(np.zeros(len(self.layout.positive)), np.zeros(len(self.layout.ranked)))
        self.level = self._level(self.levels[0])
        self.working: Working | None = None
        self.proved: Proved | None = None
        self.sharp, self.crowded = 1.0, False
        # Whether rows may wait: until a claim has failed.
        self.patient = True

    def run(self) -> None:
        self.monitor.accept(self.prover.zero())
        warm = self.problem.start is not None
        for length in self.levels[-1:] if warm else self.levels:
            known = self.all.alpha.any()
            self.level = self._level(length)
            self.working = None
            self.sharp, self.crowded = 1.0, False
            if known:
                self._transfer(max(self.monitor.tol, _SAMPLE_TOL))
            else:
                start = self.problem.start
                self.level.start(None if start is None else self.layout.placed(start))
            if length == self.levels[-1]:
                self._solve()
            else:
                self._solve_sample()
                if self.monitor.time_limit is not None:
                    self._secure()
                if self._late():
                    raise _TimeUp

    def _level(self, length: int) -> Level:
        terms = self.layout.terms(length)
        alpha, beta = self.all.alpha[: len(terms.positive)], self.all.beta[: len(terms.ranked)]
        return Level(terms, length, DualPoint(alpha, beta), self._add_rows)

    def _add_rows(
        self,
        outputs: list[np.ndarray],
        positions: np.ndarray,
        values: list[np.ndarray],
        only: np.ndarray | None,
    ) -> None:
        work = self.working
        known = None if work is None else work.gram.known(work.positions)
        self.memory.cache.add_to(outputs, positions, values, self._tick, known, only)

    def leave(self) -> None:
        """Offer what the last level led to, and leave the kernel rows to the next fit."""
        if self.level.length < len(self.layout.order):
            self._secure()
        self.problem.cache = self.memory.cache

    def _secure(self) -> None:
        """Prove the model of a sample on all rows, where there is time: better than none."""
        point = self.level.point
        if self._affordable() and point.alpha.any() and point.beta.any():
            scores = np.zeros(len(self.layout.order))
            self.monitor.accept(self.prover(self.all.alpha, self.all.beta, scores).proof)

    def _transfer(self, tol: float) -> None:
        """Go from a sample to more rows: from its model to the point that belongs to it.

        The rows of that point are solved for among themselves before any of their kernel
        rows is computed.
        """
        level = self.level
        level.rescore()
        now = level.evaluate()
        guess = level.proposed(now)
        if guess is None:
            level.repair()
        else:
            self._round(level.violation(tol * now.primal, float(guess.alpha.sum())), guess)

    # -- time -----------------------------------------------------------------

    def _late(self) -> bool:
        monitor = self.monitor
        limit = monitor.time_limit
        return limit is not None and monitor.seconds + monitor.reserve >= limit

    def _tick(self) -> None:
        if self._late():
            raise _TimeUp

    def _affordable(self) -> bool:
        """Whether a proof of the point fits into the time that is left; sets the reserve."""
        monitor = self.monitor
        if monitor.time_limit is None:
            return True
        coefficients = self.all.coefficients(self.prover.terms, len(self.layout.order))
        cost = self.prover.cost(coefficients)
        monitor.reserve = min(cost, 0.5 * monitor.time_limit)
        return monitor.seconds + cost <= monitor.time_limit + _LATE

    # -- rounds ---------------------------------------------------------------

    def _solve_sample(self) -> None:
        tol, progress = max(self.monitor.tol, _SAMPLE_TOL), Progress()
        while True:
            self.level.record()
            self._affordable()
            if self.level.relative_gap <= tol or self.monitor.exhausted():
                return
            if not self._go_on(tol, progress):
                return

    def _solve(self) -> None:
        monitor, level, progress = self.monitor, self.level, Progress()
        while True:
            level.record()
            refuted = monitor.refuted
            prove = self._prove if self._affordable() else None
            if prove is None:
                monitor.goal = -np.inf  # nothing can be proved any more
            if monitor.check(level.primal, level.best.dual, prove):
                return
            if monitor.refuted > refuted:
                if self.problem.indefinite:
                    monitor.stall()
                    return
                self.patient = False
                self._adopt()
                progress = Progress()
            elif not self._go_on(monitor.goal, progress):
                if self.memory.cache.kernel.dtype == np.float64:
                    monitor.stall()
                    return
                self._widen()
                progress = Progress()

    def _go_on(self, tol: float, progress: Progress) -> bool:
        """Play one more round; False when rounds have ceased to help."""
        level = self.level
        if progress.stalls(level.best.gap):
            # A working set cut to the memory allowed makes slow but steady progress.
            if progress.steps == 0 or not self.crowded:
                self.sharp *= _SHARPER
            if progress.count >= (_STALL_CROWDED if self.crowded else _STALL):
                return False
            if progress.count % 10 == 5:
                level.rescore()  # running sums drift
        else:
            self.sharp = min(1.0, self.sharp / _SHARPER)
        if not level.finite:
            return False
        goal = level.best.goal(tol)
        # Kernel rows are dear where they are not kept: each set of rows is solved well.
        sharp = self.sharp * (_SHARP_CROWDED if self.crowded else 1.0)
        violation = level.violation(goal, float(level.point.alpha.sum()))
        progress.steps = self._round(violation.sharper(sharp))
        return True

    def _round(self, eps: Violation, guess: DualPoint | None = None) -> int:
        """Solve the dual restricted to the rows that matter; return the steps taken.

        From the current point, or from a `guess` at a better one.
        """
        monitor, level = self.monitor, self.level
        terms, point = level.terms, guess or level.point
        chosen = self._choose(point)
        self.crowded = chosen.crowded
        if guess is not None and self.crowded:
            level.put(guess)
            level.repair()
            return 0
        work = self._load(chosen)
        rows = work.positions
        if guess is None:
            f, f_beta = level.scores[rows], level.beta_scores[rows]
            state = level.pair_state()
        else:
            f, f_beta = place(terms, work, guess)
            n = len(work.beta)
            inside = np.zeros(len(guess.beta)), np.zeros(len(guess.beta))
            inside[0][work.beta], inside[1][work.beta] = f[-n:], f_beta[-n:]
            state = PairState.of(terms, level.form, point, *inside)
        # Below the rounding of its matrix a restricted problem can only cycle.
        eps = eps.sharper(1.0, float(np.finfo(work.gram.dtype).eps) * float(np.abs(f).max()))
        if self.crowded:
            eps = replace(eps, gap=0.0)  # of rows left out nothing is known
        most = min(_STEPS_PER_ROW * (1000 + len(rows)), monitor.max_iter - monitor.iteration)
        stop = None if monitor.time_limit is None else self._late
        steps = pair_steps(terms, work, point, f, f_beta, state, eps, max(1, most), stop=stop)
        monitor.iteration += steps.count
        # A guess leaves nothing outside its working set that could have been scaled.
        self._move(work, steps, steps.state.factor if level.capped and guess is None else 1.0)
        return steps.count

    def _choose(self, point: DualPoint) -> Chosen:
        level, memory = self.level, self.memory
        chosen = choose(level.terms, point, level.point, level.scores, memory.most)
        if level.waits(level.terms.ranked[chosen.beta]):
            level.catch_up()
            chosen = choose(level.terms, point, level.point, level.scores, memory.most)
        if chosen.crowded and memory.share == SQUARE and not self.problem.kernel.precomputed:
            # Rows that do not fit either: more room for steps among many rows pays more.
            self._use(memory.cache.kernel, SQUARE_CROWDED)
            chosen = choose(level.terms, point, level.point, level.scores, memory.most)
        return chosen

    def _use(self, kernel: KernelMatrix, share: float) -> None:
        """Go on with other kernel rows."""
        self.working = None
        self.prover.cache = self.memory.renew(kernel, share)

    def _move(self, work: Working, steps: Steps, factor: float) -> None:
        """Store the new variables and bring the scores of all rows up to date.

        Every beta outside the working set was multiplied by `factor` on the way.
        """
        level, cache, rows = self.level, self.memory.cache, work.positions
        point = level.point
        a, b = work.spread(
            steps.alpha - point.alpha[work.alpha], steps.beta - factor * point.beta[work.beta]
        )
        level.scale_beta(factor)
        point.alpha[work.alpha] = steps.alpha
        point.beta[work.beta] = steps.beta
        changed = np.flatnonzero((a != 0.0) | (b != 0.0))
        if not cache.has_room(len(changed)):
            keep = np.zeros(len(self.layout.order), dtype=bool)
            keep[rows] = True
            keep[np.flatnonzero(point.coefficients(level.terms, level.length))] = True
            cache.release(keep)
        outside = np.ones(level.length, dtype=bool)
        outside[rows] = False
        change = rows[changed], (a - b)[changed]
        if self.patient and level.can_wait and not cache.keeps:
            level.scores[rows] = steps.scores
            level.follow(*change, outside)
        else:
            level.catch_up()
            level.add(*change, b[changed], np.flatnonzero(outside))
            level.scores[rows] = steps.scores
            level.beta_scores[rows] = steps.beta_scores
        self.monitor.passes += 1

    def _load(self, chosen: Chosen) -> Working:
        """Rows and kernel matrix of a restricted problem."""
        level, use_b = self.level, chosen.beta
        grown = None if self.working is None else self._grown(self.working, chosen)
        if grown is not None:
            self.working = grown
            return grown
        positive, negative = level.terms.positive[chosen.alpha], level.terms.ranked[use_b]
        if len(level.terms.ranked) == level.length:
            # Every row carries a beta; the positives come first.
            rows = np.concatenate([positive, np.setdiff1d(negative, positive)])
            use_b = rows
        else:
            rows = np.concatenate([positive, negative])
        if self.working is not None and np.array_equal(rows, self.working.positions):
            # The same rows; one that had a beta alone may have an alpha now.
            gram = self.working.gram
        else:
            self.working = None  # one matrix at a time
            gram = self.memory.matrix(rows, level.length)
        self.working = Working(rows, chosen.alpha, use_b, gram)
        return self.working

    def _grown(self, work: Working, chosen: Chosen) -> Working | None:
        """Return the last working set with what has joined, where little has left it.

        A few rows that have nothing to do cost less than another matrix.
        """
        terms, count = self.level.terms, len(chosen.alpha) + len(chosen.beta)
        if len(terms.ranked) == self.level.length or chosen.crowded:
            return None
        if not np.isin(chosen.alpha, work.alpha, assume_unique=True).all():
            return None
        new = np.setdiff1d(chosen.beta, work.beta, assume_unique=True)
        if len(work.positions) + len(new) > _IDLE * count:
            return None
        rows = np.concatenate([work.positions, terms.ranked[new]])
        gram = self.memory.grown(work.gram, rows, self.level.length)
        if gram is None:
            return None
        return Working(rows, work.alpha, np.concatenate([work.beta, new]), gram)

    # -- proofs ---------------------------------------------------------------

    def _prove(self) -> Proof:
        """Prove the best point; and the present one's dual, where that is what lacks."""
        level, prover, monitor = self.level, self.prover, self.monitor
        best = level.best
        # Where nothing finite has been seen since a restart, the present point will do.
        point, scores = best.point or level.point, best.scores
        scores = level.scores if scores is None else scores
        self.proved = prover(point.alpha, point.beta, scores)
        proof = self.proved.proof
        lacks = proof.primal - proof.dual > monitor.tol * proof.primal
        if lacks and best.evaluation.dual < best.dual and self._affordable():
            monitor.accept(proof)
            now = prover(level.point.alpha, level.point.beta, level.scores)
            if now.proof.dual > proof.dual:
                self.proved = now
                return now.proof
        return proof

    def _adopt(self) -> None:
        """Go on from what was proved; after a second claim that failed, in float64."""
        proved, level = self.proved, self.level
        if proved is None or proved.scores is None:
            level.catch_up()
            return
        level.put(proved.point)
        level.best = Best()
        if self.monitor.refuted > 1 and self.memory.cache.kernel.dtype == np.float32:
            self._widen()
            return
        level.adopt(proved.scores)
        if level.capped:
            exact = level.scores.copy()
            level.rescore()
            level.scores[:] = exact

    def _widen(self) -> None:
        """Continue with a float64 kernel."""
        self._use(self.problem.kernel.widened(), self.memory.share)
        self.level.best = Best()
        self.level.rescore()
