"""From fitted estimators to ONNX nodes: scores and labels, by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, LinearSVC

from .._checks import label_index
from .._scores import margins_of
from ..budget import BudgetClassifier
from ..pairs import RankSVM
from ..stacking import SumStack, TopStack
from ..stacking.heads import SOFT
from ..top import PatMat, TopPush
from ..topk import TopKSVC
from ..transductive import TransductiveTopK
from . import _trees
from ._errors import NotConvertible, handler
from ._graph import Graph
from ._kernels import dense, kernel_scores
from ._steps import Rows, features


def scores(model: Any, graph: Graph, x: Rows) -> str:
    """Scores of every row, in double: (n_rows,), or (n_rows, n_classes) of many classes.

    Of two classes, as :func:`shortlist._scores.positive_scores` has them: the decision
    values, or else the probability of the second class. Of a regressor, what it predicts.
    """
    if type(model).__module__.split(".")[0] == "lightgbm":
        return _lightgbm(model, graph, x)
    return handler(model, _SCORERS, "scores")(model, graph, x)


def cut_of(model: Any) -> float:
    """Score above which the second class is predicted."""
    model = _last(model)
    return 0.5 if margins_of(model) is None else 0.0


def labels(model: Any, graph: Graph, values: str) -> str:
    """Label of every row from its scores."""
    classes = np.asarray(model.classes_)
    if isinstance(model, BudgetClassifier | TopStack):
        # On the threshold, a row is in the budget of a stack and not flagged by a classifier;
        # where the class that is looked for sorts first, higher scores are the other's.
        above = {
            (BudgetClassifier, False): "Greater",
            (BudgetClassifier, True): "GreaterOrEqual",
            (TopStack, False): "GreaterOrEqual",
            (TopStack, True): "Greater",
        }[type(model), _flips(model)]
        place = graph.add("Cast", graph.add(above, values, graph.constant(0.0)), to=7)
    elif len(classes) == 2:
        above = graph.add("Greater", values, graph.constant(cut_of(model)))
        place = graph.add("Cast", above, to=7)
    else:
        place = graph.add("ArgMax", values, axis=1, keepdims=0)
    names = graph.constant(*_written(classes))
    return graph.add("Gather", names, place)


def _written(classes: np.ndarray) -> tuple[np.ndarray, Any]:
    if classes.dtype.kind in "biu":
        return classes, np.int64
    if classes.dtype.kind == "f" and np.all(classes == np.rint(classes)):
        return classes, np.int64
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes, object
    raise NotConvertible(
        f"classes_={classes.tolist()} cannot be written as ONNX labels: use whole numbers or text."
    )


def _last(model: Any) -> Any:
    while True:
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            return model


def _column(graph: Graph, values: str) -> str:
    return graph.add("Squeeze", values, graph.axes(1))


def _affine(graph: Graph, x: str, coef: Any, intercept: Any) -> str:
    coef = np.atleast_2d(dense(coef))
    product = graph.add("MatMul", x, graph.constant(coef.T))
    total = graph.add("Add", product, graph.constant(np.atleast_1d(intercept)))
    return _column(graph, total) if len(coef) == 1 else total


def _own(intercept: Callable[[Any], Any]) -> Callable[[Any, Graph, str], str]:
    def emit(model: Any, graph: Graph, x: str) -> str:
        kernel = getattr(model, "kernel", "linear")
        if isinstance(kernel, str) and kernel == "linear":
            return _affine(graph, x, model.coef_, intercept(model))
        sums = kernel_scores(model, graph, x)
        offset = np.atleast_1d(intercept(model))
        total = graph.add("Add", sums, graph.constant(offset))
        return _column(graph, total) if len(np.atleast_2d(dense(model.dual_coef_))) == 1 else total

    return emit


def _pat_mat_intercept(model: PatMat) -> float:
    return -(model.quantile_ if model.cutoff == "quantile" else model.threshold_)


def _pipeline(model: Pipeline, graph: Graph, x: Rows) -> str:
    for _, step in model.steps[:-1]:
        x = features(step, graph, x)
    return scores(model.steps[-1][1], graph, x)


def _linear(model: Any, graph: Graph, x: str) -> str:
    return _affine(graph, x, model.coef_, model.intercept_)


def _forest(model: Any, graph: Graph, x: str) -> str:
    _one_score(model)
    trees = _trees.forest_trees(model)
    # Forests read their rows in single precision.
    narrow = graph.double(graph.add("Cast", x, to=1))
    total = _trees.sum_of_trees(graph, narrow, trees)
    return graph.add("Div", total, graph.constant(float(len(trees))))


def _boosting(model: Any, graph: Graph, x: str) -> str:
    _one_score(model)
    if getattr(model, "_preprocessor", None) is not None:
        raise NotConvertible(
            f"{type(model).__name__} has categorical features, which have no ONNX form: encode "
            "them as columns of 0 and 1."
        )
    if getattr(model, "loss", "squared_error") not in ("squared_error", "log_loss"):
        raise NotConvertible(
            f"{type(model).__name__}(loss={model.loss!r}) has no ONNX form here: use "
            "'squared_error'."
        )
    trees, start = _trees.histogram_trees(model)
    total = _trees.sum_of_trees(graph, x, trees)
    return graph.add("Add", total, graph.constant(start))


def _lightgbm(model: Any, graph: Graph, x: str) -> str:
    _one_score(model)
    objective = model.objective_
    if objective not in ("binary", "regression"):
        raise NotConvertible(
            f"{type(model).__name__}(objective={objective!r}) has no ONNX form here: use "
            "'binary' or 'regression'."
        )
    return _trees.sum_of_trees(graph, x, _trees.lightgbm_trees(model))


def _one_score(model: Any) -> None:
    if is_classifier(model):
        if len(model.classes_) != 2:
            raise NotConvertible(
                f"{type(model).__name__} must have two classes to be written as ONNX."
            )
    elif getattr(model, "n_outputs_", 1) != 1:
        raise NotConvertible(
            f"{type(model).__name__} must predict one number to be written as ONNX, not "
            f"{model.n_outputs_}."
        )


def _budget(model: BudgetClassifier, graph: Graph, x: Rows) -> str:
    if not hasattr(model, "threshold_"):
        wish = f"k={model.k!r}" if model.k is not None else f"fraction={model.fraction!r}"
        raise NotConvertible(
            f"BudgetClassifier({wish}) cannot be written as ONNX: which rows are among the first "
            "depends on the other rows of a batch. Export its scorer, estimator_, and take the "
            "first rows of each batch yourself, or cut by fpr or precision."
        )
    values = _of_positive(model.estimator_, graph, x, _flips(model))
    margin = graph.add("Sub", values, graph.constant(model.threshold_))
    if not _flips(model):
        return margin
    zero = graph.add("Equal", margin, graph.constant(0.0))
    tiny = graph.constant(np.finfo(float).tiny)
    return graph.add("Where", zero, tiny, graph.add("Neg", margin))


def _of_positive(model: Any, graph: Graph, x: Rows, flips: bool) -> str:
    """Scores that are higher for the class that is looked for."""
    values = scores(model, graph, x)
    if not (flips and is_classifier(model)):
        return values
    if cut_of(model):
        return graph.add("Sub", graph.constant(1.0), values)
    return graph.add("Neg", values)


def _stack(model: TopStack, graph: Graph, x: Rows) -> str:
    log_odds = _combined(model, graph, x)
    margin = graph.add("Sub", log_odds, graph.constant(model.threshold_))
    return graph.add("Neg", margin) if _flips(model) else margin


def _combined(model: TopStack | SumStack, graph: Graph, x: Rows) -> str:
    """Weigh the members' scores, each on its line, and put the sum on a line."""
    total = graph.constant(0.0)
    for (name, member), slope, intercept in zip(
        model.estimators_, model.slopes_, model.intercepts_, strict=True
    ):
        try:
            values = scores(member, graph, x)  # members know the class as 1
        except NotConvertible as error:
            raise NotConvertible(
                f"the member {name!r} of {type(model).__name__}: {error}"
            ) from None
        if is_classifier(member) and margins_of(member) is None:
            # Probabilities as softened log odds.
            soft = graph.add("Add", values, graph.constant(SOFT))
            soft = graph.add("Div", soft, graph.constant(1.0 + 2.0 * SOFT))
            other = graph.add("Sub", graph.constant(1.0), soft)
            values = graph.add("Sub", graph.add("Log", soft), graph.add("Log", other))
        share = model.weights_[name]
        scaled = graph.add("Mul", values, graph.constant(share * slope))
        total = graph.add("Add", total, graph.add("Add", scaled, graph.constant(share * intercept)))
    total = graph.add("Mul", total, graph.constant(model.slope_))
    return graph.add("Add", total, graph.constant(model.intercept_))


def _flips(model: BudgetClassifier | TopStack) -> bool:
    """Whether the class that is looked for sorts first."""
    return model.pos_label is not None and not label_index(model.classes_, model.pos_label)


_SCORERS: dict[type, Callable[[Any, Graph, Any], str]] = {
    TopPush: _own(lambda model: -model.threshold_),
    PatMat: _own(_pat_mat_intercept),
    RankSVM: _own(lambda model: 0.0),
    TopKSVC: _own(lambda model: model.intercept_),
    TransductiveTopK: _own(lambda model: model.intercept_),
    BudgetClassifier: _budget,
    TopStack: _stack,
    SumStack: _combined,
    SVC: _own(lambda model: model.intercept_),
    SVR: _own(lambda model: model.intercept_),
    Pipeline: _pipeline,
    FrozenEstimator: lambda model, graph, x: scores(model.estimator, graph, x),
    LogisticRegression: _linear,
    LinearSVC: _linear,
    Ridge: _linear,
    RandomForestClassifier: _forest,
    RandomForestRegressor: _forest,
    ExtraTreesClassifier: _forest,
    ExtraTreesRegressor: _forest,
    HistGradientBoostingClassifier: _boosting,
    HistGradientBoostingRegressor: _boosting,
}
