"""Places where rows are stored, read block by block."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

KINDS = "an array, a CSR matrix, the path of a .npy or .parquet file, or a function"


@dataclass(frozen=True)
class Block:
    """Some rows with their labels (one per row, or one for all) and weights."""

    X: Any
    y: Any
    weight: Any = None


class Segment(Protocol):
    """A place where rows are stored."""

    def read(self, block_bytes: int) -> Iterator[Block]:
        """Return an iterator over the rows, in blocks."""

    def labels(self) -> Iterator[Any]:
        """Return an iterator over the labels, in pieces."""


@dataclass(frozen=True)
class Values:
    """Labels or weights of a segment: one per row, one for all, or a column's name."""

    name: str
    value: Any

    @property
    def column(self) -> str | None:
        """The column's name, where that is what was given."""
        return self.value if isinstance(self.value, str) else None

    def check(self, n_rows: int) -> None:
        """Raise an error unless there is one value per row, or one for all."""
        if self.value is not None and np.ndim(self.value) and np.shape(self.value) != (n_rows,):
            raise ValueError(
                f"{self.name} must hold one value for each of the {n_rows} rows of its source, "
                f"or one for all of them, got shape {np.shape(self.value)}."
            )

    def part(self, rows: slice) -> Any:
        """Return the values of some rows."""
        return self.value[rows] if np.ndim(self.value) else self.value


class ArraySegment:
    """Rows at hand: an array, a CSR matrix or a dataframe."""

    def __init__(self, X: Any, y: Values, weight: Values) -> None:
        for values in (y, weight):
            values.check(X.shape[0])
        self.X = X
        self._y = y
        self._weight = weight

    def _cuts(self, block_bytes: int) -> Iterator[slice]:
        n_rows, n_features = self.X.shape
        row_bytes = 8 * n_features
        if sparse.issparse(self.X):
            row_bytes = 16 * (self.X.nnz // max(1, n_rows) + 1)
        step = max(1, block_bytes // max(1, row_bytes))
        for start in range(0, n_rows, step):
            yield slice(start, min(n_rows, start + step))

    def read(self, block_bytes: int) -> Iterator[Block]:
        for rows in self._cuts(block_bytes):
            X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
            yield Block(X, self._y.part(rows), self._weight.part(rows))

    def labels(self) -> Iterator[Any]:
        yield self._y.value


class FileSegment(ArraySegment):
    """Rows of a mapped file in C order: read, so that no pages are added to the process.

    All blocks of a pass are read into the same memory, so a block is valid until the next
    one is asked for. New memory for each would cost more time than the reading. While a
    block is in use, the system already fetches the one that follows.
    """

    X: np.memmap

    def read(self, block_bytes: int) -> Iterator[Block]:
        assert self.X.filename is not None
        row_bytes = self.X.shape[1] * self.X.dtype.itemsize
        memory = np.empty((0, self.X.shape[1]), self.X.dtype)
        with open(self.X.filename, "rb", buffering=0) as file:
            for rows in self._cuts(block_bytes):
                count = rows.stop - rows.start
                if not len(memory):
                    memory = np.empty((count, self.X.shape[1]), self.X.dtype)
                file.seek(self.X.offset + rows.start * row_bytes)
                _will_need(file, file.tell() + memory.nbytes, memory.nbytes)
                _read_into(file, memory[:count])
                yield Block(memory[:count], self._y.part(rows), self._weight.part(rows))


def _read_into(file: Any, rows: np.ndarray) -> None:
    wanted = rows.reshape(-1).view(np.uint8).data
    while len(wanted):
        got = file.readinto(wanted)
        if not got:
            raise ValueError(
                f"source {file.name!r} is {len(wanted)} bytes shorter than its header says: it "
                "was cut off, or changed since Blocks was made."
            )
        wanted = wanted[got:]


def _will_need(file: Any, start: int, size: int) -> None:
    """Ask the system to fetch a part of a file in the background, where it can."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), start, size, os.POSIX_FADV_WILLNEED)


class ParquetSegment:
    """A Parquet file; labels and weights may be columns."""

    def __init__(self, path: Path, y: Values, weight: Values) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise ImportError(
                f"Reading {str(path)!r} needs pyarrow: pip install pyarrow."
            ) from None
        self._open = lambda: ParquetFile(path)
        self._y = y
        self._weight = weight
        with self._open() as file:
            names = file.schema_arrow.names
            n_rows = file.metadata.num_rows
        for values in (y, weight):
            if values.column is None:
                values.check(n_rows)
            elif values.column not in names:
                raise ValueError(
                    f"{values.name}={values.column!r} is no column of {str(path)!r}, which has "
                    f"{', '.join(names)}."
                )
        self._features = [name for name in names if name not in (y.column, weight.column)]

    def read(self, block_bytes: int) -> Iterator[Block]:
        import pyarrow

        step = max(1, block_bytes // (8 * max(1, len(self._features))))
        start = 0
        with self._open() as file:
            for batch in file.iter_batches(batch_size=step):
                rows = slice(start, start + batch.num_rows)
                start = rows.stop
                y, weight = (
                    values.part(rows) if values.column is None else _column(batch, values.column)
                    for values in (self._y, self._weight)
                )
                table = pyarrow.Table.from_batches([batch]).select(self._features)
                yield Block(table, y, weight)

    def labels(self) -> Iterator[Any]:
        if self._y.column is None:
            yield self._y.value
            return
        with self._open() as file:
            for batch in file.iter_batches(columns=[self._y.column]):
                yield _column(batch, self._y.column)


def _column(batch: Any, name: str) -> np.ndarray:
    return batch.column(name).to_numpy(zero_copy_only=False)


class CallSegment:
    """A function whose every call returns a fresh iterator over the same blocks."""

    def __init__(self, function: Callable[[], Iterable[Any]]) -> None:
        self._function = function

    def read(self, block_bytes: int) -> Iterator[Block]:
        for number, item in enumerate(self._function()):
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise TypeError(
                    "source() must iterate over tuples (X, y) or (X, y, sample_weight), got a "
                    f"{type(item).__name__} as item {number}."
                )
            yield Block(*item)

    def labels(self) -> Iterator[Any]:
        for block in self.read(0):
            yield block.y


def segment(source: Any, y: Values, weight: Values) -> Segment:
    """Return the segment for one source."""
    if callable(source):
        if y.value is not None or weight.value is not None:
            raise ValueError(
                "y and sample_weight must be left out where source is a function: its blocks "
                "bring them, as (X, y) or (X, y, sample_weight)."
            )
        return CallSegment(source)
    if y.value is None:
        raise ValueError(
            "y is missing: give the labels, one label for all rows, or the name of a Parquet "
            "column."
        )
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix in (".parquet", ".pq"):
            return ParquetSegment(path, y, weight)
        if path.suffix != ".npy":
            raise ValueError(f"source must be {KINDS}, got the path {str(path)!r}.")
        source = np.load(path, mmap_mode="r")
    if len(getattr(source, "shape", ())) != 2:
        raise ValueError(f"source must be {KINDS}, with rows and columns, got {source!r:.80}.")
    if sparse.issparse(source):
        return ArraySegment(source.tocsr(), y, weight)
    if (
        isinstance(source, np.memmap)
        and isinstance(source.base, mmap.mmap)
        and source.flags.c_contiguous
    ):
        return FileSegment(source, y, weight)
    return ArraySegment(source, y, weight)
