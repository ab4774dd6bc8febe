"""The papers' data sets, with the positive class and the features each paper used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks.data import folder, load_stored

# Stand-ins of the tiny runs, bundled with scikit-learn.
QUICK_BINARY, QUICK_CLASSES, QUICK_ORDER = "breast_cancer", "digits", "diabetes_progression"

FOR_SALE = 6  # misc.forsale among the 20 newsgroups


@dataclass(frozen=True)
class Parts:
    """Training and test part of a set."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@lru_cache(maxsize=2)
def binary(name: str, flip: bool = False) -> tuple[Any, np.ndarray]:
    """Two-class rows, raw, and whether each is positive.

    Parameters
    ----------
    name : str
        Name of the set; ``news20_forsale`` is misc.forsale against the rest,
        ``fashion_mnist`` class 0, the wines quality 7 or more.
    flip : bool
        Take the other class as positive.
    """
    if name == QUICK_BINARY:
        X, y = load_breast_cancer(return_X_y=True)
        positive = y == 0
    elif name == "news20_forsale":
        X, y, _ = load_stored("news20_orange")
        X, positive = TfidfTransformer(sublinear_tf=True).fit_transform(X).tocsr(), y == FOR_SALE
    else:
        X, y, _ = load_stored(name)
        if name.startswith("winequality"):
            positive = y >= 7
        else:
            positive = y == 0 if name == "fashion_mnist" else y > 0
    return X, positive != flip


def scaled(X: Any) -> Any:
    """Dense columns to unit variance, sparse ones to a largest value of 1."""
    return StandardScaler().fit_transform(X) if isinstance(X, np.ndarray) else unit(X)


def unit(X: Any) -> Any:
    return MaxAbsScaler().fit_transform(X).tocsr()


@lru_cache(maxsize=2)
def classes(name: str) -> Parts:
    """Many classes with the published split, features as for LIBSVM.

    ``letter`` and ``satimage`` are scaled to [-1, 1] by the training part; ``news20`` keeps
    the 1,024 most frequent terms, tf-idf with rows of unit length; ``news20_short`` has rows of
    length 0.1.
    """
    if name == QUICK_CLASSES:
        X, y = load_digits(return_X_y=True)
        n = 400
        return Parts(X[:n] / 16.0, y[:n], X[n : 2 * n] / 16.0, y[n : 2 * n])
    if name == "news20_short":
        long = classes("news20")
        return Parts(0.1 * long.X, long.y, 0.1 * long.X_test, long.y_test)
    X, y, n = load_stored("news20_orange" if name == "news20" else name)
    y = np.unique(y, return_inverse=True)[1]
    if name == "news20":
        frequent = np.argsort(-(X[:n] > 0).sum(axis=0), kind="stable")[:1024]
        X = X[:, np.sort(frequent)]
        X = TfidfTransformer(sublinear_tf=True).fit(X[:n]).transform(X).tocsr()
    else:
        low, high = X[:n].min(axis=0), X[:n].max(axis=0)
        X = 2.0 * (X - low) / (high - low) - 1.0
    return Parts(X[:n], y[:n], X[n:], y[n:])


@lru_cache(maxsize=1)
def order(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts of substructures, retention times, and the system of every row."""
    if name == QUICK_ORDER:
        X, y = load_diabetes(return_X_y=True)
        system = np.where(X[:, 1] > 0.0, "first", "second")
        return X - X.min(axis=0), y, system
    X, y, _ = load_stored(name)
    root = folder()
    assert root is not None
    with np.load(root / f"{name}.npz") as parts:
        return X, y.astype(np.float64), parts["group"]


def subset(n: int, most: int, seed: int) -> np.ndarray:
    """Random rows, all of them where there are no more than `most`."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])


def shuffled(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)
