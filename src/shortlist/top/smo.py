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

import math

import numpy as np

from ..certificate import Monitor, Proof
from ..rows.cache import RowCache
from ..rows.kernels import KernelMatrix
from .kernel_problem import (
    DualPoint,
    Evaluation,
    KernelTopProblem,
    Layout,
    alpha_bound,
    evaluate,
    sparse_start,
)
from .kernel_proof import KernelProver, Proved
from .progress import Best, Progress
from .working_set import (
    Chosen,
    PairState,
    Working,
    choose,
    fill_caps,
    pair_steps,
    place,
    sample_order,
    square,
)

_SAMPLE_TOL = 1e-2
_STALL = 30
_STALL_CROWDED = 1000
_STEPS_PER_ROW = 100
# Share of the memory for the matrix of a working set, and where that is too small for the
# rows that matter; the rest holds rows.
_SQUARE, _SQUARE_CROWDED = 0.25, 0.9
# How much better a restricted problem is solved when rows are left out.
_SHARP_CROWDED = 0.1
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
    with np.errstate(over="ignore", invalid="ignore"):
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
    """The solver at one level; positions count along the layout."""

    def __init__(self, problem: KernelTopProblem, monitor: Monitor) -> None:
        self.problem = problem
        self.monitor = monitor
        if problem.cache is None:
            order, self.levels = sample_order(problem)
        else:
            order, self.levels = problem.cache.order, [len(problem.cache.order)]
        self.layout = Layout.of(problem, order)
        self.square = _SQUARE
        self.cache = problem.cache or self._new_cache(problem.kernel)
        self.prover = KernelProver(problem, self.layout, self.cache)
        self.all = DualPoint(np.zeros(len(self.layout.positive)), np.zeros(len(self.layout.ranked)))
        self.working: Working | None = None
        self.proved: Proved | None = None
        self.sharp, self.crowded = 1.0, False

    def run(self) -> None:
        self.monitor.accept(self.prover.zero())
        warm = self.problem.start is not None
        for level in self.levels[-1:] if warm else self.levels:
            last = level == self.levels[-1]
            known = self.all.alpha.any()
            self._enter(level)
            if known:
                self._transfer(max(self.monitor.tol, _SAMPLE_TOL))
            else:
                self._start_level()
            if last:
                self._solve()
            else:
                self._solve_sample()
                if self.monitor.time_limit is not None:
                    self._secure()
                if self._late():
                    raise _TimeUp

    def leave(self) -> None:
        """Offer what the last level led to, and leave the kernel rows to the next fit."""
        if self.length < len(self.layout.order):
            self._secure()
        self.problem.cache = self.cache

    def _secure(self) -> None:
        """Prove the model of a sample on all rows, where there is time: better than none."""
        if self._affordable() and self.point.alpha.any() and self.point.beta.any():
            scores = np.zeros(len(self.layout.order))
            self.monitor.accept(self.prover(self.all.alpha, self.all.beta, scores).proof)

    # -- memory ---------------------------------------------------------------

    @property
    def most(self) -> int:
        """Rows whose square matrix the memory allows."""
        entries = self.square * self.problem.cache_bytes / self.cache.kernel.dtype.itemsize
        return max(8, int(math.sqrt(entries)))

    def _new_cache(self, kernel: KernelMatrix) -> RowCache:
        budget = int((1.0 - self.square) * self.problem.cache_bytes)
        return RowCache(kernel, self.layout.order, budget)

    def _use(self, kernel: KernelMatrix) -> None:
        """Go on with other kernel rows."""
        self.working = None
        self.prover.cache = self.cache = self._new_cache(kernel)

    def _choose(self, point: DualPoint) -> Chosen:
        chosen = choose(self.terms, point, self.point, self.scores, self.most)
        if chosen.crowded and self.square == _SQUARE and not self.problem.kernel.precomputed:
            # Rows that do not fit either: more room for steps among many rows pays more.
            self.square = _SQUARE_CROWDED
            self._use(self.cache.kernel)
            chosen = choose(self.terms, point, self.point, self.scores, self.most)
        return chosen

    # -- levels ---------------------------------------------------------------

    def _enter(self, length: int) -> None:
        self.terms = self.layout.terms(length)
        self.length = length
        terms = self.terms
        self.point = DualPoint(
            self.all.alpha[: len(terms.positive)], self.all.beta[: len(terms.ranked)]
        )
        self.form = terms.threshold.form(terms.ranked_weight)
        self.capped = self.form in ("tied", "priced")
        self.upper = alpha_bound(terms)
        self.working = None
        self.best = Best()
        self.sharp, self.crowded = 1.0, False

    def _start_level(self) -> None:
        """Start from the last fit, or from the positives and the rows nearest to them."""
        terms, point = self.terms, self.point
        if self.problem.start is not None:
            start = self.layout.placed(self.problem.start)
            point.alpha[:], point.beta[:] = start.alpha, start.beta
            if point.alpha.any() and point.beta.any():
                self._repair()
                return
            point.beta[:] = 0.0
        point.alpha[:] = terms.c
        self._rescore()
        start = sparse_start(terms, self.scores[terms.ranked])
        point.alpha[:], point.beta[:] = start.alpha, start.beta
        self._repair()

    def _transfer(self, tol: float) -> None:
        """Go from a sample to more rows: from its model to the point that belongs to it.

        At the optimum the scores determine alpha and beta. Those of the sample's model
        are solved for among themselves before any of their kernel rows is computed.
        """
        terms = self.terms
        self._rescore()
        now = self._evaluate()
        alpha = terms.loss.slopes(now.threshold - self.scores[terms.positive], terms.c)
        total = float(alpha.sum())
        if total > 0.0:
            beta = terms.threshold.shares(
                self.scores[terms.ranked], terms.ranked_weight, now.threshold
            )
            if beta is None:
                beta = self.point.beta.copy()
            beta *= total / float(beta.sum())
            if terms.cap is not None:
                fill_caps(beta, terms.cap * total, self._ranking())
            guess = DualPoint(alpha, beta)
            self._round(self._violation(tol * now.primal / total), guess)
        else:
            self._repair()

    def _ranking(self) -> np.ndarray:
        return np.argsort(-self.scores[self.terms.ranked], kind="stable")

    def _repair(self) -> None:
        """Make the point feasible and put it at the best place of its ray."""
        terms, point = self.terms, self.point
        np.minimum(point.alpha, self.upper, out=point.alpha)
        total = float(point.alpha.sum())
        point.beta[:] *= total / float(point.beta.sum())
        self._rescore()
        if terms.cap is not None:
            fill_caps(point.beta, terms.cap * total, self._ranking())
            self._rescore()
        scale = self._evaluate().scale
        if scale > 0.0 and np.isfinite(scale):
            for values in (point.alpha, point.beta, self.scores, self.beta_scores):
                values *= scale

    def _rescore(self) -> None:
        """Scores of all rows of the level from nothing."""
        self.scores = np.zeros(self.length)
        self.beta_scores = np.zeros(self.length)
        c = self.point.coefficients(self.terms, self.length)
        b = np.zeros(self.length)
        b[self.terms.ranked] = self.point.beta
        nonzero = np.flatnonzero((c != 0.0) | (b != 0.0))
        self._add(nonzero, c[nonzero], b[nonzero])

    def _add(self, positions: np.ndarray, c: np.ndarray, b: np.ndarray) -> None:
        outputs, values = [self.scores], [c]
        if self.capped:
            outputs.append(self.beta_scores)
            values.append(b)
        self.cache.add_to(outputs, positions, values, self._tick)

    def _evaluate(self) -> Evaluation:
        return evaluate(self.terms, self.point, self.scores)

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
        whole = DualPoint(self.all.alpha, self.all.beta)
        terms = self.prover.terms
        cost = self.prover.cost(whole.coefficients(terms, len(self.layout.order)))
        monitor.reserve = min(cost, 0.5 * monitor.time_limit)
        return monitor.seconds + cost <= monitor.time_limit + _LATE

    # -- rounds ---------------------------------------------------------------

    def _solve_sample(self) -> None:
        tol, progress = max(self.monitor.tol, _SAMPLE_TOL), Progress()
        while True:
            self._record(self._evaluate())
            self._affordable()
            if self._relative_gap() <= tol or self.monitor.exhausted():
                return
            if not self._go_on(tol, progress):
                return

    def _solve(self) -> None:
        monitor, progress = self.monitor, Progress()
        while True:
            self._record(self._evaluate())
            refuted = monitor.refuted
            prove = self._prove if self._affordable() else None
            if prove is None:
                monitor.goal = -np.inf  # nothing can be proved any more
            if monitor.check(self._primal(), self.best.dual, prove):
                return
            if monitor.refuted > refuted:
                if self.problem.indefinite:
                    monitor.stall()
                    return
                self._adopt()
                progress = Progress()
            elif not self._go_on(monitor.goal, progress):
                if self.cache.kernel.dtype == np.float64:
                    monitor.stall()
                    return
                self._widen()
                progress = Progress()

    def _go_on(self, tol: float, progress: Progress) -> bool:
        """Play one more round; False when rounds have ceased to help."""
        if progress.stalls(self.best.gap):
            # A working set cut to the memory allowed makes slow but steady progress.
            if progress.steps == 0 or not self.crowded:
                self.sharp *= 0.3
            if progress.count >= (_STALL_CROWDED if self.crowded else _STALL):
                return False
            if progress.count % 10 == 5:
                self._rescore()  # running sums drift
        total = float(self.point.alpha.sum())
        if not total > 0.0 or not self.point.beta.any() or not np.isfinite(self.scores).all():
            return False
        goal = max(0.1 * self.best.gap, 0.5 * tol * self.best.evaluation.primal)
        # Kernel rows are dear where they are not kept: each set of rows is solved well.
        sharp = self.sharp * (_SHARP_CROWDED if self.crowded else 1.0)
        progress.steps = self._round(sharp * self._violation(goal / total))
        return True

    def _violation(self, eps: float) -> float:
        """Violation of a pair at a gap of `eps` per unit of alpha."""
        # The norm makes the dual smooth in beta: the gap falls with the square.
        return 2.0 * math.sqrt(eps) if self.form == "norm" else eps

    def _primal(self) -> float:
        """Best primal value; the zero model is always a candidate."""
        return min(self.best.evaluation.primal, self.terms.value_at_zero)

    def _relative_gap(self) -> float:
        primal = self._primal()
        return (primal - self.best.dual) / primal if primal > 0.0 else 0.0

    def _record(self, now: Evaluation) -> None:
        best, dual = self.best, max(self.best.dual, now.dual)
        if now.primal < best.evaluation.primal:
            self.best = Best(now, self.point.copy(), self.scores.copy(), dual)
        else:
            self.best = Best(best.evaluation, best.point, best.scores, dual)

    def _round(self, eps: float, guess: DualPoint | None = None) -> int:
        """Solve the dual restricted to the rows that matter; return the steps taken.

        From the current point, or from a `guess` at a better one.
        """
        monitor, terms = self.monitor, self.terms
        point = guess or self.point
        chosen = self._choose(point)
        self.crowded = chosen.crowded
        if guess is not None and self.crowded:
            self.point.alpha[:], self.point.beta[:] = guess.alpha, guess.beta
            self._repair()
            return 0
        work = self._load(chosen)
        rows = work.positions
        if guess is None:
            f, f_beta = self.scores[rows], self.beta_scores[rows]
            state = PairState.of(
                terms,
                self.form,
                point,
                self.scores[terms.ranked],
                self.beta_scores[terms.ranked],
            )
        else:
            f, f_beta = place(terms, work, guess)
            n = len(work.beta)
            inside = np.zeros(len(guess.beta)), np.zeros(len(guess.beta))
            inside[0][work.beta], inside[1][work.beta] = f[-n:], f_beta[-n:]
            state = PairState.of(terms, self.form, point, *inside)
        # Below the rounding of its matrix a restricted problem can only cycle.
        eps = max(eps, float(np.finfo(work.gram.dtype).eps) * float(np.abs(f).max()))
        most = min(_STEPS_PER_ROW * (1000 + len(rows)), monitor.max_iter - monitor.iteration)
        steps = pair_steps(terms, work, point, f, f_beta, state, eps, max(1, most), stop=self._late)
        monitor.iteration += steps.count
        # A guess leaves nothing outside its working set that could have been scaled.
        factor = steps.state.factor if self.capped and guess is None else 1.0
        self._move(work, steps.alpha, steps.beta, factor, steps.scores, steps.beta_scores)
        return steps.count

    def _move(
        self,
        work: Working,
        alpha: np.ndarray,
        beta: np.ndarray,
        factor: float,
        f: np.ndarray,
        f_beta: np.ndarray,
    ) -> None:
        """Store the new variables and bring the scores of all rows up to date.

        Every beta outside the working set was multiplied by `factor` on the way.
        """
        rows, point = work.positions, self.point
        a, b = work.spread(alpha - point.alpha[work.alpha], beta - factor * point.beta[work.beta])
        point.beta[:] *= factor
        point.alpha[work.alpha] = alpha
        point.beta[work.beta] = beta
        self.scores -= (factor - 1.0) * self.beta_scores
        self.beta_scores *= factor
        changed = np.flatnonzero((a != 0.0) | (b != 0.0))
        if not self.cache.has_room(len(changed)):
            keep = np.zeros(len(self.layout.order), dtype=bool)
            keep[rows] = True
            keep[np.flatnonzero(point.coefficients(self.terms, self.length))] = True
            self.cache.release(keep)
        self._add(rows[changed], (a - b)[changed], b[changed])
        self.scores[rows] = f
        self.beta_scores[rows] = f_beta
        self.monitor.passes += 1

    def _load(self, chosen: Chosen) -> Working:
        """Rows and kernel matrix of a restricted problem."""
        terms, use_b = self.terms, chosen.beta
        positive, negative = terms.positive[chosen.alpha], terms.ranked[use_b]
        if len(terms.ranked) == self.length:
            # Every row carries a beta; the positives come first.
            rows = np.concatenate([positive, np.setdiff1d(negative, positive)])
            use_b = rows
        else:
            rows = np.concatenate([positive, negative])
        if self.working is not None and np.array_equal(rows, self.working.positions):
            return self.working
        self.working = None  # one matrix at a time
        gram = square(self.cache, rows, self.length)
        self.working = Working(rows, chosen.alpha, use_b, gram)
        self.cache.most_working = max(self.cache.most_working, len(rows))
        return self.working

    # -- proofs ---------------------------------------------------------------

    def _prove(self) -> Proof:
        """Prove the best point; and the present one's dual, where that is what lacks."""
        best, prover, monitor = self.best, self.prover, self.monitor
        # Where nothing finite has been seen since a restart, the present point will do.
        point, scores = best.point or self.point, best.scores
        scores = self.scores if scores is None else scores
        self.proved = prover(point.alpha, point.beta, scores)
        proof = self.proved.proof
        lacks = proof.primal - proof.dual > monitor.tol * proof.primal
        if lacks and best.evaluation.dual < best.dual and self._affordable():
            monitor.accept(proof)
            now = prover(self.point.alpha, self.point.beta, self.scores)
            if now.proof.dual > proof.dual:
                self.proved = now
                return now.proof
        return proof

    def _adopt(self) -> None:
        """Go on from what was proved; after a second claim that failed, in float64."""
        proved = self.proved
        if proved is None or proved.scores is None:
            return
        self.point.alpha[:], self.point.beta[:] = proved.point.alpha, proved.point.beta
        self.best = Best()
        if self.monitor.refuted > 1 and self.cache.kernel.dtype == np.float32:
            self._widen()
            return
        self.scores[:] = proved.scores
        if self.capped:
            exact = self.scores.copy()
            self._rescore()
            self.scores[:] = exact

    def _widen(self) -> None:
        """Continue with a float64 kernel."""
        self._use(self.problem.kernel.widened())
        self.best = Best()
        self._rescore()
