"""The list that the commands write: what is in it, and its form, by the ending of the name.

Rank, row, score, ids and reasons come first, then the other columns.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._tables import TableError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ._tables import Table

OWN = ("rank", "row", "score", "probability")
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".xlsx")
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9][0-9., '\u00a0\u202f]*([eE][+-]?[0-9]+)?( ?%)?")
_MOST_ROWS = (1 << 20) - 1


@dataclass(frozen=True)
class Listed:
    """The chosen rows, best first, and what is known about them.

    Attributes
    ----------
    rows : ndarray of int
        Rows of the file.
    score : ndarray
        Their scores.
    probability : ndarray or None
        Their probabilities to be positive.
    reasons : list of list of str
        Why they are on the list; of the first of them, where it is long.
    ids : sequence of str
        Columns that name a row.
    """

    rows: np.ndarray
    score: np.ndarray
    probability: np.ndarray | None = None
    reasons: list[list[str]] = field(default_factory=list)
    ids: Sequence[str] = ()

    def blocks(self, table: Table) -> Iterator[pd.DataFrame]:
        """Yield rank, row, score, probability, ids, reasons and all columns, in parts."""
        import numpy as np
        import pandas as pd

        number = max(map(len, self.reasons), default=0)
        why = [f"reason_{place + 1}" for place in range(number)]
        order = [*self.ids, *(name for name in table.columns if name not in set(self.ids))]
        own = [*(OWN if self.probability is not None else OWN[:3]), *why]
        names = {name: f"{name} (input)" for name in own if name in order}
        if not len(self.rows):
            yield pd.DataFrame(columns=[*own, *(names.get(name, name) for name in order)])
            return
        done = 0
        for block in table.take(self.rows):
            some = slice(done, done + len(block))
            block = block[order].rename(columns=names)
            for place, name in enumerate(why):
                texts = [
                    reasons[place] if place < len(reasons) else None
                    for reasons in self.reasons[some]
                ]
                texts += [None] * (len(block) - len(texts))
                block.insert(len(self.ids) + place, name, texts)
            if self.probability is not None:
                block.insert(0, "probability", self.probability[some])
            block.insert(0, "score", self.score[some])
            block.insert(0, "row", self.rows[some])
            block.insert(0, "rank", np.arange(done + 1, done + 1 + len(block)))
            done += len(block)
            yield block

    def entries(self, table: Table) -> list[dict[str, Any]]:
        """Return the list for a machine: rank, row, score, probability, ids and reasons."""
        own = OWN if self.probability is not None else OWN[:3]
        keep = [*own, *(f"{name} (input)" if name in own else name for name in self.ids)]
        found = [
            record for block in self.blocks(table) for record in block[keep].to_dict("records")
        ]
        for record, reasons in zip(found, self.reasons, strict=False):
            record["reasons"] = reasons
        return found


def first_rows(
    blocks: Iterator[pd.DataFrame], store: list[Any], most: int
) -> Iterator[pd.DataFrame]:
    """Pass blocks on and keep the first rows of them in `store`."""
    left = most
    for block in blocks:
        if left > 0:
            store.append(block.head(left))
            left -= len(store[-1])
        yield block


def check_ending(path: str) -> None:
    """Raise unless a list can be written to this path."""
    if path != "-" and not path.lower().endswith(ENDINGS):
        raise TableError(f"{path} has none of the endings {', '.join(ENDINGS)}; choose one.")


def write_list(path: Path, name: str, blocks: Iterable[pd.DataFrame], safe: bool = False) -> None:
    """Write blocks of rows.

    Parameters
    ----------
    path : Path
        Where to.
    name : str
        The name that the file will have; its ending says the format. "-" is CSV.
    blocks : iterable of DataFrame
        The rows.
    safe : bool, default=False
        Whether text that a spreadsheet would run as a formula gets an apostrophe in front.
        In .xlsx files text is marked as text, which needs none.
    """
    name = name.lower()
    if name.endswith(".parquet"):
        _write_arrow(path, blocks, "parquet")
    elif name.endswith(".feather"):
        _write_arrow(path, blocks, "feather")
    elif name.endswith(".xlsx"):
        _write_sheet(path, blocks)
    else:
        _write_text(path, name, (neutral(block) for block in blocks) if safe else blocks)


def _write_text(path: Path, name: str, blocks: Iterable[pd.DataFrame]) -> None:
    separator = "\t" if ".tsv" in name[-7:] else ","
    with path.open("wb") as raw:
        # No name and no time in the header: the same list gives the same bytes.
        file: Any = gzip.GzipFile("", "wb", 6, raw, 0) if name.endswith(".gz") else raw
        for number, block in enumerate(blocks):
            text = block.to_csv(sep=separator, index=False, header=number == 0, lineterminator="\n")
            file.write(text.encode("utf-8", "surrogatepass"))
        if file is not raw:
            file.close()


def neutral(block: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> import pandas as pd
    >>> from shortlist._app._lists import neutral
    >>> neutral(pd.DataFrame({"note": ["=1+1", "-5.2", "@me"]}))["note"].tolist()
    ["'=1+1", '-5.2', "'@me"]
    """
    from pandas.api.types import is_numeric_dtype

    def one(cell: Any) -> Any:
        if not isinstance(cell, str) or not _FORMULA.match(cell) or _NUMBER.fullmatch(cell):
            return cell
        return f"'{cell}"

    made = block.rename(columns=one)
    for place in range(block.shape[1]):
        # Text is of several types: object, string, categories.
        if not is_numeric_dtype(block.iloc[:, place].dtype):
            made.isetitem(place, block.iloc[:, place].map(one))
    return made


def _write_arrow(path: Path, blocks: Iterable[pd.DataFrame], kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    try:
        for rows in _arrow(blocks):
            if writer is None:
                writer = (
                    pq.ParquetWriter(path, rows.schema)
                    if kind == "parquet"
                    else pa.ipc.new_file(str(path), rows.schema)
                )
            writer.write_table(rows.cast(writer.schema if kind == "parquet" else rows.schema))
    finally:
        if writer is not None:
            writer.close()


def _arrow(blocks: Iterable[pd.DataFrame]) -> Iterator[Any]:
    """Blocks as Arrow tables of one schema; columns without a value are text."""
    import pyarrow as pa

    schema = None
    for block in blocks:
        try:
            rows = pa.Table.from_pandas(block, schema, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            # Cells of several types, from a spreadsheet: as text.
            mixed = {
                name: block[name].map(lambda cell: None if cell is None else str(cell))
                for name in block.columns
                if block[name].dtype == object
            }
            rows = pa.Table.from_pandas(block.assign(**mixed), schema, preserve_index=False)
        if schema is None:
            schema = pa.schema(
                [
                    pa.field(
                        field.name, pa.string() if pa.types.is_null(field.type) else field.type
                    )
                    for field in rows.schema
                ]
            )
            rows = rows.cast(schema)
        yield rows


def _write_sheet(path: Path, blocks: Iterable[pd.DataFrame]) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("shortlist")

    def cell(value: Any) -> Any:
        if isinstance(value, str):
            made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:32767])
            # Text, whatever it begins with: "=1+1" is not run, and 007 keeps its zeros.
            made.data_type = "s"
            return made
        if value is None or value != value:
            return None
        if hasattr(value, "tzinfo") and value.tzinfo is not None:
            return value.isoformat()
        return (
            value if isinstance(value, int | float) or hasattr(value, "isoformat") else str(value)
        )

    written = 0
    for block in blocks:
        written += len(block)
        if written > _MOST_ROWS:
            raise TableError(
                f"a spreadsheet holds {_MOST_ROWS:,} rows and the list is longer; write .csv."
            )
        if written == len(block):
            sheet.append([cell(str(name)) for name in block.columns])
        for row in block.astype(object).itertuples(index=False, name=None):
            sheet.append([cell(value) for value in row])
    book.save(path)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(plain(content), ensure_ascii=False, indent=2))


def plain(value: Any) -> Any:
    """Values that JSON knows; a number without a value is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def warn(message: str) -> None:
    """Say something the user should look at."""
    click.secho(f"Warning: {message}", fg="yellow", err=True)
