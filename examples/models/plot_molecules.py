"""
Fingerprints with the Tanimoto kernel
=====================================

Chemists compare molecules by their fingerprints: sets of present features. The Tanimoto
kernel is the share of features that two sets have in common. No molecules come with
scikit-learn, but its digits make good stand-ins: an image is the set of its dark pixels.
"""

# %%
# We look for the eights with 40 known ones among 400 labelled images, as a screen begins
# with few actives.
import matplotlib.pyplot as plt
import numpy as np

from shortlist import PatMat
from shortlist.datasets import load_digit
from shortlist.display import BudgetDisplay

X, y = load_digit(8)
bits = (X > 6).astype(np.float64)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:400], order[400:]
print(f"{int(bits.sum(axis=1).mean())} features per fingerprint, {y[train].sum()} known actives")

# %%
# Precision of the first k of 1,397 others, for three kernels: on bits, a straight line knows
# which pixels matter, Tanimoto which images are alike.
figure, ax = plt.subplots(figsize=(7, 4.2))
for kernel in ("linear", "rbf", "tanimoto"):
    model = PatMat(tau=0.02, kernel=kernel, C=1).fit(bits[train], y[train])
    BudgetDisplay.from_estimator(
        model,
        bits[test],
        y[test],
        curves=["precision"],
        confidence=None,
        name=kernel,
        ax=ax,
    )
ax.set_xlim(1, 300)
figure.tight_layout()
