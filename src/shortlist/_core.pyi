"""Compiled loops. Arrays are C-contiguous; ``out`` arguments are written in place."""

import numpy as np

def csr_scores(
    start: np.ndarray, column: np.ndarray, value: np.ndarray, w: np.ndarray, out: np.ndarray
) -> None:
    """Write the product of every row with `w`."""

def csr_combine(
    start: np.ndarray, column: np.ndarray, value: np.ndarray, v: np.ndarray, out: np.ndarray
) -> None:
    """Add the sum of the rows weighted by `v`."""

def csr_gram(
    start: np.ndarray, column: np.ndarray, value: np.ndarray, v: np.ndarray, out: np.ndarray
) -> None:
    """Add the upper triangle of the sum of weighted outer products."""

def project_balanced(
    a: np.ndarray,
    upper: np.ndarray | None,
    b: np.ndarray,
    cap: np.ndarray | None,
    alpha: np.ndarray,
    beta: np.ndarray,
) -> None:
    """Project onto the dual feasible set of the threshold problems."""

def topk_vertices(
    rho: np.ndarray,
    pseudo: bool,
    z: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    label: np.ndarray,
    value: np.ndarray,
) -> float:
    """Write the best vertex of every row for the scores `z`; return the sum of losses.

    `z` is overwritten by the margins.
    """

def topk_block(
    rho: np.ndarray, pseudo: bool, a: np.ndarray, y: int, q: float, c: float, beta: np.ndarray
) -> None:
    """Solve one block exactly."""

class TopKDual:
    """Dual variables of the top-k problems, a few entries per row."""

    def __init__(
        self,
        rho: np.ndarray,
        n_classes: int,
        pseudo: bool,
        y: np.ndarray,
        c: np.ndarray,
        square: np.ndarray,
        ridge: np.ndarray,
    ) -> None: ...
    def sweep_dense(
        self,
        x: np.ndarray,
        w: np.ndarray,
        bias: float,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def sweep_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        w: np.ndarray,
        bias: float,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def sweep_kernel(
        self,
        kernel: np.ndarray,
        first: int,
        z: np.ndarray,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def evaluate_dense(
        self, x: np.ndarray, w: np.ndarray, bias: float, scales: np.ndarray, losses: np.ndarray
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def evaluate_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        w: np.ndarray,
        bias: float,
        scales: np.ndarray,
        losses: np.ndarray,
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def evaluate_kernel(
        self, z: np.ndarray, scales: np.ndarray, losses: np.ndarray
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def propose(
        self, x: np.ndarray, w: np.ndarray, bias: float, gamma: float, sum: np.ndarray
    ) -> tuple[float, float, float, float]:
        """Take the proximal step aside; return losses, values, alpha_y and ridge sums."""

    def accept(self) -> None:
        """Make the last proposal the dual point."""

    def hessian(self, x: np.ndarray, bias: float, out: np.ndarray) -> None:
        """Add the upper triangle of the generalised Hessian of the last proposal."""

    def count(self, start: np.ndarray) -> None:
        """Write where each row's entries start."""

    def read(self, label: np.ndarray, value: np.ndarray) -> None:
        """Write the entries of all rows."""
