"""Reading CSV, TSV and Parquet files in blocks, and writing lists.

Text files are read as text: what a column means is decided once, from the history
(:mod:`shortlist._columns`), and the output repeats the input's characters.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

# Bytes of text, and rows of Parquet, that are in memory at a time.
_BLOCK_BYTES = 4 << 20
_BLOCK_ROWS = 20_000
# Rows that are collected in one pass when a list is written.
_TAKE_ROWS = 100_000
_DELIMITERS = ",;\t|"
ENDINGS = (".csv", ".tsv", ".parquet")


class TableError(ValueError):
    """A file that cannot be read as a table, or lacks what is asked of it."""


class Table:
    r"""A file of rows with named columns, read in blocks of bounded size.

    Parameters
    ----------
    path : str
        CSV (comma, semicolon, tab or bar, told by the first line), TSV or Parquet;
        a text file may be compressed (``.gz``, ``.bz2``, ``.zst``).
    name : str, default=None
        What messages call it.
    encoding : str, default="utf-8"
        Of a text file.

    Examples
    --------
    >>> import os, tempfile
    >>> from shortlist._tables import Table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("id;x\n007;1,5\n008;\n")
    ...     table = Table(path)
    ...     table.columns, table.n_rows, table.read()["id"].tolist()
    (['id', 'x'], 2, ['007', '008'])
    """

    def __init__(self, path: str, name: str | None = None, encoding: str = "utf-8") -> None:
        self.path = path
        self.name = path if name is None else name
        self.encoding = _known_encoding(encoding)
        with self._errors():
            size = Path(path).stat().st_size
        if size == 0:
            raise TableError(f"{self.name} is empty.")
        with self._errors(), open(path, "rb") as file:
            start = file.read(8)
        self.is_parquet = start.startswith(b"PAR1")
        if not self.is_parquet:
            self._refuse(start)
        self._delimiter = "," if self.is_parquet else self._find_delimiter()

    def _refuse(self, start: bytes) -> None:
        """Say what is wrong with files that are plainly no text."""
        if self.path.lower().endswith(".parquet"):
            raise TableError(f"{self.name} ends in .parquet and is not a Parquet file.")
        if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            raise TableError(
                f"{self.name} is a spreadsheet or an archive; save the sheet as CSV and pass that."
            )
        for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
            if start.startswith(mark) and self.encoding == "utf-8":
                raise TableError(
                    f"{self.name} is not UTF-8 text; it looks like {encoding}: "
                    f"add --encoding {encoding}."
                )

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; a nameless one is called by its place."""
        with self._errors():
            names = (
                pq.ParquetFile(self.path).schema_arrow.names
                if self.is_parquet
                else self._reader().schema.names
            )
        named = [str(name) or f"column {place}" for place, name in enumerate(names, 1)]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise TableError(
                f"{self.name} has more than one column named {_listed(twice)}; rename them."
            )
        return named

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; counting reads a text file to its end and so finds what is malformed."""
        if self.is_parquet:
            with self._errors():
                return int(pq.ParquetFile(self.path).metadata.num_rows)
        return sum(batch.num_rows for batch in self._batches())

    def check_columns(self, wanted: Iterable[str], why: str) -> None:
        """Raise an error that suggests the nearest name for the first column not found."""
        for name in wanted:
            if name not in self.columns:
                near = difflib.get_close_matches(name, self.columns, n=1, cutoff=0.5)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise TableError(
                    f"{self.name} has no column {name!r}, {why}.{hint} "
                    f"It has {_listed(self.columns)}."
                )

    def blocks(self) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, as text or in their Parquet types."""
        for batch in self._batches():
            frame = batch.to_pandas()
            frame.columns = self.columns
            yield frame

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows, of some columns or of all."""
        names = self.columns if columns is None else list(dict.fromkeys(columns))
        blocks = [block[names] for block in self.blocks()]
        if not blocks:
            return pd.DataFrame(columns=names)
        return pd.concat(blocks, ignore_index=True)

    def take(self, rows: np.ndarray) -> Iterator[pd.DataFrame]:
        """Yield some rows in the order given, a bounded number of them in each pass."""
        for start in range(0, len(rows), _TAKE_ROWS):
            wanted = rows[start : start + _TAKE_ROWS]
            order = np.argsort(wanted, kind="stable")
            ascending = wanted[order]
            pieces, first = [], 0
            for block in self.blocks():
                low, high = np.searchsorted(ascending, (first, first + len(block)))
                if high > low:
                    pieces.append(block.iloc[ascending[low:high] - first])
                first += len(block)
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            yield pd.concat(pieces, ignore_index=True).iloc[place].reset_index(drop=True)

    def _batches(self) -> Iterator[Any]:
        with self._errors():
            if self.is_parquet:
                yield from pq.ParquetFile(self.path).iter_batches(_BLOCK_ROWS)
            else:
                names = self._reader().schema.names
                yield from self._reader({name: pa.string() for name in names})

    def _reader(self, types: dict[str, Any] | None = None) -> Any:
        return pa_csv.open_csv(
            self._stream(),
            # One thread: then errors name the row.
            pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, encoding=self.encoding),
            pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )

    def _stream(self) -> Any:
        return pa.input_stream(self.path, compression="detect")

    def _find_delimiter(self) -> str:
        with self._errors(), self._stream() as stream:
            line = stream.read(1 << 16).decode(self.encoding, "replace")
        first = re.split(r"[\r\n]", line.lstrip("\ufeff\r\n"), maxsplit=1)[0]
        bare = re.sub(r'"[^"]*"', "", first)
        if self.path.lower().endswith(".tsv"):
            return "\t"
        return max(_DELIMITERS, key=bare.count)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise TableError(f"{self.name} does not exist.") from None
        except IsADirectoryError:
            raise TableError(f"{self.name} is a folder; name a file in it.") from None
        except PermissionError:
            raise TableError(f"{self.name} may not be read: permission denied.") from None
        except UnicodeError as error:
            raise TableError(self._not_text(str(error))) from None
        except (pa.ArrowException, OSError, EOFError) as error:
            # Arrow's messages carry its own trace after the first line.
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            if "UTF8" in text or "utf-8" in text:
                raise TableError(self._not_text(text)) from None
            if "Empty CSV" in text:
                raise TableError(
                    f"{self.name} is empty: a line of names and rows are needed."
                ) from (None)
            if "straddling" in text:
                text = (
                    f"a row is longer than {_BLOCK_BYTES >> 20} MB; perhaps a quote is never closed"
                )
            kind = "Parquet" if self.is_parquet else "CSV"
            text = re.sub(r"^CSV (parse|conversion) error: ", "", text)
            raise TableError(
                f"{self.name} is not a well-formed {kind} file: {text[:300]}."
            ) from None

    def _not_text(self, detail: str) -> str:
        found = re.search(r"position (\d+)|Row #(\d+)", detail)
        where = "" if found is None else f" ({found[0]})"
        other = "latin-1" if self.encoding == "utf-8" else "utf-8"
        return (
            f"{self.name} is not {self.encoding.upper()} text{where}; "
            f"name its encoding, for example --encoding {other}."
        )


def _known_encoding(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        b"".decode(name)
    except (LookupError, ValueError):
        raise TableError(
            f"--encoding {encoding!r} is unknown; try utf-8, latin-1, cp1252 or utf-16."
        ) from None
    return name


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def check_ending(path: str) -> None:
    """Raise unless a list can be written to this path."""
    if path != "-" and Path(path).suffix.lower() not in ENDINGS:
        raise TableError(f"{path} has none of the endings {', '.join(ENDINGS)}; choose one.")


def write_list(path: Path, blocks: Iterable[pd.DataFrame]) -> None:
    """Write blocks of rows in the format that the path's ending says."""
    if path.suffix.lower() == ".parquet":
        writer = None
        try:
            for block in blocks:
                rows = pa.Table.from_pandas(block, preserve_index=False)
                if writer is None:
                    writer = pq.ParquetWriter(path, rows.schema)
                writer.write_table(rows.cast(writer.schema))
        finally:
            if writer is not None:
                writer.close()
        return
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, block in enumerate(blocks):
            block.to_csv(file, sep=separator, index=False, header=number == 0, lineterminator="\n")
