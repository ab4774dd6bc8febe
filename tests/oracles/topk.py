"""Top-k problems written out plainly: the loss by sorting, the optimum by cvxpy."""

import cvxpy as cp
import numpy as np

from .top import solve_cvxpy


def padded(rho, m):
    """The first m weights, zeros where there are fewer."""
    return np.concatenate([rho, np.zeros(m)])[:m]


def loss(scores, y, rho, *, pseudo=False):
    """The loss of one row, straight from its definition."""
    a = 1.0 + scores - scores[y]
    a[y] = 0.0
    if pseudo:
        a = np.delete(a, y)
    a = np.sort(a)[::-1]
    return max(0.0, float(padded(rho, len(a)) @ a))


def objective(W, X, y, rho, *, C, weight=None, pseudo=False):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    losses = [loss(s, t, rho, pseudo=pseudo) for s, t in zip(X @ W, y, strict=True)]
    return 0.5 * np.sum(W * W) + C * (weight @ losses)


def optimum(X, y, rho, *, C, smoothing=0.0, pseudo=False, weight=None):
    """Optimal value; ``sum_j rho_j a_(j)`` as sums of the largest.

    The sum of the l largest is the minimum of ``l t + sum_j max(0, a_j - t)`` over t (Rockafellar
    and Uryasev).
    """
    n, d = X.shape
    m = int(y.max()) + 1
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    drops = padded(rho, m) - np.append(padded(rho, m)[1:], 0.0)
    W = cp.Variable((d, m))
    scores = X @ W
    total = 0.0
    if smoothing > 0.0:
        Z = cp.Variable((n, m))
        total += weight @ cp.sum(cp.square(scores - Z), axis=1) / (2.0 * smoothing)
        scores = Z
    own = np.eye(m)[y]
    margins = cp.multiply(
        1.0 - own, 1.0 + scores - cp.sum(cp.multiply(own, scores), axis=1)[:, None]
    )
    # The pseudo loss leaves out the class itself, which otherwise has margin zero.
    counted = 1.0 - own if pseudo else np.ones((n, m))
    losses = 0.0
    for l in range(1, m + 1):
        if drops[l - 1] <= 0.0:
            continue
        if l < m - pseudo:
            t = cp.Variable((n, 1))
            above = cp.multiply(counted, cp.pos(margins - t @ np.ones((1, m))))
            losses += drops[l - 1] * (l * t[:, 0] + cp.sum(above, axis=1))
        else:
            losses += drops[l - 1] * cp.sum(margins, axis=1)
    total += weight @ cp.pos(losses)
    # Around 1, where the solvers of cvxpy are most exact.
    unit = C * weight.sum()
    value = 0.5 * cp.sum_squares(W) / unit + total / weight.sum()
    return unit * solve_cvxpy(cp.Problem(cp.Minimize(value)))


def blocks(a, y, q, c, rho, *, pseudo=False):
    """Solve many blocks with the same `rho` and `y` as one separable QP.

    beta = M rho with M >= 0, column sums zeta, row sums at most zeta: the permutahedron.
    """
    count, m = a.shape
    k = len(rho)
    share = [cp.Variable((count, m), nonneg=True) for _ in range(k)]
    zeta = cp.Variable(count)
    beta = sum(rho[l] * share[l] for l in range(k))
    others = np.delete(np.arange(m), y)
    constraints = [zeta >= 0, zeta <= 1]
    constraints += [cp.sum(part, axis=1) == zeta for part in share]
    rows = sum(share)
    constraints += [rows[:, j] <= zeta for j in range(m)]
    if pseudo:
        constraints += [part[:, y] == 0 for part in share]
    b = beta[:, others]
    value = cp.sum(cp.multiply(a[:, others] * c[:, None], b))
    curve = q * c * c
    value -= 0.5 * cp.sum(cp.multiply(curve[:, None], cp.square(b)))
    value -= 0.5 * cp.sum(cp.multiply(curve, cp.square(cp.sum(b, axis=1))))
    solve_cvxpy(cp.Problem(cp.Maximize(value), constraints))
    out = np.zeros((count, m))
    out[:, others] = b.value * c[:, None]
    return out


def block_value(beta, a, y, q):
    others = np.delete(np.arange(len(a)), y)
    b = beta[others]
    return a[others] @ b - 0.5 * q * (b @ b + b.sum() ** 2)


def block_gap(beta, a, y, q, c, rho, *, pseudo=False):
    """How much a vertex of the domain could still raise the linearised block."""
    others = np.delete(np.arange(len(a)), y)
    slope = a[others] - q * (beta[others] + beta[others].sum())
    full = np.sort(slope if pseudo else np.append(slope, 0.0))[::-1]
    best = max(0.0, c * float(padded(rho, len(full)) @ full))
    return best - slope @ beta[others]
