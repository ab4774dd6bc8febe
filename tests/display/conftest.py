import matplotlib
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib.use("Agg")

import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def cancer():
    """Held-out rows of a real problem, and a model fitted to the others."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, random_state=0, stratify=y)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X, y)
    return model, X_new, y_new
