"""
An order that carries over: RankSVM
===================================

In chromatography, two laboratories measure different retention times of the same
substances, but nearly the same order. A model of the order can learn from both; a model
of the times cannot. Here wines are the substances, the alkalinity of ash their measured
quantity, and two laboratories read it on instruments of their own.
"""

# %%
# The second instrument stretches and shifts its scale. Each laboratory is a group: only
# wines of one laboratory are compared.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from shortlist import RankSVM
from shortlist.metrics import pairwise_accuracy

wine = load_wine()
times = wine.data[:, 3]
X = StandardScaler().fit_transform(np.delete(wine.data, 3, axis=1))
rng = np.random.default_rng(0)
laboratory = rng.integers(0, 2, size=len(times))
read = np.where(laboratory == 0, times, 40 + 3.0 * np.sqrt(times))
train = rng.permutation(len(times))[:100]
test = np.setdiff1d(np.arange(len(times)), train)

# %%
# The ranking is learned inside the groups, the regression from all readings at once.
ranker = RankSVM(C=1e-3).fit(X[train], read[train], qid=laboratory[train])
regression = Ridge().fit(X[train], read[train])
figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
for ax, (name, scores) in zip(
    panels,
    {"RankSVM": ranker.predict(X[test]), "ridge regression": regression.predict(X[test])}.items(),
    strict=True,
):
    share = pairwise_accuracy(times[test], scores)
    ax.scatter(scores, times[test], c=laboratory[test], cmap="cividis", edgecolors="k", s=28)
    ax.set(xlabel="score", title=f"{name}: {share:.0%} of the pairs in order")
panels[0].set_ylabel("true order (alkalinity)")
figure.tight_layout()
