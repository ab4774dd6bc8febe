"""A command on files of a folder, and what it must never do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from shortlist._app import app

SPECIAL = [
    b'"', b"\n", b"\r", b",", b";", b"\t", b"|", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80",
    b"=", b"'", b"-", b"\xc3\xa9", b"1e999", b"nan", b"\xed\xa0\x80",
]  # fmt: skip


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with a few replaced, removed, repeated or put in."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 5)):
        place, length = rng.randint(0, len(changed)), rng.choice([0, 0, 1, 2, 12, 200])
        new = rng.choice(
            [b"", rng.choice(SPECIAL), rng.randbytes(rng.randint(1, 12)),
             bytes(changed[place : place + 40]) * 3]
        )  # fmt: skip
        changed[place : place + length] = new
    if rng.random() < 0.1:
        del changed[rng.randint(0, len(changed)) :]
    return bytes(changed)


def command(folder: Path, *arguments: str) -> Any:
    """Run it: a list or a sentence, never a traceback, a changed or a half-written file."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1, 2), result.output
    assert "Traceback" not in result.output, result.output
    assert "unexpected" not in result.stderr, result.stderr
    if result.exit_code:
        said = result.stderr.rstrip().splitlines()
        assert any(line.startswith(("Error", "Usage")) for line in said), result.stderr
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not list(folder.glob(".*"))
    return result
