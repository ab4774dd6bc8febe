"""Tables: read as they are, the same in blocks of any size, or refused in a sentence."""

from __future__ import annotations

import functools
import gzip
import io
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shortlist import picking
from shortlist._app import _sources
from shortlist._app._tables import Table, TableError

from .commands import command, damaged

CELLS = [
    "", "0", "1", "-1", "1,5", "1.234,5", "1e308", "nan", "NULL", "n/a", "2024-02-30", "31.12.2023",
    "12/31/23", "2024-01-01T00:00:00Z", "true", "yes", "=1+1", "@x", "né", "😀", "a b", "x\ny", '"',
    "\u202e", "\x07", "0x10", "١٢", "∞", "5 %", "€ 3", "1 000", "007", " 1 ",
]  # fmt: skip


def prepare() -> None:
    """Nothing is shared."""


def cell(rng: random.Random, kind: int) -> str:
    if kind == 0:
        return str(rng.randint(-5, 20))
    if kind == 1:
        return f"{rng.gauss(0, 1) * 10.0 ** rng.randint(-3, 3):.4g}"
    if kind == 2:
        return rng.choice("abc")
    if kind == 3:
        return f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.20{rng.randint(10, 24)}"
    return rng.choice(CELLS)


def frame(rng: random.Random) -> pd.DataFrame:
    """Return a table with an id, a label, and columns of any kind with odd cells among them."""
    n = rng.choice([2, 5, 12, 30, 60])
    kinds = [rng.randint(0, 4) for _ in range(rng.randint(1, 5))]
    odd = rng.choice([0.0, 0.02, 0.3])
    table: dict[str, list[str]] = {"id": [str(i) for i in range(n)]}
    for number, kind in enumerate(kinds):
        name = rng.choice([f"c{number}", f"c{number} é", f" {number}", f"=c{number}", "score"])
        table[name] = [cell(rng, 4 if rng.random() < odd else kind) for _ in range(n)]
    table["y"] = [str(int(rng.random() < 0.4)) for _ in range(n)]
    return pd.DataFrame(table)


def written(rng: random.Random, table: pd.DataFrame, ending: str) -> bytes:
    if ending == ".parquet":
        file = io.BytesIO()
        table.to_parquet(file)
        return file.getvalue()
    if ending == ".xlsx":
        file = io.BytesIO()
        clean = table.replace(r"[\x00-\x08]", "?", regex=True)
        clean.to_excel(file, index=False)
        return file.getvalue()
    separator = "\t" if ending == ".tsv" else rng.choice(",,;|\t")
    text = table.to_csv(index=False, sep=separator, lineterminator=rng.choice(["\n", "\r\n"]))
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])
    content = text.encode(encoding, "replace")
    return gzip.compress(content) if ending == ".csv.gz" else content


def same_in_blocks(path: Path) -> None:
    """Cells do not depend on the size of the blocks that are read."""
    try:
        whole = pd.concat(list(Table(str(path)).blocks()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_sources, "BLOCK_BYTES", 1 << 10)
            patch.setattr(_sources, "BLOCK_ROWS", 3)
            parts = pd.concat(list(Table(str(path)).blocks()))
    except (TableError, OSError, UnicodeError, ValueError):
        return  # refused; how is asked of the command
    text = [part.astype(object).where(part.notna(), None) for part in (whole, parts)]
    pd.testing.assert_frame_equal(*(part.reset_index(drop=True).astype(str) for part in text))


def run(seed: int, shared: Any) -> None:
    """Read two tables, good, odd or damaged, with every command that takes such."""
    rng = random.Random(seed)
    ending = rng.choice([".csv", ".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".xlsx"])
    table = frame(rng)
    history = written(rng, table, ending)
    candidates = written(rng, table.drop(columns="y").sample(frac=1.0, random_state=seed % 9999),
                         ending)  # fmt: skip
    harm = rng.random()
    if harm < 0.35:
        history = damaged(rng, history)
    elif harm < 0.7:
        candidates = damaged(rng, candidates)

    def stop(*arguments: Any, **settings: Any) -> None:
        raise ValueError("the files were good enough")

    short = functools.partial(picking.pick, models=["PatMat"], cv=2, repeats=1)
    with (
        tempfile.TemporaryDirectory() as name,
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        patch.setattr(picking, "pick", short if rng.random() < 0.2 else stop)
        folder = Path(name)
        h, c = folder / f"h{ending}", folder / f"c{ending}"
        h.write_bytes(history)
        c.write_bytes(candidates)
        command(folder, "columns", str(h))
        command(folder, "evaluate", str(h), "--label", "y", "--score", "id", "-k", "2")
        made = ("-o", str(folder / "o.csv"), "--save", str(folder / "m.skops"))
        said = ("--history", str(h), "--label", "y", "-k", "1", "--id", "id")
        command(folder, "pick", str(c), *said, *made)
        same_in_blocks(c)
