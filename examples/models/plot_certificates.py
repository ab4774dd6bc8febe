"""
Certificates and convergence
============================

Every fit ends with a proof: a lower bound of the best possible objective. The gap
between the model and the bound says how much better any model could be.
"""

# %%
# Two solvers of the same model: the one this library uses, and the published one.
import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from shortlist import TopPush
from shortlist.datasets import load_tumours
from shortlist.display import ConvergenceDisplay

X, y = load_tumours()
X = scale(X)
newton = TopPush(tol=1e-6).fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # it is given too little time
    published = TopPush(solver="accelerated", tol=1e-6, time_limit=2).fit(X, y)
print(newton.certificate_)
print(published.certificate_)

# %%
# The optimum lies between the two curves of the upper panel. The lower panel shows their
# relative distance: the fit stops when it is below the dotted line, and says so.
ConvergenceDisplay.from_estimator({"newton": newton, "accelerated (published)": published})
plt.gcf().set_size_inches(7.5, 5.5)
plt.tight_layout()
