"""Small data sets for the kernel and Pat&Mat tests."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale


def random_data(n=70, d=4, seed=0):
    """Two overlapping clouds, the positive one bent around the other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.4 * rng.standard_normal(n) > 0.9
    y[:2] = True, False
    return X, y


def real_data(n=110):
    """Every fifth row of breast_cancer, standardised."""
    data = load_breast_cancer()
    return scale(data.data)[::5][:n], data.target[::5][:n] == 1


DATA = {"random": random_data, "real": real_data}
