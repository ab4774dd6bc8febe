"""What an installed wheel must be able to do, with nothing but its own dependencies.

Run by ``tests/wheel/recipe.sh`` and by cibuildwheel, in an environment without the test
packages, and never from the source tree.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import metadata, resources
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import shortlist
from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK
from shortlist.datasets import load_digit, load_tumours

assert "site-packages" in shortlist.__file__, (
    f"this is not an installed wheel: {shortlist.__file__}"
)
assert shortlist.__version__ == metadata.version("shortlist")
assert (resources.files("shortlist") / "py.typed").is_file()
assert (resources.files("shortlist") / "datasets" / "credit.csv").is_file()

warnings.simplefilter("error", ConvergenceWarning)
X, y = load_tumours()
X = (X - X.mean(axis=0)) / X.std(axis=0)
for model in (TopPush(0.05), PatMat(), PatMat(kernel="rbf"), RankSVM(C=1e-3)):
    assert model.fit(X, y).certificate_.status == "converged", model
assert len(TransductiveTopK(k=20).fit(X[:300], y[:300], X[300:]).selected_) == 20
pixels, digit = load_digit(8)
assert TopKSVC(k=1).fit(pixels / 16, digit).score(pixels / 16, digit) > 0.9
assert np.isfinite(model.predict(X)).all()

# Without the extra, the command says in one line how to get it.
command = Path(sys.executable).with_name("shortlist" + (".exe" if sys.platform == "win32" else ""))
told = subprocess.run([command, "demo"], capture_output=True, text=True, check=False)
try:
    metadata.version("click")
except metadata.PackageNotFoundError:
    assert told.returncode != 0
    assert 'pip install "shortlist[app]"' in told.stderr, told.stderr
    assert len(told.stderr.strip().splitlines()) == 1, told.stderr
print(f"shortlist {shortlist.__version__} works on Python {sys.version.split()[0]}")
