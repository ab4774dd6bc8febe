"""Cells without a value. Imports nothing, so that commands start at once."""

from __future__ import annotations

from typing import Any

# How files spell a missing value, apart from blanks; compared in lower case.
_MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "n.a.", "nan", "-nan", "nat", "null", "(null)", "nil", "<na>", "\\n"}
    | {"?", ".", "...", "-", "--"}
    # SAS and Stata tell several kinds of missing apart.
    | {f".{letter}" for letter in "_abcdefghijklmnopqrstuvwxyz"}
    | {"#null!", "#div/0!", "#value!", "#ref!", "#num!", "#name?"}
)


def is_blank(value: Any) -> bool:
    """Whether a cell holds no value.

    Examples
    --------
    >>> from shortlist._app._cells import is_blank
    >>> [is_blank(cell) for cell in ("N/A", " ", None, float("nan"), "none of them", 0)]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        text = value.strip()
        return text.lower() in _MISSING or text == "None"
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return False


def printable(text: str, most: int = 40) -> str:
    r"""Text of a file, fit for a terminal: one line, no control characters, not too long.

    Examples
    --------
    >>> from shortlist._app._cells import printable
    >>> printable("a\nb\x1b[31m"), printable("abcdef", 4)
    ('a b�[31m', 'abc…')
    """
    line = " ".join(text.split())
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    return line if len(line) <= most else f"{line[: most - 1]}…"
