"""
Deployment with ONNX
====================

The pipeline that ``pick`` returns, imputation and scaling included, as one file that any
ONNX runtime can score with: no Python, no shortlist.
"""

# %%
# Combine models for the tumours, with some measurements missing.
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime

from shortlist import pick
from shortlist.datasets import load_tumours
from shortlist.onnx import to_onnx

X, y = load_tumours()
X = X.copy()
X[::9, 2] = np.nan
found = pick(X[:400], y[:400], X[400:], k=30, effort="quick")
print(found.verdict.replace(". ", ".\n"))

# %%
# Write it, load it, score with it.
written = to_onnx(found.model).SerializeToString()
print(f"{len(written):,} bytes")
session = onnxruntime.InferenceSession(written)
label, scores = session.run(["label", "scores"], {"rows": X})

# %%
# The differences are those of rounding in double precision, and the lists are the same.
native = found.model.decision_function(X)
assert (np.argsort(-scores[400:], kind="stable")[:30] == found.selected).all()
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
left.scatter(native, scores, s=6)
left.set(xlabel="score in Python", ylabel="score in ONNX")
right.hist(np.abs(scores - native) / np.abs(native).max(), bins=30, color="tab:gray")
right.set(xlabel="difference, relative to the largest score", ylabel="rows")
figure.tight_layout()
