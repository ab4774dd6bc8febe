"""Rows to score."""

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale


@pytest.fixture(scope="session")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y
