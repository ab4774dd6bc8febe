"""Small two-class data of every ugly kind, for rows in blocks and partitions."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def ugly_rows(draw):
    """Rows, labels and weights: ties, duplicates, constants, one positive, odd scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(["plain", "ties", "duplicates", "constant"]))
    if kind == "ties":
        X = np.round(X)
    elif kind == "duplicates":
        X = X[rng.integers(0, n, size=n)]
    elif kind == "constant":
        X[:, 0] = 3.0
    y = (rng.random(n) < 0.4).astype(int)
    if draw(st.booleans()):
        y[:] = 0
    y[:2] = [0, 1]
    X = X + 0.7 * y[:, None]
    X *= draw(st.sampled_from([1.0, 1e-4, 1e3]))
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    weight = None
    if draw(st.booleans()):
        weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=n)
        weight[:2] = 1.0
    return X, y, weight
