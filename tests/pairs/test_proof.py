"""Sums that a solver has at hand prove its model, whatever scores they were made of."""

import itertools

import numpy as np
import pytest

from shortlist import RankSVM
from shortlist._losses import LOSSES
from shortlist.pairs.problem import PairProblem
from shortlist.pairs.proof import Claim, prove
from shortlist.pairs.spaces import LinearSpace, Point


def objective(problem, X, y, weight, u, power):
    """Primal value over explicit pairs, in extended precision."""
    score = X.astype(np.longdouble) @ u.astype(np.longdouble)
    loss = np.longdouble(0.0)
    for i, j in itertools.permutations(range(len(y)), 2):
        if y[i] > y[j]:
            loss += weight[i] * weight[j] * max(1.0 - score[i] + score[j], 0.0) ** power
    return 0.5 * (u.astype(np.longdouble) ** 2).sum() + problem.c * loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("noise", [0.0, 1e-10, 1e-3])
@pytest.mark.parametrize("whole", [True, False], ids=["whole weights", "fractions"])
def test_the_loss_is_that_of_the_model_not_of_the_scores(loss, noise, whole):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(25, 3)), rng.integers(0, 4, 25).astype(float)
        weight = np.ones(25) if whole else rng.uniform(0.1, 2.0, 25)
        space, group = LinearSpace.of(X), np.zeros(25, dtype=int)
        problem = PairProblem(space, y, group, weight, 2.0, LOSSES[loss])
        u = rng.normal(size=3)
        width = 0.3 if LOSSES[loss].bounded else np.inf
        point = Point(space, u, X @ u + noise * rng.choice([-1.0, 1.0], 25))
        sums = problem.sums(point, width)
        found = problem.reckoned(sums, sums.model())
        proof = prove(problem, Claim(point, u, width, found, found), tol=np.inf)
        exact = objective(problem, X, y, weight, u, LOSSES[loss].power)
        assert abs(proof.primal - exact) <= proof.rounding
        # Not so wide that nothing would be proved by it.
        assert proof.rounding <= (10.0 * noise + 1e-9) * proof.primal
        best = RankSVM(2.0, loss=loss).fit(X, y, sample_weight=weight).certificate_
        assert proof.dual - proof.rounding <= best.primal


def test_sums_at_hand_are_proved_only_where_they_suffice():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    space = LinearSpace.of(X)
    problem = PairProblem(space, y, np.zeros(30, dtype=int), np.ones(30), 1.0, LOSSES["hinge"])
    point = Point(space, rng.normal(size=2))
    sums = problem.sums(point, 0.5)
    found = problem.reckoned(sums, sums.model())
    claim = Claim(point, point.u, 0.5, found, found)
    anew = prove(problem, Claim(point, point.u, 0.5))
    assert prove(problem, claim, tol=0.0) == anew  # the gap of this model is not zero
    assert prove(problem, claim, tol=np.inf) != anew
