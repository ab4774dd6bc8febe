"""The best point of a simplex, by looking at every face."""

from itertools import chain, combinations

import numpy as np


def best_by_faces(K, pull, total):
    """Smallest ``x K x / 2 - pull x`` over ``x >= 0`` with the sum `total`."""
    n, best = len(K), np.inf
    for face in chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1)):
        rows = list(face)
        system = np.ones((len(rows) + 1, len(rows) + 1))
        system[:-1, :-1], system[-1, -1] = K[np.ix_(rows, rows)], 0.0
        x = np.linalg.solve(system, [*pull[rows], total])[:-1]
        if x.min() >= -1e-12 * total:
            best = min(best, 0.5 * x @ K[np.ix_(rows, rows)] @ x - pull[rows] @ x)
    return best
