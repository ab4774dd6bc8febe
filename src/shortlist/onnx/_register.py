"""Converters for skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from sklearn.base import ClassifierMixin, is_classifier

from ._emit import (
    BudgetClassifier,
    PatMat,
    RankSVM,
    SumStack,
    TopKSVC,
    TopPush,
    TopStack,
    TransductiveTopK,
    labels,
    scores,
)
from ._graph import OPSETS, Graph

ESTIMATORS = (
    TopPush,
    PatMat,
    RankSVM,
    TopKSVC,
    TransductiveTopK,
    BudgetClassifier,
    TopStack,
    SumStack,
)


def register() -> None:
    """Teach skl2onnx the estimators of this library.

    Afterwards ``skl2onnx.to_onnx`` takes them alone and as the last step of a pipeline of
    steps that it knows. The outputs are ``label`` and ``scores`` (``decision_function``);
    :class:`~shortlist.RankSVM` has ``scores`` only. They need ``target_opset=18`` or later.
    Calling it twice does no harm.

    See Also
    --------
    to_onnx : Without skl2onnx, in double precision also inside forests and boosting.

    Examples
    --------
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from shortlist import TopPush
    >>> from shortlist.onnx import register
    >>> register()
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(PCA(5, whiten=True), TopPush(k=0.05)).fit(X, y)
    >>> [output.name for output in to_onnx(model, X[:1]).graph.output]
    ['label', 'scores']
    """
    from skl2onnx import update_registered_converter

    for estimator in ESTIMATORS:
        # skl2onnx offers these options to every classifier of a pipeline.
        options = (
            {"zipmap": [True, False, "columns"]} if issubclass(estimator, ClassifierMixin) else None
        )
        update_registered_converter(
            estimator,
            f"Shortlist{estimator.__name__}",
            _shapes,
            _convert,
            parser=_parse,
            options=options,
        )


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare the outputs."""
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(f"Shortlist{type(model).__name__}", model)
    operator.inputs = inputs
    if is_classifier(model):
        operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    number = guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable("scores", number))
    return operator.outputs


def _shapes(operator: Any) -> None:
    """Set types and shapes of the outputs."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    model = operator.raw_operator
    n = operator.inputs[0].get_first_dimension()
    width: list[Any] = []
    if is_classifier(model):
        classes = np.asarray(model.classes_)
        kind = StringTensorType if classes.dtype.kind in "OUS" else Int64TensorType
        operator.outputs[0].type = kind([n])
        width = [len(classes)] if len(classes) > 2 else []
    operator.outputs[-1].type.shape = [n, *width]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes into skl2onnx's container."""
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    if container.target_opset < OPSETS[""]:
        raise ValueError(
            f"target_opset={container.target_opset} is too old for {type(model).__name__}: "
            f"use {OPSETS['']} or later."
        )
    graph = Graph(scope.get_unique_variable_name)
    parts = [graph.double(each.full_name) for each in operator.inputs]
    x = graph.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    values = scores(model, graph, x)
    double = isinstance(operator.outputs[-1].type, DoubleTensorType)
    wanted = TensorProto.DOUBLE if double else TensorProto.FLOAT
    graph.add("Cast", values, output=operator.outputs[-1].full_name, to=wanted)
    if is_classifier(model):
        label = labels(model, graph, values)
        graph.add("Identity", label, output=operator.outputs[0].full_name)
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    for node in graph.nodes:
        container.node_domain_version_pair_sets.add((node.domain, OPSETS[node.domain]))
