"""Models that skl2onnx writes, once its registry knows them."""

import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import BudgetClassifier, PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK

pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from onnx_runs import DOUBLE, SINGLE, check, fitted  # noqa: E402
from shortlist.onnx import register  # noqa: E402


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "model",
    [
        TopPush(0.05),
        PatMat(kernel="rbf"),
        PatMat(kernel="laplacian"),
        RankSVM(C=1e-3),
        TransductiveTopK(k=0.1),
        BudgetClassifier(LogisticRegression(), fpr=0.1),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'kernel', '')}",
)
def test_registered_with_skl2onnx(tumours, model, dtype):
    X, y = tumours
    register()
    register()
    made = fitted(model, X[:150], y[:150])
    written = skl2onnx.to_onnx(made, X[:1].astype(dtype))
    check(made, X, written, DOUBLE if dtype == "float64" else SINGLE, "X")


def test_registered_as_a_step(tumours):
    X, y = tumours
    register()
    made = make_pipeline(StandardScaler(), PCA(5), PatMat(kernel="rbf")).fit(X, y)
    check(made, X, skl2onnx.to_onnx(made, X[:1]), DOUBLE, "X")
    many = make_pipeline(StandardScaler(), TopKSVC(k=2)).fit(*load_iris(return_X_y=True))
    rows = load_iris().data
    check(many, rows, skl2onnx.to_onnx(many, rows[:1]), DOUBLE, "X")


def test_registered_needs_a_recent_opset(tumours):
    register()
    with pytest.raises(ValueError, match="target_opset=12"):
        skl2onnx.to_onnx(TopPush(0.1).fit(*tumours), tumours[0][:1], target_opset=12)
