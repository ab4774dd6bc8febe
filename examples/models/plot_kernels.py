"""
Thresholds with a kernel
========================

The same models where no straight line will do: versicolor lies between the two other
species of iris.
"""

# %%
# With an rbf kernel the threshold is a curve around the positives.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from shortlist import PatMat, TopPush

iris = load_iris()
X = scale(iris.data[:, [1, 2]])
y = (iris.target == 1).astype(int)
models = {
    "TopPush(k=1)": TopPush(kernel="rbf", gamma=1.0, C=10),
    "TopPush(k=0.1)": TopPush(k=0.1, kernel="rbf", gamma=1.0, C=10),
    "PatMat(tau=0.1)": PatMat(tau=0.1, kernel="rbf", gamma=1.0, C=10),
}

# %%
# Support vectors are drawn larger: the positives below the margin, and the negatives that
# hold the threshold up.
side = np.linspace(-3, 3.2, 90)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
for ax, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(90, 90)
    ax.contourf(*grid.T, scores.T, levels=14, cmap="Greys", alpha=0.5)
    ax.contour(*grid.T, scores.T, levels=[0], colors="k")
    size = np.full(len(X), 8.0)
    size[model.support_] = 34
    for label, marker, colour in ((0, "o", "tab:orange"), (1, "^", "tab:blue")):
        ax.scatter(*X[y == label].T, s=size[y == label], marker=marker, c=colour)
    ax.set(title=f"{name}\n{len(model.support_)} support vectors", xlabel="sepal width")
panels[0].set_ylabel("petal length")
figure.tight_layout()
