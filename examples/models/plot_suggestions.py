"""
Suggestions: the right one among k
==================================

A page shows three suggestions. It does not matter which of them is right.
:class:`~shortlist.TopKSVC` is trained for just that.
"""

# %%
# Ten handwritten digits, few training images, and half of the pixels covered, so that
# the first guess is often wrong.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from shortlist import TopKSVC
from shortlist.metrics import top_k_accuracy

X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8)[:, :4].reshape(len(y), -1) / 16.0
X, X_new, y, y_new = train_test_split(X, y, train_size=300, random_state=0, stratify=y)

models = {
    "TopKSVC(k=1)": TopKSVC(k=1, C=10),
    "TopKSVC(k=3)": TopKSVC(k=3, C=10),
    "LinearSVC": LinearSVC(C=1),
    "logistic regression": LogisticRegression(C=10, max_iter=1000),
}

# %%
# Share of new images whose digit is among the first k suggestions.
ks = np.arange(1, 6)
figure, ax = plt.subplots(figsize=(7, 4.2))
for (name, model), marker in zip(models.items(), "osv^", strict=True):
    scores = model.fit(X, y).decision_function(X_new)
    accuracy = [top_k_accuracy(y_new, scores, k=k, labels=model.classes_) for k in ks]
    ax.plot(ks, accuracy, marker=marker, label=name)
ax.set(xlabel="suggestions shown", ylabel="right one among them", xticks=ks)
ax.legend()
ax.set_title("The upper half of a digit: which one is it?")
figure.tight_layout()
