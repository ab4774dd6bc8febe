"""Slow, obvious references: every pair is formed."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from .top import solve_cvxpy


def dense_rank(y, group):
    rank = np.zeros(len(y), dtype=int)
    for g in np.unique(group):
        rows = group == g
        rank[rows] = np.unique(y[rows], return_inverse=True)[1]
    return rank


def pairs(y, group, max_rank_distance=None):
    """All (upper, lower) row numbers."""
    rank = dense_rank(y, group)
    return [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if group[i] == group[j]
        and rank[i] > rank[j]
        and (max_rank_distance is None or rank[i] - rank[j] <= max_rank_distance)
    ]


def pair_sums(listed, weight, f, width, values):
    """Vertex, clipped, curved, degree and partner sums per row, and the two totals."""
    vertex, clipped, curved, degree = np.zeros((4, len(f)))
    partners = np.zeros_like(values)
    violated = total = 0.0
    for i, j in listed:
        z = f[j] - f[i] + 1.0
        if z <= 0.0:
            continue
        both = weight[i] * weight[j]
        part = min(z, width)
        vertex[i] += both
        vertex[j] -= both
        clipped[i] += both * part
        clipped[j] -= both * part
        violated += both
        total += both * part
        if z <= width:
            curved[i] += both * z
            curved[j] -= both * z
            degree[i] += weight[j]
            degree[j] += weight[i]
            partners[i] += weight[j] * values[j]
            partners[j] += weight[i] * values[i]
    return vertex, clipped, curved, degree, partners, violated, total


def optimum(X, y, *, C, power, group=None, weight=None, max_rank_distance=None, normalize=True):
    """Optimal value of the problem, by a conic solver."""
    group = np.zeros(len(y), dtype=int) if group is None else group
    weight = np.ones(len(y)) if weight is None else weight
    listed = [(i, j) for i, j in pairs(y, group, max_rank_distance) if weight[i] * weight[j] > 0]
    upper, lower = np.array(listed).T
    both = weight[upper] * weight[lower]
    c = C
    if normalize:
        rows = np.unique(np.concatenate([upper, lower]))
        c = C * weight[rows].sum() / both.sum()
    # Tolerances of the conic solver are absolute, so rows of unit size are given to it.
    difference = X[upper] - X[lower]
    size = max(float(np.abs(difference).max()), 1e-3)
    w = cp.Variable(X.shape[1])
    z = cp.pos(1.0 - (difference / size) @ w)
    loss = z if power == 1 else cp.square(z)
    value = 0.5 * cp.sum_squares(w) + c * size**2 * (both @ loss)
    return solve_cvxpy(cp.Problem(cp.Minimize(value))) / size**2


def objective(X, y, w, *, C, power, group=None, weight=None):
    """Objective of linear weights, not normalised."""
    group = np.zeros(len(y), dtype=int) if group is None else group
    weight = np.ones(len(y)) if weight is None else weight
    f = X @ w
    loss = sum(
        weight[i] * weight[j] * max(0.0, 1.0 - f[i] + f[j]) ** power for i, j in pairs(y, group)
    )
    return 0.5 * w @ w + C * loss
