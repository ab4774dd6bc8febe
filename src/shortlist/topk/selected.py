r"""Linear scores of many classes: steps look at a few, a survey at all of them.

With thousands of classes a row's dual holds ten or so, and nearly all the time of a visit
goes into scores that decide nothing. So sweeps (``_core/topk_blocks.hpp``) score only the
classes in a row's dual and those that came nearest to a violation when all were last scored.
That is a *survey*: matrix products over parts of the rows, on all threads that the fit may
use. It yields the losses of the certificate, too, and the nearest classes of every row. The
steps stay exact for the classes at hand, all others being zero, so the dual never falls; and
where every row is settled, the next survey shows whether a class was missed.

The first classes of a row are spread evenly over all: at the zero model all tie.

Sweeps between two surveys go on while they raise the dual by a fair share of what the first
of them did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from ..rows.threads import each
from .scores import LinearScores, ScaledModel, is_small, linear_scores

# Classes of a row that are kept besides those in its dual: two for each of the k shown, and
# twelve; a selection pays where there are at least four times as many.
_EACH, _MORE = 2, 12
_MANY = 4
# Sweeps between surveys: until one gains this share of the first, and at most so many.
_SHARE, _MOST_SWEEPS = 0.1, 12


def scores_of(X: Any, bias: float, n_classes: int, k: int) -> LinearScores:
    """Scores of these rows: of all classes, or of a few where there are many.

    Parameters
    ----------
    X : ndarray or csr matrix
        Training rows.
    bias : float
        Value of the constant feature, 0 for none.
    n_classes : int
        Number of classes.
    k : int
        How many are shown.

    Returns
    -------
    LinearScores
        Of the kind that takes less time.
    """
    small = is_small(X.shape[1] + (bias != 0.0), n_classes)
    if small or n_classes < _MANY * (_EACH * k + _MORE):
        return LinearScores(X, bias, n_classes)
    return SelectedScores(X, bias, n_classes, k)


class SelectedScores(LinearScores):
    """Scores ``X @ W`` of a few classes for each row, see above.

    Parameters
    ----------
    X : ndarray or csr matrix
        Training rows.
    bias : float
        Value of the constant feature, 0 for none.
    n_classes : int
        Number of classes.
    k : int
        How many are shown.
    """

    check_sweeps = 0.0

    def __init__(self, X: Any, bias: float, n_classes: int, k: int) -> None:
        super().__init__(X, bias, n_classes)
        if not self._sparse:
            # The weights of a class side by side.
            self.W = np.zeros((n_classes, self.width)).T
        self._n_classes = n_classes
        self._nearest = _EACH * k + _MORE
        self._surveyed = False
        # In surveys: what `seconds` counts here.
        self.proof_sweeps = 3.0

    def restart(self) -> None:
        self.W = np.zeros_like(self.W)
        self._surveyed = False

    def sweep(
        self,
        dual: _core.TopKDual,
        rng: np.random.RandomState,
        exact: bool,
        longest: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        if not self._surveyed:
            offset = rng.randint(self._n_classes - 1, size=self.n_rows)
            dual.spread(offset.astype(np.int64), self._nearest)
        visits, first = 0, None
        for _ in range(_MOST_SWEEPS if self._surveyed else 1):
            order = rng.permutation(self.n_rows).astype(np.int64, copy=False)
            run: Any = dual.sweep_near_csr if self._sparse else dual.sweep_near_dense
            W = self.W if self._sparse else self.W.T
            done, gain = run(*self._parts(), W, self.bias, order, longest)
            visits += done
            first = gain if first is None else first
            if stop() or gain <= _SHARE * first:
                break
        return visits

    def leap(self, dual: _core.TopKDual, reach: float) -> float:
        if self._sparse:
            return super().leap(dual, reach)
        change = np.zeros_like(self.W)
        parts = dual.extrapolate_by_class(self.X, change.T, self.bias, reach)
        return self._leap(dual, change, *parts)

    def scaled_models(
        self, dual: _core.TopKDual, scales: np.ndarray, A: Callable[[], sparse.csr_array]
    ) -> list[ScaledModel]:
        def survey(rows: slice) -> tuple[np.ndarray, float, float]:
            losses = np.zeros(len(scales))
            z = np.ascontiguousarray(linear_scores(self.X[rows], self.W, self.bias))
            own, ridge = dual.survey(z, rows.start, self._nearest, scales, losses)
            return losses, own, ridge

        began = time.perf_counter()
        losses, own, ridge = np.zeros(len(scales)), 0.0, 0.0
        # The parts do not depend on the threads, and are added in their order.
        for part in each(survey, self._slices(self._n_classes)):
            losses += part[0]
            own += part[1]
            ridge += part[2]
        self._surveyed = True
        self.seconds = time.perf_counter() - began
        weights = self.W.ravel("K")
        return [ScaledModel(self.W, float(weights @ weights), losses, own, ridge)]
