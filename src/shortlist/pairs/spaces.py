"""Where a model lives: weights of features, or coefficients of kernel rows.

Solvers of pair problems only add models, score the training rows and take inner
products. A :class:`Point` does all three and never scores twice. Another kind of
pairwise feature is another space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..rows.kernels import KernelMatrix
from ..rows.operators import Rows, as_rows
from ..rows.rounding import UNIT, Reach, gamma

_BLOCK_BYTES = 1 << 26


class Space(Protocol):
    """A space of models.

    `length` bounds that of every row's features. Inner products of models may fall short of
    being positive by `defect` times the squares of their coefficients; where they are
    `indefinite`, by more.
    """

    n_rows: int
    size: int
    length: float
    defect: float
    indefinite: bool

    def lift(self, v: np.ndarray) -> np.ndarray:
        """Return the model that is the sum of the rows' features weighted by `v`."""

    def scores(self, u: np.ndarray) -> np.ndarray:
        """Return the scores of the training rows under model `u`."""

    def inner(self, p: Point, q: Point) -> float:
        """Return the inner product of two models."""

    def score_error(self, u: np.ndarray) -> float:
        """Bound the rounding error of every score under model `u`."""

    def square(self, u: np.ndarray) -> tuple[float, float]:
        """Return the squared length of model `u`, and a bound of its rounding error."""

    def take(self, index: np.ndarray) -> Space:
        """Return the same space seen from some of the rows."""


class Point:
    """A model with the scores of the training rows, computed when first asked for.

    The space is a :class:`Space`, or a bare :class:`FeatureSpace` where nobody asks for
    scores.
    """

    __slots__ = ("_f", "space", "u")

    def __init__(self, space: Any, u: np.ndarray, f: np.ndarray | None = None) -> None:
        self.space = space
        self.u = u
        self._f = f

    @property
    def scored(self) -> bool:
        """Whether the scores are known."""
        return self._f is not None

    @property
    def f(self) -> np.ndarray:
        """Scores of the training rows."""
        if self._f is None:
            self._f = self.space.scores(self.u)
        return self._f

    def plus(self, step: float, other: Point) -> Point:
        """Return this model plus `step` times the other."""
        f = self._f + step * other._f if self._f is not None and other._f is not None else None
        return Point(self.space, self.u + step * other.u, f)

    def times(self, factor: float) -> Point:
        """Return `factor` times this model."""
        return Point(self.space, factor * self.u, None if self._f is None else factor * self._f)

    def dot(self, other: Point) -> float:
        """Inner product."""
        return self.space.inner(self, other)


class BestPoint:
    """The best model so far, beginning with zero.

    A model that equals the zero model up to rounding is preferred to it: with a tiny C
    the objective cannot tell them apart, but only one of them orders anything.

    Parameters
    ----------
    zero : Point
        The zero model.
    primal : float
        Its objective.
    """

    def __init__(self, zero: Point, primal: float) -> None:
        self.point = zero
        self.primal = primal
        self._at_zero = True

    def offer(self, point: Point, primal: float) -> bool:
        """Keep `point` if it is better; return whether it is."""
        bound = self.primal * (1.0 + 1e-12) if self._at_zero else self.primal
        if not (primal < bound and point.u.any()):
            return False
        self.point, self.primal, self._at_zero = point, primal, False
        return True


class FeatureSpace:
    """Weights of the features, wherever the training rows are.

    Parameters
    ----------
    n_rows : int
        Number of training rows.
    size : int
        Number of features.
    length : float
        No row is longer.
    """

    def __init__(self, n_rows: int, size: int, length: float) -> None:
        self.n_rows = n_rows
        self.size = size
        self.length = length
        self.defect = 0.0
        self.indefinite = False

    def inner(self, p: Point, q: Point) -> float:
        """Return the inner product of two models."""
        return float(p.u @ q.u)

    def square(self, u: np.ndarray) -> tuple[float, float]:
        """Return the squared length of model `u`, and a bound of its rounding error."""
        square = float(u @ u)
        return square, gamma(self.size) * square


class LinearSpace(FeatureSpace):
    """Weights of the features, with the training rows at hand.

    Parameters
    ----------
    rows : Rows
        Training rows.
    reach : Reach
        How far they reach.
    centre : ndarray or None
        What was subtracted from them.
    """

    def __init__(self, rows: Rows, reach: Reach, centre: np.ndarray | None = None) -> None:
        super().__init__(rows.n_rows, rows.n_features, reach.length)
        self.rows = rows
        self.reach = reach
        self.centre = centre

    @classmethod
    def of(cls, X: Any, reach: Reach | None = None) -> LinearSpace:
        """Return the space of validated rows, centred where they are far from the origin.

        Pairs see differences only: where the origin lies changes nothing but the digits.
        `reach` is that of the rows, where it is known.
        """
        reach = Reach.of(X) if reach is None else reach
        centre = reach.centre()
        return cls(as_rows(X, centre), reach.shifted(centre), centre)

    def take(self, index: np.ndarray) -> LinearSpace:
        """Return the same space seen from some of the rows."""
        return LinearSpace(self.rows.take(index), self.reach)

    def score_error(self, u: np.ndarray) -> float:
        """Bound the rounding error of every score under model `u`."""
        return self.reach.score_error(u)

    def lift(self, v: np.ndarray) -> np.ndarray:
        """Return the sum of the rows' features weighted by `v`."""
        return self.rows.combine(v)

    def scores(self, u: np.ndarray) -> np.ndarray:
        """Return the scores of the training rows."""
        return self.rows.scores(u)


class KernelSpace:
    """Coefficients of the training rows under a kernel.

    Parameters
    ----------
    kernel : KernelMatrix
        Kernel matrix of the training rows.
    cache_size : float
        Megabytes: a matrix that fits is computed once, a larger one strip by strip
        for every product.
    """

    def __init__(self, kernel: KernelMatrix, cache_size: float) -> None:
        self.n_rows = self.size = kernel.n_rows
        self._kernel = kernel
        self._cache_size = cache_size
        bounds = kernel.bounds()
        assert bounds is not None  # of entries in float64 they are known
        self._bounds = bounds
        self._scored: tuple[np.ndarray | None, np.ndarray] = None, np.empty(0)
        self.length = float(self._bounds[0].max())
        self._step = max(1, _BLOCK_BYTES // (8 * self.n_rows))
        fits = 8.0 * self.n_rows * self.n_rows <= cache_size * 1e6
        self.matrix = np.concatenate([strip for _, strip in self._strips()]) if fits else None
        self.indefinite = not kernel.is_positive(centred=True)
        self.defect = self._rounded_away()

    def _strips(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, self.n_rows, self._step):
            part = slice(start, start + self._step)
            strip = self._kernel.entries(part, slice(None))
            yield part, np.asarray(strip, dtype=np.float64)

    def _rounded_away(self) -> float:
        """Bound what rounding of a given matrix may have taken from its eigenvalues.

        Other kernels are positive, and the error of their entries is known.
        """
        if not self._kernel.precomputed and self._kernel.dtype == np.float64:
            return 0.0
        unit = 2.0**-24 if self._kernel.dtype == np.float32 else 100.0 * UNIT
        strips = (
            [self.matrix] if self.matrix is not None else (strip for _, strip in self._strips())
        )
        return unit * math.sqrt(sum(float(np.vdot(strip, strip)) for strip in strips))

    def take(self, index: np.ndarray) -> KernelSpace:
        """Return the same space seen from some of the rows."""
        entries = self._kernel.entries(index, index)
        return KernelSpace(KernelMatrix(entries, None), self._cache_size)

    def lift(self, v: np.ndarray) -> np.ndarray:
        """Return the sum of the rows' features weighted by `v`."""
        return v

    def scores(self, u: np.ndarray) -> np.ndarray:
        """Return the scores of the training rows."""
        if self.matrix is not None:
            return self.matrix @ u
        if u is not self._scored[0]:  # a proof asks for the same twice
            out = np.empty(self.n_rows)
            for part, strip in self._strips():
                out[part] = strip @ u
            self._scored = u, out
        return self._scored[1]

    def inner(self, p: Point, q: Point) -> float:
        """Return the inner product of two models."""
        return float(q.u @ p.f) if p.scored else float(p.u @ q.f)

    def score_error(self, u: np.ndarray) -> float:
        """Bound the rounding error of every score under model `u`."""
        q, r = self._bounds
        size, error = float(q @ np.abs(u)), float(r @ np.abs(u))
        return self.length * (error + gamma(self.n_rows) * size) + float(r.max()) * size

    def square(self, u: np.ndarray) -> tuple[float, float]:
        """Return the squared length of model `u`, and a bound of its rounding error."""
        q, r = self._bounds
        size, error = float(q @ np.abs(u)), float(r @ np.abs(u))
        return float(u @ self.scores(u)), 2.0 * size * (error + gamma(self.n_rows) * size)
