"""Run ONNX models, and compare what they return with what Python does."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from shortlist._scores import positive_scores

onnxruntime = pytest.importorskip("onnxruntime")
from shortlist.onnx import to_onnx  # noqa: E402

DOUBLE, SINGLE = 1e-12, 1e-5


def run(written, X, name="rows"):
    session = onnxruntime.InferenceSession(written.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: X}), strict=True))


def native(model, X):
    if not is_classifier(model):
        return model.predict(X)
    if len(model.classes_) > 2:
        return model.decision_function(X)
    return positive_scores(model, X)


def check(model, X, written=None, tolerance=DOUBLE, name="rows", wide=False):
    """Compare on the batch and on its first row; `wide`: Python gets the rows in double."""
    dtype = "float64" if tolerance == DOUBLE else "float32"
    written = to_onnx(model, dtype=dtype) if written is None else written
    X = X.astype(dtype)
    for rows in (X, X[:1]):
        found = run(written, rows, name)
        rows = rows.astype(float) if wide else rows
        wanted = native(model, rows)
        assert found["scores"].dtype == dtype
        assert found["scores"].shape == wanted.shape
        unit = np.abs(native(model, X)).max()
        np.testing.assert_allclose(found["scores"], wanted, rtol=tolerance, atol=tolerance * unit)
        if is_classifier(model):
            sure = clear(wanted, tolerance * unit)
            np.testing.assert_array_equal(found["label"][sure], model.predict(rows)[sure])


def clear(scores, margin):
    """Rows whose label does not hang on the last digit of their score."""
    if scores.ndim == 1:
        return np.abs(scores) > margin
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] > margin


def fitted(model, X, y, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(**params).fit(X, y)
