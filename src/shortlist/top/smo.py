r"""Pair steps inside a working set: the default solver of kernel problems.

Maximises the dual of :mod:`shortlist.top.problem` over :math:`(\alpha, \beta)`. One
round takes the rows that matter (those in the model, and those that violate
optimality), solves the dual restricted to them by pair steps of second order on their
own small kernel matrix, and then updates the scores of all other rows with the kernel
rows of what changed. Every round ends with the certificate. Where a cap couples all
:math:`\beta` (the mean of k negatives, the hinge quantile), their common scale is a
coordinate of its own: pairs alone jam.

The first rounds work on a random sample of the rows, four times larger each time: most
of its support vectors remain, and far fewer kernel rows are computed in vain.

Kernel entries may be float32. Scores are float64 sums; when the gap of these says
"converged", the scores of all rows that can matter are recomputed from a float64
kernel, and the certificate is that of the recomputed scores.

References: R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second
order information for training support vector machines", JMLR 6 (2005). The problems:
V. Mácha, L. Adam and V. Šmídl, "Nonlinear classifiers for ranking problems based on
kernelized SVM" (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..certificate import Monitor
from ..rows.cache import RowCache
from .kernel_problem import (
    DualPoint,
    Evaluation,
    KernelTopProblem,
    evaluate,
    sparse_start,
)
from .problem import TopTerms
from .solution import KernelSolution
from .thresholds import SurrogateQuantile
from .wide import widen
from .working_set import fill_caps, largest, sample_order, square, steepest

_SAMPLE_TOL = 1e-2
_FORMS = {"open": 0, "norm": 1, "tied": 2, "priced": 3}
_JOIN = 500
_STALL = 30
_STALL_CROWDED = 1000
_STEPS_PER_ROW = 100


def smo(problem: KernelTopProblem, monitor: Monitor) -> KernelSolution:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : KernelTopProblem
        Kernel scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit. One iteration is one pair step.

    Returns
    -------
    KernelSolution
        The best model seen.
    """
    return _Rounds(problem, monitor).run()


@dataclass
class _Working:
    """Rows of the restricted problem: positions, their variables, their matrix."""

    positions: np.ndarray
    alpha: np.ndarray  # which alpha (positions among the positives), first rows
    beta: np.ndarray  # which beta, last rows
    gram: np.ndarray


class _Rounds:
    """State of the solver; positions count along `order`."""

    def __init__(self, problem: KernelTopProblem, monitor: Monitor) -> None:
        self.problem = problem
        self.monitor = monitor
        if problem.rows is None:
            self.order, self.levels = sample_order(problem)
        else:
            self.order = problem.rows.order
            self.levels = [len(self.order)]
        place = np.empty(problem.kernel.n_rows, dtype=np.intp)
        place[self.order] = np.arange(len(self.order))
        # Variables in the order of their rows, so that a sample is a prefix of both.
        self._by_positive = np.argsort(place[problem.positive])
        self._by_negative = np.argsort(place[problem.negative])
        self._positive = place[problem.positive][self._by_positive]
        self._negative = place[problem.negative][self._by_negative]
        self._weight = problem.weight[self.order]
        self._alpha = np.zeros(len(self._positive))
        self._beta = np.zeros(len(self._negative))
        quarter = problem.cache_bytes // 4
        self.cache = problem.rows or RowCache(
            problem.kernel, self.order, problem.cache_bytes - quarter
        )
        self._most = max(8, int(math.sqrt(quarter / problem.kernel.dtype.itemsize)))
        self._working: _Working | None = None
        self._best = Evaluation(np.inf, 0.0, 0.0, 0.0)

    def run(self) -> KernelSolution:
        warm = self.problem.start is not None
        for level in self.levels[-1:] if warm else self.levels:
            last = level == self.levels[-1]
            known = self._alpha.any()
            self._enter(level)
            if known:
                self._transfer(max(self.monitor.tol, _SAMPLE_TOL))
            else:
                self._start_level()
            self._solve_level(last)
            if self.monitor.exhausted() and not last:
                self._enter(self.levels[-1])
                self._repair()
                self._record(self._evaluate())
                self.monitor.check(self._primal(), self._best_dual)
                break
        return self._solution()

    # -- levels ---------------------------------------------------------------

    def _enter(self, length: int) -> None:
        problem = self.problem
        positive = self._positive[self._positive < length]
        negative = self._negative[self._negative < length]
        weight = self._weight
        share = float(weight[negative].sum() / weight[self._negative].sum())
        last = length == len(self.order)
        # As much loss in all as the whole has: the models of all levels are alike.
        C = problem.C * float(weight[self._positive].sum() / weight[positive].sum())
        self.terms = TopTerms(
            positive,
            negative,
            weight,
            problem.C if last else C,
            problem.loss,
            problem.threshold if last else problem.threshold.restricted(share),
        )
        self.length = length
        self.alpha = self._alpha[: len(positive)]
        self.beta = self._beta[: len(negative)]
        self.form = self.terms.threshold.form(self.terms.negative_weight)
        self.capped = self.form in ("tied", "priced")
        self._ridge = problem.loss.ridge / self.terms.c
        bound = problem.loss.dual_bound(self.terms.c)
        self._upper = np.full(len(positive), np.inf) if bound is None else bound
        self._all = len(negative) == length
        self._working = None
        self._forget_best()
        self._sharp, self._crowded = 1.0, False

    def _start_level(self) -> None:
        """Start from the last fit, or from the positives and the rows nearest to them."""
        terms = self.terms
        start = self.problem.start
        if start is not None:
            self.alpha[:] = start.alpha[self._by_positive]
            self.beta[:] = start.beta[self._by_negative]
            self._repair()
            return
        self.alpha[:] = terms.c
        self._rescore()
        point = sparse_start(terms, self.scores[terms.negative])
        self.alpha[:], self.beta[:] = point.alpha, point.beta
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
            beta = self.beta.copy()
            if isinstance(terms.threshold, SurrogateQuantile):
                beta = terms.threshold.shares(
                    self.scores[terms.negative], terms.negative_weight, now.threshold
                )
            beta *= total / float(beta.sum())
            if terms.cap is not None:
                fill_caps(beta, terms.cap * total, self._ranking())
            guess = DualPoint(alpha, beta)
            self._round(self._violation(tol * now.primal / total), guess)
        else:
            self._repair()

    def _ranking(self) -> np.ndarray:
        return np.argsort(-self.scores[self.terms.negative], kind="stable")

    def _repair(self) -> None:
        """Make the point feasible and put it at the best place of its ray."""
        terms = self.terms
        np.minimum(self.alpha, self._upper, out=self.alpha)
        total = float(self.alpha.sum())
        self.beta *= total / float(self.beta.sum())
        self._rescore()
        if terms.cap is not None:
            fill_caps(self.beta, terms.cap * total, self._ranking())
            self._rescore()
        scale = self._evaluate().scale
        if scale > 0.0 and np.isfinite(scale):
            self.alpha *= scale
            self.beta *= scale
            self.scores *= scale
            self.beta_scores *= scale

    def _coefficients(self) -> np.ndarray:
        c = np.zeros(self.length)
        c[self.terms.positive] += self.alpha
        c[self.terms.negative] -= self.beta
        return c

    def _rescore(self) -> None:
        """Scores of all rows of the level from nothing."""
        self.scores = np.zeros(self.length)
        self.beta_scores = np.zeros(self.length)
        c = self._coefficients()
        b = np.zeros(self.length)
        b[self.terms.negative] = self.beta
        nonzero = np.flatnonzero((c != 0.0) | (b != 0.0))
        self._add(nonzero, c[nonzero], b[nonzero])

    def _add(self, positions: np.ndarray, c: np.ndarray, b: np.ndarray) -> None:
        outputs, values = [self.scores], [c]
        if self.capped:
            outputs.append(self.beta_scores)
            values.append(b)
        self.cache.add_to(outputs, positions, values)

    def _evaluate(self) -> Evaluation:
        return evaluate(self.terms, DualPoint(self.alpha, self.beta), self.scores)

    # -- rounds ---------------------------------------------------------------

    def _solve_level(self, last: bool) -> None:
        monitor = self.monitor
        tol = monitor.tol if last else max(monitor.tol, _SAMPLE_TOL)
        stalled = steps = 0
        reference = np.inf
        while True:
            now = self._evaluate()
            self._record(now)
            if last:
                if self._relative_gap() <= tol and self.problem.kernel.dtype != np.float64:
                    self._verify()
                if monitor.check(self._primal(), self._best_dual):
                    return
            elif self._relative_gap() <= tol or monitor.exhausted():
                return
            stalled += 1
            if self._gap() < 0.9 * reference:
                stalled, reference = 0, self._gap()
            # A working set cut to the memory allowed makes slow but steady progress.
            if stalled and (steps == 0 or not self._crowded):
                self._sharp *= 0.3
            if stalled >= (_STALL_CROWDED if self._crowded else _STALL):
                return
            goal = max(0.1 * self._gap(), 0.5 * tol * self._best.primal)
            steps = self._round(self._sharp * self._violation(goal / float(self.alpha.sum())))

    def _violation(self, eps: float) -> float:
        """Violation of a pair at a gap of `eps` per unit of alpha."""
        # The norm makes the dual smooth in beta: the gap falls with the square.
        return 2.0 * math.sqrt(eps) if self.form == "norm" else eps

    def _forget_best(self) -> None:
        self._best, self._best_dual = Evaluation(np.inf, 0.0, 0.0, 0.0), 0.0

    def _primal(self) -> float:
        """Best primal value; the zero model is always a candidate."""
        return min(self._best.primal, self.terms.value_at_zero)

    def _gap(self) -> float:
        return self._best.primal - self._best_dual

    def _relative_gap(self) -> float:
        primal = self._primal()
        return (primal - self._best_dual) / primal

    def _record(self, now: Evaluation) -> None:
        self._best_dual = max(self._best_dual, now.dual)
        if now.primal < self._best.primal:
            self._best = now
            self._best_point = DualPoint(self.alpha.copy(), self.beta.copy())
            self._best_scores = (self.scores.copy(), self.beta_scores.copy())

    def _round(self, eps: float, guess: DualPoint | None = None) -> int:
        """Solve the dual restricted to the rows that matter; return the steps taken.

        From the current point, or from a `guess` at a better one.
        """
        monitor, terms, threshold = self.monitor, self.terms, self.terms.threshold
        point = guess or DualPoint(self.alpha, self.beta)
        use_a, use_b = self._choose(point)
        if guess is not None and self._crowded:
            self.alpha[:], self.beta[:] = guess.alpha, guess.beta
            self._repair()
            return 0
        work = self._load(use_a, use_b)
        rows = work.positions
        if guess is None:
            f, f_beta = self.scores[rows], self.beta_scores[rows]
        else:
            f, f_beta = self._place(work, guess)
        alpha, beta = point.alpha[work.alpha], point.beta[work.beta]
        state = np.zeros(7)
        if self.form == "norm":
            state[0] = float((point.beta / terms.negative_weight) @ point.beta)
        if self.capped:
            state[1] = threshold.level(point.beta, terms.negative_weight)
            state[2] = point.beta.sum()
            if guess is None:
                state[3] = self.beta @ self.beta_scores[terms.negative]
                state[4] = self.beta @ self.scores[terms.negative]
            else:
                state[3], state[4] = beta @ f_beta[-len(beta) :], beta @ f[-len(beta) :]
        # Below the rounding of its matrix a restricted problem can only cycle.
        eps = max(eps, float(np.finfo(work.gram.dtype).eps) * float(np.abs(f).max()))
        most = min(_STEPS_PER_ROW * (1000 + len(rows)), monitor.max_iter - monitor.iteration)
        steps = _core.pair_steps(
            work.gram,
            alpha,
            self._ridge[work.alpha],
            self._upper[work.alpha],
            beta,
            terms.negative_weight[work.beta],
            f,
            f_beta,
            state,
            _FORMS[self.form],
            1.0 + threshold.shift,
            threshold.price,
            eps,
            max(1, most),
        )
        monitor.iteration += steps
        # A guess leaves nothing outside its working set that could have been scaled.
        factor = state[5] if self.capped and guess is None else 1.0
        self._move(work, alpha, beta, factor, f, f_beta)
        return steps

    def _place(self, work: _Working, guess: DualPoint) -> tuple[np.ndarray, np.ndarray]:
        """Put a guess at the best place of its ray; return its scores and those of beta."""
        terms, n = self.terms, len(work.positions)
        a, b = np.zeros(n), np.zeros(n)
        a[: len(work.alpha)] = guess.alpha[work.alpha]
        b[n - len(work.beta) :] = guess.beta[work.beta]
        f, f_beta = np.zeros(n), np.zeros(n)
        every = np.arange(n)
        _core.add_rows(work.gram, every, a - b, f)
        if self.capped:
            _core.add_rows(work.gram, every, b, f_beta)
        penalty = terms.threshold.penalty(guess.beta, terms.negative_weight)
        squared_norm = max(float((a - b) @ f), 0.0)
        scale = terms.dual_along_ray(guess.alpha, squared_norm, penalty).scale
        if scale > 0.0 and np.isfinite(scale):
            for values in (guess.alpha, guess.beta, f, f_beta):
                values *= scale
        return f, f_beta

    def _move(
        self,
        work: _Working,
        alpha: np.ndarray,
        beta: np.ndarray,
        factor: float,
        f: np.ndarray,
        f_beta: np.ndarray,
    ) -> None:
        """Store the new variables and bring the scores of all rows up to date.

        Every beta outside the working set was multiplied by `factor` on the way.
        """
        rows = work.positions
        a, b = np.zeros(len(rows)), np.zeros(len(rows))
        a[: len(alpha)] = alpha - self.alpha[work.alpha]
        b[len(rows) - len(beta) :] = beta - factor * self.beta[work.beta]
        self.beta *= factor
        self.alpha[work.alpha] = alpha
        self.beta[work.beta] = beta
        self.scores -= (factor - 1.0) * self.beta_scores
        self.beta_scores *= factor
        changed = np.flatnonzero((a != 0.0) | (b != 0.0))
        if not self.cache.has_room(len(changed)):
            keep = np.zeros(len(self.order), dtype=bool)
            keep[rows] = True
            keep[np.flatnonzero(self._coefficients())] = True
            self.cache.release(keep)
        self._add(rows[changed], (a - b)[changed], b[changed])
        self.scores[rows] = f
        self.beta_scores[rows] = f_beta
        self.monitor.passes += 1

    def _choose(self, point: DualPoint) -> tuple[np.ndarray, np.ndarray]:
        """Variables of the next restricted problem: alpha numbers, beta numbers."""
        terms, alpha, beta = self.terms, point.alpha, point.beta
        slope_a = 1.0 + terms.threshold.shift - self._ridge * alpha - self.scores[terms.positive]
        slope_b = -self.scores[terms.negative]
        if self.form == "norm":
            norm = np.sqrt(float((beta / terms.negative_weight) @ beta))
            slope_b += terms.threshold.price / norm * beta / terms.negative_weight
        inside = (beta > 0.0) | (self.beta > 0.0)
        # Slope at which a row may join: that of the scale of all beta, and, where only
        # rows of the threshold trade among themselves, that of the least of them.
        total = float(slope_b @ beta)
        if self.form == "priced":
            total += terms.threshold.price * terms.threshold.level(beta, terms.negative_weight)
        level_a = level_b = total / float(beta.sum())
        if self.form == "tied":
            level_b = float(slope_b[inside].max())
        use_a = np.flatnonzero((alpha > 0.0) | (self.alpha > 0.0) | (slope_a > level_a))
        use_b, new_b = np.flatnonzero(inside), np.flatnonzero(~inside & (slope_b < level_b))
        size = len(use_a) + len(use_b)
        joining, room = max(_JOIN, size // 4), self._most - size
        new_b = largest(new_b, -slope_b[new_b], min(joining, room) if room > _JOIN else joining)
        use_b = np.concatenate([use_b, new_b])
        self._crowded = len(use_a) + len(use_b) > self._most
        if self._crowded:
            quarter = max(1, self._most // 4)
            use_a = steepest(slope_a, alpha < self._upper, alpha > 0.0, quarter)
            below = np.ones(len(beta), dtype=bool)
            if self.capped:
                level = terms.threshold.level(beta, terms.negative_weight)
                below = beta < terms.negative_weight * level * (1.0 - 1e-12)
            use_b = steepest(slope_b, inside, below, quarter)
        return np.sort(use_a), np.sort(use_b)

    def _load(self, use_a: np.ndarray, use_b: np.ndarray) -> _Working:
        """Rows and kernel matrix of a restricted problem."""
        terms = self.terms
        positive, negative = terms.positive[use_a], terms.negative[use_b]
        if self._all:
            # Every row carries a beta; the positives come first.
            others = np.setdiff1d(negative, positive)
            rows = np.concatenate([positive, others])
            use_b = rows
        else:
            rows = np.concatenate([positive, negative])
        old = self._working
        if old is not None and np.array_equal(rows, old.positions):
            return old
        self._working = old = None  # one matrix at a time
        gram = square(self.cache, rows, self.length)
        self._working = _Working(rows, use_a, use_b, gram)
        self.cache.most_working = max(self.cache.most_working, len(rows))
        return self._working

    # -- float64 --------------------------------------------------------------

    def _verify(self) -> None:
        """Recompute what the certificate rests on with a float64 kernel."""
        self.alpha[:], self.beta[:] = self._best_point.alpha, self._best_point.beta
        self.scores[:], self.beta_scores[:] = self._best_scores
        widen(
            self.problem.kernel,
            self.order[: self.length],
            self.terms,
            self._coefficients(),
            self.scores,
        )
        self._forget_best()
        self._record(self._evaluate())

    def _solution(self) -> KernelSolution:
        problem, best = self.problem, self._best_point
        alpha, beta = np.empty(len(best.alpha)), np.empty(len(best.beta))
        alpha[self._by_positive], beta[self._by_negative] = best.alpha, best.beta
        scores = np.zeros(problem.kernel.n_rows)
        scores[self.order] = self._best_scores[0]
        problem.rows = self.cache
        return KernelSolution.of(problem, DualPoint(alpha, beta), self._best, scores)
