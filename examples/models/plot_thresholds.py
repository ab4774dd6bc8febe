"""
Where the thresholds lie
========================

Three models of the same two species of iris, in two measurements. They differ in what
they call "the top": the highest negative, the mean of the five highest, or the highest
tenth of the negatives.
"""

# %%
# Virginica is looked for, versicolor is not. In these two measurements the species
# overlap.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from shortlist import PatMat, TopPush

iris = load_iris()
rows = iris.target > 0
X = iris.data[rows][:, [0, 2]]
X = (X - X.mean(axis=0)) / X.std(axis=0)
y = (iris.target[rows] == 2).astype(int)

models = {
    "TopPush: the highest negative": TopPush(C=1),
    "TopPushK: mean of the 5 highest": TopPush(k=5, C=1),
    "PatMat: the highest tenth": PatMat(tau=0.1, C=1),
}

# %%
# The dark line is the threshold, lighter ones are equal scores. Negatives that define
# the threshold are circled. One hard negative moves TopPush as a whole; a mean or a
# quantile gives way.
grid = np.stack(np.meshgrid(np.linspace(-2.6, 2.6, 80), np.linspace(-2.6, 2.6, 80)), axis=-1)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), sharex=True, sharey=True)
for ax, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(80, 80)
    ax.contour(*grid.T, scores.T, levels=8, colors="0.8", linewidths=0.8)
    ax.contour(*grid.T, scores.T, levels=[0], colors="k")
    ax.scatter(*X[y == 0].T, marker="o", s=16, c="tab:gray", label="versicolor")
    ax.scatter(*X[y == 1].T, marker="^", s=20, c="tab:green", label="virginica")
    negatives = X[y == 0]
    top = np.argsort(-model.decision_function(negatives))[: 1 if "highest n" in name else 5]
    ax.scatter(*negatives[top].T, s=90, facecolors="none", edgecolors="tab:red")
    caught = np.mean(model.predict(X[y == 1]) == 1)
    ax.set(title=name, xlabel=f"sepal length\n{100 * caught:.0f} % of the positives above")
panels[0].set_ylabel("petal length")
panels[0].legend(loc="lower right")
figure.tight_layout()
