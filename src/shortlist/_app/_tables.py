"""Tables on disk, read in blocks: text, Parquet, Feather, spreadsheets.

Text files are read as text: what a column means is decided once, from the history
(:mod:`shortlist._app._columns`), and the output repeats the input's characters.

Whatever is wrong with a file or its names is found without pandas, so that it is said at once.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._sources import INDEX, ArrowSource, SheetSource, Source, TextSource, UnreadableError

if TYPE_CHECKING:
    import pandas as pd

# Rows that are collected in one pass when a list is written.
_TAKE_ROWS = 100_000


class TableError(ValueError):
    """A file that cannot be read as a table, or lacks what is asked of it."""


class Table:
    r"""A file of rows with named columns, read in blocks of bounded size.

    Parameters
    ----------
    path : str
        CSV (comma, semicolon, tab or bar, told by the first line) or TSV, which may be
        compressed (gz, bz2, zst, xz, zip), Parquet, Feather, or an .xlsx spreadsheet.
    name : str, default=None
        What messages call it.
    encoding : str, default="utf-8"
        Of a text file. A byte order mark overrides it.

    Examples
    --------
    >>> import os, tempfile
    >>> from shortlist._app._tables import Table
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
        self.encoding = known_encoding(encoding)
        check_file(path, self.name)
        with self._errors():
            self._source = self._open()

    def _open(self) -> Source:
        with open(self.path, "rb") as file:
            start = file.read(8)
        if start.startswith(b"PAR1") or start.startswith((b"ARROW1", b"FEA1")):
            return ArrowSource(self.path, "Parquet" if start.startswith(b"PAR1") else "Feather")
        for ending, kind in ((".parquet", "Parquet"), (".feather", "Feather")):
            if self.path.lower().endswith(ending):
                raise TableError(f"{self.name} ends in {ending} and is not a {kind} file.")
        if start.startswith(b"\xd0\xcf\x11\xe0"):
            raise TableError(
                f"{self.name} is a spreadsheet of the old kind, or protected by a password; save "
                "it as .xlsx or CSV and pass that."
            )
        if start.startswith(b"PK\x03\x04") and SheetSource.recognises(self.path):
            return SheetSource(self.path)
        return TextSource(self.path, self.encoding)

    @property
    def notes(self) -> list[str]:
        """What was chosen while reading: the sheet of a spreadsheet."""
        return [f"{self.name}: {note}" for note in self._source.notes]

    @property
    def decimal(self) -> str | None:
        """What stands before decimals where such files are written, if that is known."""
        return "," if self._source.delimiter == ";" else None

    @cached_property
    def _names(self) -> list[str]:
        """Names of all columns; a nameless one is called by its place."""
        with self._errors():
            names = self._source.names()
        stripped = [str(name).strip() for name in names]
        named = [name or f"column {place}" for place, name in enumerate(stripped, 1)]
        twice = sorted(name for name, count in Counter(named).items() if count > 1)
        if twice:
            numbers = all(re.fullmatch(r"[-+\d.,]*", name) for name in stripped)
            raise TableError(
                f"{self.name} has more than one column named {listed(twice)}; "
                + ("is its first line one of names?" if numbers else "rename them.")
            )
        return named

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns, without the row numbers that pandas adds to Parquet files."""
        return [name for name in self._names if not INDEX.fullmatch(name)]

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; counting reads a text file to its end and so finds what is malformed."""
        with self._errors():
            return self._source.count()

    def check_columns(self, wanted: Iterable[str], why: str) -> None:
        """Raise an error that suggests the nearest name for the first column not found."""
        known = set(self.columns)
        for name in wanted:
            if name not in known:
                near = difflib.get_close_matches(name, self.columns, n=1, cutoff=0.5)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise TableError(
                    f"{self.name} has no column {name!r}, {why}.{hint} "
                    f"It has {listed(self.columns)}."
                )

    def cells(self, column: str) -> list[Any]:
        """All cells of one column, as they are; needs no pandas."""
        with self._errors():
            place = self._names.index(column)
            return [cell for block in self._source.columns_of(place) for cell in block]

    def blocks(self) -> Iterator[pd.DataFrame]:
        """Yield the rows in order, as text or in the types of the file."""
        with self._errors():
            for frame in self._source.frames():
                frame.columns = self._names
                yield frame[self.columns] if len(self.columns) < len(self._names) else frame

    def read(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows, of some columns or of all."""
        import pandas as pd

        names = self.columns if columns is None else list(dict.fromkeys(columns))
        blocks = [block[names] for block in self.blocks()]
        if not blocks:
            return pd.DataFrame(columns=names)
        return pd.concat(blocks, ignore_index=True)

    def take(self, rows: np.ndarray) -> Iterator[pd.DataFrame]:
        """Yield some rows in the order given, a bounded number of them in each pass."""
        import pandas as pd

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

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnreadableError as error:
            raise TableError(f"{self.name} {error}") from None
        except UnicodeError as error:
            raise TableError(self._not_text(str(error))) from None
        except _reader_errors() as error:
            # Arrow's messages carry its own trace after the first line.
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            if "UTF8" in text or "utf-8" in text:
                raise TableError(self._not_text(text)) from None
            source = getattr(self, "_source", None)
            said = f"cannot be read: {text[:300]}." if source is None else source.explain(text)
            raise TableError(f"{self.name} {said}") from None

    def _not_text(self, detail: str) -> str:
        found = re.search(r"position (\d+)|Row #(\d+)", detail)
        where = "" if found is None else f" ({found[0]})"
        # What Windows writes in the west; unlike latin-1, it has a euro.
        other = "cp1252" if self.encoding == "utf-8" else "utf-8"
        return (
            f"{self.name} is not {self.encoding.upper()} text{where}; "
            f"name its encoding, for example --encoding {other}."
        )


def _reader_errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return (OSError, EOFError, pa.ArrowException)


def check_file(path: str, name: str) -> None:
    """Raise unless there is a file to read."""
    try:
        if Path(path).is_dir():
            raise TableError(f"{name} is a folder; name a file in it.")
        with open(path, "rb") as file:
            if not file.read(1):
                raise TableError(f"{name} is empty.")
    except FileNotFoundError:
        raise TableError(f"{name} does not exist.") from None
    except PermissionError:
        raise TableError(f"{name} may not be read: permission denied.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{name} cannot be opened: {error}.") from None


def check_model(path: str) -> None:
    """Raise unless a file may be a model, without loading what reads models."""
    check_file(path, path)
    try:
        with zipfile.ZipFile(path) as archive:
            found = "schema.json" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        found = False
    if not found:
        raise TableError(
            f"{path} is not a model file of shortlist; shortlist pick --save writes one."
        )


def known_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding, or raise."""
    try:
        name = codecs.lookup(encoding).name
        b"".decode(name)
    except (LookupError, ValueError):
        raise TableError(
            f"--encoding {encoding!r} is unknown; try utf-8, cp1252, latin-1 or utf-16."
        ) from None
    return name


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names for a message, not more than a line of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
