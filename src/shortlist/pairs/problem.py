r"""Ordered pairs: problem, dual, and sums over pairs that are never formed.

With :math:`z_{ij} = 1 - f_i + f_j` for every pair (row i should score above row j),

.. math:: P(w) = \tfrac12\|w\|^2 + \sum c_{ij}\,\ell(z_{ij}), \qquad
          D(\alpha) = \sum\alpha_{ij} - \sum\frac{r}{2c_{ij}}\alpha_{ij}^2
          - \tfrac12 \Bigl\| \sum\alpha_{ij}(\phi_i - \phi_j) \Bigr\|^2,

with :math:`0 \le \alpha_{ij}` (:math:`\le c_{ij}` for the hinge). A model proposes the
dual point :math:`\alpha_{ij} = c_{ij}\,\kappa\,\min([z_{ij}]_+, \mu)`: the slope of the
squared hinge (:math:`\kappa = 2, \mu = \infty`) or of a hinge rounded on a width
:math:`\mu = 1/\kappa`. Everything a solver needs of it are sums per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._losses import Loss
from ..rows.rounding import UNIT, gamma
from .plan import Grid, chances, pair_weight, plan_pairs, sample_rows, small_groups
from .proof import Evidence, Reckoned
from .spaces import FeatureSpace, LinearSpace, Point, Space

# Rows with a curved pair are set apart where they are at most this share.
_FEW_CURVED = 0.7
# Kernel problems up to this size may be solved with a variable for every pair, and are where
# the loss weighs this much a row: Newton steps on a rounded hinge are cheaper, but crawl.
_FEW_ROWS, _FEW_PAIRS, _STRONG = 2500, 2e6, 15.0


class ModelSums(Protocol):
    r"""Sums over the violated pairs of a model, wherever its rows are.

    The dual point that the model proposes is :math:`\alpha`; :math:`A^T\alpha` are its sums
    per row.
    """

    @property
    def point(self) -> Point:
        """The model."""

    @property
    def width(self) -> float:
        """Width of the rounded hinge."""

    @property
    def violated(self) -> float:
        """Sum of the vertex."""

    @property
    def total(self) -> float:
        """Sum of the proposed dual point."""

    @property
    def hinge(self) -> float:
        """Sum of the hinge losses."""

    @property
    def slack(self) -> float:
        """Sum of alpha times z."""

    @property
    def curved_pairs(self) -> float:
        """Twice the weight of the pairs whose loss is curved here."""

    def along(self, step: Point) -> float:
        """Return the inner product of the proposed dual point's model with `step`."""

    def model(self) -> Point:
        """Return the model of the proposed dual point."""

    def curved_model(self) -> Point:
        """Return the part of that model that comes from curved pairs."""

    def vertex_model(self) -> Point:
        """Return the model of the vertex: every violated pair at its weight."""


class Pairs(Protocol):
    """A pair problem as solvers see it: everything per row stays inside."""

    space: Any
    loss: Loss
    n_pairs: float

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a model."""

    @property
    def value_at_zero(self) -> float:
        """Primal value of the zero model."""

    def zero(self) -> Point:
        """Return the zero model."""

    def sums(self, point: Point, width: float) -> Any:
        """Return the :class:`ModelSums`, with the hinge rounded on `width`."""

    def bend(self, sums: Any, step: Point) -> tuple[Point, float]:
        """Return the second derivative of the loss times `step`, and its product with it."""

    def sample(self, count: int) -> PairProblem:
        """Return the problem of about `count` of the rows, in memory."""

    def evidence(self, u: np.ndarray, width: float) -> Evidence:
        """Return what a proof needs of a model."""

    def reckoned(self, sums: Any, model: Point) -> Reckoned | None:
        """Return what sums at hand prove; None where they are elsewhere."""

    def moved_loss(self, point: Point, total: float) -> float:
        """Bound what lies between the loss of the point's scores and that of its model."""

    @property
    def vertex_error(self) -> float:
        """Bound of the error of the sums of any vertex, relative to the weight of all pairs."""


def primal_value(problem: Pairs, sums: ModelSums) -> float:
    """Objective of the model of `sums`."""
    loss = sums.hinge if problem.loss.bounded else 0.5 * sums.slack
    return 0.5 * sums.point.dot(sums.point) + loss


def dual_value(problem: Pairs, sums: ModelSums, model: Point) -> float:
    """Dual value of the proposed point, whose own model is `model`."""
    conjugate = 0.0 if problem.loss.bounded else 0.5 * sums.slack
    return sums.total - conjugate - 0.5 * model.dot(model)


@dataclass(frozen=True)
class PairSums:
    r"""The sums where the rows are at hand; see :class:`ModelSums`.

    Attributes
    ----------
    point : Point
        The model.
    width : float
        Width of the rounded hinge.
    weight : ndarray
        Multiplicity of every row.
    vertex : ndarray
        :math:`A^T s` for the vertex :math:`s_{ij} = c_{ij} [z_{ij} > 0]`.
    violated : float
        Sum of that vertex.
    net : ndarray
        :math:`A^T\alpha` for the proposed dual point.
    total : float
        Sum of that dual point.
    curved : ndarray
        The part of `net` that comes from pairs whose loss is curved here.
    degree : ndarray
        Weight of the partners of every row whose loss is curved here.
    """

    point: Point
    width: float
    weight: np.ndarray
    vertex: np.ndarray
    violated: float
    net: np.ndarray
    total: float
    curved: np.ndarray
    degree: np.ndarray

    @property
    def hinge(self) -> float:
        """Sum of the hinge losses."""
        return self.violated - float(self.vertex @ self.point.f)

    @property
    def slack(self) -> float:
        """Sum of alpha times z."""
        return self.total - float(self.net @ self.point.f)

    @property
    def curved_pairs(self) -> float:
        """Twice the weight of the pairs whose loss is curved here."""
        return float(self.weight @ self.degree)

    def along(self, step: Point) -> float:
        """Return the inner product of the proposed dual point's model with `step`."""
        return float(self.net @ step.f)

    def model(self) -> Point:
        """Return the model of the proposed dual point."""
        return self._lift(self.net)

    def curved_model(self) -> Point:
        """Return the part of that model that comes from curved pairs."""
        return self._lift(self.curved)

    def vertex_model(self) -> Point:
        """Return the model of the vertex."""
        return self._lift(self.vertex)

    def _lift(self, v: np.ndarray) -> Point:
        return Point(self.point.space, self.point.space.lift(v))


class PairProblem:
    """Loss x pairs x space.

    Parameters
    ----------
    space : Space
        Where models live; its rows are the rows of `y`.
    y : ndarray
        Targets.
    group : ndarray of int
        Rows are compared inside a group.
    weight : ndarray
        Multiplicity of every row, positive.
    C : float
        Weight of the loss against the norm.
    loss : Loss
        Loss of a pair.
    max_rank_distance : int or None
        Keep pairs at most that many ranks apart.
    normalize : bool
        Whether the pairs share a total weight of C times the number of rows that
        are part of a pair, or weigh C each.
    """

    def __init__(
        self,
        space: Space,
        y: np.ndarray,
        group: np.ndarray,
        weight: np.ndarray,
        C: float,
        loss: Loss,
        max_rank_distance: int | None = None,
        normalize: bool = True,
    ) -> None:
        self.space = space
        self.y = y
        self.group = group
        self.weight = weight
        self.loss = loss
        self.max_rank_distance = max_rank_distance
        self.plan = plan_pairs(y, group, max_rank_distance)
        self.c = 1.0
        self.n_pairs = 0.0
        self.compared = 0.0
        if len(self.plan.row):
            f, vertex, net, curved, degree = np.zeros((5, len(y)))
            self.n_pairs, _ = _core.violation_sums(
                *self.plan.arrays, weight, f, np.inf, vertex, net, curved, degree
            )
            self.compared = float(weight[degree > 0.0].sum())
            self._comparisons = degree
            self.c = pair_weight(C, self.compared, self.n_pairs, normalize)

    @cached_property
    def grid(self) -> Grid:
        """How exact sums over its pairs can be: of problems that are proved."""
        return Grid.of(self.plan, self.weight)

    @property
    def offers(self) -> frozenset[str]:
        """Capabilities that solvers may need."""
        offers = {"sum over pairs"}
        if self.loss.bounded:
            offers.add("sum over hinged pairs")
            matrix = getattr(self.space, "matrix", None)
            if matrix is not None and len(matrix) <= _FEW_ROWS and self._few_pairs:
                offers.add("hinge of few kernel pairs")
                if self.value_at_zero * self.space.length**2 > _STRONG * self.compared:
                    offers.add("strong loss of few kernel pairs")
        return frozenset(offers)

    @property
    def _few_pairs(self) -> bool:
        """Whether all pairs may be listed: in as much memory as the matrix of the most rows."""
        size = np.diff(self.plan.start)
        return float(0.5 * (size.astype(np.float64) ** 2).sum()) <= _FEW_PAIRS

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a model: features, or rows with a kernel."""
        linear = isinstance(self.space, FeatureSpace)
        return self.space.size if linear else float(self.weight.sum())

    def take(self, index: np.ndarray, chance: np.ndarray | float = 1.0) -> PairProblem:
        """Return the problem of some rows, its pairs weighing as much as all of them.

        Rows that were drawn with a smaller `chance` stand for more.
        """
        part = PairProblem(
            self.space.take(index),
            self.y[index],
            self.group[index],
            self.weight[index] / chance,
            1.0,
            self.loss,
            self.max_rank_distance,
            normalize=False,
        )
        return part.weighing(self.value_at_zero)

    def weighing(self, value: float) -> PairProblem:
        """Give the pairs this weight in all, and return the problem."""
        if self.n_pairs:
            self.c = value / self.n_pairs
        return self

    def sample(self, count: int) -> PairProblem:
        """Return the problem of about `count` of the rows; of all where there are no more.

        Rows are drawn by how many they are compared with: all of a rare grade, few of a
        common one.
        """
        n = len(self.y)
        if n <= count or not self.n_pairs:
            return self
        n_groups = int(self.group.max()) + 1
        if small_groups(n, n_groups, count):
            return self.take(sample_rows(self.group, count, whole=True))
        chance = chances(self._comparisons, count)
        rows = np.flatnonzero(np.random.default_rng(0).random(n) < chance)
        return self.take(rows, chance[rows])

    @property
    def value_at_zero(self) -> float:
        """Primal value of the zero model: every pair has loss 1."""
        return self.c * self.n_pairs

    def zero(self) -> Point:
        """Return the zero model."""
        return Point(self.space, np.zeros(self.space.size), np.zeros(self.space.n_rows))

    def curvature(self, width: float) -> float:
        """Second derivative of the loss inside the curved zone of this width."""
        return 1.0 / width if self.loss.bounded else 1.0 / self.loss.ridge

    def sums(self, point: Point, width: float) -> PairSums:
        """Sum over the pairs at a model, with the hinge rounded on `width`."""
        f = point.f
        vertex, net, curved, degree = np.zeros((4, len(f)))
        violated, total = _core.violation_sums(
            *self.plan.arrays, self.weight, f, width, vertex, net, curved, degree
        )
        vertex *= self.c
        slope = self.c * self.curvature(width)
        net *= slope
        curved *= slope
        return PairSums(
            point,
            width,
            self.weight,
            vertex,
            self.c * violated,
            net,
            slope * total,
            curved,
            degree,
        )

    def evidence(self, u: np.ndarray, width: float, count: float | None = None) -> Evidence:
        """Return what a proof needs of a model, see :mod:`shortlist.pairs.proof`.

        Parameters
        ----------
        u : ndarray
            The model.
        width : float
            Width of the rounded hinge, infinite for the squared one.
        count : float or None
            Rows and parts that are added up in all; None: these rows.
        """
        count = self.space.n_rows if count is None else count
        space, grid = self.space, self.grid
        f = space.scores(u)
        moved = space.score_error(u)
        if not np.isfinite(f).all() or not np.isfinite(moved):
            nothing = np.zeros(len(space.lift(np.zeros(space.n_rows))))
            return Evidence(np.inf, 0.0, -np.inf, 0.0, nothing, 0.0)
        f = f - (0.5 * float(f.max()) + 0.5 * float(f.min()))
        largest = float(np.abs(f).max()) + 1.0
        moved += 4.0 * UNIT * largest
        if grid.exact:
            step = grid.step(2.0 * largest)
            f = np.rint(f / step) * step
            moved += step
            if math.isfinite(width):
                width = max(1.0, float(np.rint(width / step))) * step
        sums = self.sums(Point(space, u, f), width)
        found = self._found(sums, space.lift(sums.net), 0.0 if grid.exact else self._lost, count)
        loss_error = found.loss_error + self._loss_moved(moved, found.total)
        return replace(found, loss_error=loss_error)

    def reckoned(self, sums: PairSums, model: Point) -> Reckoned:
        """Return what the sums at some scores prove, where `model` is that of their point."""
        return self._found(sums, model.u, self._lost, self.space.n_rows)

    def moved_loss(self, point: Point, total: float) -> float:
        """Bound what lies between the loss of the point's scores and that of its model."""
        fresh = self.space.scores(point.u)
        moved = float(np.abs(fresh - point.f).max()) + self.space.score_error(point.u)
        return self._loss_moved(moved + 4.0 * UNIT * (float(np.abs(fresh).max()) + 1.0), total)

    @property
    def _lost(self) -> float:
        """What running sums that are not exact may lose, over all rows."""
        return self.grid.lost * self.grid.weight * float(self.weight.sum())

    def _loss_moved(self, moved: float, total: float) -> float:
        if self.loss.bounded:
            return 2.0 * moved * self.value_at_zero
        return 2.0 * moved * total + 4.0 * moved * moved * self.value_at_zero

    def _found(self, sums: PairSums, model: np.ndarray, lost: float, count: float) -> Reckoned:
        """Return what sums prove whose running sums lose at most `lost`."""
        spread = np.abs(sums.point.f)
        largest = float(spread.max()) + 1.0
        slope = self.c * self.curvature(sums.width)
        few = 3.0 * gamma(count)
        net_error = lost * slope * 2.0 * largest + 16.0 * UNIT * abs(sums.total)
        slack_error = few * (sums.total + float(np.abs(sums.net) @ spread)) + largest * net_error
        if self.loss.bounded:
            loss = sums.hinge
            loss_error = few * (sums.violated + float(np.abs(sums.vertex) @ spread))
            loss_error += lost * self.c * 2.0 * largest
            gain, gain_error = sums.total, few * sums.total + net_error
        else:
            loss, loss_error = 0.5 * sums.slack, 0.5 * slack_error
            gain, gain_error = sums.total - loss, few * sums.total + net_error + 0.5 * slack_error
        model_error = self.space.length * (
            net_error + gamma(count) * (float(np.abs(sums.net).sum()) + net_error)
        )
        return Reckoned(loss, loss_error, gain, gain_error, model, model_error, sums.total)

    @property
    def vertex_error(self) -> float:
        """Bound of the error of the sums of any vertex, relative to the weight of all pairs."""
        lost = 0.0 if self.grid.exact else self._lost / self.n_pairs
        return 3.0 * gamma(self.space.n_rows) + lost

    def partners(self, f: np.ndarray, width: float, values: np.ndarray) -> np.ndarray:
        """Weighted sum of `values` over the partners counted in ``degree``."""
        out = np.zeros_like(values)
        columns = (len(values), -1)
        _core.partner_sums(
            *self.plan.arrays,
            self.weight,
            f,
            width,
            np.ascontiguousarray(values).reshape(columns),
            out.reshape(columns),
        )
        return out

    def laplacian(
        self, f: np.ndarray, width: float, values: np.ndarray, degree: np.ndarray | None = None
    ) -> np.ndarray:
        """Product of the second derivative of the loss in `f` with `values`.

        `degree` is that of the sums at `f`; without it a further column finds it.
        """
        column = (slice(None),) + (None,) * (values.ndim - 1)
        if degree is None:
            both = self.partners(f, width, np.column_stack([np.ones(len(f)), values]))
            degree, partners = both[:, 0], both[:, 1:].reshape(values.shape)
        else:
            partners = self.partners(f, width, values)
        np.subtract(degree[column] * values, partners, out=partners)
        partners *= (self.c * self.curvature(width) * self.weight)[column]
        return partners

    def curved(self, sums: PairSums) -> tuple[PairProblem, PairSums]:
        """Return the problem of the rows with a curved pair, and its sums.

        Their second derivative is that of all rows. The problem is itself where that saves
        little, with kernels, and where removing rows would make others neighbours.
        """
        rows = np.flatnonzero(sums.degree)
        linear = isinstance(self.space, LinearSpace) and self.max_rank_distance is None
        if not linear or not 0 < len(rows) < _FEW_CURVED * len(self.y):
            return self, sums
        part = self.take(rows)
        part.c = self.c
        point = sums.point
        return part, part.sums(Point(part.space, point.u, point.f[rows]), sums.width)

    def bend(self, sums: PairSums, step: Point) -> tuple[Point, float]:
        """Return the second derivative of the loss times `step`, and its product with it."""
        curved = self.laplacian(sums.point.f, sums.width, step.f, sums.degree)
        return Point(self.space, self.space.lift(curved)), float(curved @ step.f)
