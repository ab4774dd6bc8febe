"""The one fit path: validated data, a problem, a solver, its certificate, attributes.

An estimator's ``fit`` reads as: :func:`validate_binary` (or a sibling), build the
problem, :func:`solve`, store what came back.
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from . import _core
from ._checks import (
    check_both_count,
    check_number,
    check_two_classes,
    check_weight,
    outside,
    positive_index,
)
from ._solver import find_solver
from .certificate import Certificate, Monitor
from .rows.rounding import Reach, canonical
from .rows.weighted import merge_duplicates

ROW_DTYPES = (np.float64, np.float32)
_WHOLE = 2**31  # floats beyond are not taken for labels without a closer look


@dataclass(frozen=True)
class BinaryData:
    """Validated rows and labels of a two-class problem.

    Attributes
    ----------
    X : ndarray or csr matrix
        The rows, float32 or float64, not copied.
    classes : ndarray
        The two labels; the second is the positive class.
    positive, negative : ndarray of int
        Row numbers of either class, rows of weight zero left out.
    weight : ndarray
        Multiplicity of every row.
    reach : Reach or None
        How far the rows reach, where it was asked for.
    """

    X: Any
    classes: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    weight: np.ndarray
    reach: Reach | None = None


@dataclass(frozen=True)
class MulticlassData:
    """Validated rows and labels of a problem with two or more classes.

    Attributes
    ----------
    X : ndarray or csr matrix
        The rows that count, equal ones merged, float32 or float64.
    classes : ndarray
        The labels.
    code : ndarray of int32
        Class number of every row of `X`.
    weight : ndarray
        Multiplicity of every row of `X`, positive.
    rows : ndarray of int
        Which of the rows that were passed these are (the first of equal ones).
    n_passed : int
        How many rows were passed.
    """

    X: Any
    classes: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    n_passed: int


def check_sparse(X: Any) -> Any:
    """Return the rows, a sparse matrix in canonical form.

    One whose indices point outside it is refused: nobody else looks.
    """
    if not sparse.issparse(X):
        return X
    try:
        _core.check_csr(X.indptr, X.indices, X.data, X.shape[1])
    except ValueError as error:
        names = str(error).replace("start", "indptr").replace("column", "indices")
        raise ValueError(f"X is not a valid CSR matrix: {names}.") from None
    return canonical(X)


def validate_rows(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Any, Any, Reach]:
    """Check rows and labels; one look at the rows tells their reach and whether it is finite."""
    options = {"accept_sparse": "csr", "dtype": ROW_DTYPES, **options}
    X, y = validate_data(estimator, X, y, ensure_all_finite=False, **options)
    X = check_sparse(X)
    with np.errstate(all="ignore"):
        reach = Reach.of(X)
    if not np.isfinite(reach.length):
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    return X, y, reach


def validate_binary(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reach: bool = False
) -> BinaryData:
    """Check the training data of a two-class estimator; find the reach of its rows."""
    found = None
    if reach:
        X, y, found = validate_rows(estimator, X, y)
    else:
        X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=ROW_DTYPES)
        X = check_sparse(X)
    classes, second = _two_labels(estimator, y)
    place = positive_index(classes, estimator.pos_label)
    classes = classes if place == 1 else classes[::-1]
    is_positive = second if place == 1 else ~second
    is_negative = ~is_positive
    weight = check_weight(sample_weight, X.shape[0])
    if sample_weight is not None:
        used = weight > 0.0
        is_positive, is_negative = is_positive & used, is_negative & used
    positive, negative = np.flatnonzero(is_positive), np.flatnonzero(is_negative)
    check_both_count((len(negative), len(positive)), classes)
    return BinaryData(X, classes, positive, negative, weight, found)


def _two_labels(estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two labels, in order, and which rows have the second."""
    if y.dtype.kind in "biuf":
        # Two whole numbers are told apart without sorting them.
        low, high = y.min(), y.max()
        second = y == high
        whole = all(-_WHOLE < end < _WHOLE and end == int(end) for end in (low, high))
        if whole and low != high and (second | (y == low)).all():
            return np.array([low, high]), second
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        check_classification_targets(y)
    classes, code = np.unique(y, return_inverse=True)
    check_two_classes(estimator, classes, kind)
    return classes, code == 1


def validate_multiclass(estimator: Any, X: Any, y: Any, sample_weight: Any) -> MulticlassData:
    """Check the training data of a multi-class estimator; rows of weight zero are gone."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=ROW_DTYPES)
    X = check_sparse(X)
    check_classification_targets(y)
    weight = check_weight(sample_weight, X.shape[0], some=True)
    rows = np.flatnonzero(weight > 0.0)
    classes, code = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        where = "y" if len(rows) == len(weight) else "y, where sample_weight is positive,"
        raise ValueError(
            f"{where} holds one class only ({classes[0]!r}): {type(estimator).__name__} needs "
            "rows of two or more classes."
        )
    # A row of weight 2 and the row twice become the same problem, number for number.
    merged = weight.copy()
    kept = np.concatenate(
        [merge_duplicates(X, rows[code == label], merged) for label in range(len(classes))]
    )
    if sample_weight is None and len(kept) == len(weight):
        kept = np.arange(len(weight))  # as they are, without a copy
    else:
        X = X[kept]
    code = np.searchsorted(classes, y[kept]).astype(np.int32)
    return MulticlassData(X, classes, code, merged[kept], kept, len(weight))


def solve(
    estimator: Any, problem: Any, name: str | None = None, **options: Any
) -> tuple[Any, Certificate, int]:
    """Run the estimator's solver on `problem`; warn if it stops short of ``tol``.

    `name` stands in for ``estimator.solver``; `options` go to the solver.
    """
    check_number("tol", estimator.tol, above=0.0)
    if estimator.max_iter is not None:
        check_number("max_iter", estimator.max_iter, least=1, integer=True)
    if estimator.time_limit is not None:
        check_number("time_limit", estimator.time_limit, above=0.0)
    solver = find_solver(estimator.solver if name is None else name, problem)
    monitor = Monitor(
        tol=estimator.tol,
        max_iter=solver.max_iter if estimator.max_iter is None else estimator.max_iter,
        time_limit=estimator.time_limit,
        verbose=estimator.verbose,
        callback=estimator.callback,
    )
    # Compiled loops look at the clock themselves; the last proof is not cut short.
    _core.set_deadline(estimator.time_limit)
    try:
        solver.run(problem, monitor, **options)
    finally:
        _core.set_deadline(None)
    solution, certificate = monitor.conclude()
    if getattr(problem, "indefinite", False):
        warnings.warn(
            f"kernel={estimator.kernel!r} is not positive semi-definite on these rows: there is "
            "no bound, and the model may be far from the best. Choose other kernel parameters, "
            "for sigmoid a smaller gamma or a larger coef0, or another kernel.",
            ConvergenceWarning,
            stacklevel=outside(),
        )
    if certificate.status not in ("converged", "local"):
        warnings.warn(
            f"{type(estimator).__name__}(solver={solver.name!r}) ended with status "
            f"{certificate.status!r} at a relative duality gap of "
            f"{certificate.relative_gap:.2e}, tol={estimator.tol:g}: the objective may be "
            f"up to {100 * certificate.relative_gap:.2g} % above the optimum. "
            f"{_advice(certificate)}",
            ConvergenceWarning,
            stacklevel=outside(),
        )
    return solution, certificate, monitor.iteration


def _advice(certificate: Certificate) -> str:
    if certificate.status == "stopped":
        return "The callback ended it."
    if certificate.status == "max_iter":
        return "Raise max_iter, raise tol, or scale the features."
    if certificate.status == "time_limit":
        return "Raise time_limit, raise tol, or scale the features."
    if certificate.rounding > 0.5 * certificate.gap:
        return (
            "Rounding allows no better proof on these numbers: scale the features, move them "
            "closer to zero, use float64, or raise tol."
        )
    return "More iterations would not help: scale the features, lower C, or raise tol."


def atomic(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ``fit`` all or nothing.

    It runs on a copy of the estimator that has forgotten what earlier fits learned. What the
    copy learned replaces all of that at once, when the fit has succeeded; a fit that fails
    or is interrupted leaves the estimator as it was. The copy finds what was learned before,
    for a warm start, in ``self._previous``. Attributes that others put on the estimator, as
    scikit-learn does, stay.
    """

    @functools.wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        learner = copy.copy(self)
        for name in vars(self).get("_learned", ()):
            vars(learner).pop(name, None)
        kept = set(vars(learner)) - {"_learned"}
        learner._previous = dict(vars(self))
        fit(learner, *args, **kwargs)
        vars(learner).pop("_previous", None)
        learner._learned = sorted(set(vars(learner)) - kept | {"_learned"})
        vars(self).clear()
        vars(self).update(vars(learner))
        return self

    return wrapper
