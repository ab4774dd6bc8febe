"""
Scorers in a grid search
========================

Any metric of a list is a scorer for scikit-learn: ``scorer("precision_at_20")``,
``scorer("average_precision")``, ``scorer("recall_at_fpr_0.01")``. Which one chooses best?
"""

# %%
# The same search for PatMat on the tumours, twice.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import PatMat
from shortlist.datasets import load_tumours
from shortlist.metrics import metric_names, scorer

print(", ".join(metric_names()))
X, y = load_tumours()
grid = {"patmat__C": np.logspace(-4, 1, 6), "patmat__tau": [0.01, 0.05]}
search = GridSearchCV(
    make_pipeline(StandardScaler(), PatMat()),
    grid,
    scoring={name: scorer(name) for name in ("precision_at_20", "average_precision")},
    refit="average_precision",
    cv=5,
).fit(X, y)
print(search.best_params_)

# %%
# Precision at a small k has few values: here the first twenty are perfect for nearly every
# setting. Average precision tells the settings apart, and in our measurements it chose
# better lists, also at small k.
results = search.cv_results_
figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.9))
for ax, name in zip(panels, ("precision_at_20", "average_precision"), strict=True):
    for tau, marker in zip(grid["patmat__tau"], "os", strict=True):
        rows = results["param_patmat__tau"] == tau
        mean, spread = (results[f"{what}_test_{name}"][rows] for what in ("mean", "std"))
        ax.errorbar(grid["patmat__C"], mean, spread, marker=marker, label=f"tau={tau}", capsize=3)
    ax.set(xscale="log", xlabel="C", title=name, ylim=(0.94, 1.01))
panels[0].legend()
figure.tight_layout()
