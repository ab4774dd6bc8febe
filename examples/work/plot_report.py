"""
Reading the report
==================

``found.report("report.html")`` and ``shortlist pick --report`` write one page that opens
offline. Its main picture is drawn here: how many hits to expect at every budget.
"""

# %%
# Thirty of 300 loans.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shortlist import pick
from shortlist.datasets import load_credit

X, y = load_credit()
X = pd.get_dummies(X, dtype=float)  # text to columns, once and for all
order = np.random.default_rng(0).permutation(len(y))
past, now = order[:700], order[700:]
found = pick(X.iloc[past], y[past], X.iloc[now], k=30, effort="quick")

# %%
# The verdict comes first: what to expect of the combination, what logistic regression would
# find, and the difference with its noise. The comparison shows every model on the same folds.
print(found)

# %%
# The page itself.
page = Path(tempfile.mkdtemp()) / "report.html"
found.report(page, rows=X.iloc[now].iloc[found.selected], title="30 loans to look at")
print(f"{page.stat().st_size:,} bytes, one file")

# %%
# What another budget would buy: expected hits with their interval, and, since the truth
# is known here, what the list really held.
found.plot()
truth = np.cumsum(y[now][np.argsort(-found.scores, kind="stable")])
axes = plt.gca()
axes.plot(np.arange(1, len(truth) + 1), truth, "k:", label="truth")
axes.legend()
