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

def violation_sums(
    start: np.ndarray,
    key: np.ndarray,
    role: np.ndarray,
    row: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    width: float,
    vertex: np.ndarray,
    clipped: np.ndarray,
    curved: np.ndarray,
    degree: np.ndarray,
) -> tuple[float, float]:
    """Add every row's sums over its violated pairs; return the totals over the pairs."""

def partner_sums(
    start: np.ndarray,
    key: np.ndarray,
    role: np.ndarray,
    row: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    width: float,
    values: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the weighted values of every row's partners within the quadratic zone."""
