"""Top-of-the-list problems written out for cvxpy."""

import warnings

import cvxpy as cp
import numpy as np


def solve_cvxpy(problem: cp.Problem) -> float:
    """Return the optimal value; of inaccurate answers the lowest."""
    # Clarabel gives up on degenerate problems now and then; another method rarely does.
    tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    first_order = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000}
    values = []
    for solver, options in ((cp.CLARABEL, tight), (cp.CLARABEL, {}), (cp.OSQP, first_order)):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Solution may be inaccurate")
                value = float(problem.solve(solver=solver, **options))
        except cp.SolverError:
            continue
        if problem.status == "optimal":
            return value
        if problem.status == "optimal_inaccurate":
            values.append(value)
    assert values, f"no solver solves this problem: {problem.status}"
    return min(values)


def loss_of(violation, loss):
    return cp.pos(1 + violation) if loss == "hinge" else cp.square(cp.pos(1 + violation))


def top_push_optimum(X, y, *, k, C, loss, weight=None, rows="negatives"):
    """Optimal value of the problem; `k` counts the rows by weight."""

    # Mean of the top k as a minimum over the quantile (Rockafellar and Uryasev).
    def threshold(scores, weight, q):
        return q + weight @ cp.pos(scores - q) / k

    return _optimum(X, y, threshold, C=C, loss=loss, weight=weight, rows=rows)


def soft_push_optimum(X, y, *, smoothing, C, loss, weight=None, rows="negatives"):
    """Optimal value of the problem with a softened maximum."""

    def threshold(scores, weight, q):
        lifted = smoothing / (2.0 * weight.sum())
        return q + weight @ cp.square(cp.pos(scores - q)) / (2.0 * smoothing) + lifted

    return _optimum(X, y, threshold, C=C, loss=loss, weight=weight, rows=rows)


def _optimum(X, y, threshold, *, C, loss, weight, rows):
    """Minimise over the model and over the level of a threshold that is a minimum over it."""
    y = np.asarray(y, dtype=bool)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    # Terms of weight zero leave variables free, and Clarabel then calls a wrong value optimal.
    used = weight > 0.0
    X, y, weight = X[used], y[used], weight[used]
    # In units where features are about 1: the oracle's tolerances are absolute.
    unit = np.abs(X).max() or 1.0
    ranked = np.ones(len(y), dtype=bool) if rows == "all" else ~y
    positives, top = X[y] / unit, X[ranked] / unit
    w = cp.Variable(X.shape[1])
    t = threshold(top @ w, weight[ranked], cp.Variable())
    objective = 0.5 * cp.sum_squares(w)
    objective += C * unit**2 * weight[y] @ loss_of(t - positives @ w, loss)
    size = min(1.0, C * unit**2 * float(weight[y].sum()))
    return size * solve_cvxpy(cp.Problem(cp.Minimize(objective / size))) / unit**2


def project(a, b, *, upper=None, cap=None):
    """Nearest feasible dual point."""
    alpha, beta = cp.Variable(len(a)), cp.Variable(len(b))
    total = cp.sum(alpha)
    constraints = [alpha >= 0, beta >= 0, total == cp.sum(beta)]
    if upper is not None:
        constraints.append(alpha <= upper)
    if cap is not None:
        constraints.append(beta <= cap * total)
    distance = cp.sum_squares(alpha - a) + cp.sum_squares(beta - b)
    solve_cvxpy(cp.Problem(cp.Minimize(distance), constraints))
    return alpha.value, beta.value


def top_mean(scores, weight, k):
    """Mean of the k highest scores, counted by weight, one row at a time."""
    left, total = k, 0.0
    for j in sorted(range(len(scores)), key=lambda j: -scores[j]):
        share = min(left, weight[j])
        total += share * scores[j]
        left -= share
    assert left <= 1e-9
    return total / k


def soft_maximum(scores, weight, smoothing):
    """Softened maximum of the scores, in extended precision, by halving an interval."""
    scores, weight = scores.astype(np.longdouble), weight.astype(np.longdouble)
    total, smoothing = weight.sum(), np.longdouble(smoothing)
    low, q = scores.min() - smoothing / total, scores.max()
    for _ in range(150):
        middle = (low + q) / 2
        above = (weight * np.maximum(scores - middle, 0.0)).sum()
        low, q = (middle, q) if above > smoothing else (low, middle)
    return (
        q
        + (weight * np.maximum(scores - q, 0.0) ** 2).sum() / (2 * smoothing)
        + smoothing / (2 * total)
    )
