"""Pieces of words against their definition."""

import re
import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist._words import BUCKETS, LONGEST, along, count_pieces, learn, small

TEXTS = [
    "Paid LATE, again",
    "",
    "  ",
    "ΟΔΟΣ ή οδος",
    "x" * 150 + "!",
    "e\u0301 \ud800 😀😀",
    "a a a b",
]


def pieces(text):
    """Words of at most 64 letters, framed; their runs of three and four letters."""
    found = Counter()
    for run in re.findall(r"\w+|[^\w\s]+", "".join(small(letter) for letter in text)):
        for start in range(0, len(run), LONGEST):
            framed = f" {run[start : start + LONGEST]} "
            found[framed] += 1
            for size in (3, 4):
                for first in range(len(framed) - size + 1):
                    found[framed[first : first + size]] += 1
    return found


def slow(texts):
    counts = np.zeros((len(texts), BUCKETS))
    for row, text in enumerate(texts):
        for piece, times in pieces(text).items():
            counts[row, zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS] += times
    return counts


@given(st.lists(st.text("abäé 1.-\n", max_size=14), min_size=1, max_size=6))
def test_counts(texts):
    np.testing.assert_array_equal(count_pieces(texts).toarray(), slow(texts))


def test_counts_of_other_scripts():
    np.testing.assert_array_equal(count_pieces(TEXTS).toarray(), slow(TEXTS))
    assert count_pieces([]).shape == (0, BUCKETS)


def test_directions():
    rarity, directions = learn(count_pieces(TEXTS), 3)
    assert directions.shape == (3, BUCKETS)
    counts = slow(TEXTS)
    np.testing.assert_allclose(rarity, np.log(8 / (1 + (counts > 0).sum(axis=0))) + 1)
    lengths = np.linalg.norm(counts * rarity, axis=1)[:, None]
    wanted = counts * rarity / np.where(lengths > 0, lengths, 1) @ directions.T.astype(float)
    np.testing.assert_allclose(along(count_pieces(TEXTS), rarity, directions), wanted, atol=1e-12)


@pytest.mark.slow
def test_small_letters_do_not_depend_on_neighbours_and_keep_words_apart():
    every = "".join(chr(code) for code in range(0x110000))
    alone = [small(letter) for letter in every]
    assert {len(letter) for letter in alone} == {1}
    assert "".join(alone) == small(every) == small(small(every))
    for kind in (r"\w", r"\s"):
        before, after = (
            [m.start() for m in re.finditer(kind, text)] for text in (every, "".join(alone))
        )
        assert before == after
