"""Blocks of the Gaussian kernel of float32 rows: a matrix product and one pass more."""

from __future__ import annotations

import numpy as np

from .. import _core

_ROWS = 1024
_COLUMNS = 2048


class GaussianBlocks:
    r"""The kernel :math:`\exp(-\gamma \|x - y\|^2)` between two sets of rows.

    scikit-learn widens float32 rows to float64 here; this keeps them narrow, three
    times faster, because the solver corrects its scores in float64 in the end. Only for rows
    whose entries :meth:`shortlist.rows.formulas.NamedKernel.bounds` finds exact enough.

    Parameters
    ----------
    X, Y : ndarray of float32, C order
        The rows; `Y` may be `X`.
    gamma : float
        The coefficient.
    centre : ndarray or None
        What is subtracted from every row: distances stay, and keep their digits.
    """

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, gamma: float, centre: np.ndarray | None = None
    ) -> None:
        self._scale = 2.0 * gamma
        self._centre = np.zeros(X.shape[1], dtype=np.float32)
        if centre is not None:
            self._centre[:] = centre
        self._X, self._Y = X, Y
        self._y = self._squares(Y, gamma)
        self._x = self._y if X is Y else self._squares(X, gamma)

    def _squares(self, X: np.ndarray, gamma: float) -> np.ndarray:
        out = np.empty(len(X), dtype=np.float32)
        for start in range(0, len(X), _COLUMNS):
            part = X[start : start + _COLUMNS] - self._centre
            out[start : start + _COLUMNS] = gamma * np.einsum("ij,ij->i", part, part)
        return out

    def fill(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        out: np.ndarray,
        slots: np.ndarray,
        start: int,
    ) -> None:
        """Write the entries to the rows `slots` of `out`, from column `start` on."""
        for i in range(0, len(rows), _ROWS):
            chosen = rows[i : i + _ROWS]
            A = self._take(self._X, chosen)
            A *= np.float32(self._scale)
            for j in range(0, len(columns), _COLUMNS):
                part = columns[j : j + _COLUMNS]
                _core.gaussian_entries(
                    A @ self._take(self._Y, part).T,
                    self._x[chosen],
                    self._y[part],
                    out,
                    slots[i : i + _ROWS],
                    start + j,
                )

    def _take(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), X.shape[1]), dtype=np.float32)
        _core.centred_rows(X, rows, self._centre, out)
        return out
