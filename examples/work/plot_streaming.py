"""
More negatives than memory
==========================

:class:`~shortlist.blocks.Blocks` reads rows from disk, block by block, as often as a fit
needs them. The model and its certificate are those of the rows in memory.
"""

# %%
# The digits are written to two files. A real case has many files of gigabytes; to see
# several blocks here, blocks are made tiny.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from shortlist import TopPush
from shortlist.blocks import Blocks
from shortlist.datasets import load_digit

X, y = load_digit(8)
X = X / 16
folder = Path(tempfile.mkdtemp())
for label in (0, 1):
    np.save(folder / f"{label}.npy", X[y == label])

# %%
# One label for each file. Every check of the certificate is reported to the callback.
checks = []
source = Blocks([folder / "0.npy", folder / "1.npy"], y=[0, 1], block_bytes=64 * 1024)
streamed = TopPush(k=0.02, tol=1e-6, callback=checks.append).fit(source)
in_memory = TopPush(k=0.02, tol=1e-6).fit(X, y)
print(streamed.certificate_)

# %%
# Left: the gap after every pass over the files. Right: both models score alike.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9))
left.semilogy([max(check.relative_gap, 1e-9) for check in checks], marker="o")
left.axhline(1e-6, color="k", ls=":")
left.set(xlabel="check", ylabel="relative gap", title=f"{streamed.certificate_.passes} passes")
right.scatter(in_memory.decision_function(X), streamed.decision_function(X), s=5)
right.set(xlabel="score, in memory", ylabel="score, from disk", title="The same model")
figure.tight_layout()
