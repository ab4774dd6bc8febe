r"""Pairs whose features are an exterior product: preferences that need not come from scores.

The pair (i, j) has the features :math:`\phi_i \wedge \phi_j`, with the kernel

.. math:: \langle \phi_i \wedge \phi_j, \phi_k \wedge \phi_l \rangle
          = k(i, k) k(j, l) - k(i, l) k(j, k).

A model :math:`\sum \alpha_{ij} \, \phi_i \wedge \phi_j` is the antisymmetric matrix
:math:`U = A - A^T` of its coefficients: it prefers row a to row b by :math:`k_a^T U k_b`, so all
preferences among the training rows are :math:`F = K U K`, and its squared length is
:math:`\tfrac12 \langle U, F \rangle`. Losses are sums over the entries of F. That takes matrices of
n times n numbers, not one number for every two pairs; a product costs :math:`O(n^3)`. The solver is
that of the difference features: :mod:`shortlist.pairs.newton`.

Reference: E. Bach, "ROSVM package, mathematical background", 2020 (announced there).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._losses import Loss
from ..rows.kernels import KernelMatrix
from ..rows.rounding import UNIT, gamma
from .plan import pair_weight
from .proof import Evidence
from .spaces import Point


class ExteriorSpace:
    """Antisymmetric matrices over the training rows, flat; see :class:`~.spaces.Space`.

    Parameters
    ----------
    kernel : KernelMatrix
        Kernel matrix of the training rows.
    products : int
        Products that were added up for an entry of a matrix of inner products; zero where it
        was given.
    """

    def __init__(self, kernel: KernelMatrix, products: int = 0) -> None:
        self.n_rows = n = kernel.n_rows
        self.size = n * n
        bounds = kernel.bounds()
        assert bounds is not None  # of entries in float64 they are known
        self._q, self._r = bounds
        self.length = float(self._q.max()) ** 2
        self.indefinite = not products and not kernel.is_positive(centred=False)
        self.matrix = np.asarray(kernel.entries(slice(None), slice(None)), dtype=np.float64)
        norm = float(np.linalg.norm(self.matrix))
        lost = 0.0
        if kernel.precomputed or kernel.dtype != np.float64:
            lost = (2.0**-24 if kernel.dtype == np.float32 else 100.0 * UNIT) * norm
            lost += gamma(products) * norm
        # Two factors that fall short of positive by `lost`, each times the other.
        self.defect = lost * (2.0 * norm + lost)

    def square_matrix(self, u: np.ndarray) -> np.ndarray:
        """Return a flat matrix as a matrix."""
        return u.reshape(self.n_rows, self.n_rows)

    def scores(self, u: np.ndarray) -> np.ndarray:
        """Return the preferences among the training rows, flat."""
        return (self.matrix @ self.square_matrix(u) @ self.matrix).ravel()

    def inner(self, p: Point, q: Point) -> float:
        """Return the inner product of two models."""
        return 0.5 * (float(q.u @ p.f) if p.scored else float(p.u @ q.f))

    def _sizes(self, u: np.ndarray) -> tuple[float, float]:
        """Return the size of all coefficients, and of what errors of the kernel do to them."""
        U = np.abs(self.square_matrix(u))
        return float(self._q @ U @ self._q), 2.0 * float(self._q @ U @ self._r)

    def score_error(self, u: np.ndarray) -> float:
        """Bound the rounding error of every preference under model `u`."""
        size, error = self._sizes(u)
        largest, off = float(self._q.max()), float(self._r.max())
        rounded = error + 2.0 * gamma(2.0 * self.n_rows) * size
        return self.length * rounded + 2.0 * largest * off * size

    def square(self, u: np.ndarray) -> tuple[float, float]:
        """Return the squared length of model `u`, and a bound of its rounding error."""
        size, error = self._sizes(u)
        rounded = gamma(2.0 * self.n_rows) + gamma(float(self.size))
        return 0.5 * float(u @ self.scores(u)), size * (error + rounded * size)


@dataclass(frozen=True)
class ExteriorSums:
    """Sums over the violated pairs of a model; see :class:`~.problem.ModelSums`.

    Attributes
    ----------
    point : Point
        The model.
    width : float
        Width of the rounded hinge.
    slope : ndarray
        Dual point that the model proposes, an entry per pair.
    violated_weight : ndarray
        Weight of every violated pair, zero elsewhere.
    curved_weight : ndarray
        Second derivative of every pair's loss.
    pair_unit : float
        That of a curved pair of weight one.
    """

    point: Point
    width: float
    slope: np.ndarray
    violated_weight: np.ndarray
    curved_weight: np.ndarray
    pair_unit: float

    @property
    def violated(self) -> float:
        """Sum of the vertex."""
        return float(self.violated_weight.sum())

    @property
    def total(self) -> float:
        """Sum of the proposed dual point."""
        return float(self.slope.sum())

    @property
    def hinge(self) -> float:
        """Sum of the hinge losses."""
        return self.violated - float(self.violated_weight @ self.point.f)

    @property
    def slack(self) -> float:
        """Sum of alpha times z."""
        return self.total - float(self.slope @ self.point.f)

    @property
    def curved_pairs(self) -> float:
        """Twice the weight of the pairs whose loss is curved here."""
        return 2.0 * float(self.curved_weight.sum()) / self.pair_unit

    def along(self, step: Point) -> float:
        """Return the inner product of the proposed dual point's model with `step`."""
        return float(self.slope @ step.f)

    def model(self) -> Point:
        """Return the model of the proposed dual point."""
        return antisymmetric(self.point, self.slope)

    def curved_model(self) -> Point:
        """Return the part of that model that comes from curved pairs."""
        return antisymmetric(self.point, np.where(self.curved_weight > 0.0, self.slope, 0.0))

    def vertex_model(self) -> Point:
        """Return the model of the vertex: every violated pair at its weight."""
        return antisymmetric(self.point, self.violated_weight)


def antisymmetric(point: Point, alpha: np.ndarray) -> Point:
    """Return the model of a dual point, in the space of another model."""
    A = point.space.square_matrix(alpha)
    return Point(point.space, (A - A.T).ravel())


class ExteriorProblem:
    """Loss x pairs x exterior products; see :class:`~.problem.Pairs`.

    Parameters
    ----------
    space : ExteriorSpace
        Where models live.
    y, group, weight, C, loss, max_rank_distance, normalize
        As in :class:`~.problem.PairProblem`.
    """

    offers = frozenset({"sum over pairs"})

    def __init__(
        self,
        space: ExteriorSpace,
        y: np.ndarray,
        group: np.ndarray,
        weight: np.ndarray,
        C: float,
        loss: Loss,
        max_rank_distance: int | None = None,
        normalize: bool = True,
    ) -> None:
        self.space = space
        self.loss = loss
        rank = _dense_ranks(y, group)
        apart = rank[:, None] - rank[None, :]
        compared = (apart > 0) & (group[:, None] == group[None, :])
        if max_rank_distance is not None:
            compared &= apart <= max_rank_distance
        weights = np.where(compared, np.outer(weight, weight), 0.0)
        self.n_pairs = float(weights.sum())
        rows = compared.any(axis=0) | compared.any(axis=1)
        self.c = 1.0
        if self.n_pairs:
            self.c = pair_weight(C, float(weight[rows].sum()), self.n_pairs, normalize)
        self._weight = self.c * weights.ravel()

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a model: what counts is rows, not pairs."""
        return float(self.space.n_rows)

    @cached_property
    def value_at_zero(self) -> float:
        """Primal value of the zero model: every pair has loss 1."""
        return float(self._weight.sum())

    @property
    def vertex_error(self) -> float:
        """Bound of the error of the sums of any vertex, relative to the weight of all pairs."""
        return gamma(float(self.space.size))

    def zero(self) -> Point:
        """Return the zero model."""
        return Point(self.space, np.zeros(self.space.size), np.zeros(self.space.size))

    def sums(self, point: Point, width: float) -> ExteriorSums:
        """Sum over the pairs at a model, with the hinge rounded on `width`."""
        z = 1.0 - point.f
        violated = np.where(z > 0.0, self._weight, 0.0)
        bent = 1.0 / width if self.loss.bounded else 1.0 / self.loss.ridge
        slope = violated * bent * np.minimum(z, width)
        curved = bent * np.where(z < width, violated, 0.0)
        return ExteriorSums(point, width, slope, violated, curved, bent * self.c)

    def bend(self, sums: ExteriorSums, step: Point) -> tuple[Point, float]:
        """Return the second derivative of the loss times `step`, and its product with it."""
        bent = sums.curved_weight * step.f
        return antisymmetric(step, bent), float(bent @ step.f)

    def sample(self, count: int) -> Any:
        """Return the problem itself: there is nothing to gain on few rows."""
        return self

    def reckoned(self, sums: Any, model: Point) -> None:
        """Return nothing: the sums are proved by computing them anew."""

    def moved_loss(self, point: Point, total: float) -> float:
        """Return no bound: nothing is proved by the sums at hand."""
        return math.inf

    def evidence(self, u: np.ndarray, width: float) -> Evidence:
        """Return what a proof needs of a model, its preferences computed anew.

        The dual point that the preferences propose is feasible as it is, whatever they are off
        by, and its coefficients are exact; only the loss of the model moves with them.
        """
        point = Point(self.space, u)
        moved = self.space.score_error(u)
        if not np.isfinite(point.f).all() or not np.isfinite(moved):
            return Evidence(np.inf, 0.0, -np.inf, 0.0, np.zeros_like(u), 0.0)
        sums = self.sums(point, width)
        z = np.maximum(1.0 - point.f, 0.0)
        moved += 2.0 * UNIT * float(1.0 + np.abs(point.f).max())
        many = 3.0 * gamma(float(self.space.size))
        total = sums.total
        if self.loss.bounded:
            loss = float(self._weight @ z)
            loss_error = many * loss + moved * self.value_at_zero
            gain, gain_error = total, many * total
        else:
            loss = float(self._weight @ (z * z))
            loss_error = many * loss + moved * (total + moved * self.value_at_zero)
            gain, gain_error = total - loss, many * (total + loss)
        return Evidence(loss, loss_error, gain, gain_error, sums.model().u, 0.0)


def _dense_ranks(y: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Rank of every row among the distinct values of its group."""
    rank = np.empty(len(y), dtype=np.int64)
    for number in np.unique(group):
        rows = group == number
        rank[rows] = np.unique(y[rows], return_inverse=True)[1]
    return rank
