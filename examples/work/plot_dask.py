"""
A cluster on this machine
=========================

The same estimators on dask: rows stay where they are, the fit sends scores and the few
rows that matter. The cluster here is a scheduler and two workers in this process;
``Client("scheduler:8786")`` joins one of many machines.
"""

# %%
# A dask array of the digits in four partitions. ``y`` is cut alike.
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

from shortlist import PatMat as InMemory
from shortlist.dask import PatMat, metrics
from shortlist.datasets import load_digit

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)
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
client.close()
cluster.close()
