"""Clusters of look-alikes, so that a list can be limited to a few of each.

The clusters are those of the candidates, by k-means on their features: filled in and scaled, or,
for bits, counts and other sparse rows, scaled to length one, where the distance is that of the
cosine. Rows of the history belong to the nearest, so that held-out lists keep the same rule.

References
----------
D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from ..._checks import check_number
from ..race.history import Candidates
from ..race.models import default_features, kind_of

NAME = "cluster"


@dataclass(frozen=True)
class Clusters:
    """Clusters that were asked for, and what they are found with.

    Attributes
    ----------
    number : int
        How many.
    y, features, seed
        As in :func:`cluster_rows`.
    """

    number: Any
    y: Any
    features: Any
    seed: int

    def find(self, X: Any, pool: Candidates) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of every row of the history, and of the candidates."""
        if pool.streamed:
            raise ValueError(
                f"clusters={self.number!r} needs all candidates at once, not a function of blocks."
            )
        return cluster_rows(X, self.y, pool.whole(), self.number, self.features, self.seed)


def cluster_rows(
    X: Any, y: Any, candidates: Any, n_clusters: Any, features: Any, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cluster of every row of the history, and of the candidates.

    Parameters
    ----------
    X, y : array-like
        The history; a transformer of the user's may learn from `y`.
    candidates : array-like
        The rows that are clustered.
    n_clusters : int
        How many clusters.
    features : transformer or None
        As in :func:`shortlist.pick`.
    seed : int
        Of the first centres.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.clusters import cluster_rows
    >>> rows = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    >>> past, now = cluster_rows(rows, None, rows, 3, None, seed=0)
    >>> len(set(now[:20])), len(set(now)), bool((past == now).all())
    (1, 3, True)
    """
    n = int(candidates.shape[0])
    check_number("clusters", n_clusters, least=2, integer=True)
    if n_clusters > n:
        raise ValueError(f"clusters={n_clusters} is more than the {n} candidates; use fewer.")
    transformer = clone(default_features(X) if features is None else features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        past = transformer.fit_transform(X, y)
        now = transformer.transform(candidates)
        length = sparse.issparse(past) or (
            not hasattr(past, "columns") and kind_of(np.asarray(past)) is not None
        )
        impute = SimpleImputer(strategy="median", keep_empty_features=True)
        scale = Normalizer() if length else make_pipeline(impute, StandardScaler())
        now = scale.fit_transform(now)
        found = MiniBatchKMeans(n_clusters, n_init=3, random_state=seed, batch_size=2048).fit(now)
        return found.predict(scale.transform(past)), found.labels_
