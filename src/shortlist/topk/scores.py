"""Where the scores of the training rows come from: features or a kernel."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .. import _core
from ..rows.kernels import KernelMatrix
from ..rows.operators import as_rows
from ..rows.rounding import gamma, half_square_error

# Above this many coefficients a Hessian no longer pays.
_SMALL_MODEL = 2500
_BATCH = 256
# Sweeps between checks from which on their mean is worth a pass.
_LONG_WINDOW = 5
# Entries of the rows or scores that a proof holds at a time.
_PART_ENTRIES = 1 << 20
# Seconds that a compiled call may take before the limits are looked at again.
_SLICE_SECONDS = 0.05
_FIRST_SLICE = 256


@dataclass(frozen=True)
class ScaledModel:
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


@dataclass(frozen=True)
class Measured:
    """A model measured anew in float64, for a proof.

    Attributes
    ----------
    half : float
        Half its squared norm.
    error : float
        Bound of the rounding errors in it.
    parts : iterable
        Slices of the rows, their scores, and a bound of the errors of each row's scores.
    """

    half: float
    error: float
    parts: Iterable[tuple[slice, np.ndarray, np.ndarray]]


class Scores(Protocol):
    """Scores of the training rows as a function of the dual, and a step of the dual."""

    n_rows: int
    small: bool
    leaps: bool
    # What a sweep takes, or has taken so far, and how many sweeps a proof takes, about.
    seconds: float
    proof_sweeps: float
    # Sweeps between two checks, at least.
    check_sweeps: float

    def squares(self) -> np.ndarray:
        """Return the diagonal of the kernel."""

    def product(self, A: sparse.csr_array) -> np.ndarray:
        """Return ``K @ A``."""

    def restart(self) -> None:
        """Start from the zero model."""

    def renew(self, A: sparse.csr_array) -> None:
        """Compute the present model anew: sums of many changes lose digits."""

    def sweep(
        self,
        dual: _core.TopKDual,
        rng: np.random.RandomState,
        exact: bool,
        longest: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Visit all rows once in random order; return how many were not resting.

        `stop` is asked every now and then; a true answer ends the sweep.
        """

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        """Prolong the change since ``dual.remember()`` by the factor `reach`.

        Returns the best step towards the prolonged point; what is taken of it is at most 1.
        """

    def scaled_models(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[ScaledModel]:
        """Return the present model and others near it; `A` reads the dual point."""

    def model(self, A: sparse.csr_array) -> Any:
        """Return the model of a dual point: weights of the features, or `A` itself."""

    def measure(self, model: Any) -> Measured:
        """Measure a model for a proof."""

    def model_error(self, A: sparse.csr_array, half: float) -> float:
        """Bound the error in half the squared norm that :meth:`model` brings."""

    def tidy(self, model: Any) -> Any:
        """Return the model as it is returned: its classes sum to zero."""


def is_small(width: int, n_classes: int) -> bool:
    """Whether a model has so few coefficients that a Hessian pays."""
    return width * n_classes <= _SMALL_MODEL


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
    check_sweeps = 2.0

    def __init__(self, X: Any, bias: float, n_classes: int) -> None:
        self._sparse = sparse.issparse(X)
        self.n_rows = X.shape[0]
        self.bias = bias
        self.width = X.shape[1] + (bias != 0.0)
        self.small = is_small(self.width, n_classes)
        self.X: Any = X if self._sparse else np.ascontiguousarray(X)
        if self._sparse and self.small:
            self.X, self._sparse = X.toarray(), False
        self._squares: np.ndarray | None = None
        self.seconds = 0.0
        self.proof_sweeps = 1.5 if self._sparse else 0.6
        self._slice = _FIRST_SLICE
        self.W = np.zeros((self.width, n_classes))
        self._sum = np.zeros_like(self.W)
        self._count = 0

    def restart(self) -> None:
        self.W = np.zeros_like(self.W)  # others may still hold the last one
        self._sum = np.zeros_like(self.W)
        self._count = 0

    def renew(self, A: sparse.csr_array) -> None:
        self.restart()
        self.W[:] = self.model(A)

    def squares(self) -> np.ndarray:
        if self._squares is None:
            self._squares = as_rows(self.X).squared_norms() + self.bias**2
        return self._squares

    def _parts(self) -> tuple[Any, ...]:
        return (self.X.indptr, self.X.indices, self.X.data) if self._sparse else (self.X,)

    def sweep(
        self,
        dual: _core.TopKDual,
        rng: np.random.RandomState,
        exact: bool,
        longest: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        run: Any = dual.sweep_csr if self._sparse else dual.sweep_dense
        order = rng.permutation(self.n_rows).astype(np.int64, copy=False)
        visits, first, began = 0, 0, time.perf_counter()
        while first < self.n_rows:
            start = time.perf_counter()
            part = order[first : first + self._slice]
            visits += run(*self._parts(), self.W, self.bias, part, exact, longest)
            first += len(part)
            now = time.perf_counter()
            self._slice = int(len(part) * min(_SLICE_SECONDS / max(now - start, 1e-6), 4.0)) + 1
            if visits:
                self.seconds = (now - began) / visits * self.n_rows
            if stop():
                break
        self._sum += self.W
        self._count += 1
        return visits

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        run: Any = dual.extrapolate_csr if self._sparse else dual.extrapolate_dense
        change = np.zeros_like(self.W)
        return self._leap(dual, change, *run(*self._parts(), change, self.bias, reach))

    def _leap(
        self, dual: _core.TopKDual, change: np.ndarray, own: float, cross: float, ridge: float
    ) -> float:
        # In the order in which both lie in memory: a vdot would copy one in another.
        flat = change.ravel("K")
        slope = own - float(self.W.ravel("K") @ flat) - cross
        curvature = float(flat @ flat) + ridge
        best = slope / curvature if slope > 0.0 and curvature > 0.0 else 0.0
        if best > 0.0:
            step = min(best, 1.0)
            dual.accept(step)
            self.W += step * change
        return best

    def scaled_models(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[ScaledModel]:
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
            out.append(ScaledModel(W, float(np.vdot(W, W)), losses, own, ridge))
        return out

    def model(self, A: sparse.csr_array) -> np.ndarray:
        if self._sparse:
            weights = (A.T @ self.X).T.toarray().astype(np.float64, copy=False)
        else:
            weights = np.zeros((self.X.shape[1], A.shape[1]))
            for rows in self._slices(self.X.shape[1]):
                weights += (A[rows].T @ self.X[rows].astype(np.float64, copy=False)).T
        if self.bias != 0.0:
            weights = np.vstack([weights, self.bias * np.asarray(A.sum(axis=0)).reshape(1, -1)])
        return np.ascontiguousarray(weights)

    def _slices(self, width: int) -> Iterator[slice]:
        step = max(_PART_ENTRIES // max(width, 1), 16)
        for first in range(0, self.n_rows, step):
            yield slice(first, min(first + step, self.n_rows))

    def model_error(self, A: sparse.csr_array, half: float) -> float:
        longest = np.sqrt(self.squares())
        lengths = np.sqrt(A.multiply(A).sum(axis=1))
        error = gamma(self.n_rows) * float(longest @ lengths)
        return half_square_error(np.sqrt(2.0 * half), error)

    def tidy(self, model: np.ndarray) -> np.ndarray:
        if model.shape[1] == 2:
            half = 0.5 * (model[:, 1:] - model[:, :1])
            return np.hstack([-half, half])
        return model - model.mean(axis=1, keepdims=True)

    def measure(self, model: np.ndarray) -> Measured:
        half = 0.5 * float((model * model).sum())
        return Measured(half, gamma(model.size) * half, self._measured_parts(model))

    def _measured_parts(self, W: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        entries = int(np.diff(self.X.indptr).max(initial=0)) if self._sparse else self.width
        reach = np.sqrt(self.squares()) * float(np.sqrt((W * W).sum(axis=0).max()))
        for rows in self._slices(max(W.shape) if not self._sparse else W.shape[1]):
            scores = linear_scores(self.X[rows], W, self.bias)
            yield rows, scores, gamma(entries) * reach[rows]

    def product(self, A: sparse.csr_array) -> np.ndarray:
        return linear_scores(self.X, self.model(A), self.bias)


def linear_scores(X: Any, W: np.ndarray, bias: float) -> np.ndarray:
    """Scores of rows under a model whose last row belongs to the constant feature."""
    X = X.astype(np.float64, copy=False)
    scores = np.asarray(X @ W[: X.shape[1]])
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
    proof_sweeps = 1.0
    # A product with the whole kernel would cost more than a leap brings.
    leaps = False
    check_sweeps = 2.0

    def __init__(
        self, kernel: KernelMatrix, bias: float, n_classes: int, cache_size: float
    ) -> None:
        self.kernel = kernel
        self._offset = bias**2
        self.n_rows = kernel.n_rows
        self._batches = [
            slice(first, min(first + _BATCH, self.n_rows))
            for first in range(0, self.n_rows, _BATCH)
        ]
        self._left = cache_size * 1e6
        self._cache: dict[int, np.ndarray] = {}
        self._squares = kernel.diagonal() + self._offset
        self.seconds, self._swept = 0.0, False
        self._z = np.zeros((n_classes, self.n_rows))

    def restart(self) -> None:
        self._z = np.zeros_like(self._z)

    def renew(self, A: sparse.csr_array) -> None:
        self._z = np.ascontiguousarray(self.product(A).T)

    def _rows(self, number: int) -> np.ndarray:
        if number in self._cache:
            return self._cache[number]
        entries = self.kernel.entries(self._batches[number], slice(None))
        entries = np.ascontiguousarray(entries, dtype=np.float64)
        if self._offset:
            entries = entries + self._offset
        if entries.nbytes <= self._left:
            self._left -= entries.nbytes
            self._cache[number] = entries
        return entries

    def squares(self) -> np.ndarray:
        return self._squares

    def sweep(
        self,
        dual: _core.TopKDual,
        rng: np.random.RandomState,
        exact: bool,
        longest: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        visits, began = 0, time.perf_counter()
        for number in rng.permutation(len(self._batches)):
            batch = self._batches[number]
            order = batch.start + rng.permutation(batch.stop - batch.start).astype(np.int64)
            visits += dual.sweep_kernel(
                self._rows(number), batch.start, self._z, order, exact, longest
            )
            spent = time.perf_counter() - began
            self.seconds = spent if self._swept else max(spent, self.seconds)
            if stop():
                return visits
        self._swept = True
        return visits

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        # `block` leaps with linear scores only: here a leap would need every kernel row.
        raise NotImplementedError("Kernel scores take no leaps.")

    def scaled_models(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[ScaledModel]:
        losses = np.zeros(len(scales))
        own, ridge = dual.evaluate_kernel(self._z, scales, losses)
        alpha = A()
        return [ScaledModel(alpha, inner(alpha, self._z.T), losses, own, ridge)]

    def model(self, A: sparse.csr_array) -> sparse.csr_array:
        return A

    def model_error(self, A: sparse.csr_array, half: float) -> float:
        return 0.0

    def tidy(self, model: sparse.csr_array) -> sparse.csr_array:
        return model

    def measure(self, model: sparse.csr_array) -> Measured:
        Z = self.product(model)
        reach, error = self._bounds
        size = abs(model)
        reached, off = size.T @ reach, size.T @ error
        relative = gamma(int(np.count_nonzero(np.diff(model.indptr))) + 2)
        each = (relative * reached + off).max(initial=0.0) * reach
        each += reached.max(initial=0.0) * error
        half = 0.5 * inner(model, Z)
        parts = [(slice(0, self.n_rows), Z, each)]
        return Measured(half, float(relative * (reached @ reached) + reached @ off), parts)

    @functools.cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries are at most ``q_i q_j``, and off by ``q_i r_j + r_i q_j``."""
        bounds = self.kernel.bounds()
        assert bounds is not None
        reach, error = bounds
        return np.sqrt(reach**2 + self._offset), error + gamma(1) * np.sqrt(self._offset)

    def product(self, A: sparse.csr_array) -> np.ndarray:
        out = np.zeros((self.n_rows, A.shape[1]))
        used = np.flatnonzero(np.diff(A.indptr))
        part = A[used]
        for number, batch in enumerate(self._batches if len(used) else ()):
            if number in self._cache:
                out[batch] = (A.T @ self._cache[number].T).T
            else:
                entries = self.kernel.entries(batch, used).astype(np.float64, copy=False)
                out[batch] = (part.T @ (entries + self._offset).T).T
        return out


def inner(A: sparse.csr_array, Z: np.ndarray) -> float:
    """Inner product of a sparse and a dense matrix."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return float(A.data @ Z[rows, A.indices])
