r"""The top k classes: problem, dual and where the scores come from.

.. math:: P(W) = \tfrac12 \|W\|^2 + \sum_i c_i \Phi(W^T x_i; y_i), \qquad
          \Phi(s; y) = \Bigl[\sum_j \rho_j a_{(j)}\Bigr]_+, \; a = 1 - e_y + s - s_y 1

.. math:: D(A) = \sum_i \alpha_{i, y_i} - \tfrac12 \|W(A)\|^2, \qquad
          W(A) = \sum_i x_i \alpha_i^T, \; -\alpha_i / c_i \in \mathrm{dom}\, \Phi^*

Row i's dual is kept as the weights :math:`\beta_j \ge 0` of the other classes:
:math:`\alpha_{ij} = -\beta_j` and :math:`\alpha_{i,y} = \sum \beta`. Smoothing by
:math:`\gamma` adds :math:`r_i = \gamma / c_i` to the diagonal of the kernel. Both sides are
:math:`\sum c_i` times the mean form :math:`\lambda/2 \|W\|^2 + (1/n)\sum\Phi` that
certificates report.

Reference: T. Kato, Y. Hirohashi, "Learning weighted top-k support vector machine", ACML
2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .. import _core
from ..rows.kernels import KernelMatrix
from ..rows.operators import as_rows

WEIGHTS = ("flat", "linear", "exp")

# Above this many coefficients a Hessian no longer pays.
_SMALL_MODEL = 2500
_BATCH = 256
# Sweeps between checks from which on their mean is worth a pass.
_LONG_WINDOW = 5


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


class Scores(Protocol):
    """Scores of the training rows as a function of the dual, and a step of the dual."""

    n_rows: int
    small: bool
    leaps: bool

    def squares(self) -> np.ndarray:
        """Return the diagonal of the kernel."""

    def product(self, A: sparse.csr_array) -> np.ndarray:
        """Return ``K @ A``."""

    def restart(self, n_classes: int) -> None:
        """Start from the zero model."""

    def sweep(
        self, dual: _core.TopKDual, rng: np.random.RandomState, exact: bool, longest: int
    ) -> int:
        """Visit all rows once in random order; return how many were not resting."""

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        """Prolong the change since ``dual.remember()`` by the factor `reach`.

        Returns the best step towards the prolonged point; what is taken of it is at most 1.
        """

    def candidates(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[Candidate]:
        """Return the present model and others near it; `A` reads the dual point."""

    def model(self, A: sparse.csr_array) -> Any:
        """Return the model of a dual point: weights of the features, or `A` itself."""


@dataclass(frozen=True)
class Candidate:
    """A model with its losses at several scales.

    Attributes
    ----------
    model : ndarray or csr array
        Weights of the features, or the dual point of a kernel model.
    norm : float
        Squared norm of the model.
    losses : ndarray
        Sum of the losses, one per scale.
    own, ridge : float
        Sums of the dual point: at the true classes, and of the smoothing.
    """

    model: Any
    norm: float
    losses: np.ndarray
    own: float
    ridge: float


class LinearScores:
    """Scores ``X @ W``, with an optional constant feature.

    Parameters
    ----------
    X : ndarray or csr matrix
        Training rows.
    bias : float
        Value of the constant feature, 0 for none.
    """

    leaps = True

    def __init__(self, X: Any, bias: float, n_classes: int) -> None:
        self._sparse = sparse.issparse(X)
        self.n_rows = X.shape[0]
        self.bias = bias
        self.width = X.shape[1] + (bias != 0.0)
        self.small = self.width * n_classes <= _SMALL_MODEL
        self.X: Any = X if self._sparse else np.ascontiguousarray(X)
        if self._sparse and self.small:
            self.X, self._sparse = X.toarray(), False
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        self.W = np.zeros((self.width, n_classes))
        self._sum = np.zeros_like(self.W)
        self._count = 0

    def squares(self) -> np.ndarray:
        return as_rows(self.X).squared_norms() + self.bias**2

    def _parts(self) -> tuple[Any, ...]:
        return (self.X.indptr, self.X.indices, self.X.data) if self._sparse else (self.X,)

    def sweep(
        self, dual: _core.TopKDual, rng: np.random.RandomState, exact: bool, longest: int
    ) -> int:
        run: Any = dual.sweep_csr if self._sparse else dual.sweep_dense
        order = rng.permutation(self.n_rows).astype(np.int64, copy=False)
        visits = run(*self._parts(), self.W, self.bias, order, exact, longest)
        self._sum += self.W
        self._count += 1
        return visits

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        run: Any = dual.extrapolate_csr if self._sparse else dual.extrapolate_dense
        change = np.zeros_like(self.W)
        own, cross, ridge = run(*self._parts(), change, self.bias, reach)
        slope = own - float(np.vdot(self.W, change)) - cross
        curvature = float(np.vdot(change, change)) + ridge
        best = slope / curvature if slope > 0.0 and curvature > 0.0 else 0.0
        if best > 0.0:
            step = min(best, 1.0)
            dual.accept(step)
            self.W += step * change
        return best

    def candidates(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[Candidate]:
        models = [self.W]
        if self._count >= _LONG_WINDOW:
            # The mean since the last check swings less than W does.
            models.append(self._sum / self._count)
        self._sum[:] = 0.0
        self._count = 0
        run: Any = dual.evaluate_csr if self._sparse else dual.evaluate_dense
        out = []
        for W in models:
            losses = np.zeros(len(scales))
            own, ridge = run(*self._parts(), W, self.bias, scales, losses)
            out.append(Candidate(W, float(np.vdot(W, W)), losses, own, ridge))
        return out

    def model(self, A: sparse.csr_array) -> np.ndarray:
        weights = (A.T @ self.X).T
        weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
        if self.bias != 0.0:
            weights = np.vstack([weights, self.bias * np.asarray(A.sum(axis=0)).reshape(1, -1)])
        return np.ascontiguousarray(weights, dtype=np.float64)

    def product(self, A: sparse.csr_array) -> np.ndarray:
        return linear_scores(self.X, self.model(A), self.bias)


def linear_scores(X: Any, W: np.ndarray, bias: float) -> np.ndarray:
    """Scores of rows under a model whose last row belongs to the constant feature."""
    scores = np.asarray(X @ W[: X.shape[1]], dtype=np.float64)
    return scores + bias * W[-1] if bias != 0.0 else scores


class KernelScores:
    """Scores ``K @ A`` kept for all rows; kernel rows in batches, cached while they fit.

    Parameters
    ----------
    kernel : KernelMatrix
        Kernel of the training rows.
    bias : float
        Value of the constant feature: its square is added to the kernel.
    n_classes : int
        Number of classes.
    cache_size : float
        Megabytes for kernel rows.
    """

    small = False
    # A product with the whole kernel would cost more than a leap brings.
    leaps = False

    def __init__(
        self, kernel: KernelMatrix, bias: float, n_classes: int, cache_size: float
    ) -> None:
        self._kernel = kernel
        self._offset = bias**2
        self.n_rows = kernel.n_rows
        self._batches = [
            slice(first, min(first + _BATCH, self.n_rows))
            for first in range(0, self.n_rows, _BATCH)
        ]
        self._left = cache_size * 1e6
        self._cache: dict[int, np.ndarray] = {}
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        self._z = np.zeros((n_classes, self.n_rows))

    def _rows(self, number: int) -> np.ndarray:
        if number in self._cache:
            return self._cache[number]
        block = self._kernel.block(self._batches[number], slice(None))
        block = np.ascontiguousarray(block, dtype=np.float64)
        if self._offset:
            block = block + self._offset
        if block.nbytes <= self._left:
            self._left -= block.nbytes
            self._cache[number] = block
        return block

    def squares(self) -> np.ndarray:
        return self._kernel.diagonal() + self._offset

    def sweep(
        self, dual: _core.TopKDual, rng: np.random.RandomState, exact: bool, longest: int
    ) -> int:
        visits = 0
        for number in rng.permutation(len(self._batches)):
            batch = self._batches[number]
            order = batch.start + rng.permutation(batch.stop - batch.start).astype(np.int64)
            visits += dual.sweep_kernel(
                self._rows(number), batch.start, self._z, order, exact, longest
            )
        return visits

    def candidates(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[Candidate]:
        losses = np.zeros(len(scales))
        own, ridge = dual.evaluate_kernel(self._z, scales, losses)
        alpha = A()
        return [Candidate(alpha, inner(alpha, self._z.T), losses, own, ridge)]

    def model(self, A: sparse.csr_array) -> sparse.csr_array:
        return A

    def product(self, A: sparse.csr_array) -> np.ndarray:
        out = np.zeros((self.n_rows, A.shape[1]))
        for number, batch in enumerate(self._batches):
            out[batch] = (A.T @ self._rows(number).T).T
        return out


def inner(A: sparse.csr_array, Z: np.ndarray) -> float:
    """Inner product of a sparse and a dense matrix."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return float(A.data @ Z[rows, A.indices])


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
        self.ridge = smoothing / c
        self.scale = 1.0 / float(c.sum())
        self.offers = frozenset(
            {"top-k vertices", "top-k blocks"}
            | ({"small linear top-k model"} if scores.small else set())
        )

    @property
    def value_at_zero(self) -> float:
        """Primal value of the zero model: every other margin is 1."""
        others = self.rho[: self.n_classes - 1].sum()
        return float(self.c.sum() * others)

    def dual(self) -> _core.TopKDual:
        """Return the zero dual point."""
        return _core.TopKDual(
            self.rho, self.n_classes, self.pseudo, self.y, self.c, self.scores.squares(), self.ridge
        )

    def alpha(self, dual: _core.TopKDual) -> sparse.csr_array:
        """Return the dual variables, rows by classes."""
        n = len(self.y)
        start = np.empty(n + 1, dtype=np.int64)
        dual.count(start)
        label, beta = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
        dual.read(label, beta)
        return self._signed(np.repeat(np.arange(n), np.diff(start)), label, beta)

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
