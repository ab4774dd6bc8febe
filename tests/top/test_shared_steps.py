"""Pair steps that two threads share: what one thread does, to the last digit."""

import numpy as np
import pytest

from shortlist import _core
from shortlist.rows.formulas import rbf_kernel

FORMS = {"open": 0, "norm": 1, "tied": 2, "priced": 3}


def twice(values):
    """Every value once in either half: of equals the first must win."""
    return np.concatenate([values, values])


def gram_of(x, kind, kept):
    gamma, squares = 0.3, np.square(x).sum(axis=1)
    if kind == "computed":
        rows = _core.GaussianRows32 if x.dtype == np.float32 else _core.GaussianRows64
        squares = (gamma * squares).astype(x.dtype)
        return rows(x, squares, gamma, np.zeros((kept, len(x)), dtype=x.dtype))
    return rbf_kernel(x, x, gamma=gamma)


def run(threads, kind, form, dtype, n_alpha, n, shared, seed=0):
    rng = np.random.default_rng(1)
    others, n_beta = n - n_alpha, n if shared else n - n_alpha
    x = np.concatenate([twice(rng.standard_normal((m // 2, 5))) for m in (n_alpha, others)])
    x = x.astype(dtype)
    alpha = twice(rng.uniform(0.1, 1.0, n_alpha // 2))
    beta = twice(rng.uniform(0.0, 1.0, n_beta // 2) * (rng.random(n_beta // 2) < 0.3))
    beta *= alpha.sum() / beta.sum()
    exact = gram_of(x, "held", 0).astype(float)
    c, b = np.zeros(n), np.zeros(n)
    c[:n_alpha] += alpha
    b[n - n_beta :] = beta
    parts = np.arange(n_alpha), np.arange(n_alpha, n)
    f, f_beta = (
        np.concatenate([twice(scores[part][: len(part) // 2]) for part in parts])
        for scores in (exact @ (c - b), exact @ b)  # rounding would tell equals apart
    )
    omega = np.ones(n_beta)
    state = np.array([beta @ beta, beta.max(), beta.sum(), b @ f_beta, b @ f, 1.0, 0.0])
    price = {"open": 0.0, "norm": 3.0, "tied": 0.0, "priced": 50.0}[form]
    taken, paused = _core.pair_steps(
        gram_of(x, kind, 40), alpha, np.full(n_alpha, 0.5), np.full(n_alpha, np.inf), beta, omega,
        f, f_beta, state, FORMS[form], 1.0, price, 1e-6, 6000, seed, threads=threads,
    )  # fmt: skip
    return taken, paused, alpha, beta, f, f_beta, state


@pytest.mark.parametrize("kind", ["held", "computed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize(("n_alpha", "shared"), [(900, False), (1500, True)])
def test_the_same_steps(kind, dtype, form, n_alpha, shared):
    problem = (kind, form, dtype, n_alpha, 2600, shared)
    alone, together = run(1, *problem), run(2, *problem)
    assert alone[0] > 0
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_same_random_steps():
    alone, together = (run(t, "held", "open", np.float32, 900, 2600, False, 7) for t in (1, 2))
    assert alone[0] == 6000
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_alpha", [40, 4000])
def test_long_rows(n_alpha):
    """Long enough to be shared on any machine; of few alpha, most steps are those of beta."""
    problem = ("computed", "open", np.float32, n_alpha, 8200, False)
    alone, together = run(1, *problem), run(2, *problem)
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)
