"""Free text in ONNX: pieces of words as :mod:`shortlist._words` counts and weighs them.

No operator of the standard takes text apart, so this uses ``Tokenizer`` of onnxruntime. What
Python calls a letter, and which small letter belongs to it, is written into the graph.

The hash of a piece is its CRC-32. Reading a byte turns the state x into A(x ^ byte), where A is
linear over bits. So reading a letter of m bytes turns it into A^m(x) ^ t, and the graph holds m
and t of every letter.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import TensorProto

from .._words import BUCKETS, LONGEST, small
from ._graph import DOUBLE, Graph

# Texts that are taken apart together: few enough for one long text among them, enough for speed.
_TOGETHER = 8
_ONES = 0xFFFFFFFF
# Letters that Python's Unicode does not know, and those of private use beyond the first plane.
_UNKNOWN = "\ufffd"


def directions_of_text(
    graph: Graph,
    column: str,
    rarity: np.ndarray,
    directions: np.ndarray,
    absent: str = "",
    aliases: Iterable[str] = (),
) -> str:
    """Return how far each text goes in each direction; empty text and `aliases` mean `absent`."""
    texts = graph.add("Reshape", column, graph.axes(-1))
    gap = _looked_up(graph, texts, dict.fromkeys(["", *aliases], 1), 0)
    gap = graph.add("Cast", gap, to=TensorProto.BOOL)
    texts = graph.add("Where", gap, graph.constant(absent, object), texts)
    # The last block is filled up with the last text.
    count = graph.add("Shape", texts)
    size = graph.axes(_TOGETHER)
    blocks = graph.add("Div", graph.add("Add", count, graph.axes(_TOGETHER - 1)), size)
    number = graph.add("Squeeze", graph.add("Mul", blocks, size))
    every = graph.add("Range", graph.constant(0, np.int64), number, graph.constant(1, np.int64))
    place = graph.add("Min", every, graph.add("Sub", count, graph.axes(1)))
    shape = graph.add("Concat", blocks, size, axis=0)
    texts = graph.add("Reshape", graph.add("Gather", texts, place), shape)
    weights = graph.constant(rarity)
    turned = graph.double(graph.constant(directions.T, np.float32))
    made = graph.scan(
        lambda part, block: [_along(part, _counts(part, block), weights, turned)],
        [],
        [(texts, TensorProto.STRING)],
        (DOUBLE, [_TOGETHER, len(directions)]),
    )
    made = graph.add("Reshape", made, graph.axes(-1, len(directions)))
    return graph.add("Slice", made, graph.axes(0), count)


def _along(part: Graph, counts: str, rarity: str, directions: str) -> str:
    weighed = part.add("Mul", counts, rarity)
    squares = part.add("ReduceSumSquare", weighed, part.axes(1), keepdims=1)
    some = part.add("Greater", squares, part.constant(0.0))
    length = part.add("Sqrt", part.add("Where", some, squares, part.constant(1.0)))
    return part.add("Div", part.add("MatMul", weighed, directions), length)


def _counts(part: Graph, texts: str) -> str:
    """Return how often each text has each piece: (texts, buckets)."""
    blank = part.constant(np.full((_TOGETHER, 1), ""), object)  # one word at least
    words = _tokens(part, texts, tokenexp=_word_expression())
    words = part.add("Concat", words, blank, axis=1)
    words = _tokens(part, words, tokenexp=f"(?s).{{1,{LONGEST}}}")
    words = part.add("Reshape", words, part.axes(_TOGETHER, -1))
    words = part.add("Concat", words, blank, axis=1)
    different, _, place = part.several("Unique", words, count=3, sorted=0)
    shape = part.add("Shape", words)
    place = part.add("Reshape", place, shape)
    size = part.add("Concat", part.axes(_TOGETHER), part.add("Shape", different), axis=0)
    spoken = _summed(part, size, place, _filled(part, shape, 1.0))

    bucket, valid = _pieces(part, different)
    flat = part.axes(-1)
    whose = part.add("Gather", part.add("NonZero", valid), part.axes(0))
    whose = part.add("Reshape", whose, flat)
    found = part.add(
        "Compress", part.add("Reshape", bucket, flat), part.add("Reshape", valid, flat)
    )
    times = part.add("Gather", spoken, whose, axis=1)
    where = part.add("Expand", found, part.add("Shape", times))
    return _summed(part, part.axes(_TOGETHER, BUCKETS), where, times)


def _pieces(part: Graph, words: str) -> tuple[str, str]:
    """Return the bucket of each piece, and which of them there are: (words, ends, 3).

    At each letter, and at the blank behind a word, may end: the framed word, a run of three
    letters and one of four.
    """
    letters, other = _letters()
    blank = letters[" "]
    coded = _looked_up(part, _tokens(part, words, pad_value=" ", separators=[""]), letters, other)
    coded = part.add("Pad", coded, part.axes(0, 0, 0, 1), part.constant(blank, np.int64))
    read = part.add("Cast", part.add("Div", coded, part.constant(4, np.int64)), to=_UINT32)
    length = part.add("BitwiseAnd", coded, part.constant(3, np.int64))
    more = part.constant(np.tri(4, 3, -1, dtype=np.uint32) * _ONES, np.uint32)
    more = part.add("Gather", more, length)  # (words, letters, 3): all bits where a byte follows

    # Of each word: the state of the framed word, a fresh one, those of the last 1, 2, 3 letters.
    framed = zlib.crc32(b" ") ^ _ONES
    start = part.constant([[framed, _ONES, framed, 0, 0]], np.uint32)
    rows = part.add("Concat", part.add("Shape", words), part.axes(5), axis=0)
    states = part.add("Expand", start, rows)
    ends = part.scan(
        _read_letter,
        [(states, _UINT32)],
        [(read, _UINT32), (more, _UINT32)],
        (_UINT32, [None, 3]),
        axis=1,
    )
    last = part.add("BitwiseXor", ends, part.constant(_ONES, np.uint32))
    bucket = part.add("BitwiseAnd", last, part.constant(BUCKETS - 1, np.uint32))

    behind = part.add("Equal", coded, part.constant(blank, np.int64))
    inside = part.add("Cast", part.add("Not", behind), to=TensorProto.INT64)
    after_one, after_two = (_shifted(part, inside, by) for by in (1, 2))
    valid = [part.add("And", after_one, behind), after_one, part.add("And", after_one, after_two)]
    valid = [part.add("Unsqueeze", each, part.axes(2)) for each in valid]
    return part.add("Cast", bucket, to=TensorProto.INT64), part.add("Concat", *valid, axis=2)


def _read_letter(part: Graph, states: str, read: str, more: str) -> list[str]:
    """Return the states after a letter, and the hashes of what may end there."""
    table = part.constant([_raw(bytes([byte])) for byte in range(256)], np.uint32)
    low, eight = part.constant(255, np.uint32), part.constant(8, np.uint32)
    x = states
    for byte in range(4):
        index = part.add("Cast", part.add("BitwiseAnd", x, low), to=TensorProto.INT64)
        shifted = part.add("BitShift", x, eight, direction="RIGHT")
        after = part.add("BitwiseXor", part.add("Gather", table, index), shifted)
        if byte:
            mask = part.add("Gather", more, part.axes(byte - 1), axis=1)
            change = part.add("BitwiseAnd", part.add("BitwiseXor", after, x), mask)
            after = part.add("BitwiseXor", x, change)
        x = after
    x = part.add("BitwiseXor", x, part.add("Unsqueeze", read, part.axes(1)))
    both = part.add("Concat", x, states, axis=1)
    handed = part.add("Gather", both, part.axes(0, 6, 1, 2, 3), axis=1)
    return [handed, part.add("Gather", x, part.axes(0, 3, 4), axis=1)]


def _shifted(part: Graph, x: str, by: int) -> str:
    """Move the columns to the right; those that come in are false."""
    wider = part.add("Pad", x, part.axes(0, by, 0, 0))
    # Not by padding with less than nothing, which earlier runtimes get wrong in narrow tables.
    moved = part.add("Slice", wider, part.axes(0), part.axes(-by), part.axes(1))
    return part.add("Cast", moved, to=TensorProto.BOOL)


def _tokens(part: Graph, texts: str, pad_value: str = "", **how: Any) -> str:
    return part.add(
        "Tokenizer", texts, domain="com.microsoft", mark=0, mincharnum=1, pad_value=pad_value, **how
    )


def _looked_up(part: Graph, texts: str, codes: dict[str, int], other: int) -> str:
    return part.add(
        "LabelEncoder",
        texts,
        domain="ai.onnx.ml",
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=other,
    )


def _filled(part: Graph, shape: str, value: float) -> str:
    return part.add("Expand", part.constant(value), shape)


def _summed(part: Graph, shape: str, columns: str, values: str) -> str:
    """Add values up, each in a column of its row."""
    zeros = _filled(part, shape, 0.0)
    return part.add("ScatterElements", zeros, columns, values, axis=1, reduction="add")


@functools.cache
def _word_expression() -> str:
    """Return what the words of :mod:`shortlist._words` are, whatever Unicode a reader knows."""
    every = "".join(
        chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) != "Cs"
    )
    kinds = []
    for kind in (r"\w+", r"[^\w\s]+"):
        runs = [(ord(run[0][0]), ord(run[0][-1])) for run in re.finditer(kind, every)]
        kinds.append("[" + "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in runs) + "]+")
    return "|".join(kinds)


@functools.cache
def _letters() -> tuple[dict[str, int], int]:
    """Return 4 t + m - 1 of every letter, and of all others; see the top of this file."""

    def code(letter: str) -> int:
        written = small(letter).encode()
        return 4 * _raw(written) + len(written) - 1

    letters = [
        chr(c)
        for c in range(sys.maxunicode + 1)
        if (kind := unicodedata.category(chr(c))) not in ("Cn", "Cs")
        and not (kind == "Co" and c > 0xFFFF)
    ]
    return {letter: code(letter) for letter in letters}, code(_UNKNOWN)


def _raw(read: bytes) -> int:
    """Return the state that reading leaves of zero."""
    return zlib.crc32(read, _ONES) ^ _ONES


_UINT32 = TensorProto.UINT32
