"""Kernel densities of the scores of two classes, for the pictures and the report."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

_GRID = 1024


def class_densities(
    positive: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate the density of the scores of each class on one even grid.

    Parameters
    ----------
    positive : ndarray of bool
        Which rows are positive; both classes must occur.
    scores : ndarray
        Their scores.
    weight : ndarray, optional
        Multiplicity of each row.

    Returns
    -------
    grid, positive_density, negative_density : ndarray
        Both areas are 1.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    used = weight > 0
    positive, scores, weight = positive[used], scores[used], weight[used]
    sides = [(scores[side], weight[side]) for side in (positive, ~positive)]
    widths = [silverman(*side) for side in sides]
    # The last term keeps the grid resolvable when all scores are nearly or exactly equal.
    largest = float(np.abs(scores).max()) or 1.0
    margin = max(3 * max(widths), float(np.ptp(scores)) / 30, 1e-9 * largest)
    grid = np.linspace(scores.min() - margin, scores.max() + margin, _GRID)
    above, below = (
        binned_density(values, grid, width, multiplicity)
        for (values, multiplicity), width in zip(sides, widths, strict=True)
    )
    return grid, above, below


def binned_density(
    scores: np.ndarray, grid: np.ndarray, width: float, weight: np.ndarray | None = None
) -> np.ndarray:
    """Gaussian kernel density on an even grid, in time O(n + grid).

    Each score is shared between its two neighbours on the grid, then the counts
    are smoothed. The width is at least one and a half cells, below which the
    grid could not show the kernel.

    Parameters
    ----------
    scores : ndarray
        The sample, within the grid.
    grid : ndarray
        Even grid.
    width : float
        Standard deviation of the kernel.
    weight : ndarray, optional
        Multiplicity of each score.

    Returns
    -------
    ndarray
        Density at each grid point.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    step = grid[1] - grid[0]
    place = np.clip((scores - grid[0]) / step, 0, len(grid) - 1)
    left = np.minimum(place.astype(int), len(grid) - 2)
    share = weight * (place - left)
    counts = np.bincount(left, weight - share, len(grid))
    counts += np.bincount(left + 1, share, len(grid))
    smooth = gaussian_filter1d(counts, max(width / step, 1.5), mode="constant", truncate=6)
    return smooth / (weight.sum() * step)


def silverman(scores: np.ndarray, weight: np.ndarray) -> float:
    """Return Silverman's width of the kernel; the weights are multiplicities."""
    scale = float(np.abs(scores).max()) or 1.0
    order = np.argsort(scores, kind="stable")
    scores, weight = scores[order] / scale, weight[order]
    middle = np.average(scores, weights=weight)
    deviation = float(np.sqrt(np.average((scores - middle) ** 2, weights=weight)))
    reached = np.cumsum(weight)
    low, high = scores[np.searchsorted(reached, [0.25 * reached[-1], 0.75 * reached[-1]])]
    spread = min(deviation, float(high - low) / 1.34) or deviation
    return 0.9 * scale * spread * float(reached[-1]) ** -0.2
