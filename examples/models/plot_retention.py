"""
Retention order: what two laboratories agree on
===============================================

How many minutes a peptide stays on a chromatographic column depends on the column and on the
gradient. Which of two peptides leaves first depends on little but the peptides. So here the
order is learned, and what was learned is set beside what another laboratory measured, on another
column, a generation earlier.

The retention times are those of 400 peptides of one run
(:download:`peptides.csv <../../../examples/models/peptides.csv>`), from the example of `DeepLC
<https://github.com/compomics/DeepLC>`_ (Apache License 2.0; R. Bouwmeester et al., Nature Methods
18, 1363, 2021). The retention coefficients are those of D. Guo, C. T. Mant, A. K. Taneja, J. M. R.
Parker and R. S. Hodges, Journal of Chromatography 359, 499 (1986): a C18 column, pH 2, synthetic
peptides.
"""

# %%
# A peptide is counted: how many it has of each amino acid. Cysteine, which is modified in that
# run, has no column.
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from shortlist import RankSVM
from shortlist.metrics import pairwise_accuracy

lines = Path(sys.argv[0]).with_name("peptides.csv").read_text().splitlines()
rows = [line.split(",") for line in lines if not line.startswith("#")][1:]
minutes = np.array([float(time) for _, time in rows])
acids = "ADEFGHIKLMNPQRSTVWY"
X = np.array([[peptide.count(acid) for acid in acids] for peptide, _ in rows], dtype=float)
guo = "2.0 0.2 1.1 8.1 -0.2 -2.1 7.4 -2.1 8.1 5.5 -0.6 2.0 0.0 -0.6 -0.2 0.6 5.0 8.8 4.5"
published = np.array(guo.split(), dtype=float)

# %%
# Half of the peptides are learned from, with default settings. On the other half, the ranking is
# a little ahead of a regression on the same counts, and both of sums of the published coefficients.
shuffled = np.random.default_rng(0).permutation(len(rows))
train, test = shuffled[:200], shuffled[200:]
ranker = RankSVM().fit(X[train], minutes[train])
scores = ranker.predict(X[test])
for name, order in {
    "RankSVM": scores,
    "ridge regression": Ridge().fit(X[train], minutes[train]).predict(X[test]),
    "published coefficients": X[test] @ published,
}.items():
    print(f"{name}: {100 * pairwise_accuracy(minutes[test], order):.1f} % of the pairs in order")

# %%
# The weights of the ranking have no unit, and were learned from an order only. Still they tell
# the amino acids that hold a peptide back from those that do not, as the coefficients do.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
left.scatter(scores, minutes[test], s=18, alpha=0.7, edgecolors="none")
share = pairwise_accuracy(minutes[test], scores)
left.set(
    xlabel="score",
    ylabel="minutes on the column",
    title=f"200 other peptides: {100 * share:.0f} % of the pairs in order",
)
weights = np.ravel(ranker.coef_)
right.plot(published, weights, ".", alpha=0)
for acid, known, weight in zip(acids, published, weights, strict=True):
    right.text(known, weight, acid, ha="center", va="center", fontweight="bold")
right.set(xlabel="minutes that each adds (1986)", ylabel="weight", title="amino acids")
figure.tight_layout()
