"""
A promise about false alarms
============================

"At most 5 % of the good ones may be flagged." :class:`~shortlist.BudgetClassifier`
learns a threshold for that, and with ``confidence`` the promise holds for new rows in
95 of 100 cases, whatever the distribution of the scores.
"""

# %%
# A forest looks for handwritten eights. The experiment is repeated with other held-out
# rows each time.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from shortlist import BudgetClassifier
from shortlist.datasets import load_digit

X, y = load_digit(8)
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
forest = RandomForestClassifier(60, random_state=0).fit(X[order[:400]], y[order[:400]])
rest = order[400:]


def alarms(confidence):
    """Share of flagged negatives among new rows, over forty draws of the held-out ones."""
    shares = []
    for _ in range(40):
        rows = rng.permutation(rest)
        held, new = rows[:300], rows[300:]
        model = BudgetClassifier(FrozenEstimator(forest), fpr=0.05, confidence=confidence)
        flagged = model.fit(X[held], y[held]).predict(X[new])
        shares.append(flagged[y[new] == 0].mean())
    return np.array(shares)


# %%
# Without a confidence the threshold is right on the held-out rows, hence too low for
# about half of the new samples.
figure, ax = plt.subplots(figsize=(7, 3.8))
for place, (name, shares) in enumerate(
    {"fpr=0.05": alarms(None), "fpr=0.05, confidence=0.95": alarms(0.95)}.items()
):
    jitter = rng.uniform(-0.18, 0.18, len(shares))
    ax.scatter(100 * shares, place + jitter, s=18, marker="os"[place])
    kept = np.mean(shares <= 0.05)
    ax.text(11.2, place, f"kept in {100 * kept:.0f} %", va="center", ha="right")
    ax.text(0.1, place + 0.3, name)
ax.axvline(5, color="k", ls="--")
ax.set(yticks=[], xlim=(0, 11.5), ylim=(-0.4, 1.6), xlabel="% of the negatives flagged")
ax.set_title("Forty times: the promise is the dashed line")
figure.tight_layout()
