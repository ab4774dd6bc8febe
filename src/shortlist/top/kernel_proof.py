r"""Proofs of kernel models: float64 scores from the coefficients, with their rounding.

Nothing that a solver has summed up enters. The dual point is made feasible, its
coefficients are the model, and the scores that the objectives rest on are computed anew:
those of the support vectors (the norm), of the positives that may have a loss and of the
rows that may count for the threshold. Of all other rows a float32 kernel decides, with the
bound of its errors, that they cannot.

With :math:`|k_{ij}| \le q_i q_j` and entries off by :math:`q_i r_j + r_i q_j` at most
(:meth:`~shortlist.rows.kernels.KernelMatrix.bounds`), the score of row i is off by at most
:math:`q_i \sum_j |c_j| (r_j + \gamma q_j) + r_i \sum_j |c_j| q_j`, where :math:`\gamma`
bounds the rounding of a sum. Blocks of the Gaussian kernel are off by a share
:math:`\rho = r_i + r_j` of every entry, or little more: then by
:math:`\rho (1 + \rho) \sum_j |c_j| k_{ij}`, which is less.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..certificate import Proof
from ..rows.kernels import KernelMatrix
from ..rows.rounding import UNIT, gamma
from ..rows.threads import each, team
from .kernel_problem import (
    DualPoint,
    Evaluation,
    KernelSolution,
    KernelTopProblem,
    Layout,
    alpha_bound,
)
from .working_set import fill_caps

# Rows and columns of a block of float64 entries: of equal rows half of the blocks is computed,
# and of those on the diagonal all.
_STEP = 512
# Rows whose products are summed before they join the others: shorter sums round less.
_GROUP = 512
# Seconds per entry and row that adding up kernel rows takes, roughly.
_ADD = 1e-9


@dataclass(frozen=True)
class Proved:
    """A proof, with what a solver can go on from.

    Attributes
    ----------
    proof : Proof
        For the monitor.
    point : DualPoint
        The feasible point, along the layout.
    scores : ndarray
        Scores of its coefficients; None for the zero model.
    evaluation : Evaluation
        Both objectives.
    """

    proof: Proof
    point: DualPoint
    scores: np.ndarray | None
    evaluation: Evaluation


class Stored(Protocol):
    """Kernel rows along an order, as a solver holds them."""

    kernel: KernelMatrix

    def holds(self, rows: np.ndarray, length: int) -> np.ndarray:
        """Whether each of these rows is at hand up to column `length`."""

    def add_to(
        self,
        outputs: list[np.ndarray],
        positions: np.ndarray,
        coefficients: list[np.ndarray],
        tick: Callable[[], None] = ...,
        *,
        only: np.ndarray | None = None,
    ) -> None:
        """Add the rows at `positions`, times each set of coefficients, to each output.

        Columns may be left out that are not in `only`.
        """


class KernelProver:
    """Proves models of one problem.

    Parameters
    ----------
    problem : KernelTopProblem
        The problem.
    layout : Layout
        Order of its rows and variables.
    cache : Stored
        Kernel rows along that order; a solver may replace it by a more exact one.
    """

    def __init__(self, problem: KernelTopProblem, layout: Layout, cache: Stored) -> None:
        self.problem = problem
        self.layout = layout
        self.terms = layout.terms(len(layout.order))
        self.cache = cache
        self.near = 0
        self._bounds: dict[str, tuple[np.ndarray, np.ndarray] | None] = {}
        self._pace: float | None = None
        self._upper = alpha_bound(self.terms)

    def zero(self, point: DualPoint | None = None) -> Proof:
        """Prove the zero model: its objective, and zero below it."""
        point = point or DualPoint(np.zeros(len(self.terms.c)), np.zeros(len(self.terms.ranked)))
        value = self.terms.value_at_zero
        evaluation = Evaluation(value, 0.0, self.terms.threshold_at_zero, 0.0)
        rounding = gamma(len(self.terms.c)) * value
        # The bound is zero, and exact: the monitor will take the rounding off again.
        return Proof(self._solution(point, evaluation, None), value, rounding, rounding)

    def cost(self, coefficients: np.ndarray) -> float:
        """Seconds that the proof of these coefficients will take, roughly."""
        kernel, support = self.problem.kernel, np.flatnonzero(coefficients)
        n, m = len(coefficients), len(support)
        missing = 0 if kernel.precomputed else m - int(self.cache.holds(support, n).sum())
        entries = missing * n
        if self.cache.kernel.dtype == np.float32:
            near = self.near or min(n, 3 * m)
            entries += m * (m // 2 + near)
        return self._seconds_per_entry() * entries + _ADD * n * m

    def _seconds_per_entry(self) -> float:
        if self._pace is None:
            some = self.layout.order[:_STEP]
            self.problem.kernel.wide_entries(some[:2], some[:2])
            start = time.perf_counter()
            self.problem.kernel.wide_entries(some, some)
            self._pace = (time.perf_counter() - start) / max(1, len(some) ** 2)
        return self._pace

    def __call__(self, alpha: np.ndarray, beta: np.ndarray, scores: np.ndarray) -> Proved:
        """Prove the model of a dual point; `scores` only say where caps are filled first."""
        terms = self.terms
        alpha, beta = self._feasible(alpha, beta, scores)
        point = DualPoint(alpha, beta)
        c = point.coefficients(terms, len(self.layout.order))
        with team():  # a last proof comes when the solver's own is gone
            scores, error = self._scores(c) if c.any() else (np.zeros(len(c)), np.zeros(len(c)))
        if not c.any() or not np.isfinite(scores).all() or not np.isfinite(error).all():
            proof = self.zero(point)
            evaluation = Evaluation(proof.primal, 0.0, terms.threshold_at_zero, 0.0)
            return Proved(proof, point, None, evaluation)
        return self._prove(point, c, scores, error)

    def _feasible(
        self, alpha: np.ndarray, beta: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        alpha = np.clip(alpha, 0.0, self._upper)
        beta = np.maximum(beta, 0.0)
        total, mass = float(alpha.sum()), float(beta.sum())
        if not total > 0.0 or not mass > 0.0:
            return np.zeros_like(alpha), np.zeros_like(beta)
        beta *= total / mass
        cap = self.terms.cap
        if cap is not None and (beta > cap * total).any():
            ranking = np.argsort(-scores[self.terms.ranked], kind="stable")
            fill_caps(beta, cap * total, ranking)
        return alpha, beta

    # -- scores ---------------------------------------------------------------

    def _known(self, wide: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds of the entries, along the layout."""
        kernel = self.problem.kernel if wide else self.cache.kernel
        key = f"{wide} {kernel.dtype}"
        if key not in self._bounds:
            bounds = kernel.bounds(wide)
            order = self.layout.order
            self._bounds[key] = None if bounds is None else (bounds[0][order], bounds[1][order])
        return self._bounds[key]

    def _scores(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of all rows and bounds of their errors; small errors where it matters."""
        support = np.flatnonzero(c)
        narrow = self.cache.kernel.dtype == np.float32 and not self.problem.kernel.precomputed
        bounds = self._known(wide=not narrow)
        scores = np.zeros(len(c))
        if bounds is None:
            error = np.full(len(c), np.inf)
        else:
            relative = narrow and self.cache.kernel.relative
            size = np.zeros(len(c))
            # Scores of the support vectors follow in float64.
            only = np.flatnonzero(c == 0.0) if narrow else None
            for start in range(0, len(support), _GROUP):
                part, some = support[start : start + _GROUP], np.zeros(len(c))
                outputs, values = [some], [c[part]]
                if relative:
                    outputs.append(size)
                    values.append(np.abs(c[part]))
                self.cache.add_to(outputs, part, values, only=only)
                scores += some
            error = self._error(bounds, c, _GROUP)
            if relative:
                np.minimum(error, self._relative_error(bounds, c, size), out=error)
        if narrow:
            exact = self._known(wide=True)
            assert exact is not None
            wide_error = self._error(exact, c, _STEP)
            done = np.zeros(len(c), dtype=bool)
            for todo in (support, None):
                if todo is None:
                    todo = np.flatnonzero(self._may_count(scores, error) & ~done)
                    self.near = len(todo)
                scores[todo] = wide_scores(
                    self.problem.kernel, self.layout.order, todo, support, c[support]
                )
                error[todo] = wide_error[todo]
                done[todo] = True
        return scores, error

    @staticmethod
    def _error(bounds: tuple[np.ndarray, np.ndarray], c: np.ndarray, group: int) -> np.ndarray:
        q, r = bounds
        size = np.abs(c)
        m = int(np.count_nonzero(c))
        rounding = UNIT * (min(m, group) + m / group + 4.0)
        return q * float(size @ (r + rounding * q)) + r * float(size @ q)

    @staticmethod
    def _relative_error(
        bounds: tuple[np.ndarray, np.ndarray], c: np.ndarray, size: np.ndarray
    ) -> np.ndarray:
        """Errors where an entry is off by a share of itself; `size` are the scores of ``|c|``."""
        _, r = bounds
        support = np.flatnonzero(c)
        share = r + float(r[support].max())
        rounding = 2.0 * UNIT * (len(support) + 4.0)
        # Entries below the smallest normal number are off by all of it.
        least = float(np.finfo(np.float32).tiny) * float(np.abs(c).sum())
        return size * (share * (1.0 + share) * (1.0 + rounding) + rounding) + 2.0 * least

    def _may_count(self, scores: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Rows that may have a loss or count for the threshold, given the errors."""
        terms, weight = self.terms, self.terms.ranked_weight
        near = np.zeros(len(scores), dtype=bool)
        low, high = scores - error, scores + error
        if not np.isfinite(low).all() or not np.isfinite(high).all():
            near[terms.positive] = near[terms.ranked] = True
            return near
        lowest = low[terms.ranked]
        t = terms.threshold.value(lowest, weight)
        reach = terms.threshold.lowest_counted(lowest, weight, t)
        t = terms.threshold.value(high[terms.ranked], weight)
        slack = 1e-12 * (1.0 + abs(t) + abs(reach))
        near[terms.positive] = low[terms.positive] < t + 1.0 + slack
        near[terms.ranked] |= high[terms.ranked] >= reach - slack
        return near

    # -- values ---------------------------------------------------------------

    def _prove(
        self, point: DualPoint, c: np.ndarray, scores: np.ndarray, error: np.ndarray
    ) -> Proved:
        terms, threshold = self.terms, self.terms.threshold
        support = np.flatnonzero(c)
        products = c[support] * scores[support]
        squared = math.fsum(products) if np.isfinite(products).all() else math.inf
        squared_error = float(np.abs(c[support]) @ error[support])
        squared_error += 2.0 * UNIT * float(np.abs(products).sum())
        self.problem.indefinite |= squared < -squared_error
        squared = max(squared, 0.0)

        counted = self._may_count(scores, error)
        positive, negative = scores[terms.positive], scores[terms.ranked]
        t = threshold.value(negative, terms.ranked_weight)
        inside = counted[terms.ranked]
        size = float(np.abs(negative[inside]).max(initial=0.0)) + abs(t) + threshold.shift
        t_error = float(error[terms.ranked][inside].max(initial=0.0))
        t_error += UNIT * (np.count_nonzero(inside) + 16.0) * size

        violation = np.maximum(1.0 + t - positive, 0.0)
        each = np.where(counted[terms.positive], error[terms.positive] + t_error, 0.0)
        each += 4.0 * UNIT * (1.0 + abs(t) + np.abs(positive))
        # A row without a loss stays without one unless the error can reach it.
        each[1.0 + t - positive + each <= 0.0] = 0.0
        power = terms.loss.power
        loss = terms.loss.total(t - positive, terms.c)
        loss_error = float(terms.c @ (power * (violation + each) ** (power - 1) * each))
        loss_error += UNIT * (len(positive) + 8.0) * loss
        primal = 0.5 * squared + loss
        rounding = 0.5 * squared_error + loss_error

        penalty = threshold.penalty(point.beta, terms.ranked_weight)
        ray = terms.dual_along_ray(point.alpha, squared, penalty)
        if np.isfinite(ray.scale):
            rounding += self._dual_error(point, ray.scale, penalty, squared, squared_error)
        bounded = not self.problem.indefinite and np.isfinite(ray.value)
        dual = ray.value if bounded else -np.inf
        evaluation = Evaluation(primal, max(dual, 0.0), t, ray.scale)
        best: Evaluation = evaluation
        best_scores: np.ndarray | None = scores
        # Coefficients may also cancel to a zero model, up to rounding.
        if terms.value_at_zero <= primal * (1.0 + 1e-12):
            best = Evaluation(terms.value_at_zero, dual, terms.threshold_at_zero, 0.0)
            best_scores = None
        solution = self._solution(point, best, best_scores)
        proof = Proof(solution, best.primal, max(dual, 0.0), rounding)
        return Proved(proof, point, scores, evaluation)

    def _dual_error(
        self, point: DualPoint, scale: float, penalty: float, squared: float, squared_error: float
    ) -> float:
        """Bound of the error of the dual at `scale` times the point, its repair included."""
        terms, threshold = self.terms, self.terms.threshold
        total, unit = float(point.alpha.sum()), UNIT * (len(point.alpha) + len(point.beta) + 16.0)
        # What is left of beta to move until its sum and its caps hold exactly.
        moved = abs(math.fsum(point.alpha) - math.fsum(point.beta)) + UNIT * total
        if terms.cap is not None:
            moved += 2.0 * float(np.maximum(point.beta - terms.cap * total, 0.0).sum())
        lightest = float(terms.ranked_weight.min())
        per_unit = threshold.price / (math.sqrt(lightest) if terms.loss.power == 2 else lightest)
        bounds = self._known(wide=True)
        assert bounds is not None
        shift = moved * float(bounds[0][terms.ranked].max())
        norm = math.sqrt(squared + squared_error)
        linear = unit * (2.0 * total * (1.0 + threshold.shift) + abs(penalty))
        linear += moved * (per_unit + threshold.shift)
        ridge = 0.5 * terms.loss.ridge * float((point.alpha / terms.c) @ point.alpha)
        quadratic = unit * (ridge + squared) + 0.5 * squared_error + shift * (norm + shift)
        steep = abs(total - penalty) + scale * (2.0 * ridge + squared)
        return scale * linear + scale * scale * quadratic + 8.0 * UNIT * scale * steep

    def _solution(
        self, point: DualPoint, evaluation: Evaluation, scores: np.ndarray | None
    ) -> KernelSolution:
        """Model of a point along the layout, in the order of the problem."""
        given = self.layout.given(point)
        all_scores = None
        if scores is not None:
            all_scores = np.zeros(self.problem.kernel.n_rows)
            all_scores[self.layout.order] = scores
        return KernelSolution.of(self.problem, given, evaluation, all_scores)


def wide_scores(
    kernel: KernelMatrix,
    order: np.ndarray,
    rows: np.ndarray,
    support: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """Scores of the rows at the positions `rows` from the rows `support` times `c`.

    Where both are the same positions, half of the entries are computed.
    """
    out = np.zeros(len(rows))
    mirrored = rows is support
    tiles = [
        (slice(i, i + _STEP), slice(j, j + _STEP), mirrored and j < i)
        for i in range(0, len(rows), _STEP)
        for j in range(0, i + 1 if mirrored else len(support), _STEP)
    ]

    def products(tile: tuple[slice, slice, bool]) -> tuple[np.ndarray, np.ndarray | None]:
        part, other, both = tile
        back = c[part] if both else None
        return kernel.wide_sums(order[rows[part]], order[support[other]], c[other], back)

    # Added up in one order, whichever thread was first.
    for (part, other, _), (there, back) in zip(tiles, each(products, tiles), strict=True):
        out[part] += there
        if back is not None:
            out[other] += back
    return out
