"""Accuracy at the top: the threshold is a row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import ROUNDING, check_choice, check_number, check_rate, outside, round_up
from .._fit import BinaryData, atomic, solve, validate_binary
from ..certificate import Check, Monitor, Proof
from ..rows.operators import as_rows
from ..rows.rounding import Reach
from .anchored import ABOVE, OPTIMAL, LabelledRows, Plane, Programme
from .linear import LinearRival

CHOICES = ("nearest_rank", "lowest_objective")
# Scores this small, relative to the largest, are on the boundary but for rounding.
_ON_BOUNDARY = 1e-7


@dataclass(frozen=True)
class Boundary:
    """The model through a row.

    Attributes
    ----------
    plane : Plane
        The model.
    row : int
        The row it goes through.
    objective, above : float
        Its objective, and the weight of the rows over it.
    multipliers : ndarray
        Its dual point.
    """

    plane: Plane
    row: int
    objective: float
    above: float
    multipliers: np.ndarray


class BoundaryProblem:
    """Training rows, of which one is to lie on the boundary.

    Parameters
    ----------
    labelled : LabelledRows
        The rows.
    weight : ndarray
        Their multiplicities.
    wanted : float
        Weight of the rows that should lie above the boundary.
    nearest : bool
        Whether the row is chosen whose model is nearest to that, or the one of the lowest
        objective.
    """

    offers = frozenset({"boundary rows"})

    def __init__(
        self, labelled: LabelledRows, weight: np.ndarray, wanted: float, nearest: bool
    ) -> None:
        self.labelled = labelled
        self.weight = weight
        self.wanted = wanted
        self.nearest = nearest
        self.tried = 0

    def key(self, found: Boundary) -> tuple[float, float]:
        """Return what decides between models: the smallest is best."""
        return abs(found.above - self.wanted) if self.nearest else 0.0, found.objective

    def above(self, scores: np.ndarray) -> float:
        """Weight of the rows over the boundary; rounding does not lift one."""
        return float(self.weight[scores > on_boundary(scores)].sum())

    def prove(self, found: Boundary) -> Proof:
        """Prove the model against the dual point of its own programme."""
        anchor = self.labelled.rows.take(np.array([found.row])).dense()[0]
        plane = Plane(found.plane.w, -float(anchor @ found.plane.w))
        lower = self.labelled.lower_bound(found.multipliers, anchor, 0.0)
        off = self.labelled.objective_error(plane)
        return Proof((plane, found.row), self.labelled.objective(plane), lower, off)


def boundary_rows(problem: BoundaryProblem, monitor: Monitor) -> None:
    r"""Try the rows as boundary, each in a convex programme from the last optimum.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i c_i [1 - y_i f(x_i)]_+
              \quad\text{s.t.}\quad f(x_j) = 0

    The plain SVM is on one side of :math:`x_j`; by convexity the inequality that forbids that
    side holds with equality, so one bound turns the plain SVM into the answer. The dual only
    rises on the way, and a row is given up when it exceeds the best objective, where no row can
    be better but by its objective: always if that alone decides, and otherwise once a row of the
    wanted rank is known. So the rows nearest to the rank under the plain SVM come first.

    Reference: S. Boyd, C. Cortes, M. Mohri, A. Radovanovic, "Accuracy at the top", NIPS 2012.
    """
    labelled = problem.labelled
    n = len(labelled.sign)
    rows = np.arange(n)
    programme = Programme(
        labelled.rows,
        [(rows, labelled.sign, 1.0, labelled.c), (rows, 1.0, 0.0, 0.0), (rows, -1.0, 0.0, 0.0)],
    )
    if programme.solve() != OPTIMAL:
        monitor.stall()
    plain = programme.plane().scores(labelled.rows)
    programme.qp.save()
    order = np.argsort(-plain, kind="stable")
    rank = np.empty(n)
    rank[order] = np.cumsum(problem.weight[order]) - problem.weight[order]
    distance = np.abs(rank - problem.wanted) if problem.nearest else np.abs(plain)
    best: Boundary | None = None
    for j in np.argsort(distance, kind="stable"):
        if best is not None and monitor.exhausted():
            break
        ceiling = np.inf
        if best is not None and (not problem.nearest or problem.key(best)[0] == 0.0):
            ceiling = best.objective * (1.0 + ROUNDING)
        programme.qp.restore()
        programme.qp.bound(n + j if plain[j] < 0.0 else 2 * n + j, np.inf)
        status = programme.solve(ceiling)
        monitor.iteration += 1
        problem.tried += 1
        if status == ABOVE or (status != OPTIMAL and best is not None):
            continue
        plane = programme.plane()
        multipliers = np.asarray(programme.qp.multipliers())[:n]
        scores = plane.scores(labelled.rows)
        found = Boundary(
            plane, int(j), labelled.objective(plane), problem.above(scores), multipliers
        )
        if best is None or problem.key(found) < problem.key(best):
            best = found
            if monitor.check(found.objective, -np.inf, None):
                break
    assert best is not None
    monitor.accept(problem.prove(best))


class AATP(LinearRival):
    r"""Accuracy at the top: the boundary goes through the row at the top quantile.

    Minimises, for every training row j in turn,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i [1 - y_i f(x_i)]_+ \quad\text{s.t.}\quad f(x_j) = 0,
              \qquad f(x) = w \cdot x + b,

    and takes one of these models. That exactly the share :math:`\tau` of the rows lies above
    the boundary is what is wanted; it is not convex, is dropped from the programmes, and enters
    by the choice of the row.

    Parameters
    ----------
    tau : float, default=0.05
        Share of the rows that should lie above the boundary, rounded up to a number of rows.
    choice : {"nearest_rank", "lowest_objective"}, default="nearest_rank"
        Which row is taken: that whose model is nearest to the wanted number of rows above, of
        equals that of the lowest objective; or that of the lowest objective whatever its rank,
        which is nearly the plain SVM and knows nothing of `tau`.
    C : float, default=1.0
        Weight of the loss.
    solver : {"auto", "boundary_rows"}, default="auto"
        There is one.
    tol : float, default=1e-4
        Relative gap of the chosen programme that counts as solved.
    max_iter : int or None, default=None
        Limit of the rows tried; None tries all. Those nearest to the quantile under the plain SVM
        come first.
    time_limit : float or None, default=None
        Seconds after which no further row is tried.
    verbose : int, default=0
        1 prints one line per improvement.
    callback : callable or None, default=None
        Receives a :class:`~shortlist.certificate.Check` per improvement, without a bound; a true
        return value ends the search.
    pos_label : label or None, default=None
        The label to look for. None: 1, "yes" or true where the labels are 0/1, -1/1, no/yes or
        false/true; otherwise the one that sorts last, with a warning if the labels are text.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept.
    boundary_ : int
        The training row on the boundary.
    n_tried_ : int
        Rows that were tried; fewer than all where a limit ended the search.
    certificate_ : Certificate
        Of the programme of the row that was taken: it says nothing about other rows.
    classes_ : ndarray of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_iter_ : int
        Programmes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where the input had string names.

    See Also
    --------
    shortlist.PatMat : A convex stand-in for the quantile; one problem instead of one per row.

    Notes
    -----
    ``sample_weight`` is multiplicity: of the losses, and of the rows above the boundary.

    References
    ----------
    S. Boyd, C. Cortes, M. Mohri, A. Radovanovic, "Accuracy at the top", NIPS 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist.rivals import AATP
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X[:100, :2])
    >>> model = AATP(tau=0.1).fit(X, y[:100])
    >>> bool(abs(model.decision_function(X)[model.boundary_]) < 1e-9)
    True
    """

    def __init__(
        self,
        tau: float = 0.05,
        *,
        choice: str = "nearest_rank",
        C: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.tau = tau
        self.choice = choice
        super().__init__(
            C=C, solver=solver, tol=tol, max_iter=max_iter, time_limit=time_limit,
            verbose=verbose, callback=callback, pos_label=pos_label,
        )  # fmt: skip

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows: dense or CSR, float32 or float64.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to look for.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : AATP
            Fitted estimator.
        """
        check_number("C", self.C, above=0.0)
        tau = check_rate(self.tau, "tau", low_open=True)
        check_choice("choice", self.choice, CHOICES)
        data = validate_binary(self, X, y, sample_weight)
        labelled, used, centre = labelled_rows(data, float(self.C))
        weight = data.weight[used]
        whole = bool((weight == np.rint(weight)).all())
        wanted = round_up(tau * float(weight.sum()), whole)
        nearest = self.choice == "nearest_rank"
        problem = BoundaryProblem(labelled, weight, wanted, nearest)
        (plane, row), certificate, n_iter = solve(self, problem)
        self._keep(data.classes, plane.w, centre, plane.b, certificate, n_iter)
        self.boundary_ = int(used[row])
        self._on_boundary_ = on_boundary(plane.scores(labelled.rows))
        self.n_tried_ = problem.tried
        if problem.tried < len(used):
            warnings.warn(
                f"AATP tried {problem.tried} of {len(used)} rows as boundary; others may be "
                "better. Raise max_iter or time_limit to try more.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of rows: positive above the boundary, and zero on it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        scores = super().decision_function(X)
        # One training row lies on the boundary; how its score is rounded decides nothing.
        scores[np.abs(scores) <= self._on_boundary_] = 0.0
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # As many rows are called positive as tau says, however many are.
        tags.classifier_tags.poor_score = True
        return tags


def on_boundary(scores: np.ndarray) -> float:
    """Return up to which size a score is rounding of zero, where training rows have these."""
    return float(_ON_BOUNDARY * np.abs(scores).max())


def labelled_rows(
    data: BinaryData, C: float, others: tuple[Any, ...] = ()
) -> tuple[LabelledRows, np.ndarray, np.ndarray | None]:
    """Return the rows that count, which of the given ones they are, and their centre.

    The centre is that of `others` as well. An intercept makes up for it.
    """
    used = np.sort(np.concatenate([data.positive, data.negative]))
    sign = np.where(np.isin(used, data.positive), 1.0, -1.0)
    reach = Reach.merged([Reach.of(part) for part in (data.X, *others)])
    centre = reach.centre()
    rows = as_rows(data.X, centre)
    if len(used) < rows.n_rows:
        rows = rows.take(used)
    labelled = LabelledRows(rows, reach.shifted(centre), sign, C * data.weight[used])
    return labelled, used, centre
