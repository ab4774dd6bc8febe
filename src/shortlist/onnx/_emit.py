"""From fitted estimators to ONNX nodes: features and scores, by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from .._checks import label_index
from ..budget import BudgetClassifier
from ..pairs import RankSVM
from ..stacking import TopStack
from ..stacking.heads import SOFT
from ..top import PatMat, TopPush
from ..topk import TopKSVC
from ..transductive import TransductiveTopK
from . import _trees
from ._errors import NotConvertible
from ._graph import Graph
from ._kernels import dense, kernel_scores
from ._tables import is_table, one_hot, table


class Columns(dict):
    """Columns of a table by name, each of shape (n_rows, 1): numbers in double, or text."""


Rows = Any  # the name of a double matrix, or Columns


# -- scores ----------------------------------------------------------------------------


def scores(model: Any, graph: Graph, x: Rows) -> str:
    """Scores of every row, in double: (n_rows,), or (n_rows, n_classes) of many classes.

    Of two classes, as :func:`shortlist._scores.positive_scores` has them: the decision
    values, or else the probability of the second class.
    """
    return _handler(model, _SCORERS, "scores")(model, graph, x)


def cut_of(model: Any) -> float:
    """Score above which the second class is predicted."""
    model = _last(model)
    return 0.0 if hasattr(model, "decision_function") else 0.5


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


def _handler(model: Any, known: dict[type, Callable], what: str) -> Callable:
    for kind in type(model).__mro__:
        if kind in known:
            return known[kind]
    if type(model).__module__.split(".")[0] == "lightgbm" and what == "scores":
        return _lightgbm
    if what == "features" and is_table(model):
        return table
    listed = ", ".join(sorted(kind.__name__ for kind in known))
    raise NotConvertible(
        f"{type(model).__name__} has no ONNX form here for its {what}. Known are: {listed}."
    )


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
    _two_classes(model)
    trees = _trees.forest_trees(model)
    # Forests read their rows in single precision.
    narrow = graph.double(graph.add("Cast", x, to=1))
    total = _trees.sum_of_trees(graph, narrow, trees)
    return graph.add("Div", total, graph.constant(float(len(trees))))


def _boosting(model: Any, graph: Graph, x: str) -> str:
    _two_classes(model)
    if getattr(model, "_preprocessor", None) is not None:
        raise NotConvertible(
            f"{type(model).__name__} has categorical features, which have no ONNX form: encode "
            "them as columns of 0 and 1."
        )
    trees, start = _trees.histogram_trees(model)
    total = _trees.sum_of_trees(graph, x, trees)
    return graph.add("Add", total, graph.constant(start))


def _lightgbm(model: Any, graph: Graph, x: str) -> str:
    _two_classes(model)
    total = _trees.sum_of_trees(graph, x, _trees.lightgbm_trees(model))
    # Older versions have probabilities only.
    return total if hasattr(model, "decision_function") else graph.add("Sigmoid", total)


def _two_classes(model: Any) -> None:
    if not is_classifier(model) or len(model.classes_) != 2:
        raise NotConvertible(f"{type(model).__name__} must have two classes to be written as ONNX.")


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
    total = graph.constant(0.0)
    for (name, member), slope, intercept in zip(
        model.estimators_, model.slopes_, model.intercepts_, strict=True
    ):
        try:
            values = scores(member, graph, x)  # members know the class as 1
        except NotConvertible as error:
            raise NotConvertible(f"the member {name!r} of TopStack: {error}") from None
        if is_classifier(member) and not hasattr(member, "decision_function"):
            # Probabilities as softened log odds.
            soft = graph.add("Add", values, graph.constant(SOFT))
            soft = graph.add("Div", soft, graph.constant(1.0 + 2.0 * SOFT))
            other = graph.add("Sub", graph.constant(1.0), soft)
            values = graph.add("Sub", graph.add("Log", soft), graph.add("Log", other))
        share = model.weights_[name]
        scaled = graph.add("Mul", values, graph.constant(share * slope))
        total = graph.add("Add", total, graph.add("Add", scaled, graph.constant(share * intercept)))
    log_odds = graph.add("Mul", total, graph.constant(model.slope_))
    margin = graph.add("Add", log_odds, graph.constant(model.intercept_ - model.threshold_))
    return graph.add("Neg", margin) if _flips(model) else margin


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
    SVC: _own(lambda model: model.intercept_),
    Pipeline: _pipeline,
    FrozenEstimator: lambda model, graph, x: scores(model.estimator, graph, x),
    LogisticRegression: _linear,
    LinearSVC: _linear,
    RandomForestClassifier: _forest,
    ExtraTreesClassifier: _forest,
    HistGradientBoostingClassifier: _boosting,
}


# -- features --------------------------------------------------------------------------


def features(step: Any, graph: Graph, x: Rows) -> Rows:
    """Return the transformed rows, in double."""
    if isinstance(step, str) and step == "passthrough":
        return x
    return _handler(step, _TRANSFORMERS, "features")(step, graph, x)


def matrix(graph: Graph, x: Rows) -> str:
    """Return the columns side by side."""
    if not isinstance(x, Columns):
        return x
    return graph.add("Concat", *x.values(), axis=1) if len(x) > 1 else next(iter(x.values()))


def _steps(step: Pipeline, graph: Graph, x: Rows) -> Rows:
    for _, part in step.steps:
        x = features(part, graph, x)
    return x


def _imputer(step: SimpleImputer, graph: Graph, x: Rows) -> str:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise NotConvertible(
            f"SimpleImputer(missing_values={step.missing_values!r}) has no ONNX form here: mark "
            "missing values by nan."
        )
    x = matrix(graph, x)
    statistics = np.asarray(step.statistics_, dtype=np.float64)
    kept = np.arange(len(statistics))
    if step.keep_empty_features:
        # Columns that were empty are filled with zero.
        statistics = np.nan_to_num(statistics, nan=0.0)
    else:
        kept = np.flatnonzero(~np.isnan(statistics))
    gap = graph.add("IsNaN", x)
    filled = graph.add("Where", gap, graph.rounded(graph.constant(statistics)), x)
    parts = [graph.add("Gather", filled, graph.axes(*kept), axis=1)]
    if step.add_indicator and len(step.indicator_.features_):
        marks = graph.add("Gather", gap, graph.axes(*step.indicator_.features_), axis=1)
        parts.append(graph.double(marks))
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _scaler(step: StandardScaler, graph: Graph, x: Rows) -> str:
    x = matrix(graph, x)
    if step.with_mean:
        x = graph.rounded(graph.add("Sub", x, graph.constant(step.mean_)))
    if step.with_std:
        x = graph.rounded(graph.add("Div", x, graph.constant(step.scale_)))
    return x


def _max_abs(step: MaxAbsScaler, graph: Graph, x: Rows) -> str:
    return graph.rounded(graph.add("Div", matrix(graph, x), graph.constant(step.scale_)))


def _column_transformer(step: ColumnTransformer, graph: Graph, x: Rows) -> str:
    parts = []
    for _, part, chosen in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        if not names:
            continue
        try:
            made = features(part, graph, Columns((each, x[each]) for each in names))
        except NotConvertible as error:
            listed = ", ".join(map(repr, names[:5]))
            raise NotConvertible(
                f"{error} It reads {listed}; leave such columns out of the history, or write "
                "them as numbers or as text of few different values."
            ) from None
        parts.append(matrix(graph, made))
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _one_hot(step: OneHotEncoder, graph: Graph, x: Columns) -> str:
    if step.drop is not None or step.min_frequency is not None or step.max_categories is not None:
        raise NotConvertible(
            "OneHotEncoder has an ONNX form here without drop and rare categories."
        )
    parts = [
        one_hot(graph, column, [str(value) for value in categories])
        for column, categories in zip(x.values(), step.categories_, strict=True)
    ]
    return graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _function(step: FunctionTransformer, graph: Graph, x: Rows) -> Rows:
    if step.func is not None:
        raise NotConvertible("FunctionTransformer runs Python, which ONNX cannot hold.")
    return x


_TRANSFORMERS: dict[type, Callable[[Any, Graph, Any], Any]] = {
    Pipeline: _steps,
    SimpleImputer: _imputer,
    StandardScaler: _scaler,
    MaxAbsScaler: _max_abs,
    ColumnTransformer: _column_transformer,
    OneHotEncoder: _one_hot,
    FunctionTransformer: _function,
}
