"""
Molecules with the Tanimoto kernel
==================================

A lab knows a few active molecules and can assay only a few more. Chemists compare molecules
by fingerprints, sets of present pieces; the Tanimoto kernel is the share of pieces that two
of them have in common.
"""

# %%
# 77 drugs, 18 of them beta blockers. The pieces are all runs of four letters in the line
# that describes a molecule, its SMILES (Vidal, Thormann and Pons, "LINGO", 2005).
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from shortlist import PatMat
from shortlist.datasets import load_drugs

X, y = load_drugs()
pieces = CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False, binary=True)
bits = pieces.fit_transform(X[:, 1]).astype(np.float64)
print(f"{bits.shape[1]} pieces, {int(bits.sum(axis=1).mean())} per molecule")

# %%
# Half of the drugs are known, the other half is to be ranked. The nearest strangers are
# drugs that share the side chain of the beta blockers. On so few molecules a linear kernel
# does as well; over forty such halves its average precision is 0.95, that of Tanimoto 0.93.
order = np.random.default_rng(0).permutation(len(y))
known, others = order[:38], order[38:]
model = PatMat(tau=0.1, kernel="tanimoto", C=10).fit(bits[known], y[known])
scores = model.decision_function(bits[others])
first = others[np.argsort(-scores, kind="stable")[:15]]
figure, ax = plt.subplots(figsize=(7, 4.6))
place = np.arange(len(first))
colours = np.where(y[first], "tab:green", "0.7")
ax.barh(place, np.sort(scores)[::-1][:15] - scores.min(), color=colours)
ax.set_yticks(
    place, [f"{name}{' ✓' if hit else ''}" for name, hit in zip(X[first, 0], y[first], strict=True)]
)
ax.invert_yaxis()
found, all_of_them = y[first].sum(), y[others].sum()
ax.set(
    xlabel="score above the lowest",
    title=f"{found} of {all_of_them} beta blockers in the first 15 of {len(others)}",
)
figure.tight_layout()
