r"""The methods seed 004 compares with: accuracy at the top, TSVM and SVMperf, all linear.

Each takes training rows, labels of -1 and 1, candidates and C, and returns a model
:math:`f(x) = w \cdot x + b`. Their quadratic programmes are those of the active-set solver
of the library, :math:`\min \tfrac12 \|w\|^2 + \sum_r u_r [t_r - s_r f(z_r)]_+`, in which an
infinite :math:`u_r` is a constraint and a zero one no row at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shortlist._core import ActiveSet
from shortlist.certificate import Monitor, Proof

SHARE = 0.05  # of the rows, for the methods that aim at the top
LOOPS = 20  # of the concave-convex procedure, as in UniverSVM
STEP = 0.15  # of the cutting planes, from the best model to that of the planes


@dataclass(frozen=True)
class Model:
    """A linear model."""

    w: np.ndarray
    b: float

    def scores(self, X: np.ndarray) -> np.ndarray:
        return X @ self.w + self.b


class Programme:
    """Rows (stored row, sign, target, upper bound) in the active-set solver.

    Blocks of rows follow one another; every block names its stored rows and has one sign
    and target per row or for all.
    """

    def __init__(self, X: np.ndarray, blocks: list[tuple]) -> None:
        columns = [np.broadcast_arrays(*(np.asarray(part) for part in block)) for block in blocks]
        stored, sign, target, upper = (
            np.concatenate([block[i] for block in columns]) for i in range(4)
        )
        self.qp = ActiveSet(
            np.ascontiguousarray(X, dtype=np.float64),
            stored.astype(np.int64),
            *(part.astype(np.float64) for part in (sign, target, upper)),
        )
        self._pivots = 10_000 + 50 * len(stored)

    def solve(self) -> Model:
        status = self.qp.optimise(np.inf, self._pivots)
        if status != 0:
            raise ArithmeticError(f"The active-set solver stopped with status {status}.")
        return Model(self.qp.weights(), self.qp.intercept)


def boundary_models(X: np.ndarray, y: np.ndarray, C: float) -> Iterator[tuple[Model, float]]:
    r"""Yield the SVM through each training row in turn, with its objective.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i [1 - y_i f(x_i)]_+
              \quad\text{s.t.}\quad f(x_j) = 0

    The plain SVM is on one side of :math:`x_j`; by convexity the inequality that forbids
    that side holds with equality, so one bound turns the plain SVM into the answer.
    """
    n = len(y)
    rows = np.arange(n)
    programme = Programme(X, [(rows, y, 1.0, C), (rows, 1.0, 0.0, 0.0), (rows, -1.0, 0.0, 0.0)])
    plain = programme.solve().scores(X)
    programme.qp.save()
    for j in range(n):
        programme.qp.restore()
        programme.qp.bound(n + j if plain[j] < 0.0 else 2 * n + j, np.inf)
        yield programme.solve(), programme.qp.value


def accuracy_at_top(X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float) -> Model:
    """Accuracy at the top: a boundary row of the wanted rank, by convex problems.

    The score of the row at the top quantile is the threshold. Which row that will be is
    unknown: each is tried (:func:`boundary_models`), the demand that it lies at the quantile
    is dropped, and of all models that with its row nearest to it is taken, of equals the
    one of lowest objective. The candidates are not used.

    Reference: S. Boyd, C. Cortes, M. Mohri, A. Radovanovic, "Accuracy at the top", NIPS 2012.
    """
    wanted = np.ceil(SHARE * len(y))

    def distance(found: tuple[Model, float]) -> tuple[float, float]:
        model, objective = found
        return abs(above(model.scores(X)) - wanted), objective

    return min(boundary_models(X, y, C), key=distance)[0]


def above(scores: np.ndarray) -> int:
    """Count the rows over the boundary; rounding does not lift one."""
    return int((scores > 1e-7 * np.abs(scores).max()).sum())


def tsvm_models(
    X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float
) -> Iterator[tuple[Model, np.ndarray]]:
    """Yield the models of :func:`tsvm`, each with the labels its programme assumed."""
    n, m = len(y), len(pool)
    share = float(y.mean())
    weight = C * n / m
    here = np.arange(n, n + m)
    blocks = [(here, sign, target, 0.0) for sign in (1.0, -1.0) for target in (1.0, -1.0)]
    balance = [([n + m], 1.0, share, np.inf), ([n + m], -1.0, -share, np.inf)]
    stored = np.concatenate([X, pool, pool.mean(axis=0)[None]])
    programme = Programme(stored, [(np.arange(n), y, 1.0, C), *blocks, *balance])
    label = np.zeros(m)
    for _ in range(LOOPS):
        model = programme.solve()
        yield model, label
        new = np.where(model.scores(pool) < 0.0, -1.0, 1.0)
        if (new == label).all():
            return
        for u in np.flatnonzero(new != label):
            first = n + u if new[u] > 0.0 else n + 2 * m + u
            for row in (first, first + m):
                programme.qp.bound(row, weight)
            if label[u]:
                other = n + u if label[u] > 0.0 else n + 2 * m + u
                for row in (other, other + m):
                    programme.qp.release(row)
        label = new


def tsvm(X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float) -> Model:
    r"""Transductive SVM by the concave-convex procedure, with UniverSVM's defaults.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i [1 - y_i f(x_i)]_+
              + C \frac{n}{m} \sum_j [1 - |f(\hat x_j)|]_+
              \quad\text{s.t.}\quad \frac1m \sum_j f(\hat x_j) = \frac1n \sum_i y_i

    Each loop replaces the concave part by its tangent at the last model: with
    :math:`l_j` the sign of :math:`f(\hat x_j)`, candidate j costs
    :math:`[1 - l_j f]_+ + [-1 - l_j f]_+`, an upper bound up to a constant, so the objective
    never rises. The first model has no such terms; the end is when no sign changes.

    References: T. Joachims, "Transductive inference for text classification using support
    vector machines", ICML 1999; R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale
    transductive SVMs", JMLR 7, 2006.
    """
    *_, (model, _) = tsvm_models(X, y, pool, C)
    return model


class Labellings:
    r"""The labellings of SVMperf for precision at k, and which violates the margin most.

    .. math:: \max_{y'} \Delta(y') - \frac{50}{n} \sum_i (y_i - y'_i) f(x_i),
              \quad \Delta = 100 \, (1 - \text{precision of } y')

    over the labellings with at least k positives and an error among them. For given numbers
    of right and wrong positives the highest scores of each class are best, so two sorts and
    a table over both numbers suffice.
    """

    def __init__(self, y: np.ndarray, k: int) -> None:
        self.positive, self.negative = (np.flatnonzero(y == sign) for sign in (1.0, -1.0))
        self.n = len(y)
        right = np.arange(len(self.positive) + 1)[:, None]
        wrong = np.arange(1, len(self.negative) + 1)
        self._loss = np.where(right + wrong < k, -np.inf, 100.0 * wrong / (right + wrong))

    def worst(self, scores: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return the labels, their loss and their violation."""
        positive, negative = (
            rows[np.argsort(-scores[rows], kind="stable")]
            for rows in (self.positive, self.negative)
        )
        right = np.concatenate([[0.0], np.cumsum(scores[positive])])
        wrong = np.cumsum(scores[negative])
        factor = 100.0 / self.n
        value = self._loss + (factor * (right - right[-1]))[:, None]
        value += factor * wrong
        best = np.unravel_index(int(np.argmax(value)), value.shape)
        labels = np.full(self.n, -1.0)
        labels[positive[: best[0]]] = 1.0
        labels[negative[: best[1] + 1]] = 1.0
        return labels, float(self._loss[best]), float(value[best])


def svmperf(
    X: np.ndarray, y: np.ndarray, pool: np.ndarray, C: float, monitor: Monitor | None = None
) -> Model:
    r"""Structural SVM for precision at k, one slack, by cutting planes.

    .. math:: \min_{w, b, \xi \ge 0} \tfrac12 (\|w\|^2 + b^2) + C \xi \quad\text{s.t.}\quad
              \frac{50}{n} \sum_i (y_i - y'_i) f(x_i) \ge \Delta(y') - \xi
              \quad \text{for all } y'

    with the losses and labellings of :func:`worst_labelling`, k = 5 % of the rows; scale,
    regularised intercept and "at least k" are those of the program of the same name, which
    seed 004 ran. Each round adds the constraint that is most violated a short step from the
    best model towards that of the constraints found so far, whose objective is a lower bound;
    it ends on the gap. The candidates are not used.

    Reference: T. Joachims, "A support vector method for multivariate performance
    measures", ICML 2005.
    """
    monitor = monitor or Monitor(tol=1e-3, max_iter=5000)
    labellings = Labellings(y, int(np.ceil(SHARE * len(y))))
    rows = np.column_stack([X, np.ones(len(y))])
    # ξ is the intercept of the active-set solver: the first row charges C for it.
    planes, losses = [np.zeros(rows.shape[1])], [0.0]
    best, w, dual = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 0.0
    while True:
        labels, loss, violation = labellings.worst(rows @ w)
        primal = 0.5 * float(w @ w) + C * max(violation, 0.0)
        if primal < monitor.primal:
            best = w
        proof = Proof(best, min(primal, monitor.primal), dual)
        if monitor.check(primal, dual, lambda proof=proof: proof):
            return Model(best[:-1], float(best[-1]))
        planes.append(50.0 / len(y) * (y - labels) @ rows)
        losses.append(loss)
        many = np.arange(1, len(planes))
        programme = Programme(
            np.array(planes), [([0], -1.0, 0.0, C), (many, 1.0, losses[1:], np.inf)]
        )
        new, dual = programme.solve().w, programme.qp.value
        w = STEP * new + (1.0 - STEP) * best
        monitor.iteration += 1


BASELINES = {"AATP": accuracy_at_top, "TSVM": tsvm, "SVMperf": svmperf}
