r"""Primal-dual interior point for the problem restricted to some rows of the threshold.

With slacks the restricted problem is a convex quadratic programme,

.. math::

    \min \tfrac12\|w\|^2 + \sum c_i \ell_i \quad\text{s.t.}\quad
    y_i = w \cdot x_i - t - 1 + \xi_i \ge 0, \qquad z_j = q + \zeta_j - w \cdot x_j \ge 0,

where :math:`t`, :math:`q` and :math:`\zeta` are tied together by the threshold
(:mod:`~shortlist.top.top_mean`, :mod:`~shortlist.top.surrogate_quantile`). Its multipliers
are the dual variables: :math:`\alpha_i y_i = 0`, :math:`\beta_j z_j = 0`. Each product is
driven along the central path :math:`\mu` times the row's share of its class's weight, so
that a row of weight 2 and the row twice take the same steps, and many positives do not drown
few negatives. Mehrotra's predictor and corrector share one factor of
:math:`I + X_+^T E X_+ + X_-^T D X_-`, bordered by the threshold's few numbers.

That system is factored in one of three ways, chosen by size: a Cholesky factor in feature
space, one in row space (Woodbury), or conjugate gradients preconditioned by the diagonal plus
the heaviest rows, as many as it takes to make the others light.

Reference: S. J. Wright, Primal-Dual Interior-Point Methods, SIAM 1997. Growing the
set of negatives from well-centred, inexact iterates follows J. Gondzio,
P. González-Brevis and P. Munari, "New developments in the primal-dual column
generation technique", EJOR 224 (2013).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from ..rows.operators import Rows
from .problem import NO_BOUND, Bound, dual_bound
from .sides import (
    Goals,
    PositiveEquations,
    PositiveSide,
    Products,
    RankedEquations,
    SideStep,
    Steps,
    Sums,
    goals,
    start_slack,
)
from .sweeps import RankedRows, Start, SweptProblem

Solve = Callable[[np.ndarray], np.ndarray]

_DIRECT_LIMIT = 1500
_FEW_SPARSE = 300
_MOST_HEAVY = 3000
_MOST_STEPS = 500
_POWER_STEPS = 5
_TINY = float(np.finfo(float).tiny)
_SHORTEN = 0.99
# A start from a good model: the mu that are tried, as shares of the primal value.
_TRIED = (1.0, 0.03, 1e-3)


@dataclass(frozen=True)
class _Linear:
    """The Newton system at one point: parts, factor, and the border's columns."""

    positive: PositiveEquations
    ranked: RankedEquations
    model_residual: np.ndarray
    solve: Solve
    columns: np.ndarray
    response: np.ndarray
    bordered: np.ndarray


@dataclass(frozen=True)
class _Step:
    """Changes of the model, of both sides' scores, of the threshold and of all products."""

    dw: np.ndarray
    ds_positive: np.ndarray
    ds_ranked: np.ndarray
    side: SideStep
    products: Steps


class InteriorPoint:
    """The iterate, its step, and its dual point.

    Parameters
    ----------
    problem : SweptProblem
        The whole problem.
    w : ndarray
        Where to start.
    positive_scores : ndarray
        Scores of the positives at `w`.
    working : RankedRows
        Rows of the threshold to start with, and their scores at `w`.
    """

    def __init__(
        self,
        problem: SweptProblem,
        w: np.ndarray,
        positive_scores: np.ndarray,
        working: RankedRows,
    ) -> None:
        self.problem = problem
        self.w = w
        self.positive = PositiveSide(
            problem.positives, positive_scores, problem.c, problem.positive_weight, problem.loss
        )
        self.ranked = problem.threshold.interior(working, problem.capped)
        self._system = NewtonSystem(self.positive.rows, self.ranked.rows)
        self._t = self._threshold()
        self.positive.start(self._t)
        self._total = float(self.positive.alpha.sum())
        slack = partial(start_slack, problem.value_at_zero, self.ranked, self.positive)
        self.ranked.start(self._t, self._total, slack)
        self._sums: tuple[np.ndarray, np.ndarray] | None = None

    def _threshold(self) -> float:
        return self.problem.threshold.value(self.ranked.scores, self.ranked.weight)

    @property
    def products(self) -> Products:
        """All products that go to zero."""
        return {**self.positive.products, **self.ranked.products}

    @property
    def working(self) -> np.ndarray:
        """Names of the rows in the working set."""
        return self.ranked.position

    @property
    def cut(self) -> float:
        """Score above which a row outside the working set violates."""
        return self.ranked.q

    @property
    def slack(self) -> float:
        """Typical slack of a row: its value if all multipliers were equal."""
        return self._mu() / self._total

    @property
    def beta(self) -> np.ndarray:
        """Multipliers of the rows in the working set."""
        return self.ranked.beta

    def _mu(self) -> float:
        products = self.products
        return sum(product.total() for product in products.values()) / len(products)

    def settle(self, last: Start) -> Bound:
        """Start anew from the model, which is taken to be good; return its dual value.

        The multipliers follow from its scores and from mu; where the scores leave them
        open, from the last solution if it is of as many rows. The gap that the best of a
        few such dual points leaves gives mu.
        """
        if len(last.alpha) == len(self.positive.c) and self.ranked.whole:
            self.positive.known = last.alpha
            self.ranked.known = last.shares(self.working)
        primal, best = self.primal(), NO_BOUND
        for share in _TRIED:
            self.centre(share * primal)
            dual = self.dual()
            if dual.lower < best.lower:
                break
            best = dual
        share = self.ranked.settled_share / len(self.products)
        self.centre(max(share * (primal - best.value), 1e-12 * primal))
        return best

    def solution(self, w: np.ndarray) -> Start:
        """Return what a later fit may start from, with the model `w`."""
        if not self.ranked.whole:
            return Start(w)
        order = np.argsort(self.working)
        share = self.beta[order] / float(self.beta.sum())
        return Start(w, self.positive.alpha / self.positive.c, self.working[order], share)

    def loosen(self, factor: float) -> None:
        """Start anew from the model with larger products."""
        self.centre(factor * self._mu())

    def centre(self, mu: float) -> None:
        """Set all multipliers and slacks so that every product is mu times its weight."""
        self._sums = None
        self._t = self._threshold()
        self.positive.centre(self._t, mu)
        self._total = float(self.positive.alpha.sum())
        self._t = self.ranked.centre(self._t, self._total, mu)

    def extend(self, new: RankedRows) -> None:
        """Add rows to the working set."""
        self._sums = None
        self.ranked.extend(new, self._total, self._mu())
        self._system = NewtonSystem(self.positive.rows, self.ranked.rows)

    def primal(self) -> float:
        """Primal value of the restricted problem at the current model."""
        return self.problem.primal_at(self.w, self.positive.scores, self._threshold())

    def dual(self) -> Bound:
        """Best dual value along the ray of the current multipliers, made feasible."""
        from_alpha, from_beta = self._combined()
        alpha, total = self.positive.alpha, float(self.positive.alpha.sum())
        rescale = total / float(self.beta.sum())
        beta, model = self.ranked.feasible(rescale * self.beta, rescale * from_beta, total)
        ranked, problem = self.ranked, self.problem
        terms = (alpha, beta, from_alpha - model, ranked.weight, ranked.cap)
        return dual_bound(problem, problem.reach, *terms)

    def _combined(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both sums of rows by their multipliers, computed once at every point."""
        if self._sums is None:
            from_alpha = self.positive.rows.combine(self.positive.alpha)
            self._sums = from_alpha, self.ranked.rows.combine(self.beta)
        return self._sums

    def step(self) -> float:
        """Take one predictor-corrector step; return its length."""
        products, mu = self.products, self._mu()
        linear = self._linearise()
        step = self._direction(linear, goals(products, 0.0))
        length = min(1.0, _longest(products, step.products))
        predicted = sum(
            product.total_after(step.products[name], length) for name, product in products.items()
        )
        centring = min(max((predicted / len(products) / mu) ** 3, 1e-8), 1.0)
        second_order = 1.0 if length >= 0.1 else length * length
        goal = goals(products, centring * mu, step.products, second_order)
        step = self._direction(linear, goal)
        length = min(1.0, _SHORTEN * _longest(products, step.products))
        self._move(step, length)
        return length

    def _linearise(self) -> _Linear:
        from_alpha, from_beta = self._combined()
        positive = self.positive.linearise(self._t)
        ranked = self.ranked.linearise(self._t, self._total)
        solve = self._system.factor(positive.E, ranked.D)
        first = self.positive.rows.combine(positive.E)
        others = [self.ranked.rows.combine(column) for column in ranked.border]
        if self.ranked.joined:
            others[0] += first
        else:
            others.insert(0, first)
        columns = np.column_stack(others)
        response = solve(columns)
        bordered = ranked.corner + self.ranked.signs[:, None] * (columns.T @ response)
        bordered[0, 0] += float(positive.E.sum())
        residual = from_alpha - from_beta - self.w
        return _Linear(positive, ranked, residual, solve, columns, response, bordered)

    def _direction(self, linear: _Linear, goal: Goals) -> _Step:
        """Solve the Newton system for these changes of the complementarity products."""
        positive, ranked = self.positive, self.ranked
        e = positive.rest(linear.positive, goal)
        Ee = linear.positive.E * e
        rest = ranked.rest(linear.ranked, goal)
        base = linear.solve(
            positive.rows.combine(Ee) - ranked.rows.combine(rest.Df) + linear.model_residual
        )
        sums = Sums(float(positive.alpha.sum()), float(Ee.sum()), self._total)
        right = ranked.right(linear.ranked, rest, sums, goal)
        right -= ranked.signs * (linear.columns.T @ base)
        border = _solve(linear.bordered, right)
        dw = base + linear.response @ border
        ds_positive, ds_ranked = positive.rows.scores(dw), ranked.rows.scores(dw)
        side = ranked.step(linear.ranked, rest, border, ds_ranked, goal)
        steps = positive.step(linear.positive, goal, e, side.dt, ds_positive)
        return _Step(dw, ds_positive, ds_ranked, side, {**steps, **side.products})

    def _move(self, step: _Step, length: float) -> None:
        self._sums = None
        for side in (self.positive, self.ranked):
            side.products = {
                name: product.moved(step.products[name], length)
                for name, product in side.products.items()
            }
        self.w = self.w + length * step.dw
        self._t += length * step.side.dt
        self.ranked.q += length * step.side.dq
        self.positive.scores = self.positive.scores + length * step.ds_positive
        self.ranked.scores = self.ranked.scores + length * step.ds_ranked
        if step.side.d_total is None:
            self._total = float(self.positive.alpha.sum())
        else:
            self._total += length * step.side.d_total


def _longest(products: Products, steps: Steps) -> float:
    return min(product.length(steps[name]) for name, product in products.items())


class NewtonSystem:
    """Systems ``(I + A^T E A + B^T D B) x = r``: factor once per step, solve several times.

    A holds the positives, B the working set of rows of the threshold; E and D are
    non-negative weights that change at every step.
    """

    def __init__(self, positives: Rows, negatives: Rows) -> None:
        self._parts = (positives, negatives)
        self._n_features = positives.n_features
        n_rows = positives.n_rows + negatives.n_rows
        # Inner products of sparse rows cost far more than products with a vector.
        direct = 2 * _DIRECT_LIMIT if positives.cheap_inner else _FEW_SPARSE
        if self._n_features <= max(_DIRECT_LIMIT, min(n_rows, 2 * _DIRECT_LIMIT)):
            self.factor: Callable[[np.ndarray, np.ndarray], Solve] = self._factor_features
        elif n_rows <= direct:
            self._inner = positives.stack(negatives).inner()
            self.factor = self._factor_rows
        else:
            self.factor = self._factor_heavy_rows

    def _factor_features(self, E: np.ndarray, D: np.ndarray) -> Solve:
        positives, negatives = self._parts
        matrix = positives.gram(E)
        matrix += negatives.gram(D)
        matrix.flat[:: self._n_features + 1] += 1.0
        return partial(_substitute, _cholesky(matrix))

    def _factor_rows(self, E: np.ndarray, D: np.ndarray) -> Solve:
        root = np.sqrt(np.concatenate([E, D]))
        matrix = self._inner * root
        matrix *= root[:, None]
        matrix.flat[:: len(root) + 1] += 1.0
        factor = _cholesky(matrix)
        rows = self._parts[0].stack(self._parts[1])

        def rough(rhs: np.ndarray) -> np.ndarray:
            inside = _substitute(factor, root * rows.scores(rhs))
            return rhs - rows.combine(root * inside)

        def solve_one(rhs: np.ndarray) -> np.ndarray:
            # Heavy rows cancel in Woodbury's difference: refine once.
            x = rough(rhs)
            return x + rough(rhs - x - rows.combine(root * root * rows.scores(x)))

        return _by_column(solve_one)

    def _factor_heavy_rows(self, E: np.ndarray, D: np.ndarray) -> Solve:
        rows = self._parts[0].stack(self._parts[1])
        v = np.concatenate([E, D])
        heavy = _heavy_rows(rows, v)
        count = len(heavy)
        light = v.copy()
        light[heavy] = 0.0
        diagonal = 1.0 + rows.column_squares(light)
        heavy_rows, root = rows.take(heavy), np.sqrt(v[heavy])
        scaled = heavy_rows.scaled_columns(1.0 / np.sqrt(diagonal))
        matrix = scaled.inner() * root
        matrix *= root[:, None]
        matrix.flat[:: count + 1] += 1.0
        factor = _cholesky(matrix)

        def precondition(r: np.ndarray) -> np.ndarray:
            base = r / diagonal
            inside = _substitute(factor, root * heavy_rows.scores(base))
            return base - heavy_rows.combine(root * inside) / diagonal

        def apply(x: np.ndarray) -> np.ndarray:
            return x + rows.combine(v * rows.scores(x))

        shape = (self._n_features, self._n_features)
        operator = sparse.linalg.LinearOperator(shape, matvec=apply, dtype=np.float64)
        preconditioner = sparse.linalg.LinearOperator(shape, matvec=precondition, dtype=np.float64)

        def rough(rhs: np.ndarray) -> np.ndarray:
            x, _ = sparse.linalg.cg(operator, rhs, rtol=1e-9, maxiter=_MOST_STEPS, M=preconditioner)
            return x

        def solve_one(rhs: np.ndarray) -> np.ndarray:
            x = rough(rhs)
            # Near the end `rhs` is huge along heavy rows, and what is small beside it is all of x
            # across them. The least curvature is one, so the error is no longer than this.
            left = rhs - apply(x)
            return x + rough(left) if np.linalg.norm(left) > 1e-6 * np.linalg.norm(x) else x

        return _by_column(solve_one)


def _heavy_rows(rows: Rows, v: np.ndarray) -> np.ndarray:
    """Return the rows whose curvature is worth a factor.

    Steps of conjugate gradients grow with the root of the largest curvature that is left.
    It is measured with some rows left, and taken to grow as their sum does. Costs are
    nanoseconds, roughly: of the steps for three right-hand sides, and of the factor.
    """
    heaviness = v * rows.squared_norms()
    order = np.argsort(-heaviness)
    left = np.append(np.cumsum(heaviness[order[::-1]])[::-1], 0.0)
    some = min(_MOST_HEAVY // 10, rows.n_rows // 2)
    light = v.copy()
    light[order[:some]] = 0.0
    x = rows.combine(light)
    for _ in range(_POWER_STEPS):
        x = rows.combine(light * rows.scores(x / max(float(np.linalg.norm(x)), _TINY)))
    share = float(np.linalg.norm(x)) / left[some] if left[some] > 0.0 else 1.0
    largest = share * left
    count = np.unique(np.geomspace(1, min(_MOST_HEAVY, rows.n_rows), 25).astype(int))
    steps = np.minimum(5.0 + 6.0 * np.sqrt(largest[count]), _MOST_STEPS)
    per_step = 3.0 * rows.n_values + 5.0 * rows.n_features + count**2.0
    per_pair = 30.0 + 0.5 * rows.n_values / rows.n_rows + 0.02 * count
    return order[: count[np.argmin(3.0 * steps * per_step + per_pair * count**2.0)]]


# LAPACK without SciPy's checks of shapes and types: the systems are small and many.


def _cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the factor of a symmetric matrix of which the upper triangle is valid."""
    # The transposed view is Fortran-ordered, and what was the upper triangle its lower one.
    jitter, size = 0.0, float(np.trace(matrix))
    while True:
        trial = matrix.T if jitter == 0.0 else matrix.T + jitter * np.eye(len(matrix))
        factor, failed = lapack.dpotrf(trial, lower=1, clean=0)
        if not failed:
            return factor
        if not jitter < size < np.inf:
            raise linalg.LinAlgError("The matrix is not finite: no jitter will do.")
        jitter = max(10.0 * jitter, 1e-14 * size)


def _substitute(factor: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    return lapack.dpotrs(factor, rhs, lower=1)[0]


def _solve(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    _, _, x, failed = lapack.dgesv(matrix, rhs)
    if failed:
        raise linalg.LinAlgError("The border is singular.")
    return x


def _by_column(solve_one: Solve) -> Solve:
    def solve(rhs: np.ndarray) -> np.ndarray:
        if rhs.ndim == 1:
            return solve_one(rhs)
        return np.column_stack([solve_one(np.ascontiguousarray(column)) for column in rhs.T])

    return solve
