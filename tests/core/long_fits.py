"""Fits that would run for many seconds, one for every solver and storage of interest."""

import numpy as np
from scipy import sparse

from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK

ENDLESS = {"tol": 1e-15, "max_iter": 10**9}


def rows(n, d, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    noise = 2.0 * rng.standard_normal(n)
    return X, X[:, : d // 2].sum(axis=1) / np.sqrt(d) + noise


def binary(n, d, share=0.1, **kwargs):
    X, s = rows(n, d, **kwargs)
    return X, (s > np.quantile(s, 1 - share)).astype(int)


def graded(n, d):
    X, s = rows(n, d)
    return X, np.round(s, 3)


def classes(n, d, m, stored="dense"):
    X, s = rows(n, d)
    y = np.searchsorted(np.quantile(s, np.arange(1, m) / m), s)
    if stored == "csr":
        X[np.random.default_rng(1).random(X.shape) < 0.8] = 0.0
        return sparse.csr_array(X), y
    return X, y


LONG = {
    "TopPush-newton": (TopPush(k=0.05, solver="newton", C=1e4), lambda: binary(40_000, 60)),
    "TopPush-newton-f4": (
        TopPush(k=0.05, solver="newton", C=1e4),
        lambda: binary(40_000, 60, dtype=np.float32),
    ),
    "TopPush-accelerated": (TopPush(solver="accelerated", C=1e3), lambda: binary(20_000, 30)),
    "TopPush-smo": (
        TopPush(k=0.05, kernel="rbf", gamma=0.05, C=1e4, solver="smo"),
        lambda: binary(6_000, 10, 0.3),
    ),
    "TopPush-coordinate": (
        TopPush(k=1, kernel="rbf", gamma=0.05, C=1e4, solver="coordinate"),
        lambda: binary(2_500, 10, 0.3),
    ),
    "PatMat-smo": (
        PatMat(tau=0.1, kernel="rbf", gamma=0.05, C=1e4, solver="smo"),
        lambda: binary(6_000, 10, 0.3),
    ),
    "RankSVM-newton": (RankSVM(C=1e3), lambda: graded(20_000, 20)),
    "RankSVM-fw": (RankSVM(C=1e3, loss="hinge", solver="fw"), lambda: graded(30_000, 20)),
    "RankSVM-rbf": (RankSVM(C=1e3, kernel="rbf", gamma=0.1), lambda: graded(3_000, 10)),
    "TopKSVC-block": (TopKSVC(k=3, C=1e3, solver="block"), lambda: classes(20_000, 60, 30)),
    "TopKSVC-block-csr": (
        TopKSVC(k=3, C=1e3, solver="block"),
        lambda: classes(8_000, 400, 30, "csr"),
    ),
    "TopKSVC-block-rbf": (
        TopKSVC(k=3, C=1e3, kernel="rbf", gamma=0.1, solver="block"),
        lambda: classes(4_000, 10, 10),
    ),
    "TopKSVC-proximal_newton": (
        TopKSVC(k=3, C=1e3, solver="proximal_newton"),
        lambda: classes(40_000, 15, 10),
    ),
    "TopKSVC-away": (TopKSVC(k=3, C=1e3, solver="away"), lambda: classes(20_000, 30, 20)),
    "TransductiveTopK-swap": (
        TransductiveTopK(k=200, solver="swap", C=1e3),
        lambda: binary(4_000, 120, 0.4),
    ),
    "TransductiveTopK-exact": (
        TransductiveTopK(k=20, solver="exact", C=1e2),
        lambda: binary(400, 20, 0.4),
    ),
}
