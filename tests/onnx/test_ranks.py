"""Ranks and weighed words of ONNX graphs against those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

from onnx_runs import DOUBLE, SINGLE, check  # noqa: E402
from shortlist.onnx import NotConvertible, to_onnx  # noqa: E402
from shortlist.onnx._graph import OPSETS, Graph  # noqa: E402
from shortlist.onnx._steps import features  # noqa: E402


def transformed(step, X):
    """Return the rows as the ONNX nodes of a step have them."""
    graph = Graph()
    made = features(step, graph, "x")
    ends = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, X.shape[1]])
        for name in ("x", made)
    ]
    whole = helper.make_graph(graph.nodes, "ranks", ends[:1], ends[1:], initializer=graph.constants)
    opset = helper.make_opsetid("", OPSETS[""])
    model = helper.make_model(whole, opset_imports=[opset], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": X})[0]


def ugly(rng, n):
    """Columns with ties, a constant, a long tail, a tiny and a large scale, an offset."""
    return np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 4, n),
            np.full(n, 3.0),
            rng.exponential(size=n) ** 6,
            1e-12 * rng.normal(size=n),
            1e12 * rng.normal(size=n),
            1e8 + rng.normal(size=n),
        ]
    )


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 60),
    steps=st.integers(1, 60),
    shape=st.sampled_from(["uniform", "normal"]),
)
@example(seed=0, n=500, steps=200, shape="normal")
@example(seed=0, n=500, steps=256, shape="uniform")
@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_ranks(seed, n, steps, shape):
    rng = np.random.default_rng(seed)
    X = ugly(rng, n)
    step = QuantileTransformer(n_quantiles=steps, output_distribution=shape).fit(X)
    beside = np.abs(X) * rng.normal(size=X.shape)
    rows = np.concatenate([X, X + beside, X - 1e-7, X + 1e-7, -X, step.quantiles_])
    np.testing.assert_allclose(transformed(step, rows), step.transform(rows), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("shape", ["uniform", "normal"])
@pytest.mark.parametrize("tolerance", [DOUBLE, SINGLE])
def test_a_model_on_ranks(tumours, shape, tolerance):
    X, y = tumours
    ranks = QuantileTransformer(n_quantiles=50, output_distribution=shape)
    made = make_pipeline(StandardScaler(), ranks, LogisticRegression(max_iter=1000))
    made.fit(X[:200], y[:200])
    # A row beside a step of float32 quantiles may take its other side.
    check(made, X, tolerance=tolerance, wide=True)


@pytest.mark.parametrize("settings", [{}, {"norm": None}, {"use_idf": False}], ids=str)
def test_weighed_words(settings):
    X = np.random.default_rng(0).poisson(0.5, size=(80, 6)).astype(float)
    X[3] = 0.0
    step = TfidfTransformer(**settings).fit(X[:50])
    np.testing.assert_allclose(transformed(step, X), step.transform(X).toarray(), rtol=1e-14)


def test_other_weights_of_words_are_refused():
    X = np.eye(3)
    made = make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression())
    made.fit(X, [0, 1, 1])
    with pytest.raises(NotConvertible, match=r"TfidfTransformer\(.*sublinear_tf=True\)"):
        to_onnx(made)
