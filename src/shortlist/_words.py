"""Pieces of words: how free text becomes numbers.

Pieces are the words themselves and their runs of three and four letters, hashed, so that a
word that was never met shares pieces with those that were. They are found once for every
different word, not once for every text: that is most of the time.

Every step has an exact form in ONNX (:mod:`shortlist.onnx._words`). So capitals are made
small letter by letter, whatever stands beside them, and words have an end.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

BUCKETS = 1 << 13
LONGEST = 64
_WORD = re.compile(rf"\w{{1,{LONGEST}}}|[^\w\s]{{1,{LONGEST}}}")
# Different texts from which the directions are found.
_TEXTS = 20_000


def small(text: str) -> str:
    """Return the text in small letters, as many as it has.

    ``str.lower`` makes two of the Turkish capital I with a dot, the second no letter, and looks
    at the neighbours of a capital sigma.
    """
    return text.replace("İ", "i").lower().replace("ς", "σ")


def count_pieces(texts: Sequence[str]) -> Any:
    """Count the pieces of each text: rows are texts, columns are hashes of pieces."""
    known: dict[str, int] = {}
    words: list[int] = []
    ends = [0]
    for text in texts:
        words += [known.setdefault(word, len(known)) for word in _WORD.findall(small(text))]
        ends.append(len(words))
    counts = sparse.csr_matrix(
        (np.ones(len(words)), words, ends), shape=(len(texts), max(len(known), 1))
    )
    hashes: list[int] = []
    bounds = [0]
    for word in known:
        hashes += _hashes(word)
        bounds.append(len(hashes))
    if not known:
        bounds.append(0)
    spelled = sparse.csr_matrix(
        (np.ones(len(hashes)), hashes, bounds), shape=(max(len(known), 1), BUCKETS)
    )
    return (counts @ spelled).tocsr()


def _hashes(word: str) -> Iterable[int]:
    framed = f" {word} "
    runs = [
        framed[start : start + size] for size in (3, 4) for start in range(len(word) + 3 - size)
    ]
    return [
        zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS for piece in (framed, *runs)
    ]


def learn(pieces: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each piece, and at most `most` leading directions."""
    some = pieces[:: max(1, pieces.shape[0] // _TEXTS)]
    rows = some.shape[0]
    met = some.getnnz(axis=0)
    rarity = np.log((1.0 + rows) / (1.0 + met)) + 1.0
    count = min(most, max(1, min(rows, int((met > 0).sum()))))
    _, _, right = randomized_svd(
        _weighed(some, rarity), count, n_iter=4, random_state=0, flip_sign=True
    )
    return rarity, right.astype(np.float32)


def along(pieces: Any, rarity: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return how far each text goes in each direction; pieces are weighed, texts of length 1."""
    weighed = _weighed(pieces, rarity)
    made: np.ndarray = weighed @ directions.T.astype(np.float64)
    return made


def _weighed(pieces: Any, rarity: np.ndarray) -> Any:
    weighed = pieces @ sparse.diags(rarity)
    length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return sparse.diags(1.0 / np.where(length > 0.0, length, 1.0)) @ weighed
