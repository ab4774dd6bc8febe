"""Every pair step against brute force: feasible, never downhill, best along its line."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drawing import draws
from shortlist import _core

FORMS = {"open": 0, "norm": 1, "tied": 2, "priced": 3}


class Dual:
    """A small dual problem, evaluated from its definition."""

    def __init__(self, seed, form, bounded, shared, dtype):
        rng = np.random.default_rng(seed)
        self.p, self.q = int(rng.integers(1, 5)), int(rng.integers(1, 7))
        n = self.p + self.q
        rows = rng.integers(-2, 3, (n, 2)) if rng.random() < 0.3 else rng.standard_normal((n, 3))
        # As most data: no weights, and a kernel whose diagonal is one. Steps read less then.
        even = rng.random() < 0.4
        if even:
            rows = np.hstack([rows, np.ones((n, 1))])
            rows = rows / np.linalg.norm(rows, axis=1)[:, None]
        self.gram = np.ascontiguousarray(rows @ rows.T, dtype=dtype)
        if even:
            np.fill_diagonal(self.gram, 1.0)
        self.first = 0 if shared else self.p
        n_beta = n - self.first
        self.form, self.lin, self.price = form, 1.5, float(rng.uniform(0.2, 2.0))
        self.ridge = np.zeros(self.p) if bounded else rng.uniform(0.2, 1.0, self.p)
        self.upper = rng.uniform(0.5, 2.0, self.p) if bounded else np.full(self.p, np.inf)
        self.omega = np.full(n_beta, 2.0) if even else rng.choice([0.5, 1.0, 2.0], n_beta)
        if even:
            self.ridge[:] = self.ridge[0]
        self.alpha = np.minimum(rng.uniform(0.1, 1.0, self.p), self.upper)
        self.beta = self.omega * rng.choice([0.0, 1.0], n_beta)
        self.beta[0] += self.omega[0]
        self.beta *= self.alpha.sum() / self.beta.sum()
        self.k = self.beta.sum() / (self.beta / self.omega).max()
        if form != "tied":
            self.price = max(self.price, 1e-3)
        else:
            self.price = 0.0

    def level(self, beta):
        return beta.sum() / self.k if self.form == "tied" else (beta / self.omega).max()

    def coefficients(self, alpha, beta):
        c = np.zeros(self.p + self.q)
        c[: self.p] += alpha
        c[self.first :] -= beta
        return c

    def value(self, alpha, beta):
        c = self.coefficients(alpha, beta)
        penalty = {
            "open": 0.0,
            "norm": self.price * np.sqrt(beta @ (beta / self.omega)),
            "tied": 0.0,
            "priced": self.price * (beta / self.omega).max(),
        }[self.form]
        quadratic = 0.5 * (c @ self.gram.astype(float) @ c + alpha @ (self.ridge * alpha))
        return self.lin * alpha.sum() - quadratic - penalty

    def gap(self, alpha, beta):
        """Primal of the model less the dual, in the open form."""
        c = self.coefficients(alpha, beta)
        scores = self.gram.astype(float) @ c
        z = np.maximum(self.lin + scores[self.first :].max() - scores[: self.p], 0.0)
        loss = z @ (z / self.ridge) / 2 if self.ridge.any() else self.upper @ z
        return 0.5 * c @ scores + loss - self.value(alpha, beta)

    def feasible(self, alpha, beta, slack=1e-9):
        ok = alpha.min() >= 0 and beta.min() >= 0 and (alpha <= self.upper + slack).all()
        ok = ok and abs(alpha.sum() - beta.sum()) <= slack * (1 + alpha.sum())
        if self.form == "tied":
            ok = ok and (beta <= self.omega * self.level(beta) * (1 + slack) + slack).all()
        return ok

    def step(self, eps=0.0, steps=1, seed=0, loose=0.0, goal=0.0):
        """Run the compiled routine; return the steps, the new point and its state."""
        alpha, beta = self.alpha.copy(), self.beta.copy()
        K = self.gram.astype(float)
        f = K @ self.coefficients(alpha, beta)
        f_beta = -K @ self.coefficients(0 * alpha, beta)
        state = np.zeros(7)
        b = np.zeros(len(K))
        b[self.first :] = beta
        state[:5] = beta @ (beta / self.omega), self.level(beta), beta.sum(), b @ f_beta, b @ f
        taken, _ = _core.pair_steps(
            self.gram, alpha, self.ridge, self.upper, beta, self.omega, f, f_beta, state,
            FORMS[self.form], self.lin, self.price, eps, steps, seed, loose, goal=goal,
        )  # fmt: skip
        return taken, alpha, beta, f, f_beta, state

    def moves(self):
        """Directions of every move: pairs at a fixed level, and the scale with a row."""
        unit = np.eye(self.p + len(self.beta))
        signs = np.where(np.arange(len(unit)) < self.p, 1.0, -1.0)
        for i in range(len(unit)):
            for j in range(len(unit)):
                mixed = (i < self.p) != (j < self.p)
                if i != j and not (self.form == "tied" and mixed):
                    yield signs[i] * unit[i] - signs[j] * unit[j]
        if self.form in ("tied", "priced"):
            scale = np.concatenate([np.zeros(self.p), self.beta / self.beta.sum()])
            for i in range(len(unit)):
                if i < self.p or self.form == "priced":
                    yield scale + signs[i] * unit[i]
                    yield -scale - signs[i] * unit[i]


dual_problems = {
    "seed": st.integers(0, 5000),
    "form": st.sampled_from(list(FORMS)),
    "bounded": st.booleans(),
    "shared": st.booleans(),
    "dtype": st.sampled_from([np.float32, np.float64]),
}


@draws(300)
@given(**dual_problems)
def test_one_step(seed, form, bounded, shared, dtype):
    dual = Dual(seed, form, bounded, shared, dtype)
    before = dual.value(dual.alpha, dual.beta)
    _, alpha, beta, f, f_beta, state = dual.step()
    assert dual.feasible(alpha, beta)
    after = dual.value(alpha, beta)
    assert after >= before - 1e-9 * (1 + abs(before))
    K = dual.gram.astype(float)
    np.testing.assert_allclose(f, K @ dual.coefficients(alpha, beta), atol=1e-7)
    if form in ("tied", "priced"):
        np.testing.assert_allclose(f_beta, -K @ dual.coefficients(0 * alpha, beta), atol=1e-7)
        assert state[2] == pytest.approx(beta.sum())
        assert state[1] >= (beta / dual.omega).max() * (1 - 1e-9)
    if form == "norm":
        assert state[0] == pytest.approx(beta @ (beta / dual.omega), abs=1e-12)
    # Nothing better on the line of the step. The norm is stepped by a majoriser, and a
    # pair of the priced form keeps the level, so both may stop earlier.
    if form in ("open", "tied"):
        # A rescaling at most halves the total.
        halved = beta.sum() <= 0.5 * dual.beta.sum() * (1 + 1e-9)
        for further in (0.5, 0.9) if halved else (0.5, 0.9, 1.1, 1.5):
            a = dual.alpha + further * (alpha - dual.alpha)
            b = dual.beta + further * (beta - dual.beta)
            if dual.feasible(a, b, slack=0.0):
                assert dual.value(a, b) <= after + 1e-7 * (1 + abs(after))


def test_a_step_goes_as_far_as_it_pays():
    """Also where the coefficient that falls has a curvature of its own."""
    falling = 0
    for seed in range(80):
        dual = Dual(seed, "open", False, False, np.float64)
        taken, alpha, beta, *_ = dual.step()
        moved = alpha - dual.alpha, beta - dual.beta
        if taken and alpha.min() > 0.0 and beta[moved[1] != 0.0].min(initial=1.0) > 0.0:
            falling += bool((moved[0] < 0.0).any())
            values = [dual.value(alpha + t * moved[0], beta + t * moved[1]) for t in (-0.1, 0, 0.1)]
            assert values[1] == max(values)
    assert falling > 3


@draws(150)
@given(**{**dual_problems, "dtype": st.just(np.float64)})
def test_where_it_stops_no_move_improves(seed, form, bounded, shared, dtype):
    """Brute force over all moves and many lengths finds nothing better, so it is optimal."""
    dual = Dual(seed, form, bounded, shared, dtype)
    # Rows that nearly depend on each other take more than a million steps.
    taken, dual.alpha, dual.beta, *_ = dual.step(eps=1e-8, steps=50_000_000)
    assert dual.feasible(dual.alpha, dual.beta)
    best = dual.value(dual.alpha, dual.beta)
    # At zero the norm has no gradient; a real problem has a positive optimum.
    assume(best > 1e-6)
    assert taken < 50_000_000
    for move in dual.moves():
        for length in (1e-4, 1e-3, 1e-2, 0.1, 0.5):
            alpha = dual.alpha + length * move[: dual.p]
            beta = dual.beta + length * move[dual.p :]
            if beta.min() >= 0 and dual.feasible(alpha, beta, slack=0.0):
                assert dual.value(alpha, beta) <= best + 1e-6 * (1 + abs(best))


@draws(150)
@given(**{**dual_problems, "form": st.just("open"), "dtype": st.just(np.float64)})
def test_two_tolerances(seed, form, bounded, shared, dtype):
    """Beta is settled among themselves, and no pair with an alpha violates more than it may."""
    dual = Dual(seed, form, bounded, shared, dtype)
    before = dual.value(dual.alpha, dual.beta)
    eps, loose = 1e-7, 0.05
    _, alpha, beta, f, *_ = dual.step(eps, 50_000_000, loose=loose)
    assert dual.feasible(alpha, beta)
    assert dual.value(alpha, beta) >= before - 1e-9 * (1 + abs(before))
    np.testing.assert_allclose(f, dual.gram @ dual.coefficients(alpha, beta), atol=1e-6)
    slope_alpha = dual.lin - dual.ridge * alpha - f[: dual.p]
    slope_beta = -f[dual.first :]
    assert slope_beta[beta > 0.0].max() - slope_beta.min() <= eps + 1e-6
    rise = max(slope_alpha[alpha < dual.upper].max(initial=-np.inf), slope_beta[beta > 0.0].max())
    fall = min(slope_alpha[alpha > 0.0].min(initial=np.inf), slope_beta.min())
    assert rise - fall <= loose + 1e-6


@pytest.mark.parametrize("shared", [False, True])
def test_an_interrupted_settling_leaves_right_scores(shared):
    """Wherever the limit of steps falls, the scores belong to the variables."""
    dual = Dual(7, "open", False, shared, np.float64)
    for steps in range(1, 40):
        _, alpha, beta, f, *_ = dual.step(1e-9, steps, loose=0.5)
        np.testing.assert_allclose(f, dual.gram @ dual.coefficients(alpha, beta), atol=1e-9)


@draws(200)
@given(
    **{**dual_problems, "form": st.just("open")},
    share=st.floats(1e-6, 1.0),
    loose=st.sampled_from([0.0, 10.0]),
)
def test_a_small_gap_ends_the_steps(seed, form, bounded, shared, dtype, share, loose):
    dual = Dual(seed, form, bounded, shared, dtype)
    # A little more than there is, where it is all of it: sums differ in the last digit.
    goal = share * (1.0 + 1e-6) * dual.gap(dual.alpha, dual.beta)
    assume(goal > 1e-4)
    taken, alpha, beta, f, *_ = dual.step(1e-7, 50_000_000, loose=loose, goal=goal)
    assert dual.feasible(alpha, beta)
    assert dual.value(alpha, beta) >= dual.value(dual.alpha, dual.beta) - 1e-9
    K = dual.gram.astype(float)
    np.testing.assert_allclose(f, K @ dual.coefficients(alpha, beta), atol=1e-7)
    if loose == 0.0:
        assert dual.gap(alpha, beta) <= goal * (1 + 1e-6) + 1e-5
    if share == 1.0:
        assert taken == 0


def test_a_gap_that_is_small_enough_takes_fewer_steps():
    wanted, exact = 0, 0
    for seed in range(60):
        dual = Dual(seed, "open", seed % 2 == 0, False, np.float64)
        goal = 0.01 * dual.gap(dual.alpha, dual.beta)
        if goal > 1e-4:
            few, alpha, beta, *_ = dual.step(1e-9, 50_000_000, goal=goal)
            assert dual.gap(alpha, beta) <= goal * (1 + 1e-6)
            wanted, exact = wanted + few, exact + dual.step(1e-9, 50_000_000)[0]
    assert 0 < wanted < exact


@draws(100)
@given(**{**dual_problems, "form": st.sampled_from(["open", "norm"])})
def test_random_steps_only_climb(seed, form, bounded, shared, dtype):
    dual = Dual(seed, form, bounded, shared, dtype)
    before = dual.value(dual.alpha, dual.beta)
    _, alpha, beta, f, *_ = dual.step(steps=20, seed=seed + 1)
    assert dual.feasible(alpha, beta)
    assert dual.value(alpha, beta) >= before - 1e-9 * (1 + abs(before))
    K = dual.gram.astype(float)
    np.testing.assert_allclose(f, K @ dual.coefficients(alpha, beta), atol=1e-6)


def test_sizes_are_checked():
    dual = Dual(0, "open", False, False, np.float64)
    dual.gram = dual.gram[:1, :1].copy()
    with pytest.raises(ValueError, match="gram must have the shape"):
        _core.pair_steps(
            dual.gram, dual.alpha, dual.ridge, dual.upper, dual.beta, dual.omega,
            np.zeros(9), np.zeros(9), np.zeros(7), 0, 1.0, 0.0, 0.0, 1,
        )  # fmt: skip
