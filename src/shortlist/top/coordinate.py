r"""Random pairs on the dual: the published kernel method, as reference.

Maximises the dual of :mod:`shortlist.top.problem` over the whole kernel matrix. One
step takes a random variable, tries every partner with the closed-form step of the
pair, and takes the best: :math:`O(n)` per step. With the squared surrogate quantile,
:math:`\delta = \|\beta\| / (2\theta\sqrt{M})` is held during a step, where it majorises,
and refreshed after it.

Reference: V. Mácha, L. Adam and V. Šmídl, "Nonlinear classifiers for ranking problems
based on kernelized SVM" (2020), Algorithm 3.1. Corrected: the bounds of a step (printed
with minimum and maximum exchanged), :math:`\delta` (:math:`\theta^2` in its
denominator), and the stopping rule (the paper's count of steps leaves gaps of 0.4 and
more; here the duality gap decides). The paper starts from "some feasible value" and the
authors' program from random numbers: so does this, at the best place of their ray,
unless it continues from an earlier fit.
The method jams for k > 1 and for the hinge quantile, so it is not offered there.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from ..certificate import Monitor
from .kernel_problem import DualPoint, KernelTopProblem, evaluate
from .solution import KernelSolution

_FORMS = {"open": 0, "norm": 1}


def coordinate(problem: KernelTopProblem, monitor: Monitor) -> KernelSolution:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : KernelTopProblem
        Kernel scores; the whole kernel matrix is held in memory.
    monitor : Monitor
        Tolerance, limits and the record of the fit. One iteration is one step.

    Returns
    -------
    KernelSolution
        The best model seen.
    """
    n_all = len(problem.positive) + len(problem.negative)
    others = np.setdiff1d(problem.negative, problem.positive)
    rows = np.concatenate([problem.positive, others])
    shared = len(problem.negative) > len(others)
    beta_rows = rows if shared else others
    gram = np.ascontiguousarray(problem.kernel.block(rows, rows))
    place = np.empty(problem.kernel.n_rows, dtype=np.intp)
    place[beta_rows] = np.arange(len(beta_rows))
    into = place[problem.negative]
    omega = np.empty(len(beta_rows))
    omega[into] = problem.negative_weight

    rng = np.random.default_rng(problem.seed)
    ridge = problem.loss.ridge / problem.c
    bound = problem.loss.dual_bound(problem.c)
    upper = np.full(len(problem.c), np.inf) if bound is None else bound
    start = problem.start or DualPoint(
        problem.c * rng.random(len(problem.c)),
        problem.negative_weight * rng.random(len(problem.negative)),
    )
    alpha, beta = np.minimum(start.alpha, upper), np.empty(len(beta_rows))
    beta[into] = start.beta * float(alpha.sum() / start.beta.sum())
    scores = np.empty(problem.kernel.n_rows)
    state = np.zeros(7)
    form = _FORMS[problem.threshold.form(problem.negative_weight)]
    seed = int(rng.integers(1, 2**62))
    best, best_point, dual = None, DualPoint(alpha, beta), 0.0
    f = _scores(gram, alpha, beta)
    first = True
    while True:
        scores[rows] = f
        now = evaluate(problem, DualPoint(alpha, beta[into]), scores)
        if first:
            alpha, beta, f = now.scale * alpha, now.scale * beta, now.scale * f
            first = False
            continue
        dual = max(dual, now.dual)
        if best is None or now.primal < best.primal:
            best, best_point = now, DualPoint(alpha.copy(), beta[into].copy())
            best_scores = scores.copy()
        if monitor.check(best.primal, dual):
            break
        state[0] = float((beta / omega) @ beta)
        steps = min(n_all, monitor.max_iter - monitor.iteration)
        taken = _core.pair_steps(
            gram,
            alpha,
            ridge,
            upper,
            beta,
            omega,
            f,
            f,
            state,
            form,
            1.0 + problem.threshold.shift,
            problem.threshold.price,
            0.0,
            steps,
            seed + monitor.iteration,
        )
        monitor.iteration += taken
        monitor.passes += 1
    return KernelSolution.of(problem, best_point, best, best_scores)


def _scores(gram: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    c = np.zeros(len(gram))
    c[: len(alpha)] += alpha
    c[len(c) - len(beta) :] -= beta
    out = np.zeros(len(c))
    _core.add_rows(gram, np.arange(len(c)), c, out)
    return out
