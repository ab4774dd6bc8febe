"""Identical rows are one row of the summed weight."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse


def merge_duplicates(X: Any, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Keep one of every set of identical rows and give it the weight of all.

    Weights are multiplicities, so the problem stays the same, with fewer variables and
    none of the flat directions that copies bring. The rows come back in an order that
    depends on their contents only.

    Parameters
    ----------
    X : {ndarray, csr matrix}
        All rows.
    rows : ndarray of int
        Rows of one class.
    weight : ndarray
        Multiplicities, changed in place.

    Returns
    -------
    ndarray of int
        The rows kept.
    """
    if sparse.issparse(X):
        X = X.sorted_indices() if not X.has_sorted_indices else X
        bytes_of = [
            X.indices[a:b].tobytes() + X.data[a:b].tobytes()
            for a, b in zip(X.indptr[rows], X.indptr[rows + 1], strict=True)
        ]
        digests = [hashlib.blake2b(b, digest_size=16).digest() for b in bytes_of]
    else:
        digests = [hashlib.blake2b(X[i].tobytes(), digest_size=16).digest() for i in rows]
    _, first, group = np.unique(np.array(digests), return_index=True, return_inverse=True)
    total = np.bincount(group, weights=weight[rows])
    weight[rows] = 0.0
    weight[rows[first]] = total
    return rows[first]
