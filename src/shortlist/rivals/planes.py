r"""The quadratic programme over the kept planes of a cutting-plane method.

.. math:: \max_{\mu \ge 0, \; \sum \mu = 1} \; \mu \cdot \ell - \frac c2 \| G^T \mu \|^2

with one loss :math:`\ell_p` and one gradient :math:`G_p` per plane, the zero plane first. Shares
stay as they are when a plane comes in, and the compiled loop moves them from there. Every point
on its way is feasible, so its value is a lower bound whatever the rounding.
"""

from __future__ import annotations

import numpy as np

from .._core import plane_shares

_FIRST_ROOM = 64
# Planes that may come in at once; mostly one does, and a few leave.
_PIVOTS = 100
# A plane without a share for so long is forgotten, when there are several such.
_FORGET_AFTER, _FORGET_AT_ONCE = 50, 20


class Planes:
    """Planes, their products, and shares of them.

    Parameters
    ----------
    c : float
        Weight of the loss.
    size : int
        Length of a gradient.
    """

    def __init__(self, c: float, size: int) -> None:
        self.c = c
        self._gradient = np.zeros((_FIRST_ROOM, size))
        self._product = np.zeros((_FIRST_ROOM, _FIRST_ROOM))
        self._loss = np.zeros(_FIRST_ROOM)
        self._error = np.zeros(_FIRST_ROOM)
        self._idle = np.zeros(_FIRST_ROOM, dtype=np.intp)
        self.share = np.array([1.0])

    @property
    def count(self) -> int:
        """Number of planes, the zero plane included."""
        return len(self.share)

    def add(self, loss: float, gradient: np.ndarray, error: float) -> bool:
        """Add a plane whose gradient is off by at most `error`, in length.

        Returns whether it is another one than those that are there.
        """
        n = self.count
        alike = np.flatnonzero(self._loss[:n] == loss)
        if (self._gradient[alike] == gradient).all(axis=1).any():
            return False
        if n == len(self._loss):
            self._grow()
        self._gradient[n] = gradient
        self._loss[n], self._error[n], self._idle[n] = loss, error, 0
        products = self.c * (self._gradient[: n + 1] @ gradient)
        self._product[n, : n + 1] = self._product[: n + 1, n] = products
        self.share = np.append(self.share, 0.0)
        return True

    def _grow(self) -> None:
        room = len(self._loss)
        self._gradient = np.concatenate([self._gradient, np.zeros_like(self._gradient)])
        self._product = np.pad(self._product, (0, room))
        self._loss, self._error = np.pad(self._loss, (0, room)), np.pad(self._error, (0, room))
        self._idle = np.pad(self._idle, (0, room))

    def model(self) -> np.ndarray:
        """Return the model of the shares."""
        return -self.c * (self.share @ self._gradient[: self.count])

    def point(self) -> tuple[float, np.ndarray, float]:
        """Return the dual point's sum of losses, its model, and the bound of the model's error."""
        n, used = self.count, np.flatnonzero(self.share)
        shares = self.share[used]
        # Whatever rounding made of their sum, it must not exceed one.
        shares = shares / max(1.0, float(shares.sum()) * (1.0 + 1e-15 * n))
        model = -self.c * (shares @ self._gradient[used])
        error = self.c * float(shares @ self._error[used])
        return self.c * float(shares @ self._loss[used]), model, error

    def optimise(self, tolerance: float) -> None:
        """Find the best shares; no plane is violated by more than `tolerance` then.

        It ends earlier where rounding allows no progress.
        """
        n = self.count
        plane_shares(self._product, self._loss[:n], self.share, tolerance, _PIVOTS)
        self._idle[:n] = np.where(self.share > 0.0, 0, self._idle[:n] + 1)

    def forget(self) -> None:
        """Drop planes that have not been in use for long."""
        n = self.count
        keep = self._idle[:n] < _FORGET_AFTER
        keep[0] = True
        if n - keep.sum() < _FORGET_AT_ONCE:
            return
        kept = np.flatnonzero(keep)
        m = len(kept)
        self._gradient[:m] = self._gradient[kept]
        self._product[:m, :m] = self._product[np.ix_(kept, kept)]
        for values in (self._loss, self._error, self._idle):
            values[:m] = values[kept]
        self.share = self.share[kept]
