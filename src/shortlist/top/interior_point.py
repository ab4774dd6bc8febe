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
from scipy.linalg import blas, lapack

from ..rows.operators import Rows
from .problem import NO_BOUND, Bound, dual_bound
from .sides import (
    Goals,
    PositiveEquations,
    PositiveSide,
    Products,
    RankedEquations,
    Rest,
    SideStep,
    Steps,
    Sums,
    moved,
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
class _Asked:
    """What goals ask of both sides, and the model's answer without the border."""

    goal: Goals
    positive: Rest
    ranked: Rest
    base: np.ndarray


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
        products = self.products
        totals = {name: product.total() for name, product in products.items()}
        mu = sum(totals.values()) / len(products)
        linear, asked = self._linearise(Goals(products, 0.0))
        step = self._direction(linear, asked)
        ahead = {name: product.ahead(step.products[name]) for name, product in products.items()}
        length = min(1.0, *(look.length for look in ahead.values()))
        predicted = sum(
            totals[name] + length * (look.linear + length * look.quadratic)
            for name, look in ahead.items()
        )
        centring = min(max(max(predicted, 0.0) / len(products) / mu, 2e-3) ** 3, 1.0)
        second_order = 1.0 if length >= 0.1 else length * length
        goal = Goals(products, centring * mu, step.products, second_order)
        step = self._direction(linear, self._ask(linear, goal))
        lengths = (product.ahead(step.products[name]).length for name, product in products.items())
        length = min(1.0, *(_SHORTEN * longest for longest in lengths))
        self._move(step, length)
        return length

    def _linearise(self, goal: Goals) -> tuple[_Linear, _Asked]:
        """Return the Newton system, and what this goal asks: together they look at rows once."""
        from_alpha, from_beta = self._combined()
        positive = self.positive.linearise(self._t)
        ranked = self.ranked.linearise(self._t, self._total)
        rests = self.positive.rest(positive, goal), self.ranked.rest(ranked, goal)
        solve = self._system.factor(positive.E, ranked.D)
        first = self.positive.rows.combines(positive.columns)
        others = self.ranked.rows.combines(np.stack([*ranked.border, rests[1].Df]))
        residual = from_alpha - from_beta - self.w
        right = first[:, 1] - others[:, -1] + residual
        if self.ranked.joined:
            others[:, 0] += first[:, 0]
            columns = others[:, :-1]
        else:
            columns = np.column_stack([first[:, 0], others[:, :-1]])
        found = solve(np.column_stack([columns, right]))
        response = found[:, :-1]
        bordered = ranked.corner + self.ranked.signs[:, None] * (columns.T @ response)
        bordered[0, 0] += positive.total
        linear = _Linear(positive, ranked, residual, solve, columns, response, bordered)
        return linear, _Asked(goal, *rests, found[:, -1])

    def _ask(self, linear: _Linear, goal: Goals) -> _Asked:
        positive = self.positive.rest(linear.positive, goal)
        ranked = self.ranked.rest(linear.ranked, goal)
        right = self.positive.rows.combine(positive.Df) - self.ranked.rows.combine(ranked.Df)
        return _Asked(goal, positive, ranked, linear.solve(right + linear.model_residual))

    def _direction(self, linear: _Linear, asked: _Asked) -> _Step:
        """Solve the Newton system for these changes of the complementarity products."""
        positive, ranked = self.positive, self.ranked
        sums = Sums(float(positive.alpha.sum()), asked.positive.sum_Df, self._total)
        right = ranked.right(linear.ranked, asked.ranked, sums, asked.goal)
        right -= ranked.signs * (linear.columns.T @ asked.base)
        border = _solve(linear.bordered, right)
        dw = asked.base + linear.response @ border
        ds_positive, ds_ranked = positive.rows.scores(dw), ranked.rows.scores(dw)
        side = ranked.step(linear.ranked, asked.ranked, border, ds_ranked, asked.goal)
        steps = positive.step(linear.positive, asked.positive, side.dt, ds_positive)
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
        self.positive.scores = moved(self.positive.scores, step.ds_positive, length)
        self.ranked.scores = moved(self.ranked.scores, step.ds_ranked, length)
        if step.side.d_total is None:
            self._total = float(self.positive.alpha.sum())
        else:
            self._total += length * step.side.d_total


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
            self._memory = np.empty((self._n_features, self._n_features))
            self.factor: Callable[[np.ndarray, np.ndarray], Solve] = self._factor_features
        elif n_rows <= direct:
            self._inner = positives.stack(negatives).inner()
            self.factor = self._factor_rows
        else:
            self.factor = self._factor_heavy_rows

    def _factor_features(self, E: np.ndarray, D: np.ndarray) -> Solve:
        def build() -> np.ndarray:
            matrix = self._memory
            matrix.fill(0.0)
            for rows, weight in zip(self._parts, (E, D), strict=True):
                rows.add_gram(weight, matrix)
            matrix.flat[:: self._n_features + 1] += 1.0
            return matrix

        return _by_column(partial(_substitute, _cholesky(build)))

    def _factor_rows(self, E: np.ndarray, D: np.ndarray) -> Solve:
        root = np.sqrt(np.concatenate([E, D]))
        factor = _cholesky(partial(_weighted, self._inner, root))
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
        light = v.copy()
        light[heavy] = 0.0
        diagonal = 1.0 + rows.column_squares(light)
        heavy_rows, root = rows.take(heavy), np.sqrt(v[heavy])
        scaled = heavy_rows.scaled_columns(1.0 / np.sqrt(diagonal))
        factor = _cholesky(partial(_weighted, scaled.inner(), root))

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


def _cholesky(build: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the factor of a symmetric matrix of which the upper triangle is valid.

    It takes the matrix's place: one that cannot be factored is built again.
    """
    jitter = 0.0
    while True:
        # The transposed view is Fortran-ordered, and what was the upper triangle its lower one.
        matrix = build().T
        size = float(np.trace(matrix))
        if jitter:
            matrix.flat[:: len(matrix) + 1] += jitter
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor
        if not jitter < size < np.inf:
            raise linalg.LinAlgError("The matrix is not finite: no jitter will do.")
        jitter = max(10.0 * jitter, 1e-14 * size)


def _weighted(inner: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return the identity and inner products of rows times these roots of their weights."""
    matrix = inner * root
    matrix *= root[:, None]
    matrix.flat[:: len(root) + 1] += 1.0
    return matrix


def _substitute(factor: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    # For one right-hand side LAPACK's own routine copies the factor, which costs more.
    inside = blas.dtrsv(factor, rhs, lower=1)
    return blas.dtrsv(factor, inside, lower=1, trans=1, overwrite_x=1)


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
