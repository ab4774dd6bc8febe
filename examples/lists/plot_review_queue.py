"""
A review queue
==============

Ten analysts look at ten loans each per day. What the queue holds, day by day, is what a
model is worth to them.
"""

# %%
# The loans come with the package. ``pick`` combines models for this budget and makes the
# list.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shortlist import pick
from shortlist.datasets import load_credit
from shortlist.metrics import precision_at_k

X, y = load_credit()
X = pd.get_dummies(X, dtype=float)  # text to columns, once and for all
order = np.random.default_rng(0).permutation(len(y))
past, now = order[:700], order[700:]
found = pick(X.iloc[past], y[past], X.iloc[now], k=100, effort="quick")
print(found.verdict.replace(". ", ".\n"))
print(found.to_frame(X.iloc[now]).iloc[:5, :7])

# %%
# Here the truth is known, so we can look: each bar is one day's work of ten loans, taken
# in the order of the list. In one of ten such cases the truth lies outside the interval.
hits = y[now][found.selected].reshape(10, 10).sum(axis=1)
figure, ax = plt.subplots(figsize=(7, 4))
ax.bar(np.arange(1, 11), hits, color="tab:green", label="bad loans found")
ax.axhline(10 * y[now].mean(), color="k", ls="--", label="without a list")
ax.set(xlabel="day", ylabel="of ten loans", ylim=(0, 10.5), xticks=np.arange(1, 11))
ax.legend()
expected, found_hits = found.expected_hits, hits.sum()
ax.set_title(
    f"{found_hits} found; {expected.value:.0f} promised ({expected.low:.0f} to {expected.high:.0f})"
)
assert precision_at_k(y[now], found.scores, k=100) > y[now].mean()
figure.tight_layout()
