"""Certificates that were once false, or fits that broke: found by random ugly problems."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK

from .grid import Combination, run

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(40, 4)) * (RNG.random((40, 4)) < 0.6), 1)
Y = (X[:, 0] + RNG.normal(size=40) > 0.5).astype(int)


def in_parts(X):
    """Return CSR rows with every entry in two halves, in any order, and zeros kept."""
    coo = sparse.coo_array(X)
    row, column = (np.concatenate([part, part]) for part in coo.coords)
    value = np.concatenate([coo.data / 2, coo.data / 2])
    order = np.lexsort((RNG.random(len(row)), row))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    parts = (value[order], column[order].astype(np.int32), start.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        TopPush(0.2),
        PatMat(0.2),
        *(TopPush(0.2, kernel=k) for k in ("rbf", "laplacian", "poly", "tanimoto")),
        PatMat(0.2, kernel="rbf"),
        TopKSVC(1),
        TopKSVC(1, kernel="rbf"),
        RankSVM(),
        RankSVM(kernel="rbf"),
        TransductiveTopK(k=4),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'kernel', '')}",
)
def test_entries_given_in_parts(model, dtype):
    """The squares of the parts are not the square of the entry."""
    plain, parts = sparse.csr_array(X.astype(dtype)), in_parts(X.astype(dtype))
    nothing_moved = parts.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, value = model.fit(plain, Y).predict(plain), model.certificate_.primal
        model.fit(parts, Y)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(model.predict(parts), expected, rtol=1e-12)
    np.testing.assert_array_equal(parts.data, nothing_moved.data)
    np.testing.assert_array_equal(parts.indices, nothing_moved.indices)


@pytest.mark.filterwarnings("ignore")
def test_a_narrow_matrix_that_needs_wide_sums():
    """A float32 matrix was not to be had in float64, where claims in float32 failed."""
    K = rbf_kernel(X, gamma=1e-6).astype(np.float32)
    for solver in ("smo", "coordinate"):
        model = TopPush(1, kernel="precomputed", C=1e4, tol=1e-9, solver=solver, max_iter=20_000)
        model.fit(K, Y)
        assert model.certificate_.gap >= 0.0


@pytest.mark.filterwarnings("ignore")
def test_narrow_sums_beyond_float64():
    """Float32 rows of a polynomial kernel that grows fast: once a division by zero."""
    run(Combination("PatMat", "poly", "smo", "dense", "float32"), "offset 10000", "callback", ".")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["smo", "coordinate"])
def test_sums_beyond_float64_are_no_model(solver):
    K = np.outer(X[:, 0], X[:, 0]) * 1e300 / 10.0
    model = TopPush(1, kernel="precomputed", solver=solver, max_iter=1000, C=1e6).fit(K, Y)
    assert np.isfinite([model.certificate_.primal, model.certificate_.dual]).all()
    assert model.certificate_.gap >= 0.0


@pytest.mark.filterwarnings("ignore")
def test_steps_that_are_rounding_only():
    """A direction without length was once divided by."""
    K = np.eye(20) * 1e-14 + 1.0
    for C in (1.0, 1e4, 1e8):
        model = RankSVM(C=C, kernel="precomputed", loss="squared_hinge").fit(K, np.arange(20.0))
        assert model.certificate_.gap >= 0.0


@pytest.mark.filterwarnings("ignore")
def test_rows_too_short_for_the_exact_search():
    """Coefficients that SCIP takes for infinite were an error."""
    pytest.importorskip("pyscipopt")
    place = Combination("TransductiveTopK", "linear", "exact", "csr", "float32")
    assert run(place, "scale 1e-12", "stall", ".") in ("stalled", "max_iter")
