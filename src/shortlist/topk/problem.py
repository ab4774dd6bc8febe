r"""The top k classes: the problem, its dual, and proofs of its models.

.. math:: P(W) = \tfrac12 \|W\|^2 + \sum_i c_i \Phi(W^T x_i; y_i), \qquad
          \Phi(s; y) = \Bigl[\sum_j \rho_j a_{(j)}\Bigr]_+, \; a = 1 - e_y + s - s_y 1

.. math:: D(A) = \sum_i \alpha_{i, y_i} - \tfrac12 \|W(A)\|^2, \qquad
          W(A) = \sum_i x_i \alpha_i^T, \; -\alpha_i / c_i \in \mathrm{dom}\, \Phi^*

Row i's dual is kept as the weights :math:`\beta_j \ge 0` of the other classes:
:math:`\alpha_{ij} = -\beta_j` and :math:`\alpha_{i,y} = \sum \beta`. Smoothing by
:math:`\gamma` adds :math:`r_i = \gamma / c_i` to the diagonal of the kernel.

A proof is computed in float64 from a model and a dual point themselves.

- *Primal.* A score of row i is off by at most :math:`e_i`. The loss grows with the scores of
  the other classes, so the losses with all of these raised by :math:`2 e_i` bound the true
  ones from above; a row safely beyond its margins costs nothing either way. Where this
  matters (all rows just fulfilled, an objective far below one), a model longer by 1e-12 or so
  has margins to spare and a better bound.
- *Dual.* Every row's variables are moved into their domain (``_core/topk_proof.hpp``); what
  the move itself leaves by rounding, :math:`\delta_i` in sum, changes the dual by at most
  :math:`\delta_i` times the largest slope of the row.

The zero model and the zero dual point stand in where overflow or rounding leave less. A kernel
that is not positive semi-definite shows by a model of negative squared norm, or by a dual value
above the primal one of the zero model: then a negative square counts as zero, and no bound but
zero is given.

Reference: T. Kato, Y. Hirohashi, "Learning weighted top-k support vector machine", ACML
2019.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from ..certificate import Proof
from ..rows.rounding import gamma, half_square_error
from .scores import Measured

WEIGHTS = ("flat", "linear", "exp")
_LONGER = (1e-12, 1e-10, 1e-8, 1e-6)
# Where rounding is a smaller share of the objective a longer model is not tried.
_HARMLESS = 1e-8


def rank_weights(kind: str, k: int) -> np.ndarray:
    r"""Weights of the `k` highest margins, with sum 1.

    flat :math:`1/k`, linear :math:`\propto k + 1 - j`, exp :math:`\propto e^{-j/k}`.
    """
    j = np.arange(1, k + 1, dtype=np.float64)
    if kind == "flat":
        rho = np.ones(k)
    elif kind == "linear":
        rho = k + 1.0 - j
    else:
        rho = np.exp(-j / k)
    return rho / rho.sum()


@dataclass(frozen=True)
class DualPoint:
    """Dual variables of all rows: what the other classes hold.

    Attributes
    ----------
    start : ndarray of int64
        Where the entries of each row start, and where the last ends.
    label : ndarray of int32
        Class of every entry.
    beta : ndarray
        Its value.
    """

    start: np.ndarray
    label: np.ndarray
    beta: np.ndarray

    @classmethod
    def copy(cls, n_rows: int, count: Callable[..., None], read: Callable[..., None]) -> DualPoint:
        """Copy what compiled code holds."""
        start = np.empty(n_rows + 1, dtype=np.int64)
        count(start)
        label, beta = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
        read(label, beta)
        return cls(start, label, beta)

    def rows(self) -> np.ndarray:
        """Return the row of every entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


class TopKProblem:
    """Weights x smoothing x scores.

    Parameters
    ----------
    scores : LinearScores or KernelScores
        Where the scores of the training rows come from.
    y : ndarray of int32
        Class of every row.
    c : ndarray
        C times the multiplicity of every row.
    n_classes : int
        Number of classes.
    rho : ndarray
        Weights of the highest margins, not increasing, the zeros at the end left out.
    smoothing : float
        Moreau smoothing of the loss.
    pseudo : bool
        Leave the true class out of the loss: the loss of the earlier SDCA papers.
    rng : RandomState
        Order of the visits.

    Attributes
    ----------
    indefinite : bool
        Whether the kernel is known not to be positive, or a proof met a negative squared
        norm: then there is no bound.
    """

    def __init__(
        self,
        scores: Any,
        y: np.ndarray,
        c: np.ndarray,
        n_classes: int,
        rho: np.ndarray,
        smoothing: float,
        pseudo: bool,
        rng: np.random.RandomState,
    ) -> None:
        self.scores = scores
        self.y = y
        self.c = c
        self.n_classes = n_classes
        self.rho = rho
        self.pseudo = pseudo
        self.rng = rng
        self.smoothing = smoothing
        self.indefinite = False
        self.ridge = smoothing / c
        self.offers = frozenset(
            {"top-k vertices", "top-k blocks"}
            | ({"small linear top-k model"} if scores.small else set())
        )

    @functools.cached_property
    def value_at_zero(self) -> float:
        """Primal value of the zero model: every other margin is 1."""
        one, out = np.ones(1), np.zeros(1)
        scores = np.zeros((1, self.n_classes))
        parts = (self.y[:1], one, self.smoothing * one)
        _core.topk_losses(self.rho, self.pseudo, scores, *parts, 0.0 * one, out)
        return float(self.c.sum()) * float(out[0])

    def zero_proof(self) -> Proof:
        """Prove the zero model, by the zero dual point."""
        zero = self.scores.model(sparse.csr_array((len(self.y), self.n_classes)))
        rounding = gamma(len(self.y)) * self.value_at_zero
        # The bound is zero, and exact: the monitor will take the rounding off again.
        return Proof(zero, self.value_at_zero, rounding, rounding)

    def prove(self, point: DualPoint, model: Any = None, multiple: float = 1.0) -> Proof:
        """Prove a model and a dual point.

        Parameters
        ----------
        point : DualPoint
            Dual variables, feasible but for rounding.
        model : ndarray, csr array or None
            The model; None is `multiple` times that of the dual point.
        multiple : float
            Factor of the model.

        Returns
        -------
        Proof
            With the model as its solution.
        """
        scores = self.scores
        with np.errstate(over="ignore", invalid="ignore"):
            A, missing = self.feasible(point)
            own_model = scores.model(A)
            measured = scores.measure(own_model)
            dual, dual_error = _dual(self, A, missing, measured)
            negative = measured.half < -measured.error
            solution = scores.tidy(own_model if model is None else model)
            if model is not None or solution is not own_model:
                measured = scores.measure(solution)
            primal, primal_error, factor = _primal(self, measured, multiple)
            solution = solution if factor == 1.0 else factor * solution
        at_zero = self.zero_proof()
        if not primal + primal_error < at_zero.primal + at_zero.rounding:
            solution, primal, primal_error = at_zero.solution, at_zero.primal, at_zero.rounding
        rounding = primal_error + dual_error
        self.indefinite |= negative or dual - rounding > at_zero.primal + at_zero.rounding
        if self.indefinite:
            dual = -np.inf
        if not dual - rounding > 0.0:
            # Zero is a bound, and exact: the monitor will take the rounding off again.
            dual = rounding = primal_error
        return Proof(solution, float(primal), float(dual), float(rounding))

    def losses(self, rows: slice, scores: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Losses of some rows at their scores, which are overwritten.

        The other classes are taken to be `slack` better than they are.
        """
        out = np.empty(len(scores))
        parts = (self.y[rows], self.c[rows], self.ridge[rows])
        _core.topk_losses(self.rho, self.pseudo, scores, *parts, slack, out)
        return out

    def dual(self) -> _core.TopKDual:
        """Return the zero dual point."""
        return _core.TopKDual(
            self.rho, self.n_classes, self.pseudo, self.y, self.c, self.scores.squares(), self.ridge
        )

    def point(self, dual: _core.TopKDual) -> DualPoint:
        """Copy the dual variables."""
        return DualPoint.copy(len(self.y), dual.count, dual.read)

    def proposed(self, dual: _core.TopKDual) -> DualPoint:
        """Copy the dual variables of the last proposal."""
        return DualPoint.copy(len(self.y), dual.count_proposed, dual.read_proposed)

    def point_of(self, A: sparse.csr_array) -> DualPoint:
        """Return the dual variables of the other classes of `A`, rows by classes."""
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        other = A.indices != self.y[rows]
        counts = np.bincount(rows[other], minlength=A.shape[0])
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return DualPoint(start, A.indices[other].astype(np.int32), -A.data[other])

    def feasible(self, point: DualPoint) -> tuple[sparse.csr_array, np.ndarray]:
        """Return a feasible point next to `point`, and what rounding may leave of each row."""
        beta, missing = point.beta.copy(), np.zeros(len(self.y))
        _core.topk_feasible(
            self.rho, self.n_classes, self.pseudo, self.c, point.start, beta, missing
        )
        return self._signed(point.rows(), point.label, beta), missing

    def alpha(self, dual: _core.TopKDual) -> sparse.csr_array:
        """Return the dual variables, rows by classes."""
        point = self.point(dual)
        return self._signed(point.rows(), point.label, point.beta)

    def vertices(self, Z: np.ndarray) -> tuple[sparse.csr_array, float]:
        """Return the best vertex of every row for the scores `Z`, and the sum of losses."""
        n, k = len(self.y), len(self.rho)
        label, beta = np.zeros((n, k), dtype=np.int32), np.zeros((n, k))
        loss = _core.topk_vertices(self.rho, self.pseudo, Z.copy(), self.y, self.c, label, beta)
        rows, ranks = np.nonzero(beta)
        return self._signed(rows, label[rows, ranks], beta[rows, ranks]), loss

    def _signed(self, rows: np.ndarray, label: np.ndarray, beta: np.ndarray) -> sparse.csr_array:
        n = len(self.y)
        own = np.bincount(rows, weights=beta, minlength=n)
        used = np.flatnonzero(own)
        return sparse.csr_array(
            (
                np.concatenate([-beta, own[used]]),
                (np.concatenate([rows, used]), np.concatenate([label, self.y[used]])),
            ),
            shape=(n, self.n_classes),
        )

    def product(self, A: sparse.csr_array) -> np.ndarray:
        """Return the scores of a dual point, smoothing included."""
        scores = self.scores.product(A)
        return scores + (A * self.ridge[:, None]).toarray() if self.ridge.any() else scores

    def own(self, A: sparse.csr_array) -> float:
        """Return the linear part of the dual, the sum of ``A`` at the true classes."""
        return float(0.5 * abs(A).sum())


def _dual(problem: TopKProblem, A: Any, missing: np.ndarray, at: Measured) -> tuple[float, float]:
    """Value of the dual, and the bound of its error."""
    own = problem.own(A)
    half = max(at.half, 0.0)
    squares = A.multiply(A).sum(axis=1)
    ridge = 0.5 * float(problem.ridge @ squares)
    length = np.sqrt(2.0 * half)
    reach = np.sqrt(np.maximum(problem.scores.squares(), 0.0))
    slope = 1.0 + 2.0 * (reach * length + problem.ridge * np.sqrt(squares))
    moved = 2.0 * float(missing @ reach) + 2.0 * float(missing @ np.sqrt(problem.ridge))
    error = (
        gamma(A.shape[0]) * (own + ridge)
        + at.error
        + problem.scores.model_error(A, half)
        + float(missing @ slope)
        + half_square_error(0.0, moved)
    )
    return own - at.half - ridge, error


def _primal(problem: TopKProblem, at: Measured, multiple: float) -> tuple[float, float, float]:
    """Objective at the best multiple near `multiple`, the bound of its error, the multiple."""
    parts = list(at.parts) if len(problem.y) * problem.n_classes <= 1 << 22 else at.parts
    found = _objective(problem, Measured(at.half, at.error, parts), multiple)
    best = (*found, multiple)
    if found[1] > _HARMLESS * found[0] and isinstance(parts, list):
        for longer in _LONGER:
            factor = multiple * (1.0 + longer)
            found = _objective(problem, Measured(at.half, at.error, parts), factor)
            if sum(found) < best[0] + best[1]:
                best = (*found, factor)
    return best


def _objective(problem: TopKProblem, at: Measured, multiple: float) -> tuple[float, float]:
    loss, raised = 0.0, 0.0
    # The margins, their sorting weights and the factor round a few times more.
    spare = gamma(len(problem.rho) + 4)
    for rows, scores, error in at.parts:
        values = multiple * scores
        largest = np.abs(values).max(axis=1, initial=0.0)
        slack = 2.0 * multiple * error + spare * (1.0 + 2.0 * largest)
        loss += float(problem.losses(rows, values.copy(), np.zeros_like(slack)).sum())
        raised += float(problem.losses(rows, values, slack).sum())
    half = multiple**2 * max(at.half, 0.0)
    rounding = max(raised - loss, 0.0) + multiple**2 * at.error
    return half + loss, rounding + gamma(len(problem.y)) * (half + raised)
