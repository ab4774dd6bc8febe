"""Proofs of kernel models against the whole matrix, whatever point is to be proved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from drawing import draws
from shortlist._losses import LOSSES
from shortlist.rows.cache import RowCache
from shortlist.rows.kernels import KernelMatrix, kernel_function
from shortlist.top.kernel_problem import DualPoint, KernelTopProblem, Layout
from shortlist.top.kernel_proof import KernelProver, wide_scores
from shortlist.top.surrogate_quantile import SurrogateQuantile
from shortlist.top.top_mean import TopMean

THRESHOLDS = {
    "max": TopMean(1.0),
    "mean": TopMean(2.5),
    "squared_hinge": SurrogateQuantile(LOSSES["squared_hinge"], 1.0, 0.7),
    "hinge": SurrogateQuantile(LOSSES["hinge"], 2.0, 0.7),
}


@draws(100)
@given(
    seed=st.integers(0, 9999),
    threshold=st.sampled_from(sorted(THRESHOLDS)),
    loss=st.sampled_from(sorted(LOSSES)),
    dtype=st.sampled_from(["f4", "f8"]),
    size=st.sampled_from([1.0, 30.0]),
)
def test_a_proof_is_true(seed, threshold, loss, dtype, size):
    """Any point, feasible or not: its proof is that of its own coefficients."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = (5.0 + rng.standard_normal((n, 3))).astype(dtype)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=0.5))
    rows = rng.permutation(n)
    weight = rng.choice([0.5, 1.0, 3.0], n)
    chosen, the_loss = THRESHOLDS[threshold], LOSSES[loss]
    if threshold in ("squared_hinge", "hinge") and threshold != loss:
        chosen = SurrogateQuantile(the_loss, 1.0, 0.7)
    problem = KernelTopProblem(
        kernel, rows[: n // 3], rows[n // 3 :], weight, 2.0, the_loss, chosen, cache_bytes=10**6
    )
    order = rng.permutation(n)
    layout = Layout.of(problem, order)
    prover = KernelProver(problem, layout, RowCache(kernel, order, 10**5))
    alpha = size * rng.random(n // 3) * (rng.random(n // 3) < 0.6)
    beta = size * rng.random(n - n // 3) * (rng.random(n - n // 3) < 0.4)
    point = layout.placed(DualPoint(alpha, beta))
    proved = prover(point.alpha, point.beta, rng.standard_normal(n))
    proof, solution = proved.proof, proved.proof.solution

    K = rbf_kernel(X.astype(float), gamma=0.5).astype(np.longdouble)
    c = solution.coefficients.astype(np.longdouble)
    s = K @ c
    t = chosen.value(s[problem.ranked].astype(float), problem.ranked_weight)
    value = c @ s / 2 + the_loss.total(t - s[problem.positive].astype(float), problem.c)
    assert abs(float(value) - proof.primal) <= proof.rounding + 1e-12 * proof.primal
    assert proof.rounding <= 1e-9 * (1.0 + proof.primal)
    # The dual is that of a feasible point, and so below the objective of any model.
    given_point = solution.point
    total = given_point.alpha.sum()
    assert given_point.beta.sum() == pytest.approx(total, rel=1e-12)
    if the_loss.bounded:
        assert (given_point.alpha <= problem.c).all()
    if problem.cap is not None:
        assert (given_point.beta <= problem.cap * total * (1 + 1e-12)).all()
    for _ in range(3):
        other = rng.standard_normal(n) * rng.choice([0.01, 0.3])
        f = K @ other
        t = chosen.value(f[problem.ranked].astype(float), problem.ranked_weight)
        upper = other @ f / 2 + the_loss.total(t - f[problem.positive].astype(float), problem.c)
        assert proof.dual - proof.rounding <= float(upper) * (1 + 1e-12)


@given(seed=st.integers(0, 999))
def test_wide_scores(seed):
    """Sums over a float64 kernel, by halves where rows and support are the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    X = rng.standard_normal((n, 3)).astype(np.float32)
    kernel = KernelMatrix(X, kernel_function("rbf", X, gamma=0.5))
    order, c = rng.permutation(n), rng.standard_normal(n)
    exact = rbf_kernel(X.astype(float), gamma=0.5)[np.ix_(order, order)] @ c
    every = np.arange(n)
    np.testing.assert_allclose(wide_scores(kernel, order, every, every, c), exact, atol=1e-12)
    some = every[: n // 2]
    np.testing.assert_allclose(wide_scores(kernel, order, some, every, c), exact[some], atol=1e-12)
