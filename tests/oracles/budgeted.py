"""Slow, obvious references for the budgeted SVM: one QP per subset, all subsets."""

from itertools import combinations

import clarabel
import numpy as np
from scipy import sparse


def objective(X, y, c, w, b):
    return 0.5 * w @ w + c @ np.maximum(1.0 - y * (X @ w + b), 0.0)


def optimum(X, y, c, candidates, allowed):
    """Optimal value when only `allowed` candidates may be positive."""
    n, d = X.shape
    held = candidates[~allowed]
    # Variables w, b, slack; rows: margins, slack >= 0, candidates <= 0.
    P = sparse.diags(np.r_[np.ones(d), np.zeros(1 + n)], format="csc")
    q = np.r_[np.zeros(d + 1), c]
    margins = np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n)])
    positive = np.hstack([np.zeros((n, d + 1)), -np.eye(n)])
    below = np.hstack([held, np.ones((len(held), 1)), np.zeros((len(held), n))])
    A = sparse.csc_matrix(np.vstack([margins, positive, below]))
    b = np.r_[-np.ones(n), np.zeros(n + len(held))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_feas = 1e-10
    settings.tol_gap_abs = 1e-10
    solver = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(len(b))], settings)
    return solver.solve().obj_val


def best_subset(X, y, c, candidates, count, k):
    """Optimal value over all subsets of candidates that fit the budget."""
    m = len(candidates)
    best = np.inf
    for size in range(m + 1):
        for chosen in combinations(range(m), size):
            allowed = np.zeros(m, dtype=bool)
            allowed[list(chosen)] = True
            if count[allowed].sum() > k:
                continue
            # A subset that another one could still extend is never better than it.
            if (count[~allowed] + count[allowed].sum() <= k).any():
                continue
            best = min(best, optimum(X, y, c, candidates, allowed))
    return best
