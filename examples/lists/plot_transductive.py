"""
Choosing exactly k of these
===========================

:class:`~shortlist.TransductiveTopK` sees the candidates while it learns, without their
labels: at most k of them may lie on the good side. That helps where candidates differ
from the history.
"""

# %%
# Irises again. The history holds small plants only, the candidates are the large ones.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

from shortlist import TransductiveTopK

iris = load_iris()
rows = iris.target > 0
X = iris.data[rows][:, [2, 0]]
X = (X - X.mean(axis=0)) / X.std(axis=0)
y = (iris.target[rows] == 2).astype(int)
size = X.sum(axis=1) + np.random.default_rng(0).normal(scale=0.7, size=len(X))
history = size < 0.2
candidates = X[~history]

# %%
# Fifteen places. The plain machine, trained on the history, calls many more positive; the
# other one moves its line until fifteen are left.
k = 15
machine = LinearSVC(C=1).fit(X[history], y[history])
chosen = TransductiveTopK(k=k, C=1, random_state=0).fit(X[history], y[history], candidates)
side = np.linspace(-3, 3, 60)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True)
for ax, (name, model) in zip(
    panels, {"LinearSVC": machine, f"TransductiveTopK(k={k})": chosen}.items(), strict=True
):
    ax.scatter(*X[history].T, c=np.where(y[history], "tab:green", "0.6"), s=14, marker="s")
    above = model.decision_function(candidates) > 0
    if model is chosen:
        above = np.isin(np.arange(len(candidates)), chosen.selected_)
    ax.scatter(*candidates.T, c=np.where(y[~history], "tab:green", "0.6"), s=42, edgecolors="k")
    ax.scatter(*candidates[above].T, s=130, facecolors="none", edgecolors="tab:red")
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(60, 60)
    ax.contour(*grid.T, scores.T, levels=[0], colors="k")
    right = int(y[~history][above].sum())
    ax.set(title=f"{name}: {above.sum()} chosen, {right} right", xlabel="petal length")
panels[0].set_ylabel("sepal length")
figure.tight_layout()
