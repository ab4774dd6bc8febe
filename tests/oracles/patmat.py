"""Pat&Mat written out for cvxpy, and kernels as explicit features."""

import cvxpy as cp
import numpy as np

from .top import loss_of, solve_cvxpy


def patmat_optimum(X, y, *, tau, quantile="negatives", theta=1.0, C=1.0, loss, weight=None):
    """Optimal value of the problem."""
    y = np.asarray(y, dtype=bool)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    # Terms of weight zero leave variables free.
    used = weight > 0.0
    X, y, weight = X[used], y[used], weight[used]
    ranked = np.ones(len(y), dtype=bool) if quantile == "all" else ~y
    w, t = cp.Variable(X.shape[1]), cp.Variable()
    spent = weight[ranked] @ loss_of(theta * (X[ranked] @ w - t), loss)
    objective = 0.5 * cp.sum_squares(w) + C * weight[y] @ loss_of(t - X[y] @ w, loss)
    budget = tau * weight[ranked].sum()
    return solve_cvxpy(cp.Problem(cp.Minimize(objective), [spent <= budget]))


def features_of(K):
    """Rows whose inner products are the kernel matrix."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def quantile_by_bisection(scores, weight, *, power, theta, mass):
    """Surrogate threshold by halving an interval."""
    low, high = scores.min() - 10.0 / theta, scores.max() + 1.0 / theta
    while weight @ np.maximum(0.0, 1.0 + theta * (scores - low)) ** power < mass:
        low -= high - low
    for _ in range(200):
        t = 0.5 * (low + high)
        if weight @ np.maximum(0.0, 1.0 + theta * (scores - t)) ** power > mass:
            low = t
        else:
            high = t
    return high
