"""The formats that tables come in: each tells names, counts rows and yields frames."""

from __future__ import annotations

import codecs
import contextlib
import re
import zipfile
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ._cells import printable

if TYPE_CHECKING:
    import pandas as pd

# Bytes of text, and rows of Parquet, that are in memory at a time.
BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 20_000
_DELIMITERS = ",;\t|"
# A pandas index without a name, as Parquet and Feather files carry it.
INDEX = re.compile(r"__index_level_\d+__")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before that of UTF-16, which it begins with.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


# What looks like text and is no table, and what it is.
_OTHERS = (
    (re.compile(r"\s*<(!doctype|html|\?xml|table|meta)\b", re.IGNORECASE), "a web page or XML"),
    (re.compile(r"\s*(\{\s*\"|\[\s*[\[{])"), "JSON"),
)


class UnreadableError(ValueError):
    """What is wrong with a file, to follow its name in a sentence."""


class Source(Protocol):
    """A file of rows.

    Attributes
    ----------
    notes : list of str
        What was chosen while reading.
    delimiter : str or None
        What separates cells, in text.
    """

    notes: list[str]
    delimiter: str | None

    def names(self) -> list[str]:
        """Names of the columns."""

    def count(self) -> int:
        """Count the rows."""

    def columns_of(self, place: int) -> Iterator[list[Any]]:
        """Yield the cells of the column at a place, block by block."""

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows in blocks."""

    def explain(self, text: str) -> str:
        """Say what an error of the reader means."""


class TextSource:
    """CSV and TSV, plain or compressed.

    Parameters
    ----------
    path : str
        The file.
    encoding : str
        Of its characters, unless it begins with a byte order mark.
    """

    def __init__(self, path: str, encoding: str) -> None:
        self.path = path
        self.notes: list[str] = []
        with self._stream() as stream:
            start = stream.read(1 << 16)
        marked = next((found for mark, found in _MARKS if start.startswith(mark)), None)
        if marked is None and encoding != "utf-8" and self._is_utf8():
            marked = "utf-8"
            self.notes.append(f"is UTF-8 text, and read so instead of as {encoding}.")
        self.encoding = marked or encoding
        if self.encoding == "utf-8" and start.count(b"\0") > len(start) // 4:
            wide = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
            raise UnreadableError(f"is not UTF-8 text; try --encoding {wide}.")
        text = start.decode(self.encoding, "ignore").lstrip("\ufeff")
        for pattern, what in _OTHERS:
            if pattern.match(text):
                raise UnreadableError(f"is {what}, not a table; save it as CSV or .xlsx.")
        # Excel writes and obeys a first line that names the separator.
        named = re.match(r'"?sep=(.)"?\r?\n', text, re.IGNORECASE)
        self._skip = 1 if named else 0
        self.delimiter: str | None = named[1] if named else self._find_delimiter(text)

    def _find_delimiter(self, text: str) -> str:
        if re.search(r"\.tsv(\.\w+)?$", self.path.lower()):
            return "\t"
        first = re.split(r"[\r\n]", re.sub(r'"[^"]*"', "", text.lstrip("\r\n")), maxsplit=1)[0]
        return max(_DELIMITERS, key=first.count)

    def _is_utf8(self) -> bool:
        """Whether all bytes are UTF-8, some of them beyond ASCII: other text never is."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        beyond = False
        with self._stream() as stream:
            try:
                while piece := stream.read(BLOCK_BYTES):
                    beyond |= not decoder.decode(piece).isascii()
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return False
        return beyond

    @contextlib.contextmanager
    def _stream(self) -> Iterator[Any]:
        """Open the bytes of the text, whatever they are packed in."""
        import pyarrow as pa

        with open(self.path, "rb") as file:
            start = file.read(6)
        if start.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(self.path) as archive, archive.open(_only(archive)) as file:
                yield file
        elif start.startswith(b"\xfd7zXZ"):
            import lzma

            with lzma.open(self.path) as file:
                yield file
        else:
            known = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
            packed = next((way for mark, way in known.items() if start.startswith(mark)), None)
            with pa.input_stream(self.path, compression=packed) as stream:
                yield stream

    @contextlib.contextmanager
    def _reader(self, types: dict[str, Any] | None = None, only: list[str] | None = None) -> Any:
        import pyarrow.csv as pa_csv

        with self._stream() as stream:
            yield pa_csv.open_csv(
                stream,
                pa_csv.ReadOptions(
                    # One thread: then errors name the row.
                    use_threads=False,
                    block_size=BLOCK_BYTES,
                    encoding=self.encoding,
                    skip_rows=self._skip,
                ),
                pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    column_types=types, strings_can_be_null=False, include_columns=only
                ),
            )

    def names(self) -> list[str]:
        """Names in the first line."""
        with self._reader() as reader:
            return list(reader.schema.names)

    def _batches(self, place: int | None = None) -> Iterator[Any]:
        import pyarrow as pa

        names = self.names()
        only = None if place is None else [names[place]]
        with self._reader({name: pa.string() for name in names}, only) as reader:
            yield from reader

    def count(self) -> int:
        """Count the rows, to the end of the file."""
        return sum(batch.num_rows for batch in self._batches())

    def columns_of(self, place: int) -> Iterator[list[Any]]:
        """Yield the cells of one column."""
        for batch in self._batches(place):
            yield batch.column(0).to_pylist()

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows as text."""
        for batch in self._batches():
            yield batch.to_pandas()

    def explain(self, text: str) -> str:
        """Say what is wrong with the text."""
        if "Empty CSV" in text:
            return "is empty: a line of names and rows are needed."
        if "straddling" in text:
            text = f"a row is longer than {BLOCK_BYTES >> 20} MB; perhaps a quote is never closed"
        text = re.sub(r"^CSV (parse|conversion) error: ", "", text)
        uneven = re.match(r"Row #(\d+): Expected (\d+) columns, got (\d+): ?(.*)", text)
        if uneven is None:
            return f"is not a well-formed CSV file: {text[:300]}."
        row, wanted, got, line = uneven.groups()
        above = (
            " The first line must hold the names of the columns: delete what stands above them."
            if int(wanted) == 1
            else ""
        )
        return (
            f"is not a well-formed CSV file: row {row} has {_cells(got)}, the first row {wanted}: "
            f"{printable(line, 120)!r}.{above}"
        )


def _cells(count: str) -> str:
    return "1 cell" if count == "1" else f"{count} cells"


def _only(archive: zipfile.ZipFile) -> str:
    files = [name for name in archive.namelist() if not name.endswith("/")]
    files = [name for name in files if not name.startswith("__MACOSX/")]
    if len(files) != 1:
        raise UnreadableError(
            f"is an archive of {len(files)} files; unpack it and pass the one with the rows."
        )
    return files[0]


class ArrowSource:
    """Parquet and Feather.

    Parameters
    ----------
    path : str
        The file.
    kind : {"Parquet", "Feather"}
        Its format.
    """

    delimiter: str | None = None

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.notes: list[str] = []

    def _file(self) -> Any:
        if self.kind == "Parquet":
            import pyarrow.parquet as pq

            return pq.ParquetFile(self.path)
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(self.path))

    def names(self) -> list[str]:
        """Names of the columns, an index of pandas among them."""
        import pyarrow as pa

        file = self._file()
        schema = file.schema_arrow if self.kind == "Parquet" else file.schema
        # Row numbers are no loss; dates or names in an index may be one.
        if any(INDEX.fullmatch(each.name) and not pa.types.is_integer(each.type)
               for each in schema):  # fmt: skip
            self.notes.append("the index of pandas has no name and is not read; name it to use it.")
        return list(schema.names)

    def count(self) -> int:
        """Count the rows."""
        file = self._file()
        if self.kind == "Parquet":
            return int(file.metadata.num_rows)
        return sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))

    def _batches(self) -> Iterator[Any]:
        file = self._file()
        if self.kind == "Parquet":
            yield from file.iter_batches(BLOCK_ROWS)
            return
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            for start in range(0, batch.num_rows, BLOCK_ROWS):
                yield batch.slice(start, BLOCK_ROWS)

    def columns_of(self, place: int) -> Iterator[list[Any]]:
        """Yield the cells of one column."""
        for batch in self._batches():
            yield batch.column(place).to_pylist()

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows in their types."""
        for batch in self._batches():
            # Without pandas' own notes in the file, which turn columns into an index; whole
            # numbers stay whole where some are missing.
            yield batch.to_pandas(ignore_metadata=True, integer_object_nulls=True)

    def explain(self, text: str) -> str:
        """Say what is wrong with the file."""
        return f"is not a well-formed {self.kind} file: {text[:300]}."


class SheetSource:
    """The first sheet of an .xlsx spreadsheet: names in the first row that holds something.

    Parameters
    ----------
    path : str
        The file.
    """

    delimiter: str | None = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.notes: list[str] = []

    @staticmethod
    def recognises(path: str) -> bool:
        """Whether an archive is a spreadsheet."""
        try:
            with zipfile.ZipFile(path) as archive:
                return "[Content_Types].xml" in archive.namelist()
        except zipfile.BadZipFile:
            raise UnreadableError("is a damaged archive or spreadsheet.") from None

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        try:
            import openpyxl

            book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            if not sheets:
                raise UnreadableError("has no sheet with rows.")
            rows = _filled(sheets[0])
            book.close()
        except (ModuleNotFoundError, UnreadableError, MemoryError):
            raise
        except Exception as error:
            # Damaged spreadsheets break the reader in many ways.
            raise UnreadableError(
                f"cannot be read as a spreadsheet ({type(error).__name__}); "
                "open and save it again, or save it as CSV."
            ) from None
        if len(sheets) > 1:
            self.notes.append(f"of {len(sheets)} sheets the first is read, {sheets[0].title!r}.")
        if not rows:
            raise UnreadableError("is empty: a row of names and rows are needed.")
        if len(rows) > 1 and _is_title(rows[0]) and not _is_title(rows[1]):
            raise UnreadableError(
                f"begins with {printable(str(rows[0][0]))!r} alone in its row. The first row must "
                "hold the names of the columns: delete what stands above them."
            )
        self._look_for_formulas(rows)
        width = max(len(row) - _blanks_behind(row) for row in rows)
        return [row[:width] for row in rows]

    def _look_for_formulas(self, rows: list[tuple[Any, ...]]) -> None:
        """Say which columns are empty because no spreadsheet has worked their formulas out."""
        empty = [
            place
            for place, name in enumerate(rows[0])
            if name is not None and all(row[place] is None for row in rows[1:])
        ]
        if not empty:
            return
        import openpyxl

        book = openpyxl.load_workbook(self.path, read_only=True)
        written = _filled(next(s for s in book.worksheets if s.sheet_state == "visible"))
        book.close()
        for place in empty:
            if any(len(row) > place and row[place] is not None for row in written[1:]):
                self.notes.append(
                    f"column {str(rows[0][place])!r} holds formulas without results; open the "
                    "file in a spreadsheet and save it."
                )

    def names(self) -> list[str]:
        """Names in the first row."""
        return ["" if cell is None else str(cell).strip() for cell in self._rows[0]]

    def count(self) -> int:
        """Count the rows."""
        return len(self._rows) - 1

    def columns_of(self, place: int) -> Iterator[list[Any]]:
        """Yield the cells of one column."""
        yield [row[place] for row in self._rows[1:]]

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows, cells in the types of the spreadsheet."""
        import pandas as pd

        for start in range(1, len(self._rows), BLOCK_ROWS):
            yield pd.DataFrame(self._rows[start : start + BLOCK_ROWS], dtype=object)

    def explain(self, text: str) -> str:
        """Say what is wrong with the file."""
        return f"cannot be read as a spreadsheet: {text[:300]}."


def _filled(sheet: Any) -> list[tuple[Any, ...]]:
    """Return the rows that hold something, all of one length."""
    sheet.reset_dimensions()
    rows = [row for row in sheet.iter_rows(values_only=True) if any(c is not None for c in row)]
    width = max(map(len, rows), default=0)
    return [(*row, *[None] * (width - len(row))) for row in rows]


def _is_title(row: tuple[Any, ...]) -> bool:
    return row[0] is not None and all(cell is None for cell in row[1:])


def _blanks_behind(row: tuple[Any, ...]) -> int:
    count = 0
    for cell in reversed(row):
        if cell is not None:
            break
        count += 1
    return count


__all__ = ["ArrowSource", "SheetSource", "Source", "TextSource", "UnreadableError"]
