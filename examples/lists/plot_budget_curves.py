"""
What every budget buys
======================

One model and all list lengths: precision and recall of the first k, with an interval.
Then the same for two models in one picture.
"""

# %%
# Handwritten eights, one image in ten, are looked for with 450 labelled images.
import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from shortlist import PatMat
from shortlist.datasets import load_digit
from shortlist.display import BudgetDisplay

X, y = load_digit(8)
X, X_new, y, y_new = train_test_split(X / 16, y, train_size=450, random_state=0, stratify=y)
model = PatMat(tau=0.02, C=0.1).fit(X, y)
BudgetDisplay.from_estimator(model, X_new, y_new, k=80, n_resamples=200, random_state=0)
plt.gcf().set_size_inches(7, 4.5)

# %%
# Two models in the same axes. Lift is precision in another unit, so the right axis reads
# it off the same curve.
curves = {"curves": ["precision", "lift"], "confidence": None}
first = BudgetDisplay.from_estimator(model, X_new, y_new, name="PatMat", **curves)
logistic = LogisticRegression(C=0.1, max_iter=1000).fit(X, y)
BudgetDisplay.from_estimator(
    logistic, X_new, y_new, name="logistic regression", ax=first.ax_, **curves
)
first.ax_.set_xlim(1, 300)
