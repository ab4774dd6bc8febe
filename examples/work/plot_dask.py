"""
A cluster on this machine
=========================

The same estimators on dask: rows stay where they are, the fit sends scores and the few
rows that matter. Without a client, as here, everything runs in threads of this process;
``Client(LocalCluster())`` or the address of a scheduler makes it a cluster.
"""

# %%
# A dask array of the digits in four partitions. ``y`` is cut alike.
import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from shortlist import PatMat as InMemory
from shortlist.dask import PatMat, metrics
from shortlist.datasets import load_digit

dask.config.set(scheduler="threads", num_workers=2)
X, y = load_digit(8)
rows = da.from_array(X / 16, chunks=(450, -1))
labels = da.from_array(y, chunks=450)
model = PatMat(tau=0.05).fit(rows, labels)
print(model.certificate_)

# %%
# Scores are lazy, metrics travel as a few numbers, and the best rows come to the client.
scores = model.decision_function(rows)
print(metrics.precision_at_k(labels, scores, k=100))
best = metrics.top_k(scores, 100)

# %%
# The first hundred of all partitions: in which partition they lie, and that the model in
# memory agrees.
same = InMemory(tau=0.05).fit(X / 16, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
counts = np.bincount(np.asarray(best.row) // 450, minlength=rows.numblocks[0])
left.bar(np.arange(len(counts)), counts, color="tab:purple")
left.set(xlabel="partition", ylabel="of the first 100", xticks=np.arange(len(counts)))
right.scatter(same.decision_function(X / 16), scores.compute(), s=5)
right.set(xlabel="score, in memory", ylabel="score, on dask")
figure.tight_layout()
