"""The benchmark builds problems by hand; a change of the solver's seams must reach it."""

import pytest
from benchmarks.kernel import MODELS, coordinate_seconds
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_published_method_runs_from_either_start(name, ours):
    X, y = load_digits(return_X_y=True)
    K = rbf_kernel(X[:120], gamma=1e-3)
    model = MODELS[name](kernel="precomputed", tol=1e-3)
    assert coordinate_seconds(model, K, y[:120] == 0, ours) >= 0.0
