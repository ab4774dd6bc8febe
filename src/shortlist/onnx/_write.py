"""A whole ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ._emit import labels, scores
from ._errors import NotConvertible
from ._graph import DOUBLE, OPSETS, Graph
from ._steps import Columns, matrix
from ._tables import is_table, table_columns

_TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}
# The first format of model files that knows these operators.
_IR_VERSION = 10


def to_onnx(
    model: Any,
    *,
    columns: Mapping[str, str] | None = None,
    dtype: str = "float64",
    description: str = "",
) -> ModelProto:
    """Write a fitted model as ONNX.

    The graph takes ``rows`` of shape (n, n_features), or one input of shape (n, 1) for
    each of `columns`, and returns ``scores`` (``decision_function``, or the probability of
    the second class where a model has none; ``predict`` of :class:`~shortlist.RankSVM` and
    of models of a numeric outcome) and, for classifiers, ``label``. Inside, everything is
    computed in double precision.

    Parameters
    ----------
    model : estimator
        Fitted: an estimator of this library, the ``model`` of a
        :class:`~shortlist.Shortlist`, or a pipeline of imputation, scaling, one-hot
        encoding, and a linear model, forest or gradient boosting of scikit-learn.
        :class:`~shortlist.BudgetClassifier` needs a threshold, thus `fpr` or `precision`.
    columns : dict of str to {"number", "date", "text"}, default=None
        For pipelines that begin with a ``ColumnTransformer``: names and kinds of the
        inputs. Those that begin with skrub's ``TableVectorizer``, as `pick` makes them of
        tables with text or dates, know theirs: missing text is empty, a date is a number of
        seconds since 1970, always in double precision. Free text needs onnxruntime.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and of the scores that come out.
    description : str, default=""
        Kept in the file.

    Returns
    -------
    onnx.ModelProto
        ``SerializeToString()`` gives what onnxruntime loads.

    Raises
    ------
    NotConvertible
        Where a part of the model has no ONNX form; the message names it.

    See Also
    --------
    register : For skl2onnx, where a pipeline has other steps.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from shortlist import PatMat
    >>> from shortlist.onnx import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = PatMat(kernel="rbf").fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> scores, label = session.run(["scores", "label"], {"rows": X})
    >>> float(abs(scores - model.decision_function(X)).max()) < 1e-12
    True
    >>> bool((label == model.predict(X)).all())
    True
    """
    if dtype not in _TYPES:
        raise ValueError(f"dtype={dtype!r} must be 'float64' or 'float32'.")
    check_is_fitted(model)
    graph = Graph()
    first = _first_step(model)
    if columns is None and is_table(first):
        columns = table_columns(first)
    if columns is None:
        inputs = [helper.make_tensor_value_info("rows", _TYPES[dtype], ["n", _width(model)])]
        x: Any = graph.double("rows")
    else:
        inputs, x = column_inputs(graph, columns, dtype)
        if not (isinstance(first, ColumnTransformer) or is_table(first)):
            x = matrix(graph, x)
    return finish(model, graph, inputs, x, dtype, description)


def finish(
    model: Any, graph: Graph, inputs: list[Any], x: Any, dtype: str, description: str
) -> ModelProto:
    """Add scores and labels to a graph that holds the rows, and close it."""
    values = scores(model, graph, x)
    shape: list[Any] = ["n"]
    if is_classifier(model) and len(model.classes_) > 2:
        shape = ["n", len(model.classes_)]
    graph.add("Cast", values, output="scores", to=_TYPES[dtype])
    outputs = [helper.make_tensor_value_info("scores", _TYPES[dtype], shape)]
    if is_classifier(model):
        graph.add("Identity", labels(model, graph, values), output="label")
        text = np.asarray(model.classes_).dtype.kind in "OUS"
        kind = TensorProto.STRING if text else TensorProto.INT64
        outputs.insert(0, helper.make_tensor_value_info("label", kind, ["n"]))
    written = helper.make_model(
        helper.make_graph(graph.nodes, "shortlist", inputs, outputs, initializer=graph.constants),
        opset_imports=[helper.make_opsetid(name, OPSETS[name]) for name in sorted(graph.domains)],
        producer_name="shortlist",
        producer_version=__version__,
        doc_string=description,
        ir_version=_IR_VERSION,
    )
    checker.check_model(written)
    return written


def _width(model: Any) -> Any:
    return getattr(model, "n_features_in_", None)


def _first_step(model: Any) -> Any:
    while isinstance(model, Pipeline):
        model = model.steps[0][1]
    return model


def column_inputs(
    graph: Graph, columns: Mapping[str, str], dtype: str
) -> tuple[list[Any], Columns]:
    """Declare one input of shape (n, 1) for each column."""
    number = _TYPES[dtype]
    inputs, x = [], Columns()
    for name, kind in columns.items():
        # Seconds since 1970 have too many digits for single precision.
        held = {"number": number, "date": DOUBLE, "text": TensorProto.STRING}.get(kind)
        if held is None:
            raise NotConvertible(f"columns[{name!r}]={kind!r} must be 'number', 'date' or 'text'.")
        inputs.append(helper.make_tensor_value_info(name, held, ["n", 1]))
        x[name] = graph.double(name) if held == TensorProto.FLOAT else name
    return inputs, x
