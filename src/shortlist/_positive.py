"""Which of two labels is the one to look for. Imports nothing, so that commands start at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# Pairs whose positive label, the second, goes without saying.
_PAIRS = (("0", "1"), ("-1", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"))


def spelling(value: Any) -> str:
    """One spelling for a label: 1, 1.0 and " 1 " are the same.

    Examples
    --------
    >>> from shortlist._positive import spelling
    >>> spelling(1.0), spelling(" 1"), spelling("fraud"), spelling("1000000000000000007")
    ('1', '1', 'fraud', '1000000000000000007')
    """
    text = str(value).strip()
    digits = text.removeprefix("-")
    if digits.isdecimal() and len(digits) < 1000:
        # Without a detour over floats, which take long ids for one another.
        return str(int(text))
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def plain_positive(labels: Sequence[Any]) -> int | None:
    """Position of the positive one of two labels, None where they do not explain themselves.

    Only 0/1, -1/1, no/yes, n/y, false/true and f/t do.

    Examples
    --------
    >>> from shortlist._positive import plain_positive
    >>> plain_positive(["Yes", "No"]), plain_positive([-1, 1]), plain_positive(["fraud", "legit"])
    (0, 1, None)
    """
    spelled = [spelling(label).lower() for label in labels]
    for other, positive in _PAIRS:
        if sorted(spelled) == sorted((other, positive)):
            return spelled.index(positive)
    return None
